"""An answer with its sources, and on request everything that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from disco_dspy.show.graph import graph_view
from disco_dspy.show.plan import plan_view
from disco_dspy.show.text import one_line, plain, with_citations
from disco_dspy.show.tree import tree_view
from disco_dspy.traces import Trace

_QUOTE = 240


def answer_view(trace: Trace) -> RenderableType:
    """Returns the answer and the sources it cites, then those it was given but did not cite."""
    return Group(with_citations(trace.answer.text), Text(), sources_view(trace))


def trace_view(trace: Trace) -> RenderableType:
    """Returns the answer, sources, blueprint, graph, trees, health and usage."""
    parts: list[RenderableType] = [plain(trace.question, "bold"), Text(), answer_view(trace)]
    titles = [chunk.title for chunk in trace.chunks]
    if trace.blueprint is not None:
        parts += [*_section("Blueprint"), plan_view(trace.blueprint)]
    if trace.graph is not None:
        parts += [*_section("Rhetorical graph"), graph_view(trace.graph, titles)]
    trees = [(number, tree) for number, tree in enumerate(trace.trees, start=1) if tree is not None]
    if trees:
        parts += _section("Trees")
        parts += [tree_view(tree, f"{number} {titles[number - 1]}") for number, tree in trees]
    if trace.health:
        parts += [*_section("Health"), health_view(trace)]
    if trace.usage:
        parts += [*_section("Usage"), usage_view(trace.usage, trace.seconds)]
    return Group(*parts)


def sources_view(trace: Trace) -> RenderableType:
    """Returns one entry a chunk: number, title, place, and the words each citation points at."""
    cited: dict[int, list[int | None]] = {}
    for citation in trace.answer.citations:
        edus = cited.setdefault(citation.evidence.chunk, [])
        if citation.evidence.edu not in edus:
            edus.append(citation.evidence.edu)
    parts: list[RenderableType] = [Text("Sources", style="bold")]
    for number in sorted(cited):
        parts.append(_source(trace, number))
        parts += [_quote(trace, number, edu) for edu in cited[number]]
    others = [number for number in range(1, len(trace.chunks) + 1) if number not in cited]
    if others:
        parts.append(Text("Retrieved but not cited", style="dim"))
        parts += [_source(trace, number, style="dim") for number in others]
    return Group(*parts)


def health_view(trace: Trace) -> RenderableType:
    """Returns one row a role call that was not plainly fine, then how many were."""
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    fine = 0
    for record in trace.health:
        if record["status"] == "ok" and not record["problems"]:
            fine += 1
            continue
        problems = "\n".join(one_line(problem["sentence"], _QUOTE) for problem in record["problems"])
        style = "green" if record["status"] == "ok" else "yellow"
        who = Text(str(record["role"]), style="magenta")
        table.add_row(who, plain(_subject(trace, record)), Text(record["status"], style=style), plain(problems))
    summary = Text(f"{fine} of {len(trace.health)} role calls without a remark", style="dim")
    return Group(table, summary) if table.row_count else summary


def warnings(trace: Trace) -> list[str]:
    """Returns what a reader of the answer should know, in plain words; empty when all went well."""
    said: dict[tuple[str, str], list[str]] = {}
    for record in trace.health:
        if record["status"] == "ok":
            continue
        why = record["problems"][-1]["sentence"] if record["problems"] else ""
        said.setdefault((record["role"], record["status"]), []).append(one_line(why, _QUOTE))
    lines = []
    for (role, status), reasons in said.items():
        times = f" ({len(reasons)} times)" if len(reasons) > 1 else ""
        lines.append(f"{role} {_MEANING.get(status, status)}{times}: {reasons[0]}".rstrip(": "))
    return lines


_MEANING = {
    "repaired": "replied with parts that had to be mended or dropped",
    "flawed": "replied, but something is wrong with it",
    "degraded": "gave nothing usable, so the answer does without it",
}


def _subject(trace: Trace, record: Mapping[str, Any]) -> str:
    """A chunk's number in place of its id."""
    numbers = {chunk.id: f"chunk {number}" for number, chunk in enumerate(trace.chunks, start=1)}
    subject = str(record.get("subject", ""))
    return numbers.get(subject, subject)


def usage_view(usage: Mapping[str, Any], seconds: float) -> RenderableType:
    """Returns calls and tokens a role, and the wall time."""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("role", style="magenta")
    for heading in ("calls", "prompt tokens", "completion tokens"):
        table.add_column(heading, justify="right")
    for role, counts in usage.items():
        cells = [counts.get(key, 0) for key in ("calls", "prompt_tokens", "completion_tokens")]
        table.add_row(role, *[f"{cell:,}" for cell in cells])
    return Group(table, Text(f"{seconds:.0f} s", style="dim"))


def _section(title: str) -> list[RenderableType]:
    return [Text(), Rule(Text(title, style="bold"), align="left", style="dim")]


def _source(trace: Trace, number: int, style: str = "") -> Text:
    chunk = trace.chunks[number - 1]
    line = Text(style=style)
    line.append(f"[{number}] ", style="cyan")
    line.append(one_line(chunk.title))
    line.append(f"  {one_line(chunk.source)} characters {chunk.start}-{chunk.end}, chunk {chunk.id[:8]}", style="dim")
    return line


def _quote(trace: Trace, number: int, edu: int | None) -> RenderableType:
    tree = trace.trees[number - 1] if number <= len(trace.trees) else None
    words = tree.edu_text(edu) if tree is not None and edu is not None else trace.chunks[number - 1].text
    reference = f"{number}.{edu}" if edu is not None else str(number)
    line = Text(f"{reference} ", style="cyan")
    line.append(f"“{one_line(words, _QUOTE)}”", style="italic not dim")
    return Padding(line, (0, 0, 0, 4))
