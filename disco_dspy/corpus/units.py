"""Finds where elementary discourse units (EDUs) may start, in English and Chinese.

Sentence starts are certain. Inside an English sentence a table of weighted cues (words, endings and punctuation around
the border) decides; it was fitted by `benchmarks/edu_cues.py` to gold EDUs. In Chinese, commas between clauses and
connectives decide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Protocol

from disco_dspy.corpus.cues import borders
from disco_dspy.corpus.sentences import sentence_starts

# Log-odds from which a border counts: the best of five on 22 training documents the table was not fitted to.
THRESHOLD = -0.3

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CONNECTIVES = (
    "因为|由于|所以|因此|因而|但是|但|然而|不过|可是|而且|而|并且|并|如果|若|假如|虽然|尽管|即使|只要|只有|除非|以便|以免|为了|"
    "从而|以及|同时|其中|例如|比如|即|却|则|使得|使|导致|当|此外|另外|之后|随后|否则|无论|不论"
)
_CJK_CUT = re.compile(rf"(?P<sure>[；：]|——|，(?={_CONNECTIVES}))|(?<=[{_HAN}”》）])，(?=[{_HAN}“《])")
_PIECE = re.compile(r"[^，。！？；：、\s]*")
_SHORT = 5  # a comma piece of fewer characters is a phrase, not a clause


@cache
def _weights() -> dict[str, float]:
    return json.loads(files("disco_dspy").joinpath("data/edu-cues.json").read_text("utf-8"))["weights"]


def _cjk_starts(text: str) -> list[int]:
    starts: list[int] = []
    last = 0
    for match in _CJK_CUT.finditer(text):
        ahead = _PIECE.match(text, match.end())
        long = match.start() - last >= _SHORT and ahead is not None and len(ahead.group()) >= _SHORT
        if long or match.lastgroup == "sure":
            starts.append(match.end())
        last = match.end()
    return starts


def edu_starts(text: str) -> list[int]:
    """Returns where EDUs start.

    Args:
        text: Any text.

    Returns:
        Offsets, ascending: 0, then visible characters; all sentence starts are among them. Empty if nothing is visible.
    """
    opening = sentence_starts(text)
    if not opening:
        return []
    starts = set(opening)
    weights = _weights()
    for offset, names in borders(text, starts.copy()):
        if sum(weights.get(name, 0.0) for name in names) > THRESHOLD:
            starts.add(offset)
    first = len(text) - len(text.lstrip())
    for offset in _cjk_starts(text):
        while offset < len(text) and text[offset].isspace():
            offset += 1
        if first < offset < len(text):
            starts.add(offset)
    return sorted(offset for offset in starts if offset == 0 or offset > first)


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
