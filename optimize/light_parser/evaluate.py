"""Runs a parser over gold chunks and tabulates what it reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from disco_dspy.light.parser import LightParser
from optimize.light_parser.data import Chunk
from optimize.light_parser.measure import LETTERS, Outcome, Span, boundary_f1, compare, f1, interval
from signatures.tree import RSTTree, edus_from_starts


@dataclass
class Report:
    """Outcomes of a parser on a set of chunks.

    Args:
        given: With gold EDUs.
        raw: From raw text.
        starts: Gold and predicted EDU starts of each chunk.
    """

    given: list[Outcome] = field(default_factory=list)
    raw: list[Outcome] = field(default_factory=list)
    starts: list[tuple[list[int], list[int]]] = field(default_factory=list)

    def __iadd__(self, other: Report) -> Report:
        self.given += other.given
        self.raw += other.raw
        self.starts += other.starts
        return self

    def to_dict(self) -> dict[str, object]:
        """Returns plain data: figures in percent, intervals, per genre and per label."""
        genres = sorted({outcome.chunk.genre for outcome in self.given})
        labels: Counter[str] = Counter()
        right: Counter[str] = Counter()
        guessed: Counter[str] = Counter()
        for outcome in self.given:
            labels.update(outcome.labels)
            right.update(outcome.right)
            guessed.update(outcome.guessed)
        return {
            "chunks": len(self.given),
            "nodes": sum(outcome.gold for outcome in self.given),
            "gold_edus": _round(f1(self.given)),
            "gold_edus_ci95": {k: [round(v, 1) for v in pair] for k, pair in interval(self.given).items()},
            "segmentation": _round(boundary_f1(self.starts)),
            "end_to_end": _round(f1(self.raw)),
            "end_to_end_ci95": {k: [round(v, 1) for v in pair] for k, pair in interval(self.raw).items()},
            "genres": {g: _round(f1([o for o in self.given if o.chunk.genre == g])) for g in genres},
            "labels": {
                name: {"nodes": n, "predicted": guessed[name], "recall": round(100 * right[name] / n, 1)}
                for name, n in labels.most_common()
            },
        }


def evaluate(parser: LightParser, chunks: Sequence[Chunk]) -> Report:
    """Returns the outcomes of a parser on gold chunks, with gold EDUs and from raw text."""
    report = Report()
    for chunk in chunks:
        tree = parser.parse(chunk.text, edus_from_starts(chunk.text, chunk.starts))
        report.given.append(compare(chunk, items(tree)))
        raw = parser.parse(chunk.text)
        report.raw.append(compare(chunk, items(raw)))
        first = chunk.edus[0][0]
        report.starts.append(([start for start, _ in chunk.edus], [edu.start or first for edu in raw.edus]))
    return report


def items(tree: RSTTree) -> dict[Span, str]:
    """Returns class by span in characters, white space around left out."""
    bounds = []
    for edu in tree.edus:
        text = tree.text[edu.start : edu.end]
        bounds.append((edu.start + len(text) - len(text.lstrip()), edu.end - len(text) + len(text.rstrip())))
    return {(bounds[n.first - 1][0], bounds[n.last - 1][1]): f"{n.nuclearity}:{n.relation}" for n in tree.nodes}


def table(report: Report) -> str:
    """Returns the figures as text for people."""
    data = report.to_dict()
    lines = [f"{data['chunks']} chunks, {data['nodes']} nodes; original Parseval F1 in percent, refined-19"]
    for name, figures, ci in (
        ("gold EDUs", f1(report.given), interval(report.given)),
        ("end to end", f1(report.raw), interval(report.raw)),
    ):
        cells = [f"{letter} {figures[letter]:.1f} [{ci[letter][0]:.1f}, {ci[letter][1]:.1f}]" for letter in LETTERS]
        lines.append(f"{name:<11}" + "  ".join(cells))
    lines.append("segmentation " + "  ".join(f"{k} {v:.1f}" for k, v in boundary_f1(report.starts).items()))
    return "\n".join(lines)


def _round(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in figures.items()}
