"""Graphs: sparse edges between chunks that exist, symmetric ones read both ways, everything wrong counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signatures.errors import DiscoError
from signatures.graph import Edge, RhetoricalGraph, check_graph, decode_graph, encode_graph
from signatures.relations import UNRELATED, load_inventory
from tests.signatures.gold import junk

INTER = load_inventory("inter-chunk")


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 6), junk(["1>2 SUPPORTS", "2>1 CONTRADICTS", "1>1 CAUSES", "3>9 CAUSES", "2>3 UNRELATED"]))
def test_any_strings_give_a_valid_graph(size: int, items: list[str]) -> None:
    graph, health = decode_graph(items, size, INTER)
    check_graph(graph)
    assert {edge.relation for edge in graph.edges} <= set(INTER.labels)
    assert health.given == len(items) == len(graph.edges) + health.dropped + health.unrelated
    again, clean = decode_graph(encode_graph(graph), size, INTER)
    assert again == graph and clean.dropped == 0
    assert RhetoricalGraph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph
    assert set(graph.conflicts()) <= set(graph.edges)
    linked = {number for edge in graph.edges for number in (edge.source, edge.target)}
    assert sorted(linked | set(graph.unrelated())) == list(range(1, size + 1))


def test_symmetric_relations_are_stored_once_and_read_both_ways() -> None:
    graph, health = decode_graph(["3>1 CONTRADICTS", "1>3 CONTRADICTS", "2>3 SUPPORTS"], 4, INTER)
    assert graph.edges == (Edge(1, 3, "CONTRADICTS"), Edge(2, 3, "SUPPORTS"))
    assert health.duplicates == 1
    assert graph.relation(1, 3) == graph.relation(3, 1) == "CONTRADICTS"
    assert graph.relation(2, 3) == "SUPPORTS"
    assert graph.relation(3, 2) == graph.relation(1, 2) == UNRELATED
    assert graph.conflicts() == (Edge(1, 3, "CONTRADICTS"),)
    assert graph.unrelated() == (4,)


def test_everything_wrong_is_counted_by_kind() -> None:
    items = [
        "1>2 SUPPORTS",
        "1>2 CAUSES",
        "2>1 CAUSES",
        "1>9 CAUSES",
        "0>1 CAUSES",
        "2>2 CAUSES",
        "1>3 LIKES",
        "1>3",
        "hello",
        "1>3 UNRELATED",
    ]
    graph, health = decode_graph(items, 3, INTER)
    assert encode_graph(graph) == ["1>2 SUPPORTS", "2>1 CAUSES"]
    assert (health.given, health.duplicates, health.unknown_ids, health.self_loops) == (10, 1, 2, 1)
    assert (health.unknown_labels, health.unparsed, health.unrelated, health.dropped) == (2, 1, 1, 7)


@pytest.mark.parametrize(
    "item",
    [
        "1>3 SUPPORTS",
        "1 -> 3: supports",
        "- [1] → [3] (Supports)",
        "2. 1>3 SUPPORTS 0.9",
        "chunk 1 supports chunk 3",
        "3<1 SUPPORTS",
        "3 <- 1 supports.",
        "3>1 SUPPORTED_BY",
        "chunk 3 is supported by chunk 1",
        "1.2>3.4 SUPPORTS",
        '{"source": 1, "target": 3, "relation": "supports"}',
        "1＞3 支持",
    ],
)
def test_an_edge_is_read_in_many_spellings(item: str) -> None:
    graph, _ = decode_graph([item], 3, INTER)
    assert graph.edges == (Edge(1, 3, "SUPPORTS"),)


def test_a_graph_of_a_users_inventory_needs_no_file_to_be_read(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(
        'name = "claims"\nkind = "inter"\n[[relation]]\nname = "REBUTS"\ndefinition = "denies"\n'
        'symmetric = true\nfamily = "contrast"\n',
        encoding="utf-8",
    )
    graph, _ = decode_graph(["2>1 rebuts"], 2, load_inventory(file, "inter"))
    file.unlink()
    again = RhetoricalGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert again.relation(2, 1) == "REBUTS" and again.conflicts() == (Edge(1, 2, "REBUTS"),)


def test_a_graph_built_by_hand_knows_its_inventory() -> None:
    graph = RhetoricalGraph(2, (Edge(1, 2, "CONTRASTS"),), "inter-chunk")
    assert graph.relation(2, 1) == "CONTRASTS" and graph.conflicts() == graph.edges
    with pytest.raises(DiscoError, match="inter-chunk"):
        RhetoricalGraph(2, (), "inter-chunks")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"size": 2, "edges": [[1, 3, "X"]], "inventory": "x", "symmetric": [], "contrast": []},
        {"size": 2, "edges": [[1, 1, "X"]], "inventory": "x", "symmetric": [], "contrast": []},
        {"size": 2, "edges": [[1, 2, "X"], [2, 1, "Y"]], "inventory": "x", "symmetric": ["X"], "contrast": []},
        {"size": 2, "edges": [[1, 2]], "inventory": "x", "symmetric": [], "contrast": []},
    ],
)
def test_what_is_no_stored_graph_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        RhetoricalGraph.from_dict(data)
