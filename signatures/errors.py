"""The one error type a user meets: a code, a sentence, a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DiscoError(Exception):
    """A failure that a person can act on.

    Args:
        code: Stable slug, `area/what`, such as `inventory/unknown`; for programs and for searching.
        sentence: What happened, in one sentence with a full stop.
        remedy: What to do about it, in one sentence with a full stop.
        retryable: Whether the same call may succeed later without a change.
        exit_code: What the command line ends with (see `disco_dspy.cli`): 3 bad input, 4 incomplete, 5 backbone,
            6 artifact refused, 7 busy.
    """

    def __init__(self, code: str, sentence: str, remedy: str, *, retryable: bool = False, exit_code: int = 3) -> None:
        super().__init__(code, sentence, remedy)
        self.code = code
        self.sentence = sentence
        self.remedy = remedy
        self.retryable = retryable
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"[{self.code}] {self.sentence} {self.remedy}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns a remedy that names the closest known name and the whole list.

    Args:
        name: What the user wrote.
        known: The names that would have worked.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1, cutoff=0.5)
    hint = next((f"Did you mean {n!r}? " for n in names if close and n.lower() == close[0]), "")
    return f"{hint}Known names: {', '.join(names) or 'none'}."
