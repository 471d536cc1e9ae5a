import numpy as np

from disco_dspy.light.forest import Forest

# Tree 1: x0 <= 0.5 ? 1 : (x1 <= 2 ? 10 : 20). Tree 2: a single leaf, 0.25.
ARRAYS = {
    "feature": np.array([0, -1, 1, -1, -1, -1]),
    "threshold": np.array([0.5, 0, 2, 0, 0, 0], dtype=np.float32),
    "left": np.array([1, 1, 3, 3, 4, 5]),
    "right": np.array([2, 1, 4, 3, 4, 5]),
    "value": np.array([0, 1, 0, 10, 20, 0.25]),
    "root": np.array([0, 5]),
    "depth": np.array(2),
    "classes": np.array(1),
}


def test_rows_fall_to_the_leaf_their_values_lead_to() -> None:
    x = np.array([[0.5, 9], [0.6, 2], [0.6, 2.1]], dtype=np.float32)
    assert Forest(ARRAYS).raw(x)[:, 0].tolist() == [1.25, 10.25, 20.25]


def test_classes_take_turns_over_the_trees() -> None:
    forest = Forest({**ARRAYS, "classes": np.array(2)})
    assert forest.raw(np.zeros((1, 2), dtype=np.float32)).tolist() == [[1.0, 0.25]]
    assert np.isclose(forest.softmax(np.zeros((1, 2), dtype=np.float32))[0, 0], 1 / (1 + np.exp(-0.75)))


def test_many_rows_are_cut_into_blocks_without_a_trace() -> None:
    x = np.random.default_rng(0).random((5000, 2), dtype=np.float32) * 4
    forest = Forest(ARRAYS)
    assert np.array_equal(forest.raw(x), np.concatenate([forest.raw(row[None]) for row in x]))


def test_probability_stays_in_range_for_huge_sums() -> None:
    forest = Forest({**ARRAYS, "value": ARRAYS["value"] * 1000})
    assert forest.probability(np.array([[1, 9]], dtype=np.float32))[0] == 1.0
