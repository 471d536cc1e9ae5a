"""Cuts text into words and punctuation, near enough to the Penn Treebank for the tagger's weights to hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from disco_dspy.corpus.sentences import sentence_starts

_ABBREVIATIONS = (
    "mr|mrs|ms|dr|prof|st|gen|gov|sen|rep|lt|col|sgt|capt|rev|jr|sr|vs|inc|ltd|co|corp|bros|jan|feb|mar|apr|jun|jul|"
    "aug|sep|sept|oct|nov|dec|etc|al|no|vol|fig|eq|ed|eds|ca|cf"
)
_TOKEN = re.compile(
    rf"""
    (?:https?://|www\.)[^\s<>()]*[^\s<>().,;:!?'"”’]                # web addresses
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                 # mail addresses
    | (?:[A-Za-z]\.){{2,}}                                         # U.S., e.g.
    | \b(?:{_ABBREVIATIONS})\.                                     # Dr.
    | \d+(?:st|nd|rd|th|s)\b | \d+(?:[.,:]\d+)*                    # 17th, 1980s, 3,000 and 10:30
    | \b[A-Z]\.(?=\s+[A-Z]) | \b[Pp][Hh]\.D\.                     # J. Smith, Ph.D.
    | \b[dDlL]['’](?=[^\W\d_]) | \bo['’]clock\b                    # d'Herbinville
    | can(?=not\b) | (?<=can)not\b | gon(?=na\b) | (?<=gon)na\b
    | [^\W\d_]+?(?=n['’]t\b) | n['’]t\b                            # do + n't
    | ['’](?:s|ll|re|ve|d|m)\b                                     # it + 's
    | [^\W\d_]+ | \.{{2,}} | -{{2,}} | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "… affair. [7] Some": the note belongs to the sentence before it.
_NOTES = re.compile(r"(?:\[\d{1,3}\]\s*)+")
# Spellings that the tagger was taught to read as one.
_NORMS = {
    "n't": "not", "n’t": "not", "'ll": "will", "’ll": "will", "'re": "are", "’re": "are", "'ve": "have",
    "’ve": "have", "'m": "am", "’m": "am", "’s": "'s", "’d": "'d", "’": "'", "‘": "'", "´": "'", "`": "'", "”": '"',
    "“": '"', "''": '"', "``": '"', "„": '"', "»": '"', "«": '"', "…": "...", "—": "-", "–": "-", "--": "-",
    "---": "-", "€": "$", "£": "$", "¥": "$", "₹": "$", "ca": "can", "wo": "will", "na": "to", "gon": "going",
}  # fmt: skip


@dataclass(frozen=True)
class Tokens:
    """The words and punctuation marks of a text, in order; white space is in none of them.

    Args:
        words: The exact text of each.
        starts: Character offset of each one's first character.
        ends: Character offset after each one's last character.
        sentence: Number of the sentence each is in, from 0, never falling.
        line: Number of the line (text between line ends) each is in, from 0, never falling.
    """

    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    sentence: tuple[int, ...]
    line: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.words)


def tokenize(text: str) -> Tokens:
    """Returns the tokens of a text with their offsets, sentences and lines.

    Args:
        text: Any text; English is what the cuts are meant for.
    """
    matches = list(_TOKEN.finditer(text))
    borders = _borders(text)
    sentence: list[int] = []
    line: list[int] = []
    number, row, last = 0, 0, 0
    for match in matches:
        opened = False
        while number + 1 < len(borders) and borders[number + 1] <= match.start():
            number += 1
            opened = True
        # A line end counts only where a sentence opens too: hard-wrapped text has line ends everywhere.
        if opened and "\n" in text[last : match.start()]:
            row += 1
        sentence.append(number)
        line.append(row)
        last = match.end()
    return Tokens(
        tuple(m.group() for m in matches),
        tuple(m.start() for m in matches),
        tuple(m.end() for m in matches),
        tuple(sentence),
        tuple(line),
    )


def _borders(text: str) -> list[int]:
    """Sentence starts, those before a note's number moved behind it."""
    borders: set[int] = set()
    for start in sentence_starts(text):
        notes = _NOTES.match(text, start) if start and "\n" not in text[len(text[:start].rstrip()) : start] else None
        borders.add(notes.end() if notes else start)
    return sorted(border for border in borders if border < len(text))


def norm(word: str) -> str:
    """Returns the spelling a word is looked up by: lower case, contractions and look-alike marks made one."""
    lowered = word.lower()
    return _NORMS.get(lowered, lowered)


def shape(word: str) -> str:
    """Returns the pattern of a word: X for capitals, x for other letters, d for digits, at most four alike in a row."""
    if len(word) >= 100:
        return "LONG"
    pattern: list[str] = []
    last, run = "", 0
    for character in word:
        if character.isalpha():
            sign = "X" if character.isupper() else "x"
        else:
            sign = "d" if character.isdigit() else character
        run = run + 1 if sign == last else 0
        last = sign
        if run < 4:
            pattern.append(sign)
    return "".join(pattern)
