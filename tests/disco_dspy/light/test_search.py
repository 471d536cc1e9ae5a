import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from disco_dspy.light.search import Triple, best_tree


def all_trees(i: int, j: int) -> list[list[Triple]]:
    if i == j:
        return [[]]
    return [
        [(i, k, j), *left, *right] for k in range(i, j) for left in all_trees(i, k) for right in all_trees(k + 1, j)
    ]


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 10_000), st.floats(0, 2))
def test_no_other_tree_scores_higher(n: int, seed: int, weight: float) -> None:
    draw = np.random.default_rng(seed)
    spans = draw.random((n, n))
    splits = {
        (i, j): np.log(draw.dirichlet(np.ones(j - i))) for i in range(n) for j in range(i + 1, n) if draw.random() < 0.7
    }

    def score(tree: list[Triple]) -> float:
        return sum(spans[i, j] + weight * (splits[i, j][k - i] if (i, j) in splits else -2.0) for i, k, j in tree)

    found = best_tree(spans, splits, weight, 2.0)
    assert sorted(found) in [sorted(tree) for tree in all_trees(0, n - 1)]
    assert score(found) >= max(score(tree) for tree in all_trees(0, n - 1)) - 1e-9
