"""Trees: EDUs cover any text exactly, invariants are checked, dependency form and JSON are right."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signatures.tree import Edu, Node, RSTTree, check_tree, edus_from_starts
from tests.signatures.gold import REFINED, flat_text, gold_trees, trees

TEXT = "Although it rained, we went out. It was fun, and we stayed."
STARTS = [0, 20, 33, 45]
TREE = RSTTree(
    TEXT,
    edus_from_starts(TEXT, STARTS),
    (Node(1, 2, 4, "NS", "elaboration"), Node(1, 1, 2, "SN", "concession"), Node(3, 3, 4, "NN", "joint")),
    "refined-19",
)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.lists(st.integers(-5, 100), max_size=20))
def test_edus_cover_any_text(text: str, starts: list[int]) -> None:
    edus = edus_from_starts(text, starts)
    assert "".join(text[edu.start : edu.end] for edu in edus) == text
    assert [edu.index for edu in edus] == list(range(1, len(edus) + 1))
    assert edus[0].start == 0
    if len(edus) > 1:
        assert all(text[edu.start : edu.end].strip() for edu in edus)
        assert not any(text[edu.start].isspace() for edu in edus[1:])


def test_white_space_belongs_to_the_edu_before() -> None:
    text = "  One  two\n\n三。 "
    edus = edus_from_starts(text, [12, 5, 5, 99, -1, 1])
    assert [text[edu.start : edu.end] for edu in edus] == ["  One  ", "two\n\n", "三。 "]
    assert edus_from_starts("", [3]) == (Edu(1, 0, 0),)
    assert edus_from_starts(" \n ", [1, 2]) == (Edu(1, 0, 3),)


def test_many_starts_in_a_long_line_take_no_time() -> None:
    text = "ab " * 40_000
    assert len(edus_from_starts(text, range(len(text)))) == 80_000


def test_dependency_form() -> None:
    assert TREE.heads() == [(2, "concession", "S"), (0, "", "N"), (2, "elaboration", "S"), (3, "joint", "N")]
    assert [TREE.depth(number) for number in range(1, 5)] == [1, 0, 1, 2]
    assert TREE.edu_text(2) == "we went out."
    for number in (0, 5, -1):
        with pytest.raises(IndexError):
            TREE.edu_text(number)
        with pytest.raises(IndexError):
            TREE.depth(number)


@settings(max_examples=100, deadline=None)
@given(trees())
def test_every_tree_is_valid_has_one_root_and_survives_json(tree: RSTTree) -> None:
    check_tree(tree, REFINED)
    parents = [parent for parent, _, _ in tree.heads()]
    assert parents.count(0) == 1
    assert all(tree.depth(n) == (0 if p == 0 else tree.depth(p) + 1) for n, p in enumerate(parents, 1))
    assert RSTTree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
    assert RSTTree.from_dict(json.loads(json.dumps(tree.to_dict(with_text=False))), tree.text) == tree


def test_a_long_chain_needs_no_recursion() -> None:
    size = 3000
    text, starts = flat_text(size)
    nodes = tuple(Node(first, first, size, "NS", "elaboration") for first in range(1, size))
    tree = RSTTree(text, edus_from_starts(text, starts), nodes, "refined-19")
    check_tree(tree, REFINED)
    assert tree.depth(size) == size - 1
    assert RSTTree.from_dict(tree.to_dict()) == tree


def test_gold_trees_are_valid() -> None:
    gold = gold_trees()
    assert len(gold) == 9
    for _, tree, sentences in gold:
        check_tree(tree, REFINED)
        assert sentences[0] == 1


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (replace(TREE, nodes=TREE.nodes[:2]), "need 3 nodes"),
        (replace(TREE, nodes=(TREE.nodes[0], TREE.nodes[2], TREE.nodes[1])), "was expected"),
        (replace(TREE, nodes=(replace(TREE.nodes[0], split=4), *TREE.nodes[1:])), "split after 4"),
        (replace(TREE, nodes=(replace(TREE.nodes[0], split=1), *TREE.nodes[1:])), "was expected"),
        (replace(TREE, nodes=(*TREE.nodes[:2], replace(TREE.nodes[2], relation="banana"))), "label 'banana'"),
        (replace(TREE, nodes=(*TREE.nodes[:2], replace(TREE.nodes[2], nuclearity="NS"))), "does not allow NS"),
        (replace(TREE, nodes=(*TREE.nodes[:2], replace(TREE.nodes[2], nuclearity="XX"))), "nuclearity 'XX'"),
        (replace(TREE, text=TEXT + "!"), "EDUs end at 59, the text at 60"),
        (replace(TREE, edus=(Edu(1, 0, 20), Edu(2, 21, 33), *TREE.edus[2:])), "EDU 2 starts at 21"),
        (replace(TREE, edus=(Edu(2, 0, 20), *TREE.edus[1:])), "EDU 1 has index 2"),
        (replace(TREE, edus=(Edu(1, 0, 0), Edu(2, 0, 33), *TREE.edus[2:])), "no visible text"),
        (replace(TREE, edus=()), "at least one EDU"),
        (replace(TREE, inventory="paper-24"), "made with inventory 'paper-24'"),
    ],
)
def test_each_invariant_is_named_when_broken(broken: RSTTree, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_tree(broken, REFINED)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"text": "a", "starts": [0], "rows": [[1, 2]], "inventory": "x"},
        {"text": "a b", "starts": [0, 2], "rows": [], "inventory": "x"},
        {"text": None, "starts": [0], "rows": [], "inventory": "x"},
        {"text": "a", "starts": None, "rows": [], "inventory": "x"},
        {"text": "a b", "starts": [2, 0], "rows": [[1, 1, 2, "NS", "cause", False]], "inventory": "x"},
    ],
)
def test_what_is_no_stored_tree_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        RSTTree.from_dict(data)
