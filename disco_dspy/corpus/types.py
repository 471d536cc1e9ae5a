"""Document, Chunk and FileProblem: what a corpus is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


def text_hash(text: str) -> str:
    """Returns the sha256 hex digest of a text's UTF-8 bytes (lone surrogates included, so that no text fails)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Document:
    """One text with the place it came from.

    Args:
        id: First 32 hex digits of the sha256 of `source`; stable while the file keeps its name.
        source: POSIX path relative to the corpus folder, or `path#row` (`path#id` with an id field) for JSON Lines.
        title: Title field, HTML title, first Markdown heading, or the file name.
        text: The text that chunk offsets refer to.
        sha256: Digest of `text`.
        metadata: Other string facts, such as the row number of a JSON Lines record.
    """

    id: str
    source: str
    title: str
    text: str
    sha256: str
    metadata: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, source: str, text: str, title: str = "", metadata: Mapping[str, str] | None = None) -> Document:
        """Builds a document and computes its id and digest.

        Args:
            source: See the class.
            text: See the class.
            title: See the class; the source when empty.
            metadata: See the class.
        """
        return cls(text_hash(source)[:32], source, title or source, text, text_hash(text), dict(metadata or {}))


@dataclass(frozen=True)
class Chunk:
    """A stretch of one document, the unit that is retrieved and parsed.

    Args:
        id: First 32 hex digits of the sha256 of source, ordinal and text; unique in an index.
        document: Id of the document.
        source: Source of the document.
        title: Title of the document.
        ordinal: 0-based place among the document's chunks.
        start: Character offset in the document's text.
        end: Character offset one past the last character; `text == document.text[start:end]`.
        text: The exact text, surrounding whitespace included.
        text_sha256: Digest of `text`; trees are keyed by it.
    """

    id: str
    document: str
    source: str
    title: str
    ordinal: int
    start: int
    end: int
    text: str
    text_sha256: str

    @property
    def sort_key(self) -> tuple[str, int]:
        """Reading order: by source, then by place in it."""
        return (self.source, self.ordinal)

    @classmethod
    def make(cls, document: Document, ordinal: int, start: int, end: int) -> Chunk:
        """Cuts one chunk out of a document.

        Args:
            document: Where it comes from.
            ordinal: 0-based place.
            start: First character.
            end: One past the last character.
        """
        text = document.text[start:end]
        digest = text_hash(text)
        name = text_hash(f"{document.source}\x00{ordinal}\x00{digest}")[:32]
        return cls(name, document.id, document.source, document.title, ordinal, start, end, text, digest)


@dataclass(frozen=True)
class FileProblem:
    """A file or record that did not become a document.

    Args:
        source: POSIX path relative to the corpus folder, or `path#row`.
        code: Stable slug such as `corpus/encoding`.
        sentence: What is wrong, for people.
        severity: `failed` for something that should have been readable, `skipped` for a type that is not read at all.
    """

    source: str
    code: str
    sentence: str
    severity: Literal["failed", "skipped"] = "failed"
