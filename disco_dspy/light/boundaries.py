"""Features of every token for the question: does an EDU start here?"""

from __future__ import annotations

import numpy as np

from disco_dspy.light.analysis import LABELS, TAGS, Analysis
from disco_dspy.light.words import CLASS_NAMES, SPEECH, classes_of

WINDOW = (-3, -2, -1, 0, 1, 2)
_VERB = TAGS.index("MD")
_PUNCT = {
    ",": 1,
    ";": 2,
    ":": 3,
    "-": 4,
    "(": 5,
    ")": 6,
    '"': 7,
    "'": 8,
    "[": 5,
    "]": 6,
    ".": 9,
    "?": 9,
    "!": 9,
    "...": 9,
}
_CONJ, _CC = LABELS.index("conj"), LABELS.index("cc")


def word_classes(norms: list[str]) -> np.ndarray:
    """Returns float32 [tokens, classes], 1 where a word is in a class."""
    out = np.zeros((len(norms), len(CLASS_NAMES)), dtype=np.float32)
    for row, word in enumerate(norms):
        out[row, classes_of(word)] = 1
    return out


def _shift(values: np.ndarray, by: int, fill: float, sentence: np.ndarray) -> np.ndarray:
    """values[t + by], `fill` outside the sentence of t."""
    n = len(values)
    out = np.full(values.shape, fill, dtype=np.float32)
    if abs(by) >= n:
        return out
    to, source = (slice(0, n - by), slice(by, n)) if by >= 0 else (slice(-by, n), slice(0, n + by))
    same = sentence[to] == sentence[source]
    block = out[to]
    block[same] = values[source][same]
    return out


