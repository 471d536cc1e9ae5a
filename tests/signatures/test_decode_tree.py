"""Total decoding of trees: any list of strings gives a valid tree, what is right in it is kept."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signatures.decode_tree import TreeHealth, decode_tree, encode_tree
from signatures.relations import load_inventory
from signatures.tree import RSTTree, check_tree, edus_from_starts
from tests.signatures.gold import REFINED, flat_text, gold_trees, junk, trees

PAPER = load_inventory("paper-24")


def decode(size: int, *samples: list[str], **options: object) -> tuple[RSTTree, TreeHealth]:
    text, starts = flat_text(size)
    return decode_tree(text, edus_from_starts(text, starts), samples, REFINED, **options)  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(trees())
def test_encoding_and_decoding_keep_the_tree(tree: RSTTree) -> None:
    again, health = decode_tree(tree.text, tree.edus, [encode_tree(tree)], REFINED, sentence_starts=[1, 3, 7])
    assert again == tree
    assert health == TreeHealth(len(tree.edus), len(tree.nodes), len(tree.nodes), 0, 0)
    assert health.status == "ok" and health.lost_share == 0


@pytest.mark.parametrize(("name", "tree", "sentences"), gold_trees(), ids=lambda value: str(value)[:24])
def test_gold_trees_come_back(name: str, tree: RSTTree, sentences: list[int]) -> None:
    items = encode_tree(tree)
    assert len(items) == len(tree.edus) - 1
    assert items[-1].startswith(f"1-{len(tree.edus)} ")
    random.Random(name).shuffle(items)
    again, health = decode_tree(tree.text, tree.edus, [items], REFINED, sentence_starts=sentences)
    assert again == tree and health.status == "ok"


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 12), st.lists(junk(["1-2 NS cause", "2-4 SN condition", "1-4 NN joint"]), max_size=3), st.data())
def test_any_strings_give_a_valid_tree(size: int, samples: list[list[str]], data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(-2, 15), max_size=6))
    weight = data.draw(st.sampled_from([0.0, 0.05, 0.5, -1.0]))
    inventory = data.draw(st.sampled_from([REFINED, PAPER]))
    text, offsets = flat_text(size)
    edus = edus_from_starts(text, offsets)
    tree, health = decode_tree(text, edus, samples, inventory, sentence_starts=starts, prior_weight=weight)
    check_tree(tree, inventory)
    assert health.edus == size and health.spans_given == sum(map(len, samples))
    assert health.spans_used + health.spans_lost == health.spans_given
    assert 0 <= health.repaired_nodes <= size - 1
    assert 0 <= health.lost_share <= 1
    if size > 1 and not health.spans_used:
        assert health.status == "empty" and health.repaired_nodes == size - 1


@settings(max_examples=200, deadline=None)
@given(trees(most=15), st.data())
def test_a_reply_with_lost_items_keeps_every_span_that_is_left(tree: RSTTree, data: st.DataObject) -> None:
    items = data.draw(st.permutations(encode_tree(tree)))
    kept = items[: data.draw(st.integers(0, len(items)))]
    again, health = decode_tree(tree.text, tree.edus, [kept], REFINED)
    check_tree(again, REFINED)
    assert set(kept) <= set(encode_tree(again))
    assert health.spans_lost == 0
    assert health.repaired_nodes == len(items) - len(kept)
    assert sum(node.repaired for node in again.nodes) == health.repaired_nodes


@settings(max_examples=100, deadline=None)
@given(trees(most=15), junk(), junk())
def test_three_right_replies_outvote_any_two_wrong_ones(tree: RSTTree, wrong: list[str], more: list[str]) -> None:
    right = encode_tree(tree)
    again, _ = decode_tree(tree.text, tree.edus, [right, wrong, right, more, right], REFINED)
    assert [(n.first, n.split, n.last) for n in again.nodes] == [(n.first, n.split, n.last) for n in tree.nodes]


@pytest.mark.parametrize(
    "item",
    [
        "2-3 SN condition",
        "2-3 condition SN",
        "SN condition 2-3",
        "condition (SN): 2-3",
        "- 2-3 sn Condition.",
        "1. 2–3 SN condition",
        "EDU2-3 SN CONDITION",
        "[2]-[3] SN contingency_condition",
        "3-2 SN condition",
        "2 to 3: satellite-nucleus, condition",
        '{"i": 2, "j": 3, "nuc": "SN", "rel": "condition"}',
        "２－３ SN 条件",
        "2-2 + 3-3 SN condition",
        "2-3 SN condition 0.95",
    ],
)
def test_an_item_is_read_in_many_spellings(item: str) -> None:
    tree, health = decode(4, [item])
    node = next(node for node in tree.nodes if (node.first, node.last) == (2, 3))
    assert (node.nuclearity, node.relation, node.repaired) == ("SN", "condition", False)
    assert health.spans_used == 1 and health.status == "repaired"


@pytest.mark.parametrize("item", ["", "none", "7 SN cause", "2-2 SN cause", "9-12 NS cause", "0-1 NS cause"])
def test_an_item_without_a_span_is_lost(item: str) -> None:
    _, health = decode(4, [item])
    assert (health.spans_lost, health.spans_used, health.status) == (1, 0, "empty")


def test_a_span_that_runs_over_the_end_is_clipped() -> None:
    tree, health = decode(4, ["3-9 NS cause"])
    assert "3-4 NS cause" in encode_tree(tree) and health.spans_lost == 0


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("1-2 NS joint", "1-2 NN joint"),
        ("1-2 NN attribution", "1-2 SN attribution"),
        ("1-2 SN elaboration", "1-2 NS elaboration"),
        ("1-2 cause", "1-2 NS cause"),
        ("1-2 SN banana", "1-2 SN background"),
        ("1-2 NN", "1-2 NN joint"),
        ("1-2", "1-2 NS elaboration"),
        ("1-2 NN temporal", "1-2 NN sequence"),
    ],
)
def test_label_and_nuclearity_are_made_to_agree(item: str, expected: str) -> None:
    tree, health = decode(2, [item])
    assert encode_tree(tree) == [expected]
    assert health.repaired_nodes == (0 if item.endswith("temporal") else 1)


def test_the_majority_names_the_label() -> None:
    tree, health = decode(2, ["1-2 NS cause"], ["1-2 NS explanation"], ["1-2 NS explanation", "1-2 NS cause"])
    assert encode_tree(tree) == ["1-2 NS explanation"]
    assert (health.spans_given, health.spans_used) == (4, 4)


def test_crossing_spans_lose_to_the_tree_with_more_votes() -> None:
    tree, health = decode(4, ["1-2 NS cause", "2-3 NS cause", "3-4 NS cause", "1-4 NN joint"])
    assert encode_tree(tree) == ["1-2 NS cause", "3-4 NS cause", "1-4 NN joint"]
    assert health.spans_lost == 1 and health.lost_share == 0.25 and health.status == "repaired"


def test_without_votes_the_tree_branches_right_inside_sentences_then_over_them() -> None:
    tree, health = decode(5, [], sentence_starts=[1, 4])
    assert encode_tree(tree) == ["2-3 NS elaboration", "1-3 NS elaboration", "4-5 NS elaboration", "1-5 NN joint"]
    assert health == TreeHealth(5, 0, 0, 0, 4) and health.status == "empty"
    plain, _ = decode(4, [])
    assert [(node.first, node.last) for node in plain.nodes] == [(1, 4), (2, 4), (3, 4)]


def test_the_prior_is_only_as_heavy_as_its_weight() -> None:
    spans = {
        weight: [
            (node.first, node.last)
            for node in decode(4, ["1-2 NS cause"], sentence_starts=range(1, 5), prior_weight=weight)[0].nodes
        ]
        for weight in (0.05, 1.5)
    }
    assert spans[0.05] == [(1, 4), (1, 2), (3, 4)]
    assert spans[1.5] == [(1, 4), (2, 4), (3, 4)]


def test_one_edu_is_a_leaf_and_no_failure() -> None:
    tree, health = decode(1, ["1-2 NS cause"])
    assert tree.nodes == () and health.status == "repaired" and health.spans_lost == 1
    assert decode(1, [])[1].status == "ok"
    assert decode(1)[1].status == "ok"


def test_callers_mistakes_are_errors() -> None:
    text, starts = flat_text(2)
    with pytest.raises(ValueError, match="for graphs"):
        decode_tree(text, edus_from_starts(text, starts), [], load_inventory("inter-chunk"))
    with pytest.raises(ValueError, match="at least one EDU"):
        decode_tree(text, (), [], REFINED)
