"""A real, deterministic, small embedder: character trigrams hashed into 64 dimensions."""

from __future__ import annotations

import zlib

import numpy as np


class HashEmbedder:
    """Counts what it is asked for, so that tests can see what was paid."""

    def __init__(self, dimension: int = 64, name: str = "hash") -> None:
        self.name = name
        self.dimension = dimension
        self.fingerprint = f"{name}-{dimension}"
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        self.asked.extend(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            padded = f" {text.casefold()} "
            for at in range(len(padded) - 2):
                row[zlib.crc32(padded[at : at + 3].encode("utf-8", "surrogatepass")) % self.dimension] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def embed_query(self, text: str) -> np.ndarray:
        asked = list(self.asked)
        row = self.embed_documents([text])[0]
        self.asked = asked
        return row
