"""Features of spans (is it a constituent?), of splits (where does it part?) and of nodes (what relation is it?)."""

from __future__ import annotations

import numpy as np

from disco_dspy.light.units import Units

# Columns of `Units.dense` that describe a border well; the rest is left to the label model.
_START = slice(0, 34 + 17)
_N_DENSE = 34


class Table:
    """Everything about one text's EDUs that spans and splits share; spans are (i, j), 0-based and inclusive.

    Args:
        u: The EDUs.
    """

    def __init__(self, u: Units) -> None:
        self.u = u
        n = len(u)
        self.n = n
        self.level = np.concatenate([u.level, [5]]).astype(np.float32)
        self.level[0] = 5
        self.tokens = np.concatenate([[0], np.cumsum(u.length)])
        # highest[i, j]: highest border strictly inside i..j.
        self.highest = np.full((n, n), -1, dtype=np.float32)
        for i in range(n):
            if i + 1 < n:
                run = np.maximum.accumulate(self.level[i + 1 : n])
                self.highest[i, i + 1 :] = run
        self.sent = np.concatenate([[0], np.cumsum(u.level[1:] >= 3)])
        self.lines = np.concatenate([[0], np.cumsum(u.level[1:] >= 4)])
        # Links between EDUs, counted for all spans at once by two-dimensional running sums.
        linked = u.head >= 0
        links = np.zeros((n + 1, n + 1), dtype=np.float32)
        links[1:, 1:][np.flatnonzero(linked), u.head[linked]] = 1
        into = np.concatenate([[0], np.cumsum(links[1:, 1:].sum(axis=0))]).astype(np.float32)
        links = links.cumsum(axis=0).cumsum(axis=1)
        low, high = np.arange(n)[:, None], np.arange(1, n + 1)[None, :]
        inside = links[high, high] - links[low, high] - links[high, low] + links[low, low]
        roots = np.concatenate([[0], np.cumsum(~linked)]).astype(np.float32)
        from_here = np.concatenate([[0], np.cumsum(linked)]).astype(np.float32)
        self.out = from_here[high] - from_here[low] - inside  # EDUs of i..j that hang on one outside
        self.out_root = roots[high] - roots[low]  # EDUs of i..j that hang on nothing
        self.inward = into[high] - into[low] - inside  # EDUs outside that hang on one of i..j
        # Running sums of vectors for means, and word sets.
        self.cum = np.concatenate([np.zeros((1, u.vectors.shape[1]), dtype=np.float32), np.cumsum(u.vectors, axis=0)])
        vocabulary = {w: k for k, w in enumerate(sorted(set().union(*u.content)))}
        bag = np.zeros((n, max(len(vocabulary), 1)), dtype=np.float32)
        for e, words in enumerate(u.content):
            for word in words:
                bag[e, vocabulary[word]] = 1
        self.bag = np.concatenate([np.zeros((1, bag.shape[1]), dtype=np.float32), np.cumsum(bag, axis=0)])
        self.cos = u.vectors @ u.vectors.T
        self.dense = np.concatenate([u.dense, np.full((1, u.dense.shape[1]), -2, dtype=np.float32)])
        same_first = np.array([[x[:1] == y[:1] and bool(x) for y in u.opening] for x in u.opening]).reshape(n, n)
        self.same_first = same_first.astype(np.float32)

    def mean(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Unit-length mean vectors of spans."""
        v = self.cum[j + 1] - self.cum[i]
        return v / (np.linalg.norm(v, axis=1, keepdims=True) + 1e-9)

    def words(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Which content words stand in spans, as 0/1 rows."""
        return (self.bag[j + 1] - self.bag[i] > 0).astype(np.float32)

    def overlap(self, i: np.ndarray, j: np.ndarray, k: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Shared content words of spans i..j and k..m, by the root of the product of their sizes."""
        x, y = self.words(i, j), self.words(k, m)
        return (x * y).sum(1) / np.sqrt(np.maximum(x.sum(1) * y.sum(1), 1))

    def spans(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Returns float32 [spans, features]."""
        n, u = self.n, self.u
        left, right = self.level[i], self.level[j + 1]
        highest = self.highest[i, j]
        before, after = np.maximum(i - 1, 0), np.minimum(j + 1, n - 1)
        has_before, has_after = i > 0, j < n - 1
        mean = self.mean(i, j)
        to_after = np.where(has_after, (mean * u.vectors[after]).sum(1), -2)
        to_before = np.where(has_before, (mean * u.vectors[before]).sum(1), -2)
        after_end = np.minimum(j + 2, n - 1)
        next_level = np.where(j + 2 <= n, self.level[np.minimum(j + 2, n)], 6)
        prev_level = np.where(has_before, self.level[before], 6)
        count = j - i + 1
        head_i, head_after = u.head[i], np.where(has_after, u.head[after], -3)
        head_before = np.where(has_before, u.head[before], -3)
        head_j = u.head[j]
        columns = [
            left, right, highest, np.minimum(left, right) - highest, np.maximum(left, right) - highest, right - left,
            prev_level, next_level, count, count / n, self.tokens[j + 1] - self.tokens[i],
            self.sent[j] - self.sent[i], self.lines[j] - self.lines[i], n + 0 * i, i, n - 1 - j, i / n, (j + 1) / n,
            self.out[i, j], self.out_root[i, j], self.inward[i, j], self.out[i, j] / count,
            to_after, to_before, np.where(has_after & has_before, to_after - to_before, 0),
            np.where(has_after, self.overlap(i, j, after, after), -1),
            np.where(has_before, self.overlap(i, j, before, before), -1),
            np.where(has_after, self.cos[j, after], -2), np.where(has_before, self.cos[i, before], -2),
            np.where(has_after, self.cos[i, after], -2), self.cos[i, j],
            (head_after >= i) & (head_after <= j), head_after - i, head_after - j,
            (head_before >= i) & (head_before <= j), (head_i >= i) & (head_i <= j), head_i - i, head_i > j,
            (head_j >= i) & (head_j <= j), head_j - j, np.where(has_after, self.out[j, after], 0),
            u.label[i], u.tag[i], np.where(has_after, u.label[after], -1), np.where(has_after, u.tag[after], -1),
            u.label[j], u.tag[j], np.where(has_before, u.label[before], -1),
            self.same_first[i, after] * has_after, self.same_first[i, j],
            self.level[np.minimum(i + 1, n)], np.where(has_after, u.length[after], 0), u.length[i], u.length[j],
            np.where(has_before, u.length[before], 0), np.where(has_after, self.out_root[after, after_end], 0),
            # Is the whole sentence (or line) that a border belongs to inside?
            np.where(has_after, self.sent[after] == self.sent[j], False),
            np.where(has_before, self.sent[before] == self.sent[i], False),
        ]  # fmt: skip
        block = np.stack([np.asarray(c, dtype=np.float32) for c in columns], axis=1)
        d = self.dense
        last = np.where(has_before, i - 1, n)
        return np.concatenate(
            [
                block,
                d[i][:, _START],
                d[np.where(has_after, j + 1, n)][:, _START],
                d[j][:, :_N_DENSE],
                d[last][:, :_N_DENSE],
            ],
            axis=1,
        )

    def splits(self, i: np.ndarray, k: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Returns float32 [splits, features] of spans i..j parted after k."""
        n, u = self.n, self.u
        level = self.level[k + 1]
        highest = self.highest[i, j]
        in_left, in_right = self.highest[i, k], self.highest[k + 1, j]
        top = level >= highest
        mean_l, mean_r = self.mean(i, k), self.mean(k + 1, j)
        right_head, left_head = u.head[k + 1], u.head[i]
        columns = [
            level, highest, level - highest, in_left, in_right, level - in_left, level - in_right,
            top & (in_left < highest), top & (in_right < highest), top, j - i + 1, k - i + 1, j - k,
            (k - i + 1) / (j - i + 1),
            self.tokens[k + 1] - self.tokens[i], self.tokens[j + 1] - self.tokens[k + 1],
            self.sent[k] - self.sent[i], self.sent[j] - self.sent[k + 1], self.lines[k] - self.lines[i],
            self.lines[j] - self.lines[k + 1],
            self.out[i, k], self.out[k + 1, j], self.out_root[i, k], self.out_root[k + 1, j],
            self.out[i, j], self.out_root[i, j], self.inward[i, k], self.inward[k + 1, j],
            (right_head >= i) & (right_head <= k), right_head - k, right_head - i, (left_head > k) & (left_head <= j),
            left_head - i, (mean_l * mean_r).sum(1), self.cos[k, k + 1], self.cos[i, k + 1],
            (mean_l * u.vectors[k + 1]).sum(1), (mean_r * u.vectors[k]).sum(1),
            self.overlap(i, k, k + 1, j), self.overlap(k, k, k + 1, k + 1), self.overlap(i, i, k + 1, k + 1),
            self.same_first[i, k + 1], u.label[i], u.tag[i], u.label[k], u.label[k + 1], u.tag[k + 1], u.tag[k],
            u.label[j], u.tag[j], u.length[i], u.length[k], u.length[k + 1], self.level[i], self.level[j + 1],
            self.level[i + 1], self.level[np.minimum(k + 2, n)], n + 0 * i, i, n - 1 - j,
            u.label[i] == u.label[k + 1], u.tag[i] == u.tag[k + 1],
        ]  # fmt: skip
        block = np.stack([np.asarray(c, dtype=np.float32) for c in columns], axis=1)
        d = self.dense
        return np.concatenate([block, d[k + 1][:, _START], d[k][:, :_N_DENSE], d[i][:, _START]], axis=1)
