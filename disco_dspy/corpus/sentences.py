"""Finds where sentences start, in English and Chinese, without assuming spaces or one sentence a line."""

from __future__ import annotations

import re
import unicodedata

from disco_dspy.corpus.wordlist import words_of

# After these a full stop is not an end, whatever follows.
_TITLES = words_of(
    "mr mrs ms dr prof st gen gov sen rep lt col sgt capt rev hon jr sr vs fig figs eq eqs no nos vol pp p ch sec "
    "ed eds trans approx al cf e.g i.e viz ca resp dept univ mt"
)
# After these a full stop is an end only before a capital that opens a new clause; months and company forms.
_SOFT = words_of("etc inc ltd co corp bros jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m u.s u.k u.n")
_STARTERS = words_of(
    "the a an in on at it he she they we i you this that these those but and however if when while as for to there "
    "its his her their our my what who why how according after before since although"
)
_CJK_END = "。！？｡‼⁇⁈⁉"
_CLOSERS = "\"'”’»)]}）】」』》〉"
_OPENERS = "\"'“‘«([{（【「『《〈*_-–—•"
_END = re.compile(rf"[.!?…{_CJK_END}]+[{re.escape(_CLOSERS)}]*")
_NEWLINE = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_BLANK = re.compile(r"(?:\r\n|[\n\r\x85])[ \t\u3000]*(?:(?:\r\n|[\n\r\x85])[ \t\u3000]*)+")
_BULLET = re.compile(r"(?:[-*•●▪‣–—·]|\(?\d{1,3}[.)、]|\(?[a-zA-Z][.)]|#{1,6}|\||>|[一二三四五六七八九十]+、)\s*\S")
_WORD_BEFORE = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")


def _newline_breaks(text: str) -> list[int]:
    """Offsets of line ends that end a sentence; those inside hard-wrapped paragraphs do not."""
    breaks: list[int] = []
    start = 0
    blocks = [(m.start(), m.end()) for m in _BLANK.finditer(text)]
    breaks.extend(end for _, end in blocks)
    for stop, following in [*blocks, (len(text), len(text))]:
        newlines = [(m.start() + start, m.end() + start) for m in _NEWLINE.finditer(text[start:stop])]
        edges = [start, *(end for _, end in newlines)]
        widths = [begin - edge for edge, (begin, _) in zip(edges, newlines, strict=False)]
        widths.append(stop - edges[-1])
        width = max(widths)
        for number, (begin, end) in enumerate(newlines):
            # A wrapped line is nearly as wide as the widest line, and no wrapped text is wider than a page.
            wrapped = 30 <= width <= 130 and widths[number] >= 0.7 * width and widths[number] >= 30
            before, after = text[edges[number] : begin].rstrip(), text[end : end + 40].lstrip(" \t\u3000")
            if not wrapped or _BULLET.match(after) or before.endswith((":", "：", "|")):
                breaks.append(end)
        start = following
    return breaks


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    """Whether a run of end marks really ends a sentence."""
    if any(character in _CJK_END for character in mark.group()):
        return True
    after = mark.end()
    if after < len(text) and not text[after].isspace() and unicodedata.east_asian_width(text[after]) not in "WF":
        return False
    rest = text[after : after + 80].lstrip()
    if not rest:
        return True
    opening = rest.lstrip(_OPENERS + " ")
    if opening and opening[0].islower():
        return False
    if not mark.group().startswith(".") or mark.group().startswith(".."):
        return True
    word_match = _WORD_BEFORE.search(text, max(0, mark.start() - 30), mark.start())
    if word_match is None:
        return True
    word = word_match.group()
    following = re.match(r"[^\W\d_]+", opening)
    if len(word) == 1 and word.isalpha() and word.isascii() and word.isupper():
        # An initial ("J. Smith") or a label ("vitamin C. It"): only a clear sentence opener ends it.
        return bool(following) and following.group().lower() in _STARTERS and len(following.group()) > 1
    lowered = word.lower()
    if lowered in _TITLES:
        return lowered in {"no", "jr", "sr", "p", "al"} and bool(following) and following.group().lower() in _STARTERS
    if lowered in _SOFT or re.fullmatch(r"(?:[a-z]\.)+[a-z]", lowered):
        return bool(following) and following.group().lower() in _STARTERS
    if word.isdigit() and len(word) <= 3:
        # "1. First item" at the start of a line or after a sentence is a list mark, not a sentence.
        line = text[max(0, mark.start() - 8) : mark.start()]
        return re.sub(r"[ \t\d]*$", "", line)[-1:] not in ("", "\n", "\r", ".", "!", "?")
    return True


def sentence_starts(text: str) -> list[int]:
    """Returns where each sentence starts.

    Headings, list items and lines of unwrapped text are sentences of their own; line ends inside hard-wrapped
    paragraphs are not borders.

    Args:
        text: Any text; mixed languages are fine.

    Returns:
        Offsets, ascending: 0, then the first visible character of each further sentence. Empty if nothing is visible.
    """
    if not text.strip():
        return []
    borders = set(_newline_breaks(text))
    borders.update(mark.end() for mark in _END.finditer(text) if _ends_sentence(text, mark))
    first = len(text) - len(text.lstrip())
    starts = {0}
    for border in borders:
        position = border
        while position < len(text) and text[position].isspace():
            position += 1
        if first < position < len(text):
            starts.add(position)
    return sorted(starts)
