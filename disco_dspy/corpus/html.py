"""The visible text of an HTML page, blocks on lines of their own."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag

from disco_dspy.corpus.wordlist import words_of

_HIDDEN = words_of("title script style noscript template head svg math iframe object button select nav")
_BLOCKS = words_of(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 "
    "h6 header hr li main ol p pre section table tbody tfoot thead tr ul caption summary"
)
_CELLS = frozenset({"td", "th"})
_SPACE = re.compile(r"[ \t\r\n\f\v]+")


def html_to_text(html: str) -> tuple[str, str]:
    """Returns the title (empty if there is none) and the visible text.

    Blocks are separated by a blank line, list items and table rows by a line end. Scripts, styles and navigation are
    left out. Walks the tree without recursion, so deep nesting is fine.

    Args:
        html: A page or a fragment; broken markup is read as browsers would.
    """
    soup = BeautifulSoup(html, "html.parser")
    title_tag = soup.title or soup.find("h1")
    title = _SPACE.sub(" ", title_tag.get_text()).strip() if title_tag else ""
    pieces: list[str] = []
    stack: list[tuple[object, bool]] = [(soup, False)]
    while stack:
        node, leaving = stack.pop()
        if isinstance(node, Tag):
            name = node.name.lower()
            if name in _HIDDEN:
                continue
            if name == "br":
                pieces.append("\n")
                continue
            if name in _BLOCKS:
                pieces.append("\n" if name in {"li", "tr", "dt", "dd"} else "\n\n")
            elif name in _CELLS and leaving:
                pieces.append(" | ")
            if not leaving:
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(node.contents))
        elif isinstance(node, NavigableString) and not isinstance(node, PreformattedString):
            pieces.append(_SPACE.sub(" ", str(node)))
    text = "".join(pieces)
    text = re.sub(r"[ \t]*\|[ \t]*(?=\n)", "", text)
    text = re.sub(r"[ \t]*\n[ \t]*", "\n", text)
    text = re.sub(r"[ \t]{2,}", " ", text)
    return title, re.sub(r"\n{3,}", "\n\n", text).strip()
