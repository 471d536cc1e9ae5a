"""Text from documents and models, made safe for a terminal."""

from __future__ import annotations

import re

from rich.text import Text

# C0 and C1 controls but for newline and tab, and the marks that flip the direction of what follows:
# a document must not be able to move the cursor, recolour the screen or retitle the window.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARK = re.compile(r"\[\d+(?:\.\d+)?\]")


def safe(text: str) -> str:
    """Returns the text without terminal control characters; newlines and tabs stay."""
    return _UNSAFE.sub("", text)


def one_line(text: str, limit: int = 0) -> str:
    """Returns the text on one line, cut to `limit` characters with an ellipsis when `limit` is above 0."""
    line = " ".join(safe(text).split())
    return line if not limit or len(line) <= limit else f"{line[: limit - 1]}…"


def plain(text: str, style: str = "") -> Text:
    """Returns a rich Text of safe text; brackets in it are never read as markup."""
    return Text(safe(text), style=style)


def with_citations(text: str) -> Text:
    """Returns an answer as rich Text with its citation marks (`[3]`, `[3.2]`) highlighted."""
    rendered = plain(text)
    rendered.highlight_regex(_MARK, "cyan")
    return rendered
