"""Vector generations: what FAISS gets wrong by itself must not reach the index."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disco_dspy.index.vectors import Vectors


def rows(count: int, seed: int = 0, dimension: int = 8) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@given(st.lists(st.integers(0, 10**12), unique=True, min_size=1, max_size=30), st.integers(1, 40))
@settings(deadline=None)
def test_search_equals_brute_force(numbers: list[int], k: int) -> None:
    made = rows(len(numbers), seed=len(numbers))
    vectors = Vectors(8)
    vectors.add(numbers, made)
    query = rows(1, seed=99)[0]
    expected = sorted(zip(numbers, (made @ query).tolist(), strict=True), key=lambda hit: (-hit[1], hit[0]))[:k]
    found = vectors.search(query, k)
    assert [number for number, _ in found] == [number for number, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-5)
    assert -1 not in [number for number, _ in found]
    among = numbers[::2]
    assert {number for number, _ in vectors.search(query, 99, among)} == set(among)


def test_written_generation_reads_back_the_same(tmp_path: Path) -> None:
    vectors = Vectors(8)
    vectors.add([5, 3, 70], rows(3))
    size = vectors.write(tmp_path / "v.faiss")
    assert [file.name for file in tmp_path.iterdir()] == ["v.faiss"] and (tmp_path / "v.faiss").stat().st_size == size
    again = Vectors.read(tmp_path / "v.faiss", 8, size)
    assert again.numbers() == [5, 3, 70] and len(again) == 3
    np.testing.assert_array_equal(again.rows([70, 5]), rows(3)[[2, 0]])


def test_empty_and_wrong_shapes() -> None:
    vectors = Vectors(8)
    assert vectors.search(rows(1)[0], 5) == [] and vectors.rows([]).shape == (0, 8)
    vectors.add([], rows(0))
    with pytest.raises(ValueError, match="shape"):
        vectors.add([1], rows(1, dimension=9))
    vectors.add([1], rows(1))
    with pytest.raises(ValueError, match="dimensions"):
        vectors.search(rows(1, dimension=9)[0], 1)
    assert vectors.search(rows(1)[0], 5, among=[]) == []
