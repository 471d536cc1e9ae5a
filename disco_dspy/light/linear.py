"""Multinomial logistic regression over named 0/1 features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


class Linear:
    """A weight for each known feature name and class.

    Args:
        arrays: `names` (newline-joined UTF-8 bytes, in row order), `weights` [names, classes], `scale` [classes] that
            the stored whole numbers are multiplied by, and `bias` [classes].
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        names = arrays["names"].tobytes().decode("utf-8").split("\n")
        self._row = {name: row for row, name in enumerate(names)}
        self._weights = arrays["weights"].astype(np.float32) * arrays["scale"].astype(np.float32)
        self._bias = arrays["bias"].astype(np.float64)

    def softmax(self, items: Sequence[Sequence[str]]) -> np.ndarray:
        """Returns class probabilities, float64 [items, classes].

        Args:
            items: Feature names of each item; unknown and repeated ones do not count.
        """
        raw = np.stack([self._raw(names) for names in items])
        raw -= raw.max(axis=1, keepdims=True)
        e = np.exp(raw)
        return e / e.sum(axis=1, keepdims=True)

    def _raw(self, names: Sequence[str]) -> np.ndarray:
        rows = sorted({row for name in names if (row := self._row.get(name)) is not None})
        return self._weights[rows].sum(axis=0, dtype=np.float64) + self._bias
