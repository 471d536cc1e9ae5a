"""Citation metrics: do the marks point at something, and at the passages that hold the answer."""

from __future__ import annotations

from collections.abc import Iterable


def validity(cited: int, removed: int) -> float:
    """Share of citation marks that point at evidence that exists.

    Args:
        cited: Marks kept.
        removed: Marks taken out because they point at nothing.

    Returns:
        A figure in [0, 1]; 0 for an answer without any mark, which cannot be checked by its reader.
    """
    total = cited + removed
    return cited / total if total else 0.0


def support(cited: Iterable[int], gold: Iterable[int]) -> tuple[float, float]:
    """Precision and recall of the cited chunks against the chunks known to hold the answer.

    Args:
        cited: Chunk numbers cited in the answer.
        gold: Chunk numbers that support the gold answer.

    Returns:
        Precision (0 when nothing is cited) and recall (1 when nothing was due), both in [0, 1].
    """
    have, want = set(cited), set(gold)
    hits = len(have & want)
    return (hits / len(have) if have else 0.0), (hits / len(want) if want else 1.0)
