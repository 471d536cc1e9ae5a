"""Features of a word border, for deciding whether an EDU starts there. Surface text only: no tagger, no model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from disco_dspy.corpus.wordlist import words_of

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*|[^\w\s]|_")
_ENDINGS = ("ing", "ed", "en", "ly", "s", "tion", "e", "y")
_HARD = frozenset(',;:.!?()[]—–-"“”')
_VERBLIKE = words_of(
    "is are was were be been has have had do does did will would can could may might must should said says "
    "became made took gave got went came found used"
)


def tokens(text: str) -> list[tuple[int, int]]:
    """Returns words and punctuation marks as `(start, end)` offsets.

    Args:
        text: Any text.
    """
    return [match.span() for match in _TOKEN.finditer(text)]


def _ending(word: str) -> str:
    return next((ending for ending in _ENDINGS if len(word) > len(ending) + 2 and word.endswith(ending)), "-")


def features(
    words: list[str], at: int, since_sentence: int, since_mark: int, depth: int, verb_seen: bool
) -> Iterator[str]:
    """Yields the names of the features that hold at a border.

    Args:
        words: Lower-case words of the text (capitals are lost on purpose).
        at: The border is before this word.
        since_sentence: Words since the sentence started.
        since_mark: Words since the last punctuation mark.
        depth: Open brackets.
        verb_seen: Whether an auxiliary or common verb stands between the last mark and the border.
    """

    def word(offset: int) -> str:
        place = at + offset
        return words[place] if 0 <= place < len(words) else "#"

    here, before, after = word(0), word(-1), word(1)
    yield "b"
    yield f"0={here}"
    yield f"-={before}"
    yield f"+={after}"
    yield f"-2={word(-2)}"
    yield f"+2={word(2)}"
    yield f"-0={before} {here}"
    yield f"0+={here} {after}"
    yield f"-2-={word(-2)} {before}"
    yield f"0e={_ending(here)}"
    yield f"-e={_ending(before)}"
    yield f"+e={_ending(after)}"
    yield f"0+e={here} {_ending(after)}"
    yield f"-0e={before} {_ending(here)}"
    yield f"-e0={_ending(before)} {here}"
    yield f"d{min(depth, 1)} {before if before in _HARD else ''} {here if here in _HARD else ''}"
    yield f"m{min(since_mark, 6)}"
    yield f"s{min(since_sentence, 8)}"
    yield f"v{int(verb_seen)} {here}"
    yield f"v{int(verb_seen)} {before if before in _HARD else ''}"
    ahead = words[at : at + 12]
    stop = next((i for i, w in enumerate(ahead) if w in _HARD), 12)
    verb = any(w in _VERBLIKE or _ending(w) == "ed" for w in ahead[:stop])
    yield f"a{int(verb)} {before if before in _HARD else _ending(before)} {here}"
    yield f"a{int(verb)} {before if before in _HARD else ''} m{min(stop, 6)}"


def borders(text: str, opening: set[int]) -> Iterator[tuple[int, list[str]]]:
    """Yields the offset and the features of each place where an EDU may start inside a sentence.

    Args:
        text: Any text.
        opening: Offsets of sentence starts; these are certain and are not yielded.
    """
    spans = tokens(text)
    words = [text[start:end].lower() for start, end in spans]
    since_sentence = since_mark = depth = 0
    verb_seen = False
    for at, (start, _) in enumerate(spans):
        if start in opening or at == 0:
            since_sentence = since_mark = depth = 0
            verb_seen = False
        elif text[start - 1].isspace() or words[at - 1] in "([—–" or words[at] in "([—–":
            yield start, list(features(words, at, since_sentence, since_mark, depth, verb_seen))
        since_sentence += 1
        word = words[at]
        depth = max(0, depth + (word in "([") - (word in ")]"))
        if word in _HARD:
            since_mark, verb_seen = 0, False
        else:
            since_mark += 1
            verb_seen = verb_seen or word in _VERBLIKE or _ending(word) == "ed"
