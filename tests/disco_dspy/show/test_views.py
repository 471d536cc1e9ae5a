"""What people see: nothing lost, nothing that can drive the terminal."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from disco_dspy.show.graph import graph_view
from disco_dspy.show.plan import plan_view
from disco_dspy.show.text import one_line, safe, with_citations
from disco_dspy.show.tree import tree_view
from signatures.blueprint import Blueprint, Evidence, Step
from signatures.decode_tree import decode_tree
from signatures.graph import Edge, RhetoricalGraph
from signatures.relations import load_inventory
from signatures.tree import edus_from_starts

TEXT = "The drug helped. But only with food. Others saw nothing."
INVENTORY = load_inventory("refined-19")


def shown(view: RenderableType, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(view)
    return console.file.getvalue()  # type: ignore[attr-defined]


def make_tree(spans: list[str], text: str = TEXT, starts: tuple[int, ...] = (0, 17, 37)):
    return decode_tree(text, edus_from_starts(text, starts), [spans], INVENTORY)[0]


def test_a_tree_shows_every_edu_once_under_its_relation() -> None:
    tree = make_tree(["1-2 NS concession", "1-3 NN contrast"])
    lines = shown(tree_view(tree, "a title")).splitlines()
    assert lines[0] == "a title"
    assert "contrast NN 1-3" in lines[1]
    assert "N concession NS 1-2" in lines[2]
    assert [line.split("─ ")[1] for line in lines[3:]] == [
        "N 1 The drug helped.",
        "S 2 But only with food.",
        "N 3 Others saw nothing.",
    ]


def test_an_invented_node_is_marked() -> None:
    assert "repaired" in shown(tree_view(make_tree([])))
    assert "repaired" not in shown(tree_view(make_tree(["1-2 NS concession", "1-3 NN contrast"])))


def test_a_tree_as_deep_as_it_has_edus_does_not_overflow_the_stack() -> None:
    count = 400
    text = "word. " * count
    starts = tuple(range(0, 6 * count, 6))
    tree = make_tree([f"{first}-{count} NS elaboration" for first in range(count - 1, 0, -1)], text, starts)
    assert tree_view(tree).children[0].children


def test_one_edu_and_no_node() -> None:
    assert "1 One claim." in shown(tree_view(make_tree([], "One claim.", (0,))))


def test_a_graph_names_edges_and_loners() -> None:
    graph = RhetoricalGraph(4, (Edge(1, 3, "CONTRADICTS"), Edge(2, 1, "ELABORATES")), "inter-chunk")
    text = shown(graph_view(graph, ["First", "Second", "Third"]))
    assert text.splitlines()[0].split() == ["1", "First", "CONTRADICTS", "3", "Third"]
    assert text.splitlines()[1].split() == ["2", "Second", "ELABORATES", "1", "First"]
    assert "unrelated: 4" in text


def test_a_graph_without_edges_says_so() -> None:
    assert "UNRELATED" in shown(graph_view(RhetoricalGraph(3, (), "inter-chunk")))


def test_a_blueprint_shows_evidence_and_reconciliation() -> None:
    blueprint = Blueprint(
        (Step("CLAIM", "it helps", (Evidence(1, 2), Evidence(3)), "only with food"), Step("", "so", ()))
    )
    text = shown(plan_view(blueprint))
    assert "1. CLAIM it helps [1.2][3]" in " ".join(text.split())
    assert "reconcile: only with food" in text
    assert "2." in text


@given(st.text(max_size=200))
def test_no_text_can_drive_the_terminal(text: str) -> None:
    cleaned = safe(text + "\x1b[31mred\x9b0m\x07\u202e")
    assert not any(ord(char) < 32 and char not in "\n\t" for char in cleaned)
    assert not any(0x7F <= ord(char) <= 0x9F for char in cleaned)
    assert "\u202e" not in cleaned


@given(st.text(max_size=300), st.integers(min_value=2, max_value=80))
def test_one_line_is_one_line_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_markup_in_text_is_only_text() -> None:
    assert shown(with_citations("[bold]not markup[/bold] [1.2]")).strip() == "[bold]not markup[/bold] [1.2]"
