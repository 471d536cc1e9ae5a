"""Finds chunks: dense, BM25 or both fused, always against one snapshot of the index."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from disco_dspy.index import catalogue as cat
from disco_dspy.index.lexical import Lexical, fuse, searchable
from disco_dspy.index.reports import Hit
from disco_dspy.index.settings import IndexSettings
from disco_dspy.index.vectors import Vectors, generation_file
from signatures.errors import DiscoError

# Candidates each ranking gives to the fusion.
FUSED = 100


class Searcher:
    """The searching side of an index; loads a generation when it is first needed and again when it has changed.

    Args:
        folder: The index.
        catalogue: Its catalogue.
    """

    def __init__(self, folder: Path, catalogue: cat.Catalogue) -> None:
        self._folder, self._catalogue = folder, catalogue
        self._loading = threading.RLock()
        self._vectors: tuple[int, Vectors] | None = None
        self._lexical: tuple[int, bool, Lexical] | None = None

    def search(
        self, question: str, query: np.ndarray | None, k: int, scope: str | None, settings: IndexSettings
    ) -> list[Hit]:
        """Returns at most `k` hits, best first.

        Args:
            question: For BM25.
            query: The question's vector; None for BM25 alone.
            k: Most hits.
            scope: See `catalogue.numbers_in_scope`; everything if None or empty.
            settings: Way of retrieval.

        Raises:
            DiscoError: `index/damaged`.
        """
        while True:
            with self._catalogue.read() as connection:
                generation = int(cat.get_meta(connection)["generation"])
                try:
                    return self._search(connection, question, query, k, scope, settings)
                except DiscoError as error:
                    # A writer may have committed and deleted the generation of our snapshot: look again.
                    if error.code != "index/damaged" or not self._overtaken(generation):
                        raise

    def forget(self) -> None:
        """Frees the memory of loaded generations."""
        self._vectors = self._lexical = None

    def _overtaken(self, generation: int) -> bool:
        with self._catalogue.read() as connection:
            return int(cat.get_meta(connection)["generation"]) != generation

    def _search(
        self,
        connection: sa.Connection,
        question: str,
        query: np.ndarray | None,
        k: int,
        scope: str | None,
        settings: IndexSettings,
    ) -> list[Hit]:
        way = settings.retrieval
        among = cat.numbers_in_scope(connection, scope) if scope else None
        pool = max(k, FUSED) if way == "hybrid" else k
        rankings: list[list[tuple[int, float]]] = []
        if query is not None:
            rankings.append(self._current_vectors(connection).search(query, pool, among))
        if way != "dense":
            rankings.append(self._current_lexical(connection, settings.embed_title).search(question, pool, among))
        best = fuse(rankings, k, settings.rrf_k) if way == "hybrid" else rankings[0]
        found = cat.chunks_by_number(connection, [number for number, _ in best])
        return [Hit(found[number], score) for number, score in best]

    def _current_vectors(self, connection: sa.Connection) -> Vectors:
        facts = cat.get_meta(connection)
        generation, dimension = int(facts["generation"]), int(facts["dimension"])
        with self._loading:
            if self._vectors is None or self._vectors[0] != generation:
                vectors = Vectors(dimension)
                if generation:
                    path = generation_file(self._folder, generation)
                    vectors = Vectors.read(path, dimension, int(facts["vector_bytes"]))
                self._vectors = (generation, vectors)
            return self._vectors[1]

    def _current_lexical(self, connection: sa.Connection, titles: bool) -> Lexical:
        generation = int(cat.get_meta(connection)["generation"])
        with self._loading:
            if self._lexical is None or self._lexical[:2] != (generation, titles):
                columns = (cat.chunks.c.number, cat.documents.c.title, cat.documents.c.source, cat.chunks.c.text)
                query = sa.select(*columns).join(cat.documents).order_by(cat.chunks.c.number)
                rows = connection.execute(query).all()
                texts = [searchable(title if titles else "", source, text) for _, title, source, text in rows]
                self._lexical = (generation, titles, Lexical([row[0] for row in rows], texts))
            return self._lexical[2]
