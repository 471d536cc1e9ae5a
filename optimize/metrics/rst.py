"""Parseval for RST trees: gold trees against predicted ones, in both forms the literature calls Parseval.

*Original Parseval* (Morey et al. 2017) has one item per internal node, the root included: span S, nuclearity N,
relation R, both labels F. *RST-Parseval* (Marcu 2000) has one item per node but the root, leaves included, and its
figures lie 10 to 25 points higher because leaves match for free; name the form whenever a figure is quoted. Both are
micro-averaged: counts are summed over chunks and never a mean of per-chunk figures. Spans are keyed by the start of
their first EDU and the end of their last in the one text, so predicted segmentations are scored as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Offsets = Sequence[tuple[int, int]]
Row = tuple[int, int, int, str, str]
Item = dict[tuple[int, int], tuple[str, str]]

LETTERS = ("S", "N", "R", "F")


@dataclass(frozen=True)
class FlatTree:
    """A binary tree as offsets and rows, the form every scorer here reads.

    Args:
        edus: Start and end of each EDU in characters (or tokens) of the one text.
        rows: `(i, k, j, nuclearity, relation)`: a node over EDUs i..j (1-based, inclusive), split after k.
    """

    edus: tuple[tuple[int, int], ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, edus: Iterable[Sequence[int]], rows: Iterable[Sequence[object]]) -> FlatTree:
        """Builds one from lists as they come out of JSON."""
        return cls(
            tuple((int(e[0]), int(e[1])) for e in edus),
            tuple((int(str(r[0])), int(str(r[1])), int(str(r[2])), str(r[3]), str(r[4]).lower()) for r in rows),
        )

    def key(self, first: int, last: int) -> tuple[int, int]:
        """Offsets of the span over EDUs `first` to `last`."""
        return self.edus[first - 1][0], self.edus[last - 1][1]


@dataclass(frozen=True)
class Counts:
    """Sums behind precision, recall and F1; add them up over chunks."""

    gold: int = 0
    pred: int = 0
    S: int = 0
    N: int = 0
    R: int = 0
    F: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f) + getattr(other, f) for f in ("gold", "pred", *LETTERS)))

    def f1(self, letter: str) -> float:
        """F1 of S, N, R or F in [0, 1]; 1 when neither side has an item (a chunk of one EDU)."""
        total = self.gold + self.pred
        return 2 * getattr(self, letter) / total if total else 1.0

    def precision(self, letter: str) -> float:
        """Share of predicted items that are right; 1 when none was predicted and none was due."""
        return getattr(self, letter) / self.pred if self.pred else float(self.gold == 0)

    def recall(self, letter: str) -> float:
        """Share of gold items found; 1 when there were none."""
        return getattr(self, letter) / self.gold if self.gold else 1.0


def original_items(tree: FlatTree) -> Item:
    """One item per internal node: span to (nuclearity, relation)."""
    return {tree.key(i, j): (nuclearity, relation) for i, _, j, nuclearity, relation in tree.rows}


def rst_items(tree: FlatTree) -> Item:
    """One item per node but the root: span to (role towards the parent, relation written on the node)."""
    items: Item = {}
    for i, k, j, nuclearity, relation in tree.rows:
        for side, (first, last) in enumerate(((i, k), (k + 1, j))):
            role = nuclearity[side]
            # A nucleus beside a satellite carries no relation of its own: the pseudo-label `span` in Marcu's scheme.
            items[tree.key(first, last)] = (role, "span" if role == "N" and nuclearity != "NN" else relation)
    return items


def compare(gold: Item, predicted: Item) -> Counts:
    """Counts the matches of one chunk; labels are compared only where spans match."""
    shared = [(gold[key], predicted[key]) for key in gold.keys() & predicted.keys()]
    return Counts(
        gold=len(gold),
        pred=len(predicted),
        S=len(shared),
        N=sum(g[0] == p[0] for g, p in shared),
        R=sum(g[1] == p[1] for g, p in shared),
        F=sum(g == p for g, p in shared),
    )


def original_parseval(gold: FlatTree, predicted: FlatTree | None) -> Counts:
    """Original Parseval of one chunk; a missing tree predicts nothing."""
    return compare(original_items(gold), original_items(predicted) if predicted else {})


def rst_parseval(gold: FlatTree, predicted: FlatTree | None) -> Counts:
    """RST-Parseval (Marcu's form) of one chunk; a missing tree predicts nothing."""
    return compare(rst_items(gold), rst_items(predicted) if predicted else {})


def segmentation(gold: Offsets, predicted: Offsets) -> Counts:
    """EDU boundaries as DISRPT counts them (EDU starts, the first included); read S only."""
    left, right = {start for start, _ in gold}, {start for start, _ in predicted}
    hits = len(left & right)
    return Counts(gold=len(left), pred=len(right), S=hits, N=hits, R=hits, F=hits)


def advice(gold: FlatTree, predicted: FlatTree | None, most: int = 3) -> str:
    """Says in a few lines which spans were missed and which labels were confused; empty when the trees agree.

    Args:
        gold: The gold tree.
        predicted: The predicted tree over the same EDUs, or None when there was none.
        most: How many of each kind of fault to name.
    """
    if predicted is None:
        return "No tree could be read from the reply: answer with one string `i-j NUC relation` per span."
    spans = {tree.key(i, j): (i, j) for tree in (predicted, gold) for i, _, j, _, _ in tree.rows}
    want, have = original_items(gold), original_items(predicted)
    missed = sorted(want.keys() - have.keys())
    extra = sorted(have.keys() - want.keys())
    lines = []
    if missed:
        lines.append(
            f"Missed {len(missed)} of {len(want)} spans, such as "
            + ", ".join(_spell(spans[key], want[key]) for key in missed[:most])
            + "."
        )
    if extra:
        lines.append("Spans not in the gold tree: " + ", ".join(_spell(spans[k], have[k]) for k in extra[:most]) + ".")
    wrong = sorted(key for key in want.keys() & have.keys() if want[key] != have[key])
    if wrong:
        pairs = [f"{_spell(spans[k], have[k])} should be {' '.join(want[k])}" for k in wrong[:most]]
        lines.append(f"{len(wrong)} right spans have wrong labels: " + "; ".join(pairs) + ".")
    return " ".join(lines)


def _spell(span: tuple[int, int], label: tuple[str, str]) -> str:
    return f"{span[0]}-{span[1]} {label[0]} {label[1]}"
