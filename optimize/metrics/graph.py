"""Graph metrics where passages carry gold: misinformation must conflict, noise must stay alone (RAMDocs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def conflict_recall(kinds: Sequence[str], conflicts: Iterable[tuple[int, int]]) -> float | None:
    """Share of misinformation passages that have a conflict edge to a correct one.

    Args:
        kinds: `correct`, `misinfo` or `noise` of each chunk, in chunk order.
        conflicts: Pairs of 1-based chunk numbers joined by an edge of the contrast family.

    Returns:
        A figure in [0, 1], or None when there is nothing to find (no misinformation, or nothing correct beside it).
    """
    misinfo = {n for n, kind in enumerate(kinds, 1) if kind == "misinfo"}
    correct = {n for n, kind in enumerate(kinds, 1) if kind == "correct"}
    if not misinfo or not correct:
        return None
    caught = {a for a, b in conflicts if a in misinfo and b in correct}
    caught |= {b for a, b in conflicts if b in misinfo and a in correct}
    return len(caught) / len(misinfo)


def noise_left_alone(kinds: Sequence[str], edges: Iterable[tuple[int, int]]) -> float | None:
    """Share of noise passages without any edge, in [0, 1]; None when there is no noise."""
    noise = {n for n, kind in enumerate(kinds, 1) if kind == "noise"}
    if not noise:
        return None
    touched = {n for pair in edges for n in pair}
    return len(noise - touched) / len(noise)
