"""What the index asks of an embedder."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    `fingerprint` names everything that changes the vectors (model, revision, pooling, prefixes); an index made with one
    fingerprint refuses another.
    """

    @property
    def name(self) -> str:
        """Name for people, such as `minilm`."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hex digest or other stable string."""
        ...

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        """Returns float32 `[len(texts), dimension]`, rows of length 1."""
        ...

    def embed_query(self, text: str) -> np.ndarray:
        """Returns float32 `[dimension]` of length 1."""
        ...
