"""Writing .rsd, the dependency form of rst2dep and GUM; `rsd` explains the columns."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from disco_dspy.formats.chains import Chains
from disco_dspy.formats.document import RSTDocument, Signal, Span, as_document
from disco_dspy.formats.problems import problem
from disco_dspy.formats.rsd import MARKERS, marker_words
from signatures.tree import RSTTree, bottom_up

_NOT_IN_LABEL = re.compile(r"[\s:|;]+")


@dataclass
class _Row:
    depth: int = 0
    head: int = 0
    relation: str = "ROOT"


@dataclass
class _Place:
    """A unit in dependencies: its head EDU, and how often something was attached to that before."""

    head: int
    depth: int


def _place(tree: RSTTree, chains: Chains) -> tuple[list[_Row], dict[Span, _Place]]:
    rows = [_Row() for _ in tree.edus]
    places = {(n, n): _Place(n, 0) for n in range(1, len(tree.edus) + 1)}
    for node in bottom_up(tree.nodes):
        if chains.inner(node):
            continue
        parts = (
            chains.parts(node) if node.nuclearity == "NN" else [(node.first, node.split), (node.split + 1, node.last)]
        )
        top = places[parts[1] if node.nuclearity == "SN" else parts[0]]
        mark = "m" if node.nuclearity == "NN" else "r"
        for part in parts:
            other = places[part].head
            if other != top.head:
                rows[other - 1] = _Row(top.depth, top.head, f"{_NOT_IN_LABEL.sub('-', node.relation)}_{mark}")
        places[node.first, node.last] = _Place(top.head, top.depth + 1)
    return rows, places


def write_rsd(document: RSTTree | RSTDocument) -> str:
    """Returns a document as .rsd: heads, depths, secondary edges and signals.

    White space of the text becomes single spaces; in labels it becomes a hyphen, as `:`, `;` and `|` do. A chain of
    one multinuclear relation is one level, and the subtype of discourse markers is their words, as GUM writes it.

    Args:
        document: What to write.

    Raises:
        DiscoError: `format/unit` if an edge or signal names EDUs that are no unit of the tree.
    """
    full = as_document(document)
    tree = full.tree
    rows, places = _place(tree, Chains(tree, full.named_units()))
    words = tree.text.split()
    signals: dict[tuple[Span, ...], list[Signal]] = defaultdict(list)
    for signal in full.signals:
        signals[signal.on].append(signal)
    marks: dict[int, list[str]] = defaultdict(list)
    secondary: dict[int, list[str]] = defaultdict(list)
    for unit in full.named_units():
        if unit not in places:
            raise problem(
                "format/unit",
                full.name,
                f"an edge or signal names EDUs {unit[0]}-{unit[1]}, which are no unit of the tree",
                "Point it at an EDU or at a node.",
            )
    for on, found in signals.items():
        if len(on) == 1:
            marks[places[on[0]].head] += [_signal(signal, words) for signal in found]
    for edge in full.secondary:
        source, target = places[edge.source], places[edge.target]
        found = ";".join(_signal(signal, words) for signal in signals[edge.source, edge.target]) or "_"
        label = _NOT_IN_LABEL.sub("-", edge.relation)
        secondary[source.head].append(f"{target.head}:{label}:{source.depth}:{target.depth}:{found}")
    lines = []
    for number, row in enumerate(rows, 1):
        extras = "|".join(secondary[number]) or "_", ";".join(marks[number]) or "_"
        cells = (number, tree.edu_text(number), row.depth, "_", "_", "_", row.head, row.relation, *extras)
        lines.append("\t".join(map(str, cells)))
    return "\n".join(lines) + "\n"


def _signal(signal: Signal, words: list[str]) -> str:
    subtype = marker_words(signal.tokens, words) if signal.subtype == signal.type in MARKERS else signal.subtype
    return f"{signal.type}-{subtype}-{_ranges(signal.tokens)}-{signal.status or '_'}"


def _ranges(tokens: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for token in tokens:
        if runs and runs[-1][1] + 1 == token:
            runs[-1][1] = token
        else:
            runs.append([token, token])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs) or "_"
