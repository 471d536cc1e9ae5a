"""Makes an index equal to a folder: compare, cut, embed, write a generation, commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from disco_dspy.corpus.chunking import chunk_text
from disco_dspy.corpus.loaders import load_folder
from disco_dspy.corpus.types import Chunk, Document, FileProblem, text_hash
from disco_dspy.index import catalogue as cat
from disco_dspy.index.lexical import searchable
from disco_dspy.index.lock import write_lock
from disco_dspy.index.protocols import Embedder
from disco_dspy.index.reports import IndexReport, Progress, ProgressEvent
from disco_dspy.index.settings import IndexSettings
from disco_dspy.index.vectors import Vectors, generation_file
from signatures.errors import DiscoError


def clean(folder: Path, catalogue: cat.Catalogue) -> None:
    """Deletes vector files that no commit points at, unless another process is writing.

    Args:
        folder: The index.
        catalogue: Its catalogue.
    """
    try:
        with write_lock(folder):
            sweep(folder, catalogue)
    except DiscoError as error:
        if error.code != "index/busy":
            raise


def sweep(folder: Path, catalogue: cat.Catalogue) -> None:
    """Deletes vector files that no commit points at; the caller holds the write lock.

    Args:
        folder: The index.
        catalogue: Its catalogue.
    """
    with catalogue.read() as connection:
        generation = int(cat.get_meta(connection)["generation"])
    keep = generation_file(folder, generation)
    for file in (folder / "vectors").glob("*.faiss*"):
        if file != keep:
            file.unlink(missing_ok=True)


@dataclass
class _Known:
    """A document as the catalogue has it."""

    id: str
    title: str
    sha256: str
    metadata: str


@dataclass
class _Plan:
    """What has to change."""

    new: list[Document] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)  # sources
    report: IndexReport = field(default_factory=IndexReport)


class Updater:
    """One run of `Index.update`; the caller holds the write lock.

    Args:
        folder: The index.
        catalogue: Its catalogue.
        embedder: Makes the vectors.
        settings: Of the index.
        progress: Told about every step.
    """

    def __init__(
        self,
        folder: Path,
        catalogue: cat.Catalogue,
        embedder: Embedder,
        settings: IndexSettings,
        progress: Progress | None,
    ) -> None:
        self._folder, self._catalogue, self._embedder = folder, catalogue, embedder
        self._settings = settings
        self._tell: Progress = progress or (lambda event: None)

    def run(self, source: Path) -> IndexReport:
        """Reads the folder and commits the difference.

        Args:
            source: The corpus.
        """
        sweep(self._folder, self._catalogue)
        with self._catalogue.read() as connection:
            facts = cat.get_meta(connection)
            rows = connection.execute(sa.select(cat.documents)).all()
            known = {row.source: _Known(row.id, row.title, row.sha256, row.metadata) for row in rows}
            keys = cat.mapping(connection, cat.chunks.c.number, cat.chunks.c.vector_key)
        old, intact = self._old_vectors(facts)
        plan = self._compare(source, known)
        if not plan.new and not plan.gone and intact and set(old.numbers()) == set(keys):
            return replace(plan.report, chunks=len(keys), generation=int(facts["generation"]))
        pieces = [(document, list(self._cut(document))) for document in plan.new]
        first = int(facts["next_number"])
        numbered = list(enumerate((chunk for _, cut in pieces for chunk in cut), start=first))
        with self._catalogue.read() as connection:
            owners = connection.execute(sa.select(cat.chunks.c.number, cat.documents.c.source).join(cat.documents))
            leaving = {number for number, owner in owners if owner in plan.gone}
        staying = [number for number in keys if number not in leaving]
        vectors, embedded = self._vectors(old, keys, staying, numbered)
        generation = int(facts["generation"]) + 1
        self._tell(ProgressEvent("write", 0))
        size = vectors.write(generation_file(self._folder, generation))
        self._commit(plan, pieces, numbered, generation, size, source)
        sweep(self._folder, self._catalogue)
        self._tell(ProgressEvent("write", 1, 1))
        return replace(plan.report, chunks=len(vectors), generation=generation, embedded=embedded)

    # -- steps --------------------------------------------------------------------------------------------------

    def _old_vectors(self, facts: dict[str, str]) -> tuple[Vectors, bool]:
        """The current generation; a damaged one counts as none, so that this run repairs it."""
        dimension, generation = self._embedder.dimension, int(facts["generation"])
        if not generation:
            return Vectors(dimension), True
        try:
            path = generation_file(self._folder, generation)
            return Vectors.read(path, dimension, int(facts["vector_bytes"])), True
        except DiscoError as error:
            if error.code != "index/damaged":
                raise
            return Vectors(dimension), False

    def _compare(self, source: Path, known: dict[str, _Known]) -> _Plan:
        seen: dict[str, Document | None] = {}
        failed: list[FileProblem] = []
        skipped: list[FileProblem] = []
        changed: list[str] = []
        kept: list[str] = []
        fresh: dict[str, Document] = {}
        unchanged = done = 0
        for item in load_folder(source, self._settings, exclude=(self._folder,)):
            done += 1
            self._tell(ProgressEvent("read", done, None, item.source))
            if isinstance(item, FileProblem):
                (skipped if item.severity == "skipped" else failed).append(item)
                continue
            before = known.get(item.source)
            seen[item.source] = item
            if before is None:
                fresh[item.source] = item
            elif (before.title, before.sha256, before.metadata) == (item.title, item.sha256, _json(item)):
                unchanged += 1
            else:
                changed.append(item.source)
                fresh[item.source] = item
        if not seen:
            first = failed[0].sentence if failed else "Every file is of another type."
            raise DiscoError(
                "corpus/nothing-readable",
                f"No file in {str(source)!r} could be read: {first}",
                "Give text files with content; the index is unchanged.",
            )
        # What cannot be read at the moment is not gone: it keeps what was indexed before.
        for problem in failed:
            if problem.code == "corpus/unreadable":
                inside = (problem.source + "#", problem.source + "/")
                kept.extend(n for n in known if n == problem.source or n.startswith(inside) or problem.source == ".")
        kept = sorted(set(kept) - set(seen))
        gone = set(known) - set(seen) - set(kept)
        renamed: list[tuple[str, str]] = []
        by_text: dict[str, list[str]] = {}
        for name in sorted(gone, reverse=True):
            by_text.setdefault(known[name].sha256, []).append(name)
        added: list[str] = []
        for name in fresh:
            if name in known:
                continue
            twins = by_text.get(fresh[name].sha256)
            if twins:
                renamed.append((twins.pop(), name))
            else:
                added.append(name)
        removed = sorted(gone - {old for old, _ in renamed})
        report = IndexReport(
            added=tuple(added),
            changed=tuple(changed),
            renamed=tuple(renamed),
            removed=tuple(removed),
            kept=tuple(kept),
            unchanged=unchanged,
            failed=tuple(failed),
            skipped=tuple(skipped),
        )
        return _Plan(list(fresh.values()), gone | set(changed), report)

    def _cut(self, document: Document) -> Iterator[Chunk]:
        shape = self._settings
        spans = chunk_text(document.text, shape.chunk_size, shape.overlap, shape.sentence_aware, shape.tokenizer)
        for ordinal, (start, end) in enumerate(spans):
            yield Chunk.make(document, ordinal, start, end)

    def _input(self, chunk: Chunk) -> str:
        title = chunk.title if self._settings.embed_title else ""
        return searchable(title, chunk.source, chunk.text)

    def _vectors(
        self, old: Vectors, keys: dict[int, str], staying: list[int], numbered: list[tuple[int, Chunk]]
    ) -> tuple[Vectors, int]:
        """The new generation's vectors and how many texts had to be embedded for it."""
        stored = set(old.numbers())
        where: dict[str, int] = {key: number for number, key in keys.items() if number in stored}
        wanted: dict[str, str] = {}  # vector key -> text, each once
        for _, chunk in numbered:
            text = self._input(chunk)
            key = text_hash(text)
            if key not in where:
                wanted.setdefault(key, text)
        lost = [number for number in staying if number not in stored]
        if lost:  # a damaged generation: embed again what stays
            with self._catalogue.read() as connection:
                for chunk in cat.chunks_by_number(connection, lost).values():
                    text = self._input(chunk)
                    wanted.setdefault(text_hash(text), text)
        fresh, embedded = self._embed(wanted)
        result = Vectors(self._embedder.dimension)
        have = [number for number in staying if number in stored]
        result.add(have, old.rows(have))
        pairs = [(number, keys[number]) for number in lost]
        pairs += [(number, text_hash(self._input(chunk))) for number, chunk in numbered]
        copied = [(number, where[key]) for number, key in pairs if key in where and key not in fresh]
        result.add([number for number, _ in copied], old.rows([source for _, source in copied]))
        made = [(number, key) for number, key in pairs if key in fresh]
        if made:
            result.add([number for number, _ in made], np.stack([fresh[key] for _, key in made]))
        return result, embedded

    def _embed(self, wanted: dict[str, str]) -> tuple[dict[str, np.ndarray], int]:
        """Embeds texts in batches; each batch is saved, so that a killed run pays for no text twice."""
        dimension = self._embedder.dimension
        fresh: dict[str, np.ndarray] = {}
        with self._catalogue.read() as connection:
            for key, blob in connection.execute(sa.select(cat.pending.c.vector_key, cat.pending.c.vector)):
                if key in wanted and len(blob) == 4 * dimension:
                    fresh[key] = np.frombuffer(blob, dtype="<f4")
        todo = [(key, text) for key, text in wanted.items() if key not in fresh]
        total = len(wanted)
        self._tell(ProgressEvent("embed", total - len(todo), total))
        for at in range(0, len(todo), self._settings.embed_batch):
            batch = todo[at : at + self._settings.embed_batch]
            rows = np.asarray(self._embedder.embed_documents([text for _, text in batch]), dtype="<f4")
            if rows.shape != (len(batch), dimension) or not np.isfinite(rows).all():
                raise DiscoError(
                    "index/bad-vectors",
                    f"Embedder {self._embedder.name!r} returned {rows.shape} for {len(batch)} texts of {dimension} "
                    "dimensions, or values that are not finite.",
                    "Check the embedder.",
                )
            with self._catalogue.write() as connection:
                saved = [
                    {"vector_key": key, "vector": row.tobytes()} for (key, _), row in zip(batch, rows, strict=True)
                ]
                connection.execute(sa.insert(cat.pending), saved)
            fresh.update(zip((key for key, _ in batch), rows, strict=True))
            self._tell(ProgressEvent("embed", total - len(todo) + at + len(batch), total))
        return fresh, len(todo)

    def _commit(
        self,
        plan: _Plan,
        pieces: list[tuple[Document, list[Chunk]]],
        numbered: list[tuple[int, Chunk]],
        generation: int,
        size: int,
        source: Path,
    ) -> None:
        """The one moment at which the new state becomes visible: rows and the generation's number together."""
        with self._catalogue.write() as connection:
            gone = sorted(plan.gone)
            for at in range(0, len(gone), 500):
                ids = sa.select(cat.documents.c.id).where(cat.documents.c.source.in_(gone[at : at + 500]))
                connection.execute(sa.delete(cat.chunks).where(cat.chunks.c.document.in_(ids)))
                connection.execute(sa.delete(cat.documents).where(cat.documents.c.source.in_(gone[at : at + 500])))
            if pieces:
                connection.execute(
                    sa.insert(cat.documents),
                    [
                        {"id": d.id, "source": d.source, "title": d.title, "sha256": d.sha256, "metadata": _json(d)}
                        for d, _ in pieces
                    ],
                )
            rows = [
                {
                    "number": number,
                    "id": chunk.id,
                    "document": chunk.document,
                    "ordinal": chunk.ordinal,
                    "start": chunk.start,
                    "end": chunk.end,
                    "text": chunk.text,
                    "text_sha256": chunk.text_sha256,
                    "vector_key": text_hash(self._input(chunk)),
                }
                for number, chunk in numbered
            ]
            if rows:
                connection.execute(sa.insert(cat.chunks), rows)
            connection.execute(sa.delete(cat.pending))
            following = numbered[-1][0] + 1 if numbered else None
            entries = {"generation": str(generation), "vector_bytes": str(size), "corpus": str(source.resolve())}
            cat.put_meta(connection, entries | ({"next_number": str(following)} if following else {}))


def _json(document: Document) -> str:
    return json.dumps(dict(document.metadata), sort_keys=True)
