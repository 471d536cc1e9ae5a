"""Finds where elementary discourse units (EDUs) may start, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from disco_dspy.corpus.sentences import sentence_starts

_PATTERN = re.compile(
    r"(?:[;:—–；：]|[)\]][.,;]?(?=\s)|，(?=(?:因为|所以|但|而|如果|虽然|尽管|因此|并|却|以便|同时|其中|由于|不过|然而|从而|使)))\s*"
    r"|\s(?=[(\[])"
    r"|\s(?=(?:because|although|though|whereas|unless|if|when|while|who|which|whose|whom|until|so that|in order to|"
    r"even though|even if|as if|as long as|such that|rather than|as well as \w+ing|by \w+ing|without \w+ing|but)\b)"
    r"|,\s(?=(?:and|or|so|yet|\w+ing)\b)"
    r"|\b(?:said|says?|thinks?|thought|believes?d?|claim(?:s|ed)?|argue[sd]?|report(?:s|ed)?|suggest(?:s|ed)?|"
    r"show(?:s|n|ed)?|state[sd]?|found|finds?|know|knew)\s(?=that\b)",
    re.IGNORECASE,
)


def edu_starts(text: str) -> list[int]:
    """Returns where EDUs start.

    Args:
        text: Any text.

    Returns:
        Offsets, ascending: 0, then visible characters; sentence starts are among them. Empty if nothing is visible.
    """
    starts = set(sentence_starts(text))
    first = len(text) - len(text.lstrip())
    for match in _PATTERN.finditer(text):
        position = match.end()
        while position < len(text) and text[position].isspace():
            position += 1
        if first < position < len(text):
            starts.add(position)
    return sorted(starts)


class _Edu(Protocol):
    @property
    def index(self) -> int: ...

    @property
    def start(self) -> int: ...


def sentence_edus(text: str, edus: Sequence[_Edu]) -> list[int]:
    """Returns the numbers of the EDUs that open a sentence.

    Args:
        text: The text the EDUs are of.
        edus: With 1-based `index` and offset `start`.
    """
    opening = set(sentence_starts(text))
    return [edu.index for edu in edus if edu.start in opening]
