"""The rhetorical graph of the retrieved chunks, as a list of edges."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from disco_dspy.show.text import one_line
from signatures.graph import RhetoricalGraph


def graph_view(graph: RhetoricalGraph, titles: Sequence[str] = ()) -> RenderableType:
    """Returns one row an edge, conflicts highlighted, then the chunks that no edge touches.

    Args:
        graph: Edges over chunk numbers 1..size.
        titles: A short name for each chunk, in order; may be shorter than the graph.
    """
    if not graph.edges:
        return Text("no relation between the chunks (all UNRELATED)", style="dim")
    conflicts = set(graph.conflicts())
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for edge in graph.edges:
        style = "yellow" if edge in conflicts else "magenta"
        table.add_row(_chunk(edge.source, titles), Text(edge.relation, style=style), _chunk(edge.target, titles))
    alone = graph.unrelated()
    if not alone:
        return table
    return Group(table, Text(f"unrelated: {', '.join(str(number) for number in alone)}", style="dim"))


def _chunk(number: int, titles: Sequence[str]) -> Text:
    line = Text(str(number), style="cyan")
    if number <= len(titles) and titles[number - 1]:
        line.append(f" {one_line(titles[number - 1], 40)}", style="dim")
    return line
