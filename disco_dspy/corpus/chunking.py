"""Cuts a text into chunks of a number of tokens, losing no character."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right

from disco_dspy.corpus.sentences import sentence_starts
from disco_dspy.corpus.tokens import token_starts

_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


def _whole(text: str, cut: int) -> int:
    """Moves a cut right until it does not split a visible character from its marks (accents, emoji sequences)."""
    while 0 < cut < len(text) and (
        text[cut] in _JOINERS
        or text[cut - 1] == "\u200d"
        or unicodedata.category(text[cut]) in ("Mn", "Mc", "Me", "Cf")
        or "\U0001f3fb" <= text[cut] <= "\U0001f3ff"
        or text[cut].isspace()
    ):
        cut += 1
    return cut


def chunk_text(
    text: str, size: int = 256, overlap: int = 0, sentence_aware: bool = True, tokenizer: str = "minilm"
) -> list[tuple[int, int]]:
    """Cuts a text into chunks.

    Args:
        text: Any text. Whitespace stays with the chunk on its left, so every chunk starts at a visible character,
            except that leading whitespace stays with the first chunk.
        size: Most tokens in a chunk.
        overlap: Most tokens a chunk repeats from the one before; whole sentences if `sentence_aware`.
        sentence_aware: Cut at the last sentence border that fits, and inside a sentence only if it alone is longer
            than `size`. False is the paper's plain cut after every `size` tokens.
        tokenizer: See `token_starts`.

    Returns:
        `(start, end)` character offsets in order. Without overlap they join to the text exactly. Empty for a text
        without a visible character.

    Raises:
        ValueError: If `size < 1` or not `0 <= overlap < size`.
    """
    if size < 1 or not 0 <= overlap < size:
        raise ValueError(f"need size >= 1 and 0 <= overlap < size, not size={size}, overlap={overlap}")
    if not text.strip():
        return []
    tokens = token_starts(text, tokenizer)
    sentences = [bisect_left(tokens, start) for start in sentence_starts(text)] if sentence_aware else []
    cuts: list[tuple[int, int]] = []  # in tokens
    first = 0
    while True:
        last = min(first + size, len(tokens))
        if last < len(tokens) and sentences:
            border = sentences[bisect_right(sentences, last) - 1]
            if border > (cuts[-1][1] if cuts else 0):
                last = border
        cuts.append((first, last))
        if last >= len(tokens):
            break
        first = last - overlap
        if overlap and sentences:
            # The first sentence that starts inside the overlap; none: no overlap here.
            place = bisect_left(sentences, first)
            first = sentences[place] if place < len(sentences) and sentences[place] < last else last
    spans: list[tuple[int, int]] = []
    for first, last in cuts:
        start = 0 if first == 0 else _whole(text, tokens[first])
        end = len(text) if last >= len(tokens) else _whole(text, tokens[last])
        if start < end:
            spans.append((start, end))
    return spans
