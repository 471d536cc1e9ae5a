"""Features of a node for its nuclearity and relation: words of both sides, grammar at the seam, labels of its parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from disco_dspy.light.analysis import LABELS, TAGS, Analysis
from disco_dspy.light.spans import Table
from disco_dspy.light.words import CLASS_NAMES, classes_of

LEAF = "leaf"


def words_of(
    table: Table, a: Analysis, node: tuple[int, int, int], parts: tuple[str, str], nuclei: tuple[int, int]
) -> list[str]:
    """Returns the names of the sparse features of a node.

    Args:
        table: The EDUs.
        a: The analysed text.
        node: (i, k, j), 0-based: EDUs i..k against k+1..j.
        parts: Class ("NS:cause" or `LEAF`) of the left and the right part.
        nuclei: EDU number of the nucleus of the left and the right part.
    """
    u = table.u
    i, k, j = node
    level = int(u.level[k + 1])
    out = [
        f"v{level}",
        f"a{parts[0]}",
        f"b{parts[1]}",
        f"a{parts[0]}|b{parts[1]}",
        f"v{level}a{parts[0]}",
        f"v{level}b{parts[1]}",
    ]
    for side, e in (("l", i), ("r", k + 1), ("m", nuclei[0]), ("n", nuclei[1]), ("k", k)):
        words = u.opening[e]
        first = words[0] if words else ""
        deep = LABELS[u.label[e]] if u.label[e] < len(LABELS) else "?"
        tag = TAGS[u.tag[e]] if u.tag[e] < len(TAGS) else "?"
        out += [f"{side}d{deep}", f"{side}t{tag}", f"{side}D{deep}v{level}", f"{side}dt{deep}{tag}"]
        if side in "lr":
            out += [
                f"{side}1{first}",
                f"{side}1v{first}{min(level, 3)}",
                f"{side}2{' '.join(words[:2])}",
                f"{side}3{' '.join(words)}",
            ]
            out += [f"{side}c{CLASS_NAMES[c]}v{min(level, 3)}" for c in classes_of(first)]
        lo, hi = int(u.first[e]), int(u.stop[e])
        if lo < hi:
            main = a.norms[int(u.main[e])]
            out += [f"{side}h{main}", f"{side}z{a.norms[hi - 1]}", f"{side}D{deep}h{main}"]
            if hi - lo > 1:
                out.append(f"{side}y{a.norms[hi - 2]}")
            if side in "lrmn":
                out += [f"{side}w{word}" for word in set(a.norms[lo:hi])]
    into = int(u.head[k + 1]), int(u.head[i])
    out += [f"link{i <= into[0] <= k}{k < into[1] <= j}{'' if level >= 3 else 'in'}"]
    out += [f"size{min(k - i, 3)}{min(j - k - 1, 3)}", f"size{min(k - i, 3)}{min(j - k - 1, 3)}v{min(level, 3)}"]
    left = u.opening[i][:1]
    right = u.opening[k + 1][:1]
    out += [f"p{left}{right}v{min(level, 3)}"] if left and right else []
    # Whole sides: cue words anywhere.
    for side, lo, hi in (("L", int(u.first[i]), int(u.stop[k])), ("R", int(u.first[k + 1]), int(u.stop[j]))):
        if hi - lo <= 120:
            seen = {c for word in a.norms[lo:hi] for c in classes_of(word)}
            out += [f"{side}c{CLASS_NAMES[c]}" for c in seen]
        tags = {int(t) for t in a.tags[lo:hi] if t >= TAGS.index("MD")}
        out += [f"{side}t{TAGS[t]}" for t in tags if t < len(TAGS)]
    return out


def node_features(
    table: Table,
    nodes: Sequence[tuple[int, int, int]],
    parts: Sequence[tuple[int, int]],
    nuclei: Sequence[tuple[int, int]],
) -> np.ndarray:
    """Returns float32 [nodes, features] for the tree model.

    Args:
        table: The EDUs.
        nodes: (i, k, j), 0-based.
        parts: Class numbers of the left and right part, -1 for a single EDU.
        nuclei: EDU numbers of both parts' nuclei.
    """
    i, k, j = (np.array([node[part] for node in nodes], dtype=np.int64) for part in range(3))
    u = table.u
    left, right = (np.array([n[side] for n in nuclei], dtype=np.int64) for side in range(2))
    base = table.splits(i, k, j)
    extra = np.stack(
        [
            np.array([p[0] for p in parts]), np.array([p[1] for p in parts]), left - i, right - k - 1,
            u.label[left], u.tag[left], u.label[right], u.tag[right], u.head[left] == right, u.head[right] == left,
            (u.head[left] > k) & (u.head[left] <= j), (u.head[right] >= i) & (u.head[right] <= k),
            table.cos[left, right], table.overlap(left, left, right, right),
        ],
        axis=1,
    ).astype(np.float32)  # fmt: skip
    dense = table.dense
    return np.concatenate([base, extra, dense[left][:, :34], dense[right][:, :51], dense[j][:, :34]], axis=1)
