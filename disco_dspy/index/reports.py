"""What an index tells about itself and about a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from disco_dspy.corpus.types import Chunk, FileProblem


@dataclass(frozen=True)
class Hit:
    """A retrieved chunk.

    Args:
        chunk: The chunk.
        score: Cosine (dense), BM25 score, or fused reciprocal ranks (hybrid); comparable within one search only.
    """

    chunk: Chunk
    score: float


@dataclass(frozen=True)
class ProgressEvent:
    """How far a run has come.

    Args:
        stage: `read` counts files and records, `embed` counts chunk texts, `write` has no count.
        done: Units finished.
        total: Units in all; None while unknown.
        detail: Such as the source being read.
    """

    stage: Literal["read", "embed", "write"]
    done: int
    total: int | None = None
    detail: str = ""


Progress = Callable[[ProgressEvent], None]


@dataclass(frozen=True)
class IndexReport:
    """What an update did.

    Args:
        added: Sources that are new.
        changed: Sources whose text, title or metadata changed.
        renamed: `(old, new)` sources with equal text.
        removed: Sources that are gone.
        kept: Sources that cannot be read now and keep what was indexed before.
        unchanged: Count of documents as before.
        chunks: Chunks in the index now.
        embedded: Texts embedded in this run; equal texts and unchanged chunks cost nothing.
        generation: The generation now current.
        failed: Files and records that could not be used.
        skipped: Files of types that are not read.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    unchanged: int = 0
    chunks: int = 0
    embedded: int = 0
    generation: int = 0
    failed: tuple[FileProblem, ...] = ()
    skipped: tuple[FileProblem, ...] = ()

    @property
    def documents(self) -> int:
        """Documents in the index now."""
        return self.unchanged + len(self.added) + len(self.changed) + len(self.renamed) + len(self.kept)


@dataclass(frozen=True)
class DocumentInfo:
    """A document in the index, without its text.

    Args:
        id: See `Document`.
        source: See `Document`.
        title: See `Document`.
        sha256: Digest of the text.
        metadata: See `Document`.
        chunks: How many it has.
        characters: Length of its text.
    """

    id: str
    source: str
    title: str
    sha256: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    chunks: int = 0
    characters: int = 0


@dataclass(frozen=True)
class IndexStatus:
    """An index at a glance.

    Args:
        path: The folder.
        documents: Count.
        chunks: Count.
        trees: Stored trees, of any parser.
        generation: 0 before the first update.
        embedder: Name of the embedder it was made with.
        embedder_fingerprint: Its fingerprint.
        dimension: Of the vectors.
        bytes: On disk, everything in the folder.
        pending: Embedded texts of an unfinished run, to be reused by the next.
        corpus: The folder last indexed; empty before.
        settings: As stored.
    """

    path: Path
    documents: int
    chunks: int
    trees: int
    generation: int
    embedder: str
    embedder_fingerprint: str
    dimension: int
    bytes: int
    pending: int
    corpus: str
    settings: Mapping[str, object]
