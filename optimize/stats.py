"""Intervals by resampling items: before, after, and their paired difference."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optimize.scores import Score

RESAMPLES = 1000


@dataclass(frozen=True)
class Comparison:
    """Two programs on the same items.

    Args:
        items: How many items both were measured on.
        before: Figure of the start program.
        after: Figure of the candidate.
        before_ci: 95 % interval of `before`.
        after_ci: 95 % interval of `after`.
        difference_ci: 95 % interval of `after - before` over paired resamples.
        chance_better: Share of paired resamples in which the candidate is ahead, in [0, 1].
    """

    items: int
    before: float
    after: float
    before_ci: tuple[float, float]
    after_ci: tuple[float, float]
    difference_ci: tuple[float, float]
    chance_better: float

    @property
    def better(self) -> bool:
        """Whether the candidate's figure is above the start program's."""
        return self.after > self.before


def compare(
    before: Sequence[Score], after: Sequence[Score], pooled: Callable[[Sequence[Score]], float], seed: int
) -> Comparison:
    """Paired bootstrap over items.

    Pooled figures (micro-averaged F1) are recomputed on every resample, not averaged.

    Args:
        before: Scores of the start program.
        after: Scores of the candidate on the same items, in the same order.
        pooled: The benchmark's headline figure of a list of scores.
        seed: Seed of the resampling.

    Raises:
        ValueError: When the lists differ in length or are empty.
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"paired comparison of {len(before)} and {len(after)} items")
    rng = random.Random(f"bootstrap-{seed}")
    size = len(before)
    figures: list[tuple[float, float]] = []
    for _ in range(RESAMPLES):
        picks = rng.choices(range(size), k=size)
        figures.append((pooled([before[i] for i in picks]), pooled([after[i] for i in picks])))
    return Comparison(
        items=size,
        before=pooled(before),
        after=pooled(after),
        before_ci=_interval([b for b, _ in figures]),
        after_ci=_interval([a for _, a in figures]),
        difference_ci=_interval([a - b for b, a in figures]),
        chance_better=sum(a > b for b, a in figures) / RESAMPLES,
    )


def _interval(figures: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(figures)
    return ordered[int(0.025 * (len(ordered) - 1))], ordered[int(0.975 * (len(ordered) - 1) + 0.5)]
