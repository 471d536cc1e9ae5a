from hypothesis import given
from hypothesis import strategies as st

from disco_dspy.light.tokens import norm, shape, tokenize

TEXT = st.text(st.sampled_from("abZ .,'’\"\n\r\t-0é中。[1]😀\u0301") | st.characters(), max_size=120)


@given(TEXT)
def test_every_visible_character_is_in_exactly_one_token(text: str) -> None:
    tokens = tokenize(text)
    assert "".join(tokens.words) == "".join(text.split())
    assert all(text[s:e] == w for w, s, e in zip(tokens.words, tokens.starts, tokens.ends, strict=True))
    assert all(a <= b for a, b in zip(tokens.sentence, tokens.sentence[1:], strict=False))
    assert all(a <= b for a, b in zip(tokens.line, tokens.line[1:], strict=False))


def test_contractions_numbers_and_abbreviations() -> None:
    text = "She can't say it's 3,000 or the 17th. Dr. Who re-reads, e.g. in the U.S. (cannot)."
    assert tokenize(text).words == (
        "She", "ca", "n't", "say", "it", "'s", "3,000", "or", "the", "17th", ".", "Dr.", "Who", "re", "-", "reads", ",",
        "e.g.", "in", "the", "U.S.", "(", "can", "not", ")", ".",
    )  # fmt: skip


def test_a_note_stays_with_the_sentence_before_it() -> None:
    tokens = tokenize("It sank. [3] [4] Nobody knew.\nA new line.")
    words = list(zip(tokens.words, tokens.sentence, tokens.line, strict=True))
    assert [w for w, s, _ in words if s == 0] == ["It", "sank", ".", "[", "3", "]", "[", "4", "]"]
    assert [w for w, s, _ in words if s == 1] == ["Nobody", "knew", "."]
    assert {line for w, _, line in words if w == "new"} == {1}


def test_norm_and_shape() -> None:
    assert (norm("N’t"), norm("“"), norm("House")) == ("not", '"', "house")
    assert (shape("McDonald99"), shape("aaaaaaa"), shape("3,000"), shape("x" * 100)) == (
        "XxXxxxxdd",
        "xxxx",
        "d,ddd",
        "LONG",
    )
