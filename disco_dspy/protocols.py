"""What the program needs from an index, so that anything with these methods will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from disco_dspy.corpus.types import Chunk


class Hit(Protocol):
    """A chunk that a search found."""

    @property
    def chunk(self) -> Chunk:
        """The chunk."""
        ...

    @property
    def score(self) -> float:
        """Higher is better; comparable within one search only."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds chunks for a question."""

    def search(self, question: str, k: int, *, scope: str | None = None) -> Sequence[Hit]:
        """Returns at most `k` hits, best first, each chunk once.

        Args:
            question: Not empty.
            k: At least 1; more than there are chunks is fine.
            scope: Only documents whose source starts with this or matches it as a glob.
        """
        ...


@runtime_checkable
class TreeStore(Protocol):
    """Keeps what a parser made of a text, keyed by the text and by everything that shaped the parse."""

    def get_tree(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        """Returns the stored tree, or nothing."""
        ...

    def tree_health(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        """Returns the health stored with it, or nothing."""
        ...

    def put_tree(self, text_sha256: str, fingerprint: str, tree: dict[str, Any], health: dict[str, Any]) -> None:
        """Stores a tree and its health; an entry of the same key is replaced."""
        ...
