"""Multinomial logistic regression over named 0/1 features and, in the rich form, over vectors of both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


class Linear:
    """A weight for each known feature name and class.

    Args:
        arrays: `names` (newline-joined UTF-8 bytes, in row order), `weights` [names, classes], `scale` [classes] that
            the stored whole numbers are multiplied by, `bias` [classes]; for vectors also `basis` [d, kept], which
            turns and shortens them, and `dense` [3 * kept, classes].
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        names = arrays["names"].tobytes().decode("utf-8").split("\n")
        self._row = {name: row for row, name in enumerate(names)}
        self._weights = arrays["weights"].astype(np.float32) * arrays["scale"].astype(np.float32)
        self._bias = arrays["bias"].astype(np.float64)

        self._basis = arrays["basis"].astype(np.float32) if "basis" in arrays else None
        self._dense = arrays["dense"].astype(np.float32) if "dense" in arrays else None

    def softmax(self, items: Sequence[Sequence[str]], left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Returns class probabilities, float64 [items, classes].

        Args:
            items: Feature names of each item; unknown and repeated ones do not count.
            left: Vector of each item's left nucleus, [items, d]; not read in the light form.
            right: Vector of its right nucleus.
        """
        raw = np.stack([self._raw(names) for names in items])
        if self._basis is not None and self._dense is not None:
            raw += pair_features(left, right, self._basis) @ self._dense
        raw -= raw.max(axis=1, keepdims=True)
        e = np.exp(raw)
        return e / e.sum(axis=1, keepdims=True)

    def _raw(self, names: Sequence[str]) -> np.ndarray:
        rows = sorted({row for name in names if (row := self._row.get(name)) is not None})
        return self._weights[rows].sum(axis=0, dtype=np.float64) + self._bias


def pair_features(left: np.ndarray, right: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Returns float32 [items, 3 * kept]: both vectors in the basis and their product."""
    x, y = left @ basis, right @ basis
    return np.concatenate([x, y, 3 * x * y], axis=1).astype(np.float32)
