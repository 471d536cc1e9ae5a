from __future__ import annotations

import pytest

from optimize.metrics.graph import conflict_recall, noise_left_alone
from optimize.metrics.grounding import support, validity


def test_validity_wants_marks_that_exist() -> None:
    assert validity(cited=3, removed=1) == pytest.approx(0.75)
    assert validity(cited=0, removed=0) == 0.0
    assert validity(cited=2, removed=0) == 1.0


def test_support() -> None:
    assert support([1, 1, 4], [1, 2]) == (0.5, 0.5)
    assert support([], [1]) == (0.0, 0.0)
    assert support([3], []) == (0.0, 1.0)


KINDS = ["correct", "misinfo", "noise", "correct", "misinfo"]


def test_conflict_recall_wants_an_edge_to_a_correct_passage() -> None:
    assert conflict_recall(KINDS, [(1, 2)]) == 0.5
    assert conflict_recall(KINDS, [(2, 1), (5, 4)]) == 1.0
    assert conflict_recall(KINDS, [(2, 5), (1, 4)]) == 0.0
    assert conflict_recall(["correct", "noise"], [(1, 2)]) is None
    assert conflict_recall(["misinfo"], []) is None


def test_noise_left_alone() -> None:
    assert noise_left_alone(KINDS, [(1, 2)]) == 1.0
    assert noise_left_alone(KINDS, [(1, 3)]) == 0.0
    assert noise_left_alone(["correct"], []) is None
