"""BM25 over words, and over character pairs where a script writes no spaces."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
import regex

from disco_dspy.corpus.wordlist import words_of

# Scripts written without spaces between words.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_RUNS = regex.compile(
    rf"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}ー]*)|(?P<word>(?:(?![{_UNSPACED}])[\p{{L}}\p{{N}}\p{{M}}])+)"
)
_STOP = words_of(
    "a an and are as at be been but by did do does for from had has have he her him his how i in is it its of on or "
    "she that the their them they this to was we were what when where which who whom whose why will with you"
)


# Longest first; the second is what stays.
_ENDINGS = (("sses", "ss"), ("ies", "y"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", ""))


def _stem(word: str) -> str:
    """An English word without its commonest endings, so that `cats` finds `cat`; other words as they are."""
    if len(word) < 5 or not word.isascii() or word.endswith("ss"):
        return word
    for ending, stays in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + stays
    return word


def words(text: str) -> list[str]:
    """Returns the terms of a text for BM25: case-folded words without their commonest English endings, and character
    pairs of scripts without spaces.

    A single such character is a term itself. English function words are left out.

    Args:
        text: Any text.
    """
    terms: list[str] = []
    for run in _RUNS.finditer(text.casefold()):
        if run.lastgroup == "unspaced":
            piece = run.group()
            terms.extend(piece[i : i + 2] for i in range(len(piece) - 1)) if len(piece) > 1 else terms.append(piece)
        elif run.group() not in _STOP:
            terms.append(_stem(run.group()))
    return terms


def searchable(title: str, source: str, text: str) -> str:
    """Returns what is embedded and counted for a chunk: its text, after the document's title if it has a real one.

    Args:
        title: Empty for none.
        source: A title that only repeats it says nothing.
        text: The chunk's text.
    """
    return f"{title}\n{text.strip()}" if title and title != source else text.strip()


class Lexical:
    """BM25 (k1 1.5, b 0.75, Lucene form) over the chunks of one generation, in memory.

    Args:
        numbers: Chunk numbers.
        texts: The chunk texts, in the same order.
    """

    def __init__(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        self._numbers = np.asarray(numbers, dtype=np.int64)
        self._bm25: bm25s.BM25 | None = None
        terms = [words(text) for text in texts]
        if any(terms):
            bm25 = self._bm25 = bm25s.BM25()
            bm25.index(terms, show_progress=False)

    def search(self, question: str, k: int, among: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """Returns at most `k` `(number, score)` pairs with a score above zero, best first, ties by number.

        Args:
            question: Any text.
            k: Most results.
            among: Only these numbers, if given.
        """
        terms = words(question)
        if self._bm25 is None or not terms:
            return []
        scores = np.asarray(self._bm25.get_scores(terms), dtype=np.float64)
        if among is not None:
            scores = np.where(np.isin(self._numbers, np.asarray(among, dtype=np.int64)), scores, 0.0)
        order = np.lexsort((self._numbers, -scores))[:k]
        return [(int(self._numbers[i]), float(scores[i])) for i in order if scores[i] > 0]


def fuse(rankings: Sequence[Sequence[tuple[int, float]]], k: int, constant: int) -> list[tuple[int, float]]:
    """Merges rankings by reciprocal rank fusion: a chunk scores the sum of `1 / (constant + rank)`, rank from 1.

    Args:
        rankings: Best first; scores are not compared across rankings.
        k: Most results.
        constant: The larger, the less the first ranks stand out.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (number, _) in enumerate(ranking, start=1):
            scores[number] = scores.get(number, 0.0) + 1.0 / (constant + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
