"""The Index: create, open, update from a folder, search, and keep trees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from disco_dspy.corpus.types import Chunk, Document
from disco_dspy.index import catalogue as cat
from disco_dspy.index.disk import disk_errors, folder_bytes
from disco_dspy.index.lock import write_lock
from disco_dspy.index.reports import DocumentInfo, Hit, IndexReport, IndexStatus, Progress, ProgressEvent
from disco_dspy.index.search import Searcher
from disco_dspy.index.settings import IndexSettings
from disco_dspy.index.update import Updater, clean
from disco_dspy.protocols import Embedder
from signatures.errors import DiscoError

__all__ = ["Hit", "Index", "IndexReport", "IndexStatus", "ProgressEvent"]


class Index:
    """A corpus ready to be searched, in one directory. Made by `create`, `open` or `open_or_create`.

    Threads may share one; copying returns the same object, so a DSPy module that holds one can be deep-copied.
    """

    def __init__(self, path: Path, catalogue: cat.Catalogue, embedder: Embedder | None) -> None:
        self.path = path
        self.read_only = catalogue.read_only
        self._catalogue = catalogue
        self._embedder = embedder
        self._searcher = Searcher(path, catalogue)
        with catalogue.read() as connection:
            facts = cat.get_meta(connection)
        self.settings = IndexSettings.model_validate_json(facts["settings"])
        self._facts = facts

    # -- making and opening -------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: str | Path, settings: IndexSettings, embedder: Embedder) -> Index:
        """Makes an empty index.

        Args:
            path: A folder; made if missing.
            settings: How to cut and search.
            embedder: Every vector of this index comes from it.

        Raises:
            DiscoError: `index/exists` if there is one already.
        """
        folder = Path(path)
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "vectors").mkdir(exist_ok=True)
        with write_lock(folder, wait=10):
            if cls.exists(folder):
                raise DiscoError(
                    "index/exists",
                    f"There is an index in {str(folder)!r} already.",
                    "Open it, or choose another folder.",
                )
            catalogue = cat.Catalogue(folder)
            catalogue.migrate(
                {
                    "embedder": embedder.name,
                    "embedder_fingerprint": embedder.fingerprint,
                    "dimension": str(embedder.dimension),
                    "settings": settings.model_dump_json(),
                    "generation": "0",
                    "vector_bytes": "0",
                    "next_number": "1",
                    "corpus": "",
                }
            )
        return cls(folder, catalogue, embedder)

    @staticmethod
    def exists(path: str | Path) -> bool:
        """Returns whether a folder holds an index.

        Args:
            path: The folder.
        """
        folder = Path(path)
        if not (folder / cat.NAME).is_file():
            return False
        catalogue = cat.Catalogue(folder, read_only=True)
        try:
            with catalogue.read() as connection:
                return catalogue.version(connection) > 0
        finally:
            catalogue.close()

    @classmethod
    def open(cls, path: str | Path, embedder: Embedder | None = None, read_only: bool = False) -> Index:
        """Opens an index.

        Args:
            path: Its folder.
            embedder: The one it was made with; without it only BM25 search, trees and listings work.
            read_only: Write nothing: no update, no trees.

        Raises:
            DiscoError: `index/missing`, `index/other-embedder`, `index/newer`, `index/damaged`.
        """
        folder = Path(path)
        if not cls.exists(folder):
            raise DiscoError(
                "index/missing", f"There is no index in {str(folder)!r}.", "Make one with `disco index FOLDER`."
            )
        catalogue = cat.Catalogue(folder, read_only=read_only)
        try:
            if not read_only:
                catalogue.migrate({})
                clean(folder, catalogue)
            with catalogue.read() as connection:
                facts = cat.get_meta(connection)
            if embedder is not None and (embedder.fingerprint, str(embedder.dimension)) != (
                facts["embedder_fingerprint"],
                facts["dimension"],
            ):
                raise DiscoError(
                    "index/other-embedder",
                    f"The index in {str(folder)!r} was made with embedder {facts['embedder']!r} "
                    f"({facts['dimension']} dimensions); {embedder.name!r} ({embedder.dimension}) does not match it.",
                    "Use that embedder, or index the corpus into a new folder.",
                )
            return cls(folder, catalogue, embedder)
        except BaseException:
            catalogue.close()
            raise

    @classmethod
    def open_or_create(cls, path: str | Path, settings: IndexSettings, embedder: Embedder) -> Index:
        """Opens an index, or makes it; search and loader settings given here replace the stored ones.

        Args:
            path: Its folder.
            settings: Those that shape chunks and vectors must equal the stored ones.
            embedder: See `create`.

        Raises:
            DiscoError: As `open`; `index/other-settings` if chunks would be cut or embedded differently.
        """
        if not cls.exists(path):
            return cls.create(path, settings, embedder)
        index = cls.open(path, embedder)
        stored, wanted = index.settings.shape(), settings.shape()
        if stored != wanted:
            index.close()
            differences = ", ".join(f"{k} {stored[k]} (wanted {wanted[k]})" for k in stored if stored[k] != wanted[k])
            raise DiscoError(
                "index/other-settings",
                f"The index in {str(path)!r} was made with {differences}.",
                "Set these back, or index the corpus into a new folder.",
            )
        if settings != index.settings:
            with index._catalogue.write() as connection:
                cat.put_meta(connection, {"settings": settings.model_dump_json()})
            index.settings = settings
        return index

    def close(self) -> None:
        """Frees the files and the memory; the object is of no use afterwards."""
        self._searcher.forget()
        self._catalogue.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __copy__(self) -> Index:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Index:
        return self

    # -- changing -----------------------------------------------------------------------------------------------

    def update(self, source: str | Path, *, progress: Progress | None = None, wait: float = 0.0) -> IndexReport:
        """Makes the index equal to a folder: added, changed, renamed and removed files.

        All of it becomes visible in one commit. Killed at any moment, the index opens as it was before, and the next
        run reuses every embedding that was finished.

        Args:
            source: The corpus folder, or one file.
            progress: Called often, in this thread.
            wait: Seconds to wait for another writer.

        Raises:
            DiscoError: `index/busy`, `index/disk-full`, `index/no-embedder`, `corpus/...` if there is nothing to read.
        """
        if self._embedder is None:
            raise self._no_embedder()
        if self.read_only:
            raise DiscoError("index/read-only", "The index was opened read-only.", "Open it without read_only.")
        with disk_errors(self.path), write_lock(self.path, wait):
            updater = Updater(self.path, self._catalogue, self._embedder, self.settings, progress)
            return updater.run(Path(source))

    # -- searching ----------------------------------------------------------------------------------------------

    def search(self, question: str, k: int | None = None, *, scope: str | None = None) -> list[Hit]:
        """Returns the chunks that fit a question best, best first.

        Args:
            question: Any text with a visible character.
            k: Most chunks; `settings.top_k` if None; more than there are is fine.
            scope: Only documents with this source, below this folder or in this file, or matching this glob.

        Raises:
            DiscoError: `question/empty`; `index/no-embedder` if the retrieval needs one; `index/damaged`.
        """
        if not question.strip():
            raise DiscoError("question/empty", "The question is empty.", "Ask something.", exit_code=2)
        k = self.settings.top_k if k is None else k
        if k < 1:
            raise DiscoError("index/k", f"k is {k}.", "Ask for at least one chunk.", exit_code=2)
        way = self.settings.retrieval
        if way != "bm25" and self._embedder is None:
            raise self._no_embedder()
        query = self._embedder.embed_query(question) if way != "bm25" and self._embedder is not None else None
        return self._searcher.search(question, query, k, scope, self.settings)

    def _no_embedder(self) -> DiscoError:
        return DiscoError(
            "index/no-embedder",
            f"The index in {str(self.path)!r} was opened without its embedder {self._facts['embedder']!r}.",
            "Open it with that embedder, or search with retrieval = bm25.",
        )

    # -- reading ------------------------------------------------------------------------------------------------

    def chunk(self, id: str) -> Chunk:
        """Returns one chunk.

        Args:
            id: Its id, or an unambiguous beginning of it.

        Raises:
            DiscoError: `index/no-chunk`.
        """
        with self._catalogue.read() as connection:
            found = cat.select_chunks(connection, sa.func.substr(cat.chunks.c.id, 1, len(id)) == id) if id else []
        if len(found) != 1:
            many = f"{len(found)} chunks begin with" if found else "There is no chunk"
            raise DiscoError("index/no-chunk", f"{many} {id!r}.", "Ids change with the text; list them again.")
        return found[0]

    def chunks(self, document: str | None = None) -> list[Chunk]:
        """Returns chunks in reading order.

        Args:
            document: Id or source of a document; all documents if None.
        """
        where: Sequence[sa.ColumnElement[bool]] = ()
        if document is not None:
            where = ((cat.documents.c.id == document) | (cat.documents.c.source == document),)
        with self._catalogue.read() as connection:
            return cat.select_chunks(connection, *where)

    def documents(self) -> list[DocumentInfo]:
        """Returns all documents, by source."""
        table, parts = cat.documents.c, cat.chunks.c
        query = (
            sa.select(
                table.id,
                table.source,
                table.title,
                table.sha256,
                table.metadata,
                sa.func.count(),
                sa.func.max(parts.end),
            )
            .join(cat.chunks)
            .group_by(table.id)
            .order_by(table.source)
        )
        with self._catalogue.read() as connection:
            rows = connection.execute(query).all()
        return [DocumentInfo(i, s, t, h, json.loads(m), n, end) for i, s, t, h, m, n, end in rows]

    def document(self, id: str) -> Document:
        """Returns one document with its text, put together from its chunks.

        Args:
            id: Id or source.

        Raises:
            DiscoError: `index/no-document`.
        """
        parts = self.chunks(id)
        if not parts:
            raise DiscoError("index/no-document", f"There is no document {id!r}.", "See `disco status` for the list.")
        text = ""
        for part in parts:
            text += part.text[len(text) - part.start :]
        with self._catalogue.read() as connection:
            query = sa.select(cat.documents.c.metadata).where(cat.documents.c.id == parts[0].document)
            facts = json.loads(connection.scalars(query).one())
        return Document.make(parts[0].source, text, parts[0].title, facts)

    def status(self) -> IndexStatus:
        """Returns counts, sizes and what the index was made with."""
        with self._catalogue.read() as connection:
            facts = cat.get_meta(connection)
            counts = [
                connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
                for table in (cat.documents, cat.chunks, cat.trees, cat.pending)
            ]
        with disk_errors(self.path):
            size = folder_bytes(self.path)
        return IndexStatus(
            path=self.path,
            documents=counts[0],
            chunks=counts[1],
            trees=counts[2],
            generation=int(facts["generation"]),
            embedder=facts["embedder"],
            embedder_fingerprint=facts["embedder_fingerprint"],
            dimension=int(facts["dimension"]),
            bytes=size,
            pending=counts[3],
            corpus=facts["corpus"],
            settings=self.settings.model_dump(),
        )

    # -- trees --------------------------------------------------------------------------------------------------

    def get_tree(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        """Returns the stored tree of a text by a parser, or None.

        Args:
            text_sha256: Digest of the chunk's text.
            fingerprint: Of the parser (program, backbone, inventory, decoding).
        """
        with self._catalogue.read() as connection:
            row = cat.get_tree(connection, text_sha256, fingerprint)
        return None if row is None else row[0]

    def tree_health(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        """Returns the health that was stored with a tree, or None.

        Args:
            text_sha256: See `get_tree`.
            fingerprint: See `get_tree`.
        """
        with self._catalogue.read() as connection:
            row = cat.get_tree(connection, text_sha256, fingerprint)
        return None if row is None else row[1]

    def put_tree(self, text_sha256: str, fingerprint: str, tree: dict[str, Any], health: dict[str, Any]) -> None:
        """Stores a tree durably; an update of the index keeps it.

        Args:
            text_sha256: See `get_tree`.
            fingerprint: See `get_tree`.
            tree: JSON.
            health: JSON.

        Raises:
            DiscoError: `index/read-only`, `index/disk-full`.
        """
        with self._catalogue.write() as connection:
            cat.put_tree(connection, text_sha256, fingerprint, tree, health)
