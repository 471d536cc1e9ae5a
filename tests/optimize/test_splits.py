from __future__ import annotations

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.splits import parse_limits, split
from signatures.errors import DiscoError


def examples(count: int, prefix: str = "i") -> list[dspy.Example]:
    return [dspy.Example(id=f"{prefix}{n}") for n in range(count)]


@given(st.integers(8, 80), st.integers(0, 5))
def test_parts_are_disjoint_cover_the_pool_and_repeat(count: int, seed: int) -> None:
    made = split(examples(count), None, seed)
    ids = made.ids()
    every = ids["train"] + ids["val"] + ids["heldout"]
    assert sorted(every) == sorted(e.id for e in examples(count))
    assert len(set(every)) == count
    assert split(examples(count), None, seed).ids() == ids


def test_seed_changes_the_order() -> None:
    assert split(examples(30), None, 0).ids() != split(examples(30), None, 1).ids()


def test_own_dev_part_is_never_learnt_from() -> None:
    ids = split(examples(9), examples(5, "d"), 0, {"heldout": 3, "train": 2}).ids()
    assert len(ids["heldout"]) == 3 and all(id.startswith("d") for id in ids["heldout"])
    assert len(ids["train"]) == 2 and len(ids["val"]) == 3
    assert not any(id.startswith("d") for id in ids["train"] + ids["val"])


def test_limits_keep_the_first_of_the_same_order() -> None:
    whole, cut = split(examples(40), None, 3).ids(), split(examples(40), None, 3, {"train": 4}).ids()
    assert cut["train"] == whole["train"][:4] and cut["val"] == whole["val"]


def test_an_empty_part_is_an_error() -> None:
    with pytest.raises(DiscoError, match="split/empty"):
        split(examples(1), None, 0)


def test_limits_are_read() -> None:
    assert parse_limits("") == {}
    assert parse_limits("7") == {"train": 7, "val": 7, "heldout": 7}
    assert parse_limits("train=20, heldout=3") == {"train": 20, "heldout": 3}
    for wrong in ("train", "train=x", "tset=3", "val=0"):
        with pytest.raises(DiscoError) as caught:
            parse_limits(wrong)
        assert caught.value.exit_code == 2
