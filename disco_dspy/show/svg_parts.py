"""What the pictures share: colours for light and dark, text that wraps without font metrics, escaping."""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

FONT = "'Helvetica Neue', Arial, 'Liberation Sans', 'Noto Sans', 'Noto Sans CJK SC', sans-serif"

# Characters that XML 1.0 cannot hold.
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Words, each with the white space after it; CJK breaks between any two characters.
_PIECE = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60][，。、；：！？）》」』”’]*\s*|[^\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]+\s*|\s+"
)

# Families by the first word of a label that starts with one of these, over all shipped inventories and GUM's labels.
_FAMILIES = {
    "contrast": (
        "contrast", "concession", "adversative", "antithesis", "contradict", "comparison", "differ", "otherwise",
    ),
    "reason": (
        "cause", "causal", "explanation", "purpose", "condition", "contingency", "evidence", "reason", "result",
        "justify", "motivation", "enablement", "support", "consequence", "solutionhood", "problem",
    ),
    "voice": ("attribution", "evaluation", "interpretation", "comment", "topic", "question", "conclusion"),
    "equal": (
        "joint", "sequence", "alternative", "same", "list", "restat", "summar", "disjunction", "conjunction",
        "temporal", "precede", "equivalen", "duplicat", "repeat", "parallel",
    ),
}  # fmt: skip
_LIGHT = {"contrast": "#c4302b", "reason": "#a15c00", "voice": "#7a3fb5", "equal": "#0f766e", "detail": "#2563a8"}
_DARK = {"contrast": "#ff7b72", "reason": "#e3a04f", "voice": "#c297ff", "equal": "#4fc7b8", "detail": "#79b8ff"}


def family(label: str) -> str:
    """Returns the colour family of a relation: `contrast`, `reason`, `voice`, `equal` or `detail`."""
    plain = label.casefold().replace("_", "-")
    return next((name for name, starts in _FAMILIES.items() if plain.startswith(starts)), "detail")


def style(scope: str) -> str:
    """Returns the rules all pictures share, for light and dark, limited to a class so that a page is not touched.

    Args:
        scope: The class of the outer element.
    """

    def rules(colours: dict[str, str], paper: str, ink: str, soft: str) -> str:
        shared = f".{scope}{{--paper:{paper};--ink:{ink};--soft:{soft};"
        return shared + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}"

    light = rules(_LIGHT, "#ffffff", "#1f2328", "#6a737d")
    dark = rules(_DARK, "#14181f", "#e8edf3", "#98a2ad")
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


def clean(text: str) -> str:
    """Returns text as XML can hold it, on one line and escaped."""
    return escape(_ILLEGAL.sub("\ufffd", " ".join(text.split())), {'"': "&quot;"})


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Returns an estimate of the width of a text in pixels, for common sans-serif fonts and rather too wide.

    Args:
        text: One line.
        size: Font size in pixels.
        bold: Whether it is bold.
    """
    return sum(map(_em, text)) * size * (1.07 if bold else 1.0)


def _em(character: str) -> float:
    if character in "iljI.,:;'|!()[] ·":
        return 0.31
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.03
    if character in "mwMW@%—":
        return 0.88
    if character.isupper():
        return 0.71
    return 0.4 if character in 'frt-"“”‘’`' else 0.575


def wrap(text: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Returns the lines of a text, each at most `width` wide by the estimate; at least one line.

    Args:
        text: Any text; white space becomes single spaces.
        width: In pixels.
        size: Font size in pixels.
        bold: Whether it is bold.
    """
    lines, line, used = [], "", 0.0
    for piece in _PIECE.findall(" ".join(text.split())):
        needed = text_width(piece.rstrip(), size, bold=bold)
        if line and used + needed > width:
            lines.append(line.rstrip())
            line, used = "", 0.0
        while needed > width and len(piece) > 1:
            # A word wider than the line, such as an address, is cut.
            cut = max(1, int(len(piece) * width / needed))
            lines.append(piece[:cut])
            piece = piece[cut:]
            needed = text_width(piece.rstrip(), size, bold=bold)
        line += piece
        used += text_width(piece, size, bold=bold)
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def clip(text: str, width: float, size: float) -> str:
    """Returns a text cut to one line of a width, with an ellipsis where something is missing."""
    lines = wrap(text, width, size)
    return lines[0] if len(lines) == 1 else lines[0].rstrip(" ,;.") + "…"
