"""References to evidence: a chunk (`3`) or one of its EDUs (`3.2`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_REFERENCE = re.compile(r"(?<![0-9.])([0-9]{1,6})(?:\.([0-9]{1,6}))?(?![0-9]|\.[0-9])")


@dataclass(frozen=True)
class Evidence:
    """What a step or a claim stands on.

    Args:
        chunk: Chunk number, from 1.
        edu: EDU number inside the chunk, from 1; None for the whole chunk.
    """

    chunk: int
    edu: int | None = None

    def __str__(self) -> str:
        return f"{self.chunk}" if self.edu is None else f"{self.chunk}.{self.edu}"

    def exists(self, edu_counts: Sequence[int]) -> bool:
        """Returns whether it points at something.

        Args:
            edu_counts: Number of EDUs of each chunk, in chunk order; 0 for a chunk that was not cut into EDUs, which
                can only be cited as a whole.
        """
        if not 1 <= self.chunk <= len(edu_counts):
            return False
        return self.edu is None or 1 <= self.edu <= edu_counts[self.chunk - 1]


def read_references(text: str) -> list[Evidence]:
    """Returns every reference a text names, in order: `3`, `[3.2]`, `1, 3.2`; other words and marks are ignored.

    Args:
        text: What the model wrote in a place where only references belong.
    """
    found = _REFERENCE.finditer(unicodedata.normalize("NFKC", text))
    return [Evidence(int(match[1]), int(match[2]) if match[2] else None) for match in found]
