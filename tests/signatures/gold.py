"""Gold trees and generators of trees that several test modules share."""

from __future__ import annotations

import bisect
import json
from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from signatures.relations import Inventory, load_inventory
from signatures.tree import Node, RSTTree, edus_from_starts

REFINED = load_inventory("refined-19")
_FILE = Path(__file__).parent / "data" / "gum_chunks.jsonl"


def gold_trees() -> list[tuple[str, RSTTree, list[int]]]:
    """(id, tree in refined-19, numbers of the EDUs that open a sentence) of real annotated chunks."""
    trees = []
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        starts = [start for start, _ in row["edus"]]
        edus = edus_from_starts(row["text"], starts)
        nodes = []
        for first, split, last, nuclearity, label in row["tree"]:
            relation = REFINED.find_exact(label, nuclearity)
            assert relation is not None, label
            nodes.append(Node(first, split, last, nuclearity, relation.name))
        sentences = [bisect.bisect_left(starts, start) + 1 for start in row["sentence_starts"]]
        trees.append((row["id"], RSTTree(row["text"], edus, tuple(nodes), REFINED.name), sentences))
    return trees


def flat_text(size: int) -> tuple[str, list[int]]:
    """A text of `size` short EDUs and their starts."""
    parts = [f"unit {number}, " for number in range(1, size + 1)]
    return "".join(parts), [sum(map(len, parts[:at])) for at in range(size)]


@st.composite
def trees(draw: st.DrawFn, inventory: Inventory = REFINED, most: int = 25) -> RSTTree:
    """Any valid tree of 1 to `most` EDUs."""
    size = draw(st.integers(1, most))
    nodes: list[Node] = []
    todo: list[tuple[int, int]] = [(1, size)]
    while todo:
        first, last = todo.pop()
        if first == last:
            continue
        split = draw(st.integers(first, last - 1))
        relation = draw(st.sampled_from(inventory.relations))
        nodes.append(Node(first, split, last, draw(st.sampled_from(relation.nuclearity)), relation.name))
        todo += [(split + 1, last), (first, split)]
    text, starts = flat_text(size)
    return RSTTree(text, edus_from_starts(text, starts), tuple(nodes), inventory.name)


def junk(*seeds: Sequence[str]) -> st.SearchStrategy[list[str]]:
    """Lists of strings as a bad model may write them: anything, near misses, JSON, and the seeds."""
    number = st.integers(-3, 10**9).map(str)
    near = st.builds(
        "{}{}{} {} {}".format,
        number,
        st.sampled_from(["-", ">", "->", "–", " to ", "<", "→", ",", ".", " ", ""]),
        number,
        st.sampled_from(["NS", "SN", "NN", "ns", "N", "", "satellite-nucleus"]),
        st.sampled_from(
            ["cause", "Elaboration.", "SUPPORTS", "CONTRADICTS", "joint", "nonsense", "", "对比", "supported by"]
        ),
    )
    as_json = st.recursive(
        st.none() | st.booleans() | st.integers(-9, 99) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=6,
    ).map(lambda value: json.dumps(value, ensure_ascii=False))
    choices = [st.text(max_size=40), near, as_json]
    choices += [st.sampled_from(list(seed)) for seed in seeds if seed]
    return st.lists(st.one_of(choices), max_size=30)
