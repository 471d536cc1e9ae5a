"""The best binary tree under a score for every span and for every place to part it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Triple = tuple[int, int, int]


def best_tree(
    spans: np.ndarray, splits: Mapping[tuple[int, int], np.ndarray], weight: float, unscored: float
) -> list[Triple]:
    """Returns the nodes (i, k, j), 0-based and in pre-order, of the tree with the highest sum of scores.

    Args:
        spans: float64 [n, n], P(i..j is a constituent).
        splits: For spans worth a look, log P(parted after k) for k = i..j-1.
        weight: How much the splits count against the spans.
        unscored: What a split costs (a positive log probability) where `splits` has no entry.
    """
    n = len(spans)
    best = np.zeros((n, n))
    mirror = np.zeros((n, n))  # the same by columns, so that both operands of a sum are contiguous
    where = np.zeros((n, n), dtype=np.int64)
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            sums = best[i, i:j] + mirror[j, i + 1 : j + 1]
            scored = splits.get((i, j))
            if scored is not None:
                sums = sums + weight * scored
            else:
                sums = sums - weight * unscored
            k = int(sums.argmax())
            where[i, j] = i + k
            best[i, j] = mirror[j, i] = sums[k] + spans[i, j]
    nodes: list[Triple] = []
    todo = [(0, n - 1)] if n > 1 else []
    while todo:
        i, j = todo.pop()
        if i < j:
            k = int(where[i, j])
            nodes.append((i, k, j))
            todo += [(k + 1, j), (i, k)]
    return nodes
