"""Word lists written as one string."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """Returns the words of a space-separated string.

    Args:
        text: The list.
    """
    return frozenset(text.split())
