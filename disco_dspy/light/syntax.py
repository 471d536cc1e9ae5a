"""Tags words and links them to their heads: the small English network of spaCy, read with numpy alone.

The weights are those of `en_core_web_sm` 3.8.0 (Explosion, MIT licence), stored by `optimize.light_parser.syntax`.
The network is spaCy's: hashed embeddings of norm, prefix, suffix, shape and spacing; four residual convolutions with
maxout; a tagger on top, and an arc-eager parser that reads eight tokens of its state. Sentence borders are given, not
found, and rare non-projective links are left at their projective head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from disco_dspy.light.hashing import hash_text, row_numbers
from disco_dspy.light.tokens import Tokens, norm, shape

_SEEDS = (8, 9, 10, 11, 12, 13)
_SHIFT, _REDUCE, _LEFT, _RIGHT, _BREAK = range(5)


@dataclass(frozen=True)
class Syntax:
    """What is known of each token's grammar.

    Args:
        tags: Penn Treebank tag of each token.
        heads: Number of the token each depends on; its own number for the root of a sentence.
        labels: Dependency label of each token, "ROOT" for roots.
        vectors: float32 [tokens, 96], what the network sees at each token.
    """

    tags: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    vectors: np.ndarray


def _layernorm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True) + 1e-8
    return (x - mean) / np.sqrt(variance) * gain + bias


class SyntaxNet:
    """Tagger and dependency parser.

    Args:
        weights: Arrays by name, as `optimize.light_parser.syntax` writes them.
    """

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        w = {name: a.astype(np.float32) if a.dtype.kind == "f" else a for name, a in weights.items()}
        self._tables = [w[f"embed{i}"] for i in range(6)]
        self._mix = (w["mix_w"], w["mix_b"], w["mix_gain"], w["mix_bias"])
        self._layers = [tuple(w[f"conv{i}_{part}"] for part in ("w", "b", "gain", "bias")) for i in range(4)]
        self._tag_w, self._tag_b = w["tag_w"], w["tag_b"]
        self._tag_names = [str(name) for name in w["tag_names"]]
        self._reduce_w, self._reduce_b = w["reduce_w"], w["reduce_b"]
        lower = w["lower_w"]  # [features, hidden, pieces, input]
        self._features, self._hidden, self._pieces, _ = lower.shape
        self._lower_w = lower.reshape(-1, lower.shape[-1])
        self._lower_b = w["lower_b"].reshape(-1)
        self._pad = w["lower_pad"].reshape(self._features, -1)
        self._upper_w, self._upper_b = w["upper_w"], w["upper_b"]
        moves = [str(name) for name in w["move_names"]]
        self._kinds = np.array([" SDLRB".index(name[0]) - 1 for name in moves])
        self._labels = [name[2:].split("||")[0] for name in moves]
        self._rows: dict[tuple[int, str], np.ndarray] = {}
        self._cache: dict[tuple[str, bool], np.ndarray] = {}

    def _embedded(self, column: int, text: str) -> np.ndarray:
        key = (column, text)
        found = self._rows.get(key)
        if found is None:
            table = self._tables[column]
            value = hash_text(text) if column < 4 else int(text)
            found = table[row_numbers(value, _SEEDS[column]) % len(table)].sum(axis=0)
            if len(self._rows) > 50_000:
                self._rows.clear()
            self._rows[key] = found
        return found

    def _token(self, word: str, spaced: bool) -> np.ndarray:
        key = (word, spaced)
        found = self._cache.get(key)
        if found is None:
            columns = (norm(word), word[:1], word[-3:], shape(word), "1" if spaced else "0", "0")
            found = np.concatenate([self._embedded(i, text) for i, text in enumerate(columns)])
            if len(self._cache) > 20_000:
                self._cache.clear()
            self._cache[key] = found
        return found

    def vectors(self, tokens: Tokens) -> np.ndarray:
        """Returns the network's view of each token, float32 [tokens, 96]."""
        after = (*tokens.starts[1:], -1)
        spaced = [end < start for end, start in zip(tokens.ends, after, strict=True)]
        x = np.stack([self._token(word, gap) for word, gap in zip(tokens.words, spaced, strict=True)])
        weight, bias, gain, shift = self._mix
        width = weight.shape[0]
        mixed = (x @ weight.reshape(-1, weight.shape[-1]).T).reshape(len(x), width, -1) + bias
        x = _layernorm(mixed.max(axis=2), gain, shift)
        for weight, bias, gain, shift in self._layers:
            window = np.zeros((len(x), 3 * width), dtype=np.float32)
            window[1:, :width] = x[:-1]
            window[:, width : 2 * width] = x
            window[:-1, 2 * width :] = x[1:]
            y = (window @ weight.reshape(-1, weight.shape[-1]).T).reshape(len(x), width, -1) + bias
            x = x + _layernorm(y.max(axis=2), gain, shift)
        return x

    def analyse(self, tokens: Tokens) -> Syntax:
        """Returns tags, heads and labels of a text's tokens."""
        if not len(tokens):
            return Syntax((), (), (), np.zeros((0, 96), dtype=np.float32))
        x = self.vectors(tokens)
        best = (x @ self._tag_w.T + self._tag_b).argmax(axis=1)
        reduced = x @ self._reduce_w.T + self._reduce_b
        cached = (reduced @ self._lower_w.T).reshape(len(x), self._features, -1)
        cached = np.concatenate([cached, self._pad[None]])  # row -1: nothing there
        heads, labels = list(range(len(x))), ["ROOT"] * len(x)
        first = 0
        for number in range(1, len(x) + 1):
            if number == len(x) or tokens.sentence[number] != tokens.sentence[first]:
                self._attach(cached, first, number, heads, labels)
                first = number
        return Syntax(tuple(self._tag_names[i] for i in best), tuple(heads), tuple(labels), x)

    def _attach(self, cached: np.ndarray, first: int, stop: int, heads: list[int], labels: list[str]) -> None:
        """Links the tokens first..stop-1 of one sentence by arc-eager moves."""
        stack: list[int] = []
        pushed_back: list[int] = []
        following = first
        head_of: dict[int, int] = {}
        left: dict[int, list[int]] = {}
        right: dict[int, list[int]] = {}
        no_shift: set[int] = set()
        columns = np.arange(self._features)
        kinds = self._kinds
        allowed = np.zeros(5, dtype=bool)

        def link(head: int, child: int, label: str) -> None:
            if child in head_of:
                old = head_of[child]
                (left if old > child else right)[old].remove(child)
            (left if head > child else right).setdefault(head, []).append(child)
            head_of[child] = head
            heads[child], labels[child] = head, label

        while stack or pushed_back or following < stop:
            waiting = len(pushed_back) + stop - following
            b0 = pushed_back[-1] if pushed_back else following if following < stop else -1
            if len(pushed_back) > 1:
                b1 = pushed_back[-2]
            else:
                at = following + (0 if pushed_back else 1)
                b1 = at if at < stop else -1
            s0 = stack[-1] if stack else -1
            allowed[_SHIFT] = waiting > 0 and (not stack or (waiting > 1 and b0 not in no_shift))
            allowed[_REDUCE] = len(stack) > 1 or not waiting
            allowed[_LEFT] = allowed[_RIGHT] = bool(stack) and waiting > 0
            state = [
                b0,
                b1,
                s0,
                stack[-2] if len(stack) > 1 else -1,
                stack[-3] if len(stack) > 2 else -1,
                _last(left, b0),
                _last(left, s0),
                _last(right, s0),
            ]
            hidden = cached[state, columns].sum(axis=0) + self._lower_b
            scores = self._upper_w @ hidden.reshape(self._hidden, self._pieces).max(axis=1) + self._upper_b
            move = int(np.where(allowed[kinds], scores, -np.inf).argmax())
            kind = kinds[move]
            if kind == _LEFT:
                link(b0, s0, self._labels[move])
                no_shift.discard(b0)
                stack.pop()
            elif kind == _REDUCE:
                stack.pop()
                if s0 not in head_of and stack:
                    no_shift.add(s0)
                    pushed_back.append(s0)
            else:
                if kind == _RIGHT:
                    link(s0, b0, self._labels[move])
                if pushed_back:
                    pushed_back.pop()
                else:
                    following += 1
                stack.append(b0)


def _last(arcs: dict[int, list[int]], head: int) -> int:
    children = arcs.get(head)
    return children[-1] if children else -1
