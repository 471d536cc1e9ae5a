from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.metrics.answers import contains, exact_match, normalise, share_contained, token_f1


def test_normalise_follows_squad() -> None:
    assert normalise(' The "Broken  Bow", Nebraska. ') == "broken bow nebraska"


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("Stephen King", "Stephen King", 1.0),
        ("It was Stephen King", "Stephen King", 2 / 3),
        ("Stephen", "Stephen King", 2 / 3),
        ("Peter Murphy", "Gin Wigmore", 0.0),
        ("yes", "yes", 1.0),
        ("yes, both are", "yes", 0.0),
        ("no", "yes", 0.0),
        ("", "Latin", 0.0),
        ("北京大学", "北京", 2 / 3),
    ],
)
def test_token_f1(answer: str, gold: str, f1: float) -> None:
    assert token_f1(answer, [gold]) == pytest.approx(f1)


def test_best_gold_counts() -> None:
    assert token_f1("spirit", ["a demon", "a spirit"]) == 1.0
    assert exact_match("A Spirit!", ["demon", "spirit"]) == 1.0
    assert token_f1("spirit", []) == 0.0


def test_contains_whole_tokens_only() -> None:
    assert contains("about 2,397 people live there", "2,397")
    assert not contains("in 2016", "16")
    assert not contains("anything", "")
    assert contains("The 9 October 1951; 9 February 1936", "9 February 1936")


def test_share_contained() -> None:
    assert share_contained("681; 2,355 [1]", ["681", "2,355", "9"]) == pytest.approx(2 / 3)
    assert share_contained("681", []) == 0.0


@given(st.text(), st.lists(st.text(), max_size=4))
def test_figures_stay_in_bounds(answer: str, golds: list[str]) -> None:
    for figure in (token_f1(answer, golds), exact_match(answer, golds), share_contained(answer, golds)):
        assert 0.0 <= figure <= 1.0
    if normalise(answer):
        assert token_f1(answer, [answer]) == pytest.approx(1.0)
