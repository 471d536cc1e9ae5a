"""Tokens, sentences, EDU candidates and chunks: exact offsets on any text."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disco_dspy.corpus.chunking import chunk_text
from disco_dspy.corpus.sentences import sentence_starts
from disco_dspy.corpus.tokens import count_tokens, token_starts
from disco_dspy.corpus.units import edu_starts, sentence_edus
from signatures.errors import DiscoError

GOLD = json.loads((Path(__file__).parent / "gold" / "GUM_news_iodine.json").read_text("utf-8"))

# Pieces that have broken text code before: CJK, combining marks, emoji sequences, right-to-left, CRLF, controls.
_PIECES = st.sampled_from(
    [
        "word ",
        "because ",
        "Dr. ",
        "U.S. ",
        "3.5 ",
        "。",
        "，但是",
        "中国",
        "e\u0301",
        "👩‍👩‍👧",
        "🤷🏽‍♀️",
        "שלום ",
        "\r\n",
        "\n\n",
        "\u3000",
        "\u200b",
        "\ufeff",
        "\x07",
        "\ud800",
        "…",
        '"Yes." ',
        "(a) ",
        "[1] ",
        "x" * 40,
        "; ",
        "- item\n",
        "# Head\n",
        "\u2028",
        "\x85",
    ]
)
any_text = st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=60).map("".join))


def split(text: str, starts: list[int]) -> list[str]:
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


@pytest.mark.parametrize("find", [sentence_starts, edu_starts])
@given(text=any_text)
@settings(deadline=None)
def test_starts_cut_any_text_into_visible_pieces(find, text: str) -> None:
    starts = find(text)
    assert bool(starts) == bool(text.strip())
    if starts:
        assert starts[0] == 0 and starts == sorted(set(starts))
        pieces = split(text, starts)
        assert "".join(pieces) == text
        assert all(piece.strip() for piece in pieces)
        assert all(not text[start].isspace() for start in starts[1:])


@given(text=any_text)
@settings(deadline=None)
def test_sentence_starts_are_edu_starts(text: str) -> None:
    assert set(sentence_starts(text)) <= set(edu_starts(text))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It works. It does.", ["It works. ", "It does."]),
        ("Dr. Smith met Mr. J. Jones at 5 p.m. in the U.S. yesterday.", None),
        ("He left the U.S. The next day he came back.", ["He left the U.S. ", "The next day he came back."]),
        ("Pi is 3.14, see Fig. 2 and e.g. this.", None),
        ("Version 2.0.1 of example.com/a.b is out.", None),
        ('"Stop!" he said. "Why?" she asked.', ['"Stop!" he said. ', '"Why?" she asked.']),
        ("See refs. [3] Then go on.", ["See refs. ", "[3] Then go on."]),
        ("今天下雨。我们不去！真的吗？是的", ["今天下雨。", "我们不去！", "真的吗？", "是的"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ("增长3.5%。GDP rose. 很好。", ["增长3.5%。", "GDP rose. ", "很好。"]),
        ("Heading\nThe text begins.\n\nNext one", ["Heading\n", "The text begins.\n\n", "Next one"]),
        ("- one thing\n- other thing", ["- one thing\n", "- other thing"]),
        ("Really?! Yes... maybe so. Ok", ["Really?! ", "Yes... maybe so. ", "Ok"]),
        ("First.\r\n\r\nSecond.", ["First.\r\n\r\n", "Second."]),
        ("1. First point here. 2. Second point.", ["1. First point here. ", "2. Second point."]),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, sentences: list[str] | None) -> None:
    starts = sentence_starts(text)
    assert (split(text, starts) if starts else []) == ([text] if sentences is None else sentences)


def test_hard_wrapped_paragraphs_are_not_cut_at_line_ends() -> None:
    text = (
        "The committee met on Tuesday to discuss the plan that had been\n"
        "put forward by the members in the spring, and it decided after\n"
        "a long debate to postpone the vote until the autumn session in\n"
        "which all would be present. Nobody objected to this."
    )
    assert [piece[:12] for piece in split(text, sentence_starts(text))] == ["The committe", "Nobody objec"]


@pytest.mark.parametrize(
    ("text", "edus"),
    [
        (
            "He stayed at home because it was raining.",
            ["He stayed at home ", "because it was raining."],
        ),
        ("She said that the plan works.", ["She said ", "that the plan works."]),
        (
            "公司营收增长了百分之十，净利润却下降了百分之五；原因是成本上升。",
            ["公司营收增长了百分之十，", "净利润却下降了百分之五；", "原因是成本上升。"],
        ),
        ("他没有来，因为下雨。", ["他没有来，", "因为下雨。"]),
        ("苹果，梨，桃都有。", ["苹果，梨，桃都有。"]),
        ("今天，我们去。", ["今天，我们去。"]),
    ],
)
def test_edus(text: str, edus: list[str]) -> None:
    assert split(text, edu_starts(text)) == edus


def f1(found: set[int], gold: set[int]) -> float:
    return 200 * len(found & gold) / (len(found) + len(gold))


def test_agreement_with_gold() -> None:
    """On one gold news text, a hard one; the whole development set is measured by `python -m benchmarks.edu_cues`."""
    text = GOLD["text"]
    assert f1(set(sentence_starts(text)), {start for start, _ in GOLD["sentences"]}) >= 95
    assert f1(set(edu_starts(text)), {start for start, _ in GOLD["edus"]}) >= 70


def test_sentence_edus() -> None:
    @dataclass(frozen=True)
    class Edu:
        index: int
        start: int

    text = "He left because it rained. She stayed. 但是，他回来了。"
    edus = [Edu(i, start) for i, start in enumerate(edu_starts(text), start=1)]
    opening = sentence_edus(text, edus)
    assert [text[edus[i - 1].start :][:6] for i in opening] == ["He lef", "She st", "但是，他回来"]


@given(text=any_text)
@settings(deadline=None)
def test_tokens_start_at_characters_of_the_text(text: str) -> None:
    starts = token_starts(text)
    assert starts == sorted(set(starts)) and all(
        0 <= start < len(text) and not text[start].isspace() for start in starts
    )


def test_token_counts() -> None:
    assert count_tokens("hello world") == 2 and count_tokens("中国 的") == 3
    assert count_tokens("x" * 100_000) > 10_000, "a run without spaces is not one token"
    with pytest.raises(DiscoError, match="minilm"):
        token_starts("x", "minilmm")


@given(any_text, st.integers(8, 40), st.booleans())
@settings(deadline=None)
def test_chunks_join_to_the_text(text: str, size: int, sentence_aware: bool) -> None:
    spans = chunk_text(text, size, 0, sentence_aware)
    assert "".join(text[start:end] for start, end in spans) == text or not text.strip()
    assert bool(spans) == bool(text.strip())
    assert all(text[start:end].strip() for start, end in spans)
    for _, end in spans:
        assert end == len(text) or not text[end].isspace(), "whitespace stays left"
        assert end == len(text) or text[end] not in "\u0301\u200d\ufe0f🏽", "no cut inside a visible character"


@given(any_text, st.integers(12, 40), st.integers(1, 11), st.booleans())
@settings(deadline=None)
def test_overlapping_chunks_cover_the_text(text: str, size: int, overlap: int, sentence_aware: bool) -> None:
    spans = chunk_text(text, size, overlap, sentence_aware)
    if spans:
        assert spans[0][0] == 0 and spans[-1][1] == len(text)
        assert all(a < c <= b < d for (a, b), (c, d) in pairwise(spans))


def test_chunks_keep_to_the_size_and_to_sentences() -> None:
    text = GOLD["text"]
    assert all(count_tokens(text[a:b]) <= 64 for a, b in chunk_text(text, 64))
    opening = set(sentence_starts(text))
    assert all(a in opening for a, _ in chunk_text(text, 128))
    plain = chunk_text(text, 64, sentence_aware=False)
    # A word that a cut splits is counted a little differently in its halves.
    assert all(63 <= count_tokens(text[a:b]) <= 66 for a, b in plain[:-1])
    shared = chunk_text(text, 64, 16, sentence_aware=False)
    assert all(8 <= count_tokens(text[c:b]) <= 16 for (_, b), (c, _) in pairwise(shared))


@pytest.mark.parametrize(
    "line", ["x" * 100_000, "word, and so. " * 7_200, "中" * 100_000, "e\u0301" * 50_000, " a" * 50_000]
)
def test_one_line_of_100000_characters(line: str) -> None:
    started = time.monotonic()
    spans = chunk_text(line)
    assert "".join(line[a:b] for a, b in spans) == line and len(spans) > 10
    assert len(edu_starts(line)) >= 1
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (8, 8), (8, -1)])
def test_impossible_sizes(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="size"):
        chunk_text("text", size, overlap)
