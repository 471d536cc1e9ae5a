"""Counts tokens with character offsets, with the tokenizer that ships in the package."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from signatures.errors import DiscoError, nearest

# A word the vocabulary cannot spell becomes one token however long it is; it is counted in pieces of this many
# characters instead, so that a 100,000-character run without spaces is not "one token".
_LONG, _PIECE = 32, 4
_SURROGATE = re.compile("[\ud800-\udfff]")

Tokenize = Callable[[str], list[int]]


@cache
def _minilm() -> Tokenize:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(files("disco_dspy").joinpath("data/minilm-tokenizer.json").read_text("utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def starts(text: str) -> list[int]:
        # Same length, so offsets hold; the tokenizer's Rust side refuses lone surrogates.
        encoded = tokenizer.encode(_SURROGATE.sub("\ufffd", text), add_special_tokens=False)
        found: list[int] = []
        for start, end in encoded.offsets:
            found.extend(range(start, end, _PIECE) if end - start > _LONG else (start,))
        return sorted(set(found))

    return starts


_TOKENIZERS: dict[str, Callable[[], Tokenize]] = {"minilm": _minilm}


def tokenizer_names() -> list[str]:
    """Returns the names that `token_starts` knows."""
    return sorted(_TOKENIZERS)


def token_starts(text: str, tokenizer: str = "minilm") -> list[int]:
    """Returns the character offset at which each token starts.

    Args:
        text: Any text.
        tokenizer: `minilm`, the word pieces of all-MiniLM-L6-v2 (about one token more per 35 than Qwen's count).

    Returns:
        Offsets in ascending order, each at a visible character; empty for a text without one.

    Raises:
        DiscoError: `corpus/tokenizer` for an unknown name.
    """
    if tokenizer not in _TOKENIZERS:
        raise DiscoError("corpus/tokenizer", f"There is no tokenizer {tokenizer!r}.", nearest(tokenizer, _TOKENIZERS))
    return _TOKENIZERS[tokenizer]()(text)


def count_tokens(text: str, tokenizer: str = "minilm") -> int:
    """Returns how many tokens a text has.

    Args:
        text: Any text.
        tokenizer: See `token_starts`.
    """
    return len(token_starts(text, tokenizer))