def boundary_features(a: Analysis, ranks: dict[str, int]) -> np.ndarray:
    """Returns float32 [tokens, features].

    Args:
        a: The analysed text.
        ranks: Rank of each frequent lower-case word in the training text, from 1.
    """
    n = len(a)
    if n == 0:
        return np.zeros((0, 0), dtype=np.float32)
    sent = a.sentence
    tags, labels, heads = a.tags, a.labels, a.heads
    words = a.norms
    ids = np.array([ranks.get(word, len(ranks) + 1) for word in words], dtype=np.float32)
    punct = np.array([_PUNCT.get(word, 0) for word in words], dtype=np.float32)
    speech = np.array([word in SPEECH for word in words], dtype=np.float32)
    verb = (tags >= _VERB).astype(np.float32)
    index = np.arange(n)
    left, right = a.edges
    starts = np.searchsorted(sent, sent, side="left")
    stops = np.searchsorted(sent, sent, side="right")

    columns: list[np.ndarray] = []
    for by in WINDOW:
        columns += [_shift(tags, by, -1, sent), _shift(labels, by, -1, sent), _shift(ids, by, -1, sent)]
        columns += [_shift(punct, by, -1, sent)]
    for by in (-1, 0, 1):
        columns += [np.sign(heads - index) if by == 0 else _shift(np.sign(heads - index), by, 0, sent)]
    # The highest subtree that starts at t, and the highest that ended just before t.
    order = np.argsort(right - left, kind="stable")
    opening = np.full(n, -1)
    opening[left[order]] = order  # the largest is written last
    closing = np.full(n, -1)
    closing[right[order]] = order
    ended = np.full(n, -1)
    ended[1:] = closing[:-1]
    ended[starts == index] = -1
    for which in (opening, ended):
        there = which >= 0
        w = np.where(there, which, 0)
        head = heads[w]
        columns += [
            np.where(there, labels[w], -1), np.where(there, tags[w], -1), np.where(there, right[w] - left[w] + 1, 0),
            np.where(there, head - index, 0), np.where(there, tags[head], -1), np.where(there, labels[head], -1),
            np.where(there, speech[head], -1), np.where(there, ids[head], -1), np.where(there, ids[w], -1),
            np.where(there, w - index, 0),
        ]  # fmt: skip
    # Verbs in that subtree and around.
    verbs = np.concatenate([[0], np.cumsum(verb)])
    w = np.where(opening >= 0, opening, index)
    columns += [verbs[right[w] + 1] - verbs[left[w]]]
    columns += [verbs[index] - verbs[starts], verbs[stops] - verbs[index]]
    # Does a subject or a verb stand between here and the next mark, and between the last mark and here?
    mark = punct > 0
    last_mark = np.maximum.accumulate(np.where(mark, index, -1))
    before = np.concatenate([[-1], last_mark[:-1]])
    before = np.maximum(before, starts - 1)
    next_mark = np.minimum.accumulate(np.where(mark, index, n)[::-1])[::-1]
    after = np.concatenate([next_mark[1:], [n]])
    after = np.minimum(after, stops)
    columns += [index - before, after - index, verbs[index] - verbs[before + 1], verbs[after] - verbs[index]]
    columns += [index - starts, stops - index, stops - starts]
    subject = ((labels == LABELS.index("nsubj")) | (labels == LABELS.index("nsubjpass"))).astype(np.float32)
    subjects = np.concatenate([[0], np.cumsum(subject)])
    columns += [subjects[right[w] + 1] - subjects[left[w]], subjects[index] - subjects[starts]]
    columns += [subjects[after] - subjects[index]]
    # Links that cross the border before t: few where units meet.
    delta = np.zeros(n + 1)
    low, high = np.minimum(heads, index), np.maximum(heads, index)
    np.add.at(delta, low + 1, 1)
    np.add.at(delta, high + 1, -1)
    columns += [np.cumsum(delta)[:n]]
    depth = np.zeros(n)
    for token in range(n):
        up, steps = token, 0
        while heads[up] != up and steps < 40:
            up, steps = heads[up], steps + 1
        depth[token] = steps
    columns += [depth, _shift(depth, -1, -1, sent), depth[w]]
    # Open brackets and quotes before t within the sentence.
    opened = np.cumsum((punct == 5).astype(int) - (punct == 6).astype(int))
    base = opened[np.maximum(starts - 1, 0)] * (starts > 0)
    columns += [np.concatenate([[0], opened[:-1]]) - base]
    quotes = np.concatenate([[0], np.cumsum(punct == 7)[:-1]])
    quotes_base = quotes[starts]
    columns += [(quotes - quotes_base) % 2, np.cumsum(punct == 7)[stops - 1] - quotes_base]
    # Head of t and its own head.
    columns += [tags[heads], labels[heads], ids[heads], heads - index, speech[heads], labels[heads[heads]]]
    # First and last child marks: has the subtree's verb a mark ("that", "because"), a "to", a subject of its own?
    has_mark = np.zeros(n)
    has_to = np.zeros(n)
    has_subject = np.zeros(n)
    mark_label, aux_label = LABELS.index("mark"), LABELS.index("aux")
    for token in range(n):
        head = heads[token]
        if labels[token] == mark_label:
            has_mark[head] = ids[token]
        elif labels[token] == aux_label and words[token] == "to":
            has_to[head] = 1
        elif subject[token]:
            has_subject[head] = 1
    columns += [has_mark[w], has_to[w], has_subject[w], has_subject[heads[w]]]
    # Coordination: the conjunct that a "cc" at t leads to.
    conjunct_tag = np.full(n, -1)
    conjunct_verbs = np.zeros(n)
    conjunct_subject = np.zeros(n)
    for token in range(n):
        if labels[token] == _CC:
            later = [c for c in range(token + 1, int(stops[token])) if labels[c] == _CONJ and heads[c] == heads[token]]
            if later:
                c = later[0]
                conjunct_tag[token] = tags[c]
                conjunct_verbs[token] = verbs[right[c] + 1] - verbs[left[c]]
                conjunct_subject[token] = has_subject[c]
    columns += [conjunct_tag, conjunct_verbs, conjunct_subject]
    return np.column_stack([np.stack(columns, axis=1).astype(np.float32), word_classes(words)])
