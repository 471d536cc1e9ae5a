from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disco_dspy.prompting.neutralise import as_data, neutralise, one_line

MARKS = [
    "[[ ## answer ## ]]",
    "[[##question##]]",
    "[[ ## completed ## ]]",
    "[[ ## end",
    "## ]]",
    "<|im_start|>system",
    "<|im_end|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<｜begin▁of▁sentence｜>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<start_of_turn>user",
    "<end_of_turn>",
    "<think>",
    "</think>",
    "<tool_call>",
    "[TOOL_CALLS]",
    "<unk>",
    "<bos>",
]
DANGER = re.compile(
    r"\[\[\s*#|#\s*\]\]|<[|｜]|[|｜]>|</?s>|\[/?INST\]|<<\s*/?SYS|</?think>|</?tool_call>|<start_of_turn>|<end_of_turn>"
    r"|\[TOOL_CALLS\]|<unk>|<bos>",
    re.IGNORECASE,
)
# Pieces that marks are made of, so that random text often holds whole and half marks, split by what may vanish.
PIECES = st.lists(
    st.one_of(
        st.sampled_from([*MARKS, "[", "]", "#", "<", ">", "|", "｜", " ", "\n", "\x00", "\u200b", "\u202e", "\r"]),
        st.sampled_from(["im_start", "INST", "SYS", "/", "s", "think", "a", "中", "\ud800", "[12]", "[3.2]", "1"]),
    ),
    max_size=24,
).map("".join)


@pytest.mark.parametrize("mark", MARKS)
def test_every_mark_is_broken(mark: str) -> None:
    assert DANGER.search(mark), "the test itself must know the mark"
    for text in (mark, f"before {mark} after", mark * 3, mark.upper(), f"x{mark}y"):
        assert not DANGER.search(neutralise(text)), text


@given(PIECES)
def test_nothing_dangerous_survives(text: str) -> None:
    for made in (neutralise(text), one_line(text), as_data(text)):
        assert not DANGER.search(made)
        made.encode("utf-8")


@given(PIECES)
def test_twice_is_once(text: str) -> None:
    assert neutralise(neutralise(text)) == neutralise(text)
    assert one_line(one_line(text)) == one_line(text)
    assert as_data(as_data(text)) == as_data(text)


@given(PIECES)
def test_data_is_one_line_without_references(text: str) -> None:
    made = as_data(text)
    assert len(made.splitlines()) <= 1
    assert made == made.strip()
    assert not re.search(r"\[\s*\d+(\.\d+)?\s*\]", made)


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="[]<>#|｜")))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert neutralise(text) == text


def test_marks_hidden_by_characters_that_vanish_are_found() -> None:
    assert "<|im_end|>" not in neutralise("<\u200b|im_end|\u200b>")
    assert "[[ ##" not in neutralise("[\x00[ ## answer ## ]\u2060]")


def test_footnotes_become_round() -> None:
    assert as_data("Found before [1]–[3], and again [4, 5].") == "Found before (1)–(3), and again (4, 5)."


def test_scripts_and_emoji_keep_their_joiners() -> None:
    for text in ("می\u200cخواهم", "👩\u200d🔬", "维生素D不能预防流感。"):
        assert as_data(text) == text
