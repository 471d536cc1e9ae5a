"""Reading what models write: list markers, numbers, labels among other words."""

from __future__ import annotations

import re

from signatures.inventory import Inventory, Relation

_MARKER = re.compile(r"^\s*(?:[-*•·]|\(?[0-9]{1,3}[.):])\s+")
_WORD = re.compile(r"[^\W\d_]+")
# Control characters other than tab and line feed, and halves of surrogate pairs, which JSON escapes can smuggle in: the
# first reach a terminal as commands, the second cannot be written as UTF-8.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# A label stands among few words; a reply that rambles is not searched further.
_MOST_WORDS = 12


def strip_list_marker(text: str) -> str:
    """Returns a line without a leading bullet or list number."""
    return _MARKER.sub("", text, count=1)


def printable(text: str) -> str:
    """Returns a text that can be shown and stored: line ends as `\\n`, no control characters, no lone surrogates."""
    return _UNPRINTABLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def find_relation(inventory: Inventory, text: str, nuclearity: str | None = None) -> tuple[Relation, str] | None:
    """Returns the relation that a text names, and the spelling it was found by, or None.

    The longest run of words that is a known spelling wins, then the leftmost.

    Args:
        inventory: Where to look.
        text: Words around the label, such as `relation: cause (NS)`; digits and punctuation separate words.
        nuclearity: See `Inventory.find`.
    """
    words = _WORD.findall(text.replace("-", " "))[:_MOST_WORDS]
    for size in range(len(words), 0, -1):
        for at in range(len(words) - size + 1):
            spelling = "-".join(words[at : at + size])
            relation = inventory.find_exact(spelling, nuclearity)
            if relation is not None:
                return relation, spelling
    return None
