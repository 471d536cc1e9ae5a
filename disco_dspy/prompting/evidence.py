"""How chunks are shown to the models: the evidence block with arrow outlines, and the parser's numbered EDUs.

A chunk with a tree is an arrow outline (facts measured on GUM: 1.31 times the plain tokens, 1.55 with EDU numbers;
nested JSON beside the text takes 4 to 6 times): one line per EDU in text order, indented by its depth in the head
tree, with a mark that says on which side its head is. The head of every EDU reads back from marks and indents alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from disco_dspy.corpus.types import Chunk
from disco_dspy.prompting.neutralise import as_data
from disco_dspy.settings import Cite
from signatures.relations import Inventory
from signatures.tree import Edu, RSTTree

TITLE_LIMIT = 120
"""Longest title shown, in characters."""

ROOT, ABOVE, BELOW, JOINED = "*", "<", ">", "="
_LINE = re.compile(r"(\d*)( *)([*<>=])(\S*) (.*)", re.DOTALL)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


def render_evidence(
    chunks: Sequence[Chunk], trees: Sequence[RSTTree | None], inventory: Inventory, cite: Cite = "edu"
) -> str:
    """Returns the block that grapher, planner and generator share, byte for byte.

    Chunks are numbered from 1 in the order given; scores, ids and dates are left out, so the same chunks give the
    same bytes.

    Args:
        chunks: In the order of their numbers.
        trees: One per chunk; none shows the chunk as one plain line.
        inventory: The one the trees were made with; gives the relation words.
        cite: `edu` numbers the EDUs, `chunk` does not.
    """
    blocks = []
    for number, (chunk, tree) in enumerate(zip(chunks, trees, strict=True), 1):
        title = as_data(chunk.title)[:TITLE_LIMIT].rstrip()
        # Plain text is indented like everything else, so that no document can begin a line of its own.
        body = f" {as_data(chunk.text)}" if tree is None else render_outline(tree, inventory, numbers=cite == "edu")
        blocks.append(f"[{number}] {title}".rstrip() + f"\n{body}")
    return "\n\n".join(blocks)


def render_outline(tree: RSTTree, inventory: Inventory, *, numbers: bool = False) -> str:
    """Returns a tree's arrow outline, one line per EDU: number (if wanted), indent, mark, relation word, text.

    `*` marks the root; `<` and `>` a satellite of the nearest less indented line above or below; `=` a further
    nucleus beside the nearest less indented line above.

    Args:
        tree: A valid tree.
        inventory: Its inventory; the `short` word of a relation is shown, or its name.
        numbers: Whether lines open with the EDU's number.
    """
    lines = []
    for number, (parent, relation, side) in enumerate(tree.heads(), 1):
        if not parent:
            mark, word = ROOT, ""
        else:
            known = inventory.find_exact(relation)
            word = "-".join(((known.short or known.name) if known else relation).split())
            mark = JOINED if side == "N" else ABOVE if parent < number else BELOW
        prefix = str(number) if numbers else ""
        lines.append(f"{prefix}{' ' * tree.depth(number)}{mark}{word} {as_data(tree.edu_text(number))}")
    return "\n".join(lines)


@dataclass(frozen=True)
class OutlineLine:
    """One EDU as an outline says it.

    Attributes:
        parent: Number of its head EDU; 0 for the root.
        word: Relation word; empty for the root.
        nucleus: Whether it is the root or a further nucleus.
        text: As shown.
    """

    parent: int
    word: str
    nucleus: bool
    text: str


def read_outline(outline: str) -> list[OutlineLine]:
    """Returns what an outline says, EDU by EDU.

    Args:
        outline: What `render_outline` returned.

    Raises:
        ValueError: If a line has no mark, or a mark points at no line.
    """
    rows = []
    for line in outline.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a line of an outline: {line!r}")
        rows.append((len(match[2]), match[3], match[4], match[5]))
    found = []
    for at, (depth, mark, word, text) in enumerate(rows):
        if mark == ROOT:
            parent = 0
        else:
            others = range(at + 1, len(rows)) if mark == BELOW else range(at - 1, -1, -1)
            parent = next((other + 1 for other in others if rows[other][0] < depth), 0)
            if not parent:
                raise ValueError(f"line {at + 1} points at no line: {word!r} {text!r}")
        found.append(OutlineLine(parent, word, mark in (ROOT, JOINED), text))
    return found


def render_edus(text: str, edus: Sequence[Edu]) -> str:
    """Returns a chunk as its parser reads it: `[1] text`, one EDU a line, a blank line where a paragraph ends.

    Args:
        text: The chunk's text.
        edus: Covering it.
    """
    lines: list[str] = []
    for edu in edus:
        piece = text[edu.start : edu.end]
        lines.append(f"[{edu.index}] {as_data(piece)}")
        trailing = piece[len(piece.rstrip()) :]
        if _PARAGRAPH.search(trailing) and edu is not edus[-1]:
            lines.append("")
    return "\n".join(lines)
