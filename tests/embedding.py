"""An embedder without a model: words hashed into a few dimensions."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np


class HashEmbedder:
    """Unit vectors of hashed words; equal words give near vectors."""

    name = "hash"
    dimension = 64
    fingerprint = "hash-64"

    def embed_query(self, text: str) -> np.ndarray:
        vector = np.full(self.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % self.dimension] += 1
        return vector / np.linalg.norm(vector)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self.embed_query(text) for text in texts]).astype(np.float32)
