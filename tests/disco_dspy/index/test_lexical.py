"""BM25 terms and rank fusion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disco_dspy.index.lexical import Lexical, fuse, searchable, words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cats, and Horses!", ["cats", "horse"]),
        ("中国的首都", ["中国", "国的", "的首", "首都"]),
        ("国 and GDP増加2024年", ["国", "gdp", "増加", "2024", "年"]),
        ("Straße CAFÉ naïve", ["strasse", "café", "naïve"]),
        ("カーテン", ["カー", "ーテ", "テン"]),
        ("snake_case v1.2", ["snake", "case", "v1", "2"]),
        ("한국어 검색", ["한국어", "검색"]),
        (
            "glasses berries barking barked stations bus class nations",
            ["glass", "berry", "bark", "bark", "station", "bus", "class", "nation"],
        ),
        ("", []),
    ],
)
def test_words(text: str, terms: list[str]) -> None:
    assert words(text) == terms


def test_single_character_question_finds_nothing_rather_than_failing() -> None:
    assert Lexical([1], ["the"]).search("cats", 5) == []
    assert Lexical([], []).search("cats", 5) == []


def test_rare_words_count_more_and_ties_go_by_number() -> None:
    lexical = Lexical([4, 2, 9], ["apple pear", "apple fig", "apple pear"])
    assert [number for number, _ in lexical.search("apple fig", 9)] == [2, 4, 9]
    assert [number for number, _ in lexical.search("pear", 9)] == [4, 9]
    assert [number for number, _ in lexical.search("apple fig", 9, among=[9, 4])] == [4, 9]
    assert lexical.search("unknown", 9) == []


def test_fusion_by_hand() -> None:
    fused = fuse([[(1, 0.9), (2, 0.8)], [(3, 7.0), (1, 5.0)]], 3, 10)
    assert fused == [(1, pytest.approx(1 / 11 + 1 / 12)), (3, pytest.approx(1 / 11)), (2, pytest.approx(1 / 12))]


_rankings = st.lists(st.lists(st.integers(1, 9), unique=True).map(lambda ns: [(n, 1.0) for n in ns]), max_size=3)


@given(_rankings, st.integers(1, 12), st.integers(1, 60))
def test_fusion_keeps_every_candidate_once_in_order(rankings: list, k: int, constant: int) -> None:
    fused = fuse(rankings, k, constant)
    everyone = {number for ranking in rankings for number, _ in ranking}
    assert len(fused) == min(k, len(everyone)) and len({number for number, _ in fused}) == len(fused)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


def test_a_title_that_repeats_the_source_is_left_out() -> None:
    assert searchable("Cats", "c.txt", " sleep ") == "Cats\nsleep"
    assert searchable("q.jsonl#1", "q.jsonl#1", "sleep") == searchable("", "q", "sleep") == "sleep"
