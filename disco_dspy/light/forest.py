"""Gradient-boosted trees read with numpy: all rows walk all trees at once, one level a step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_ROWS = 2048


class Forest:
    """Trees as flat arrays.

    Args:
        arrays: `feature` (-1 at a leaf), `threshold` (float32; go left if value <= threshold), `left`, `right` (node
            numbers in the whole forest; a leaf points at itself), `value` (of leaves), `root` (of each tree), `depth`
            (of the deepest tree), `classes` (trees are in rounds of that many).
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._leaf = arrays["feature"] < 0
        self._feature = np.maximum(arrays["feature"], 0).astype(np.int64)
        self._threshold = arrays["threshold"].astype(np.float32)
        # child[2 * node + (value > threshold)]
        self._child = np.stack([arrays["left"], arrays["right"]], axis=1).astype(np.int64).reshape(-1)
        self._value = arrays["value"].astype(np.float64)
        self._root = arrays["root"].astype(np.int64)
        self._depth = int(arrays["depth"])
        self.classes = int(arrays["classes"])

    def raw(self, x: np.ndarray) -> np.ndarray:
        """Returns the summed leaf values, float64 [rows, classes].

        Args:
            x: float32 [rows, features].
        """
        x = np.ascontiguousarray(x, dtype=np.float32)
        return np.concatenate([self._block(x[at : at + _ROWS]) for at in range(0, max(len(x), 1), _ROWS)])

    def _block(self, x: np.ndarray) -> np.ndarray:
        rows, width = x.shape
        flat = x.reshape(-1)
        offset = (np.arange(rows, dtype=np.int64) * width)[:, None]
        node = np.broadcast_to(self._root, (rows, len(self._root)))
        for _ in range(self._depth):
            right = flat.take(self._feature.take(node) + offset) > self._threshold.take(node)
            node = self._child.take(2 * node + right)
        return self._value.take(node).reshape(rows, -1, self.classes).sum(axis=1)

    def probability(self, x: np.ndarray) -> np.ndarray:
        """Returns P(yes) for a two-way forest, float64 [rows]."""
        return 1 / (1 + np.exp(-np.clip(self.raw(x)[:, 0], -60, 60)))

    def softmax(self, x: np.ndarray) -> np.ndarray:
        """Returns class probabilities, float64 [rows, classes]."""
        raw = self.raw(x)
        raw -= raw.max(axis=1, keepdims=True)
        e = np.exp(raw)
        return e / e.sum(axis=1, keepdims=True)
