"""Scores of the light parser: original Parseval with gold EDUs and end to end, boundary F1, per label and genre."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from optimize.light_parser.data import Chunk

Span = tuple[int, int]
LETTERS = ("S", "N", "R", "F")


@dataclass
class Outcome:
    """One chunk's counts.

    Args:
        chunk: The gold chunk.
        gold: Number of gold nodes.
        found: Number of predicted nodes.
        hits: Matches by letter.
        right: Gold label to how often span and relation were right.
        labels: Gold label to its number of nodes.
        guessed: Label to how often it was predicted.
    """

    chunk: Chunk
    gold: int = 0
    found: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    guessed: Counter[str] = field(default_factory=Counter)


def gold_items(chunk: Chunk) -> dict[Span, str]:
    """Returns class by (start of first EDU, end of last EDU) in characters."""
    return {(chunk.edus[i][0], chunk.edus[j][1]): name for i, _, j, name in chunk.nodes}


def compare(chunk: Chunk, predicted: dict[Span, str]) -> Outcome:
    """Returns the counts of one chunk; original Parseval, spans keyed by offsets without white space around."""
    gold = gold_items(chunk)
    out = Outcome(chunk, len(gold), len(predicted))
    out.labels.update(name[3:] for name in gold.values())
    out.guessed.update(name[3:] for name in predicted.values())
    for span, name in predicted.items():
        if span in gold:
            same = (name[:2] == gold[span][:2], name[3:] == gold[span][3:])
            out.hits.update({"S": 1, "N": int(same[0]), "R": int(same[1]), "F": int(all(same))})
            out.right[gold[span][3:]] += same[1]
    return out


def f1(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Returns micro-averaged F1 in percent by letter."""
    hits: Counter[str] = Counter()
    total = 0
    for outcome in outcomes:
        hits.update(outcome.hits)
        total += outcome.gold + outcome.found
    return {letter: 200 * hits[letter] / total if total else 100.0 for letter in LETTERS}


def interval(outcomes: Sequence[Outcome], resamples: int = 1000, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Returns 95 % bootstrap intervals by letter, resampling whole documents."""
    by_document: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_document.setdefault(outcome.chunk.document, []).append(outcome)
    names = sorted(by_document)
    draw = random.Random(seed)
    figures: dict[str, list[float]] = {letter: [] for letter in LETTERS}
    for _ in range(resamples):
        picked = [outcome for _ in names for outcome in by_document[draw.choice(names)]]
        for letter, value in f1(picked).items():
            figures[letter].append(value)
    low, high = round(0.025 * resamples), round(0.975 * resamples) - 1
    return {letter: (sorted(values)[low], sorted(values)[high]) for letter, values in figures.items()}


def boundary_f1(pairs: Iterable[tuple[Iterable[int], Iterable[int]]]) -> dict[str, float]:
    """Returns P, R and F1 in percent of EDU starts, the first one included as DISRPT counts.

    Args:
        pairs: Gold and predicted offsets of each chunk.
    """
    hits = gold = found = 0
    for want, have in pairs:
        want, have = set(want), set(have)
        hits, gold, found = hits + len(want & have), gold + len(want), found + len(have)
    return {"P": 100 * hits / found, "R": 100 * hits / gold, "F1": 200 * hits / (gold + found)}
