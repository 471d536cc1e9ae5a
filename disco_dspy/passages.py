"""Chunks in memory instead of an index: for texts at hand, for benchmarks, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from disco_dspy.corpus.types import Chunk, Document
from disco_dspy.index.protocols import Embedder
from signatures.errors import DiscoError

Text = str | tuple[str, str]
"""A text, or (title, text)."""


@dataclass(frozen=True)
class Found:
    """A hit: see `disco_dspy.protocols.Hit`."""

    chunk: Chunk
    score: float


def chunk_of(text: Text, source: str) -> Chunk:
    """Returns a text as one chunk, uncut.

    Args:
        text: With or without a title.
        source: Name of the document it becomes; unique among the chunks used together.
    """
    title, body = text if isinstance(text, tuple) else ("", text)
    document = Document.make(source, body, title or " ")
    return Chunk.make(document, 0, 0, len(body))


class Passages:
    """A retriever over given chunks.

    Args:
        chunks: In order of preference.
        embedder: Ranks them by similarity to the question; without one the given order is the ranking.
    """

    def __init__(self, chunks: Iterable[Chunk], embedder: Embedder | None = None) -> None:
        self.chunks = tuple(chunks)
        self._embedder = embedder
        self._vectors: np.ndarray | None = None

    @classmethod
    def of(cls, texts: Sequence[Text] | Mapping[str, Sequence[Text]], embedder: Embedder | None = None) -> Passages:
        """Returns passages made from texts.

        Args:
            texts: A list, or one list per scope (such as one per benchmark item).
            embedder: As for the class.
        """
        groups = texts.items() if isinstance(texts, Mapping) else [("passages", texts)]
        # Numbers are padded, so that sorting by source keeps the given order.
        chunks = [
            chunk_of(text, f"{scope}/{number:05d}") for scope, group in groups for number, text in enumerate(group)
        ]
        return cls(chunks, embedder)

    def __deepcopy__(self, memo: dict[int, Any]) -> Passages:
        return self

    def search(self, question: str, k: int, *, scope: str | None = None) -> list[Found]:
        """Returns at most `k` chunks, best first; see `disco_dspy.protocols.Retriever`.

        Raises:
            DiscoError: `question/empty`.
        """
        if not question.strip():
            raise DiscoError("question/empty", "The question is empty.", "Ask something.", exit_code=2)
        places = [at for at, chunk in enumerate(self.chunks) if scope is None or _within(chunk.source, scope)]
        if self._embedder is None or not places:
            return [Found(self.chunks[at], 1.0 / (rank + 1)) for rank, at in enumerate(places[:k])]
        if self._vectors is None:
            self._vectors = self._embedder.embed_documents([f"{c.title}\n{c.text}".strip() for c in self.chunks])
        scores = self._vectors[places] @ self._embedder.embed_query(question)
        # Stable: equal scores keep the given order.
        best = np.argsort(-scores, kind="stable")[:k]
        return [Found(self.chunks[places[at]], float(scores[at])) for at in best]


def _within(source: str, scope: str) -> bool:
    return source == scope or source.startswith(scope.rstrip("/") + "/") or fnmatchcase(source, scope)
