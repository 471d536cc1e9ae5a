"""Bracket strings, as NLTK and papers write trees: `(NS:elaboration 1 (NN:joint 2 3))`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

from disco_dspy.formats.assembly import Assembly
from disco_dspy.formats.chains import Chains
from disco_dspy.formats.document import RSTDocument, Span, as_document, join_edus
from disco_dspy.formats.problems import problem
from signatures.errors import DiscoError
from signatures.inventory import NUCLEARITIES, Nuclearity
from signatures.tree import RSTTree

_SHAPE = "Write (NS:relation left right), with EDU numbers or quoted texts as leaves."
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf"\s*(?:(?P<open>\(\s*(?P<nuc>\w+)\s*:\s*(?P<label>{_QUOTED}|[^\s()\"]+))|(?P<close>\))"
    rf"|(?P<text>{_QUOTED})|(?P<number>\d{{1,9}})(?![^\s()]))"
)
_PLAIN = re.compile(r"[^\s()\"]+")


class _Reader:
    def __init__(self, data: str, texts: Sequence[str] | None, name: str) -> None:
        self.data = data
        self.name = name
        self.given = texts
        self.texts: list[str] = []
        self.assembly = Assembly(name)

    def bad(self, code: str, what: str, at: int, remedy: str = _SHAPE) -> DiscoError:
        return problem(code, self.name, what, remedy, self.data.count("\n", 0, at) + 1)

    def leaf(self, match: re.Match[str]) -> Span:
        number = len(self.texts) + 1
        if match["text"] is not None:
            self.texts.append(self.quoted(match["text"], match.start()))
        else:
            if int(match["number"]) != number:
                what = f"EDU {match['number']} stands where EDU {number} was expected"
                raise self.bad("format/id", what, match.start())
            if self.given is None:
                remedy = "Give the EDU texts beside the string, or write them into it as quoted leaves."
                raise self.bad("format/no-text", "the leaves are numbers and there is no text", match.start(), remedy)
            if number > len(self.given):
                raise self.bad("format/id", f"there are only {len(self.given)} EDU texts", match.start())
            self.texts.append(self.given[number - 1])
        if not self.texts[-1].strip():
            raise self.bad("format/empty-edu", f"EDU {number} has no text", match.start())
        return number, number

    def quoted(self, text: str, at: int) -> str:
        try:
            return json.loads(text, strict=False)
        except json.JSONDecodeError as error:
            raise self.bad("format/brackets", f"{text[:40]} is not a quoted text ({error.msg})", at) from error

    def close(self, head: tuple[str, str], parts: list[Span], at: int) -> Span:
        nuclearity, label = head
        if len(parts) < 2 or (len(parts) > 2 and nuclearity != "NN"):
            raise self.bad("format/brackets", f"a node {nuclearity}:{label} has {len(parts)} parts", at)
        if nuclearity == "NN":
            return self.assembly.chain(parts, [label] * len(parts))
        return self.assembly.join(parts[0], parts[1], cast(Nuclearity, nuclearity), label)

    def read(self) -> RSTDocument:
        at, end = 0, len(self.data.rstrip())
        heads: list[tuple[str, str]] = []
        parts: list[list[Span]] = [[]]
        while at < end:
            match = _TOKEN.match(self.data, at)
            if match is None:
                raise self.bad("format/brackets", f"{self.data[at:end].strip()[:20]!r} cannot be read", at)
            at = match.end()
            if match["open"]:
                nuclearity = match["nuc"].upper()
                if nuclearity not in NUCLEARITIES:
                    raise self.bad("format/brackets", f"{match['nuc']!r} is not NS, SN or NN", match.start())
                label = match["label"]
                heads.append((nuclearity, self.quoted(label, at) if label.startswith('"') else label))
                parts.append([])
            elif match["close"]:
                if not heads:
                    raise self.bad("format/brackets", "a bracket closes that was not opened", at)
                unit = self.close(heads.pop(), parts.pop(), at)
                parts[-1].append(unit)
            else:
                parts[-1].append(self.leaf(match))
        if heads or len(parts[0]) != 1:
            what = f"{len(heads)} brackets are not closed" if heads else f"it has {len(parts[0])} roots instead of one"
            raise self.bad("format/brackets", what, end)
        return RSTDocument(join_edus(self.texts, self.assembly.nodes), self.name)


def read_brackets(data: str, texts: Sequence[str] | None = None, name: str = "") -> RSTDocument:
    """Returns the document of a bracket string; nodes with several nuclei are binarised to the right.

    Args:
        data: One tree.
        texts: EDU texts, where the leaves are numbers.
        name: For messages.

    Raises:
        DiscoError: `format/brackets`, `format/id` (EDUs out of order), `format/empty-edu` or `format/no-text`.
    """
    document = _Reader(data, texts, name).read()
    if texts is not None and len(texts) != len(document.tree.edus):
        what = f"{len(texts)} EDU texts are given for {len(document.tree.edus)} leaves"
        raise problem("format/id", name, what, _SHAPE)
    return document


def write_brackets(document: RSTTree | RSTDocument, *, texts: bool = False, flatten: bool = False) -> str:
    """Returns a tree as one line of brackets.

    Args:
        document: What to write; secondary edges and signals are left out.
        texts: Whether leaves are quoted texts, so that the string can be read alone, instead of EDU numbers.
        flatten: Whether a chain of one multinuclear relation becomes one node with several parts.
    """
    full = as_document(document)
    tree = full.tree
    chains = Chains(tree, full.kept, flatten=flatten)
    pieces: list[str] = []
    waiting: list[Span | None] = [(1, len(tree.edus))]
    while waiting:
        unit = waiting.pop()
        if unit is None:
            pieces[-1] += ")"
            continue
        node = chains.node(unit)
        if node is None:
            pieces.append(json.dumps(tree.edu_text(unit[0]), ensure_ascii=False) if texts else str(unit[0]))
            continue
        label = node.relation if _PLAIN.fullmatch(node.relation) else json.dumps(node.relation, ensure_ascii=False)
        pieces.append(f"({node.nuclearity}:{label}")
        waiting.append(None)
        parts = (
            chains.parts(node) if node.nuclearity == "NN" else [(node.first, node.split), (node.split + 1, node.last)]
        )
        waiting += reversed(parts)
    return " ".join(pieces) + "\n"
