"""Reading what models write: list markers, numbers, labels among other words."""

from __future__ import annotations

import re

from signatures.inventory import Inventory, Relation

_MARKER = re.compile(r"^\s*(?:[-*•·]|\(?[0-9]{1,3}[.):])\s+")
_WORD = re.compile(r"[^\W\d_]+")
# A label stands among few words; a reply that rambles is not searched further.
_MOST_WORDS = 12


def strip_list_marker(text: str) -> str:
    """Returns a line without a leading bullet or list number."""
    return _MARKER.sub("", text, count=1)


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
