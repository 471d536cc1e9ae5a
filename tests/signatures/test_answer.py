"""Answers: every mark that is left points at something, and what was taken out is reported."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signatures.answer import Answer, decode_answer
from signatures.blueprint import Evidence

COUNTS = [4, 0, 2]
_pieces = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "[1]",
            "[3.2]",
            "[9]",
            "[1, 3.2]",
            "[[",
            "]]",
            "[2.1]",
            "[0]",
            " ",
            "Answer:",
            "```\n",
            "\n",
            "[1-3]",
            "【2】",
            "[",
            "3",
            "]",
        ]
    ),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(_pieces, max_size=14).map("".join))
def test_any_text_gives_an_answer_whose_marks_all_exist(text: str) -> None:
    answer, health = decode_answer(text, COUNTS)
    marks = re.findall(r"\[[0-9]{1,6}(?:\.[0-9]{1,6})?\]", answer.text)
    assert [answer.text[citation.start : citation.end] for citation in answer.citations] == marks
    assert all(citation.evidence.exists(COUNTS) for citation in answer.citations)
    assert [f"[{citation.evidence}]" for citation in answer.citations] == marks
    assert health.cited == len(marks)
    again, clean = decode_answer(answer.text, COUNTS)
    assert again == answer and clean.removed == ()


@pytest.mark.parametrize(
    ("text", "expected", "removed"),
    [
        ("Yes [1], but not here [3.2].", "Yes [1], but not here [3.2].", ()),
        ("Yes [9]. No [3.3][1.0].", "Yes. No.", ("[9]", "[3.3]", "[1.0]")),
        ("Both [1, 3.2; 7].", "Both [1][3.2].", ("[7]",)),
        ("All [1-3] of [3.1–3.2].", "All [1][2][3] of [3.1][3.2].", ()),
        ("One [chunk 1 and EDU 3.2].", "One [1][3.2].", ()),
        ("中文【3】。", "中文[3]。", ()),
        ("Twice [01][1, 1].", "Twice [1][1].", ()),
        ("Chunk two has no units [2.1].", "Chunk two has no units.", ("[2.1]",)),
        ("[[9]3] nested", "[3] nested", ("[9]",)),
        ("In (2019) it was 3.2 [sic] [a, b].", "In (2019) it was 3.2 [sic] [a, b].", ()),
        ("Answer: yes [1]", "yes [1]", ()),
        ("**Answer:** yes", "yes", ()),
        ("答案：是[1]", "是[1]", ()),
        ("```markdown\nAnswer: yes\n```", "yes", ()),
        ("Use:\n```\ncode\n```\ndone", "Use:\n```\ncode\n```\ndone", ()),
        ('{"answer": "x"}', '{"answer": "x"}', ()),
        ("a\x1b[31m\x00b\r\nc\ud800", "a[31mb\nc", ()),
        ("", "", ()),
        ("[9]", "", ("[9]",)),
    ],
)
def test_marks_labels_and_fences(text: str, expected: str, removed: tuple[str, ...]) -> None:
    answer, health = decode_answer(text, COUNTS)
    assert (answer.text, health.removed) == (expected, removed)


def test_plain_text_has_no_marks_and_no_gaps() -> None:
    answer, _ = decode_answer("Low vitamin D [1.2][3] matters [2], in winter.", COUNTS)
    assert answer.plain == "Low vitamin D matters, in winter."
    assert [str(citation.evidence) for citation in answer.citations] == ["1.2", "3", "2"]
    assert answer.citations[0].evidence == Evidence(1, 2)
    assert Answer("as is").plain == "as is"


def test_long_hostile_text_is_read_in_time() -> None:
    for text in ("[" * 50_000, "[1" * 20_000, "[9]" * 20_000, "[1," * 20_000, " " * 50_000 + "[9]", "```\n" * 20_000):
        answer, _ = decode_answer(text, COUNTS)
        assert "[9]" not in answer.text
