"""The one source of truth of an index: documents, chunks, trees and the current generation, in SQLite (WAL)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event

from disco_dspy.corpus.types import Chunk
from disco_dspy.index.disk import disk_errors
from signatures.errors import DiscoError

NAME = "catalogue.sqlite"
metadata = sa.MetaData()

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
documents = sa.Table(
    "documents",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("source", sa.Text, nullable=False, unique=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("sha256", sa.String, nullable=False),
    sa.Column("metadata", sa.Text, nullable=False),
)
chunks = sa.Table(
    "chunks",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.String, nullable=False, unique=True),
    sa.Column("document", sa.String, sa.ForeignKey("documents.id"), nullable=False, index=True),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("text_sha256", sa.String, nullable=False),
    sa.Column("vector_key", sa.String, nullable=False, index=True),
)
trees = sa.Table(
    "trees",
    metadata,
    sa.Column("text_sha256", sa.String, primary_key=True),
    sa.Column("fingerprint", sa.String, primary_key=True),
    sa.Column("tree", sa.Text, nullable=False),
    sa.Column("health", sa.Text, nullable=False),
)
# Vectors of a run that has not finished: what an interrupted run paid for is not paid for again.
pending = sa.Table(
    "pending_vectors",
    metadata,
    sa.Column("vector_key", sa.String, primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)


def _create_all(connection: sa.Connection) -> None:
    metadata.create_all(connection)


# Step n brings a catalogue from version n to n + 1. Released steps are never edited, only followed by new ones.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_create_all,)
VERSION = len(MIGRATIONS)

_CHUNK_COLUMNS = (
    chunks.c.id,
    chunks.c.document,
    documents.c.source,
    documents.c.title,
    chunks.c.ordinal,
    chunks.c.start,
    chunks.c.end,
    chunks.c.text,
    chunks.c.text_sha256,
)


def _pending_log(path: Path) -> bool:
    """Whether commits lie in the write-ahead log that are not in the database file yet."""
    log = path.with_name(path.name + "-wal")
    return log.is_file() and log.stat().st_size > 0


class Catalogue:
    """A connection to one catalogue; threads may share it.

    Args:
        folder: The index.
        read_only: Refuse writes.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        self.read_only = read_only
        path = (folder / NAME).resolve()
        if read_only:
            # Where no file can be made beside it, SQLite cannot open a WAL database unless told that nobody writes.
            still = "&immutable=1" if not os.access(folder, os.W_OK) and not _pending_log(path) else ""
            url = f"sqlite:///file:{quote(str(path))}?mode=ro{still}&uri=true"
        else:
            url = sa.URL.create("sqlite", database=str(path))
        self._engine = sa.create_engine(url, connect_args={"timeout": 30})
        event.listen(self._engine, "connect", self._on_connect)
        event.listen(self._engine, "begin", self._on_begin)

    def _on_connect(self, connection: Any, _record: Any) -> None:
        # The driver's own transaction handling would let a SELECT run outside the snapshot.
        connection.isolation_level = None
        if not self.read_only:
            connection.execute("PRAGMA journal_mode=WAL")
            # FULL: a commit is on the disk before the old generation is deleted.
            connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    @staticmethod
    def _on_begin(connection: sa.Connection) -> None:
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One consistent snapshot of the catalogue."""
        with disk_errors(self.folder), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: everything inside is committed, or nothing."""
        if self.read_only:
            raise DiscoError(
                "index/read-only",
                f"The index in {str(self.folder)!r} was opened read-only.",
                "Open it without read_only to change it.",
            )
        with disk_errors(self.folder), self._engine.connect() as connection:
            connection = connection.execution_options(write=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    def migrate(self, first: dict[str, str]) -> None:
        """Brings the catalogue to the current version, creating it if it is new.

        Args:
            first: Entries of `meta` for a new catalogue.

        Raises:
            DiscoError: `index/newer` if a later version of this package wrote it.
        """
        with self.write() as connection:
            version = self.version(connection)
            for step in MIGRATIONS[version:]:
                step(connection)
            if version == 0:
                put_meta(connection, first)
            if version < VERSION:
                put_meta(connection, {"version": str(VERSION)})

    def version(self, connection: sa.Connection) -> int:
        """Returns the catalogue's version; 0 if it has no tables yet.

        Args:
            connection: An open one.

        Raises:
            DiscoError: `index/newer`.
        """
        if not sa.inspect(connection).has_table("meta"):
            return 0
        version = int(get_meta(connection).get("version", "0"))
        if version > VERSION:
            raise DiscoError(
                "index/newer",
                f"The index in {str(self.folder)!r} has catalogue version {version}; this program knows {VERSION}.",
                "Upgrade disco-dspy, or index into another folder.",
            )
        return version


def mapping(connection: sa.Connection, key: sa.Column[Any], value: sa.Column[Any]) -> dict[Any, Any]:
    """Returns two columns of a table as a dictionary.

    Args:
        connection: An open one.
        key: A unique column.
        value: Another of the same table.
    """
    return {row[0]: row[1] for row in connection.execute(sa.select(key, value))}


def get_meta(connection: sa.Connection) -> dict[str, str]:
    """Returns all entries of `meta`.

    Args:
        connection: An open one.
    """
    return mapping(connection, meta.c.key, meta.c.value)


def put_meta(connection: sa.Connection, entries: dict[str, str]) -> None:
    """Sets entries of `meta`.

    Args:
        connection: One inside a write transaction.
        entries: Names and values.
    """
    connection.execute(sa.delete(meta).where(meta.c.key.in_(list(entries))))
    connection.execute(sa.insert(meta), [{"key": key, "value": value} for key, value in entries.items()])


def select_chunks(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> list[Chunk]:
    """Returns chunks in reading order (by source, then ordinal).

    Args:
        connection: An open one.
        where: Conditions on `chunks` or `documents`.
    """
    query = sa.select(*_CHUNK_COLUMNS).join(documents).where(*where).order_by(documents.c.source, chunks.c.ordinal)
    return [Chunk(*row) for row in connection.execute(query)]


def chunks_by_number(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Chunk]:
    """Returns chunks by number; unknown numbers are absent.

    Args:
        connection: An open one.
        numbers: Any count.
    """
    found: dict[int, Chunk] = {}
    for at in range(0, len(numbers), 500):  # SQLite limits the variables of a statement
        query = sa.select(chunks.c.number, *_CHUNK_COLUMNS).join(documents)
        for number, *row in connection.execute(query.where(chunks.c.number.in_(list(numbers[at : at + 500])))):
            found[number] = Chunk(*row)
    return found


def numbers_in_scope(connection: sa.Connection, scope: str) -> list[int]:
    """Returns the numbers of chunks whose document is in scope.

    Args:
        connection: An open one.
        scope: A document's source, a folder or file that holds it (`reports`, `qa.jsonl`), or a glob (`*.md`, `a/*/b`).
    """
    source = documents.c.source
    rule = source == scope
    stem = scope.rstrip("/")
    for separator in ("/", "#"):
        # Not LIKE, which ignores case in SQLite.
        rule |= sa.func.substr(source, 1, len(stem) + 1) == stem + separator
    if any(character in scope for character in "*?["):
        rule |= source.op("GLOB")(scope)
    query = sa.select(chunks.c.number).join(documents).where(rule).order_by(chunks.c.number)
    return list(connection.scalars(query))


def get_tree(connection: sa.Connection, text_sha256: str, fingerprint: str) -> tuple[dict, dict] | None:
    """Returns a stored tree and its health.

    Args:
        connection: An open one.
        text_sha256: Digest of the chunk's text.
        fingerprint: Of the parser.
    """
    query = sa.select(trees.c.tree, trees.c.health)
    row = connection.execute(
        query.where(trees.c.text_sha256 == text_sha256, trees.c.fingerprint == fingerprint)
    ).one_or_none()
    return None if row is None else (json.loads(row[0]), json.loads(row[1]))


def put_tree(connection: sa.Connection, text_sha256: str, fingerprint: str, tree: dict, health: dict) -> None:
    """Stores a tree, replacing an earlier one under the same key.

    Args:
        connection: One inside a write transaction.
        text_sha256: Digest of the chunk's text.
        fingerprint: Of the parser.
        tree: JSON.
        health: JSON.
    """
    key = (trees.c.text_sha256 == text_sha256) & (trees.c.fingerprint == fingerprint)
    connection.execute(sa.delete(trees).where(key))
    connection.execute(
        sa.insert(trees).values(
            text_sha256=text_sha256,
            fingerprint=fingerprint,
            tree=json.dumps(tree),
            health=json.dumps(health),
        )
    )
