"""Text from documents and models as data: nothing in it can end a section, open a turn or pass for a reference."""

from __future__ import annotations

import re
import unicodedata

# Section markers of the prompt (`[[ ## name ## ]]`), whole or in halves: a half may be completed by what follows.
_OPEN = re.compile(r"\[\[(?=\s*#)")
_CLOSE = re.compile(r"(#\s*)\]\]")
# Chat-template tokens. Servers tokenise the rendered prompt with special tokens on, so such text in a document would
# end the user's turn. `<|...|>` covers most model families (the full-width bar is DeepSeek's); the words after it are
# the rest: Llama 2, Mistral, Gemma, T5, tool calls, and reasoning marks.
_BAR_OPEN = re.compile(r"<(?=[|｜])")
_BAR_CLOSE = re.compile(r"([|｜])>")
_ANGLED = re.compile(
    r"<(?=/?(?:s|bos|eos|pad|unk|mask|cls|sep|think|thinking|tool_call|tool_response|tools|start_of_turn|end_of_turn"
    r"|start_of_image|end_of_text|endoftext|human|user|assistant|system|extra_id_\d+|unused\d+|0x[0-9a-f]{2})>)",
    re.IGNORECASE,
)
_SQUARE = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|PREFIX|SUFFIX|MIDDLE)\])",
    re.IGNORECASE,
)
_SYS = re.compile(r"<<(?=/?SYS>>)", re.IGNORECASE)
# `[12]`, `[3.2]`, `[1, 4]`: what citations look like, and what Wikipedia's footnotes look like.
_REFERENCE = re.compile(r"\[(\s*\d+(?:\.\d+)?(?:\s*[,;\-–]\s*\d+(?:\.\d+)?)*\s*)\]")
_SPACE = re.compile(r"\s+")


def neutralise(text: str) -> str:
    """Returns the text with prompt markers and chat-template tokens broken by a space; line breaks stay.

    Applying it twice changes nothing more. Text without such marks comes back as it is, but for characters that no
    provider takes (lone surrogates, control characters other than tab and line breaks).

    Args:
        text: Anything: a document, a question, a model's reply.
    """
    text = _cleaned(text)
    text = _CLOSE.sub(r"\1] ]", _OPEN.sub("[ [", text))
    text = _BAR_CLOSE.sub(r"\1 >", _BAR_OPEN.sub("< ", text))
    text = _SYS.sub("< <", text)
    return _SQUARE.sub("[ ", _ANGLED.sub("< ", text))


def one_line(text: str) -> str:
    """Returns the text on one line, trimmed, runs of white space as one space, and neutralised."""
    return neutralise(_SPACE.sub(" ", _cleaned(text)).strip())


def as_data(text: str) -> str:
    """Returns document text for the evidence block: one line, neutralised, and `[12]` written `(12)`.

    A bracketed number in a document (a footnote mark) would read as a citation of ours and be copied into the answer.
    """
    return _REFERENCE.sub(r"(\1)", one_line(text))


def _cleaned(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf"} or char in _KEPT else _other(char)
        for char in text
    )


# Joiners that scripts and emoji need; every other format character (zero-width space, direction override) is dropped,
# since it could split a marker for this module and join it again for a tokenizer.
_KEPT = {"\u200c", "\u200d"}


def _other(char: str) -> str:
    return "\n" if char in "\r\x0b\x0c\x1c\x1d\x1e\x85" else ""
