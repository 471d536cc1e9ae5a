"""Features of EDUs: what stands at their borders, in them, and how their words hang on one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from disco_dspy.light.analysis import LABELS, TAGS, Analysis
from disco_dspy.light.boundaries import word_classes
from disco_dspy.light.words import SPEECH

_VERB = TAGS.index("MD")
_SUBJECTS = (LABELS.index("nsubj"), LABELS.index("nsubjpass"), LABELS.index("expl"))
_CLOSERS = frozenset("\"'”’)]")
_END = {".": 1, "?": 2, "!": 3, ":": 4, ";": 5, ",": 6, "—": 7, "–": 7, "-": 7, "--": 7, "...": 8}
_CONTENT = frozenset(
    TAGS.index(t)
    for t in ("JJ", "JJR", "JJS", "NN", "NNS", "NNP", "NNPS", "VBD", "VBP", "VBZ", "VB", "VBN", "VBG", "CD")
)


@dataclass(frozen=True)
class Units:
    """EDUs of an analysed text as arrays over EDUs.

    Args:
        first: Number of each EDU's first token (an EDU without tokens has first == stop).
        stop: Number after its last token.
        level: What border stands before it: 0 none, 1 comma, 2 semicolon, colon or dash, 3 sentence, 4 line.
        head: EDU that its main word depends on; -1 if that is the root of the sentence.
        label: Dependency label of the main word.
        tag: Tag of the main word.
        main: Token number of the main word.
        dense: float32 [EDUs, features] of each EDU by itself; `names` in `unit_features`.
        length: Tokens in it.
        sentence: Sentence number of its first token.
        line: Line number of its first token.
        content: Content words of each EDU.
        opening: First words of each EDU (at most three), lower-case.
        vectors: float32 [EDUs, d], unit length: of the sentence encoder, or means of the tagger's.
    """

    first: np.ndarray
    stop: np.ndarray
    level: np.ndarray
    head: np.ndarray
    label: np.ndarray
    tag: np.ndarray
    main: np.ndarray
    dense: np.ndarray
    length: np.ndarray
    sentence: np.ndarray
    line: np.ndarray
    content: tuple[frozenset[str], ...]
    opening: tuple[tuple[str, ...], ...]
    vectors: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "ly"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


def make_units(a: Analysis, starts: list[int], ranks: dict[str, int], vectors: np.ndarray | None = None) -> Units:
    """Returns the EDUs that begin at the given offsets.

    Args:
        a: The analysed text, with at least one token.
        starts: Ascending character offsets; the first is 0.
        ranks: Rank of each frequent lower-case word in the training text, from 1.
        vectors: float32 [EDUs, d] of a sentence encoder, unit length; None takes means of the tagger's vectors.
    """
    n, size = len(starts), len(a)
    first = np.searchsorted(np.array(a.tokens.starts), np.array(starts), side="left")
    stop = np.concatenate([first[1:], [size]])
    owner = np.clip(np.searchsorted(first, np.arange(size), side="right") - 1, 0, n - 1)
    at = np.minimum(first, size - 1)
    sentence, line = a.sentence[at], a.line[at]
    words, tags, labels, heads = a.norms, a.tags, a.labels, a.heads
    unknown = len(ranks) + 1
    classes = word_classes(words)
    head = np.full(n, -1)
    main = at.copy()
    rows: list[list[Any]] = []
    dense_classes = np.zeros((n, 3 * classes.shape[1]), dtype=np.float32)
    level = np.zeros(n, dtype=np.int64)
    content: list[frozenset[str]] = []
    opening: list[tuple[str, ...]] = []
    base = a.syntax.vectors
    means = np.zeros((n, base.shape[1]), dtype=np.float32)
    quote_state = np.cumsum([word == '"' for word in words]) % 2
    bracket = np.cumsum([(word in "([") - (word in ")]") if len(word) == 1 else 0 for word in words])
    for e in range(n):
        lo, hi = int(first[e]), int(stop[e])
        inside = range(lo, hi)
        if lo >= hi:
            rows.append([0.0] * 34)
            content.append(frozenset())
            opening.append(())
            continue
        out = [t for t in inside if heads[t] == t or owner[heads[t]] != e]
        main[e] = max(out, key=lambda t: (labels[t] == 0, tags[t] >= _VERB, -labels[t])) if out else lo
        up = heads[main[e]]
        head[e] = -1 if up == main[e] else owner[up]
        # The border before it.
        before = lo - 1
        while before >= 0 and words[before] in _CLOSERS and before > lo - 3:
            before -= 1
        last_word = words[before] if before >= 0 else ""
        if e == 0 or line[e] != line[e - 1]:
            level[e] = 4
        elif sentence[e] != sentence[e - 1]:
            level[e] = 3
        else:
            level[e] = {6: 1, 5: 2, 4: 2, 7: 2}.get(_END.get(last_word, 0), 0)
        end = hi - 1
        while end > lo and words[end] in _CLOSERS:
            end -= 1
        letters = [t for t in inside if a.tokens.words[t][0].isalpha()]
        initial = letters[0] if letters else lo
        second = letters[1] if len(letters) > 1 else initial
        final = letters[-1] if letters else end
        capital = sum(a.tokens.words[t][0].isupper() for t in letters)
        verb = [t for t in inside if tags[t] >= _VERB]
        finite = [t for t in verb if tags[t] <= _VERB + 3]
        rows.append([
            hi - lo, a.tokens.ends[hi - 1] - a.tokens.starts[lo], ranks.get(words[initial], unknown),
            ranks.get(words[second], unknown), ranks.get(words[final], unknown), tags[lo], tags[initial], tags[second],
            tags[final], labels[lo], labels[initial], _END.get(words[end], 0), _END.get(words[lo], 0),
            words[lo] in "([", words[hi - 1] in ")]", words[lo] == '"', words[hi - 1] == '"',
            a.tokens.words[initial][0].isupper(), capital / max(len(letters), 1), len(letters) / (hi - lo),
            len(verb), len(finite), tags[verb[0]] if verb else -1, tags[verb[-1]] if verb else -1,
            (verb[0] - lo) if verb else -1, any(words[t] in SPEECH for t in inside),
            any(labels[t] in _SUBJECTS for t in inside), sum(tags[t] == TAGS.index("CD") for t in inside),
            quote_state[lo - 1] if lo else 0, bracket[lo - 1] if lo else 0, len(out),
            tags[main[e]], labels[main[e]], words[main[e]] in SPEECH,
        ])  # fmt: skip
        dense_classes[e] = np.concatenate([classes[initial], classes[second], classes[lo:hi].max(axis=0)])
        content.append(frozenset(_stem(words[t]) for t in inside if tags[t] in _CONTENT and len(words[t]) > 2))
        opening.append(tuple(words[t] for t in letters[:3]))
        mean = base[lo:hi].mean(axis=0)
        means[e] = mean / (np.linalg.norm(mean) + 1e-9)
    dense = np.column_stack([np.array(rows, dtype=np.float32), dense_classes])
    return Units(
        first=first, stop=stop, level=level, head=head, label=labels[main], tag=tags[main], main=main, dense=dense,
        length=(stop - first).astype(np.float32), sentence=sentence, line=line, content=tuple(content),
        opening=tuple(opening), vectors=means if vectors is None else vectors,
    )  # fmt: skip
