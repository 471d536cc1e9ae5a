"""Fits the two kinds of models and writes them as the arrays that `disco_dspy.light` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

SEED = 1
COMMON: dict[str, Any] = {
    "verbose": -1, "num_threads": 1, "seed": SEED, "deterministic": True, "force_row_wise": True, "max_bin": 63,
    "bagging_freq": 1, "bagging_fraction": 0.8, "use_missing": False,
}  # fmt: skip


def grow_forest(x: np.ndarray, y: np.ndarray, rounds: int, classes: int = 1, **settings: Any) -> dict[str, np.ndarray]:
    """Returns gradient-boosted trees as arrays of a `Forest`.

    Args:
        x: float32 [rows, features].
        y: Class numbers, or 0/1 for classes=1.
        rounds: Boosting rounds; each adds one tree a class.
        classes: 1 for a two-way model.
        settings: LightGBM parameters on top of `COMMON`.
    """
    import lightgbm

    goal = {"objective": "binary"} if classes == 1 else {"objective": "multiclass", "num_class": classes}
    booster = lightgbm.train({**COMMON, **goal, **settings}, lightgbm.Dataset(x, y), rounds)
    return flatten(booster.dump_model()["tree_info"], classes)


def flatten(trees: Sequence[dict[str, Any]], classes: int) -> dict[str, np.ndarray]:
    """Returns LightGBM's dumped trees as flat arrays."""
    feature: list[int] = []
    threshold: list[float] = []
    children: list[tuple[int, int]] = []
    value: list[float] = []
    roots: list[int] = []
    deepest = 0
    for tree in trees:
        roots.append(len(feature))
        todo: list[tuple[dict[str, Any], int, bool, int]] = [(tree["tree_structure"], -1, False, 0)]
        while todo:
            node, parent, is_right, depth = todo.pop()
            number = len(feature)
            if parent >= 0:
                left, right = children[parent]
                children[parent] = (left, number) if is_right else (number, right)
            leaf = "split_index" not in node
            feature.append(-1 if leaf else int(node["split_feature"]))
            threshold.append(0.0 if leaf else float(node["threshold"]))
            children.append((number, number))
            value.append(float(node["leaf_value"]) if leaf else 0.0)
            deepest = max(deepest, depth)
            if not leaf:
                todo += [(node["right_child"], number, True, depth + 1), (node["left_child"], number, False, depth + 1)]
    # Features are float32: the largest float32 not above a threshold parts them exactly as the threshold does.
    exact = np.array(threshold, dtype=np.float64)
    cut = exact.astype(np.float32)
    above = cut.astype(np.float64) > exact
    cut[above] = np.nextafter(cut[above], np.float32(-np.inf))
    links = np.array(children, dtype=np.int32)
    return {
        "feature": np.array(feature, dtype=np.int16),
        "threshold": cut,
        "left": links[:, 0],
        "right": links[:, 1],
        "value": np.array(value, dtype=np.float32),
        "root": np.array(roots, dtype=np.int32),
        "depth": np.array(deepest),
        "classes": np.array(classes),
    }


def fit_linear(
    items: Sequence[Sequence[str]], y: np.ndarray, classes: int, c: float, least: int, dense: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Returns a multinomial logistic regression with a quadratic penalty as arrays of a `Linear`.

    Args:
        items: Feature names of each item.
        y: Class numbers.
        classes: How many there are.
        c: Weight of the data against the penalty.
        least: Features in fewer items are left out.
        dense: float32 [items, d], numbers beside the names.
    """
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix, hstack

    counts = Counter(name for names in items for name in set(names))
    known = sorted(name for name, count in counts.items() if count >= least and "\n" not in name)
    row = {name: number for number, name in enumerate(known)}
    ends, columns = [0], []
    for names in items:
        columns += sorted({row[name] for name in names if name in row})
        ends.append(len(columns))
    x = csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(items), len(known)))
    if dense is not None:
        x = hstack([x, csr_matrix(dense.astype(np.float64))]).tocsr()
    size = len(known) + (0 if dense is None else dense.shape[1])
    xt = x.T.tocsr()
    target = np.zeros((len(items), classes))
    target[np.arange(len(items)), y] = 1

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(size + 1, classes)
        raw = x @ w[:-1] + w[-1]
        raw -= raw.max(axis=1, keepdims=True)
        e = np.exp(raw)
        total = e.sum(axis=1, keepdims=True)
        value = 0.5 * float((w[:-1] ** 2).sum()) - c * float((target * (raw - np.log(total))).sum())
        gap = e / total - target
        return value, np.concatenate([w[:-1] + c * (xt @ gap), c * gap.sum(axis=0, keepdims=True)]).ravel()

    best = minimize(
        loss, np.zeros((size + 1) * classes), jac=True, method="L-BFGS-B", options={"maxiter": 80, "maxcor": 8}
    ).x.reshape(size + 1, classes)
    # Eight bits a weight are enough: a label rests on some sixty of them.
    named = best[: len(known)]
    scale = np.abs(named).max(axis=0) / 127 + 1e-12
    extra = {} if dense is None else {"dense": best[len(known) : -1].astype(np.float16)}
    return {
        **extra,
        "names": np.frombuffer("\n".join(known).encode("utf-8"), dtype=np.uint8),
        "weights": np.round(named / scale).astype(np.int8),
        "scale": scale.astype(np.float32),
        "bias": best[-1].astype(np.float32),
    }
