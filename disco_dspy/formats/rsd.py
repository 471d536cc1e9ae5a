"""Reading and writing .rsd, the dependency form of rst2dep and GUM.

One EDU a line, ten columns: number, text, attachment depth, _, _, features, head, relation (`_r` for a satellite, `_m`
for a further nucleus), secondary edges, signals. The depth says how often something was attached to the head before
this EDU was, which is what makes the tree recoverable from its heads.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from disco_dspy.formats.assembly import Assembly
from disco_dspy.formats.document import RSTDocument, SecondaryEdge, Signal, Span, join_edus
from disco_dspy.formats.problems import problem
from signatures.errors import DiscoError

_MENDED = "Repair the file, or convert the tree again with rst2dep."
_COLUMNS = 10
_SIGNAL = re.compile(r"([^-;|]*)-(.*?)-(_|\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)-([^-;|]*)")
# Several signals are joined by semicolons, which the words of an orphan marker may hold too.
_SIGNALS = re.compile(rf"{_SIGNAL.pattern}(?:;|$)")

MARKERS = ("dm", "orphan")
"""Signal types whose subtype .rsd writes as the words themselves; .rs4 repeats the type."""


def marker_words(tokens: Iterable[int], words: Sequence[str]) -> str:
    """Returns the words of a discourse marker as .rsd writes them, in lower case.

    Args:
        tokens: Numbers from 1.
        words: All tokens of the text.
    """
    return " ".join(words[token - 1] for token in tokens if 0 < token <= len(words)).lower()


@dataclass
class _Row:
    number: int
    text: str
    depth: int | None
    head: int
    relation: str
    multinuclear: bool
    secondary: str
    signals: str
    line: int
    # The unit it heads, as it grows: after n attachments.
    grown: list[Span] = field(default_factory=list)


class _Reader:
    def __init__(self, data: str, name: str) -> None:
        self.name = name
        self.assembly = Assembly(name)
        self.rows: list[_Row] = []
        for line, text in enumerate(data.removeprefix("\ufeff").split("\n"), 1):
            if text.strip() and not text.startswith("# "):
                self.rows.append(self.row(text.rstrip("\r").split("\t"), line))
        self.words = [word for row in self.rows for word in row.text.split()]
        if not self.rows:
            raise self.bad("format/empty", "there is no EDU in it", None)

    def bad(self, code: str, what: str, line: int | None) -> DiscoError:
        return problem(code, self.name, what, _MENDED, line)

    def row(self, cells: list[str], line: int) -> _Row:
        if len(cells) < 8:
            raise self.bad("format/columns", f"it has {len(cells)} tab-separated columns instead of {_COLUMNS}", line)
        number, text, depth, head, relation = cells[0], cells[1], cells[2], cells[6], cells[7]
        if number != str(len(self.rows) + 1):
            raise self.bad("format/id", f"EDU {number!r} stands where {len(self.rows) + 1} was expected", line)
        if not text.strip():
            raise self.bad("format/empty-edu", f"EDU {number} has no text", line)
        if not head.isdecimal() or not (depth == "_" or depth.isdecimal()):
            raise self.bad("format/columns", f"head {head!r} or depth {depth!r} is not a number", line)
        extras = [*cells[8:_COLUMNS], "_", "_"]
        label, mark = (relation[:-2], relation[-2:]) if relation[-2:] in ("_r", "_m") else (relation, "_r")
        at = None if depth == "_" else int(depth)
        return _Row(int(number), text, at, int(head), label, mark == "_m", extras[0], extras[1], line)

    def order(self) -> list[_Row]:
        """Heads before what hangs on them."""
        children: dict[int, list[_Row]] = defaultdict(list)
        for row in self.rows:
            if row.head > len(self.rows):
                raise self.bad("format/parent", f"EDU {row.number} hangs on {row.head}, which is not there", row.line)
            children[row.head].append(row)
        if len(children[0]) != 1:
            line = children[0][1].line if children[0] else None
            raise self.bad("format/roots", f"{len(children[0])} EDUs have head 0, a tree has one", line)
        order = list(children[0])
        for row in order:
            order += children[row.number]
        if len(order) < len(self.rows):
            reached = {row.number for row in order}
            lost = next(row for row in self.rows if row.number not in reached)
            raise self.bad("format/cycle", f"EDU {lost.number} hangs on itself through others", lost.line)
        return order

    def build(self, row: _Row, hanging: list[_Row]) -> None:
        unit = (row.number, row.number)
        row.grown.append(unit)
        levels: dict[int | None, list[_Row]] = defaultdict(list)
        for child in hanging:
            levels[child.depth].append(child)
        if None in levels and len(hanging) > 1:
            what = f"several EDUs hang on EDU {row.number} and column 3 does not say in which order"
            raise self.bad("format/no-depth", what, hanging[0].line)
        for depth in sorted(levels, key=lambda depth: depth or 0):
            level = levels[depth]
            first = level[0]
            if all(child.multinuclear for child in level):
                parts = [unit, *(child.grown[-1] for child in level)]
                labels = ["", *(child.relation for child in level)]
                # A nucleus before its head is unusual; the label goes with the later part.
                ordered = sorted(zip(parts, labels, strict=True))
                labels = [label or first.relation for _, label in ordered]
                unit = self.assembly.chain([part for part, _ in ordered], labels, first.line)
            elif len(level) == 1:
                unit = self.assembly.wrap(unit, [(first.grown[-1], first.relation, first.line)])
            else:
                what = f"several EDUs attach to EDU {row.number} at depth {depth}, not all as nuclei"
                raise self.bad("format/no-depth", what, first.line)
            row.grown.append(unit)

    def grown(self, head: str, depth: str, line: int) -> Span:
        if head.isdecimal() and depth.isdecimal() and 1 <= int(head) <= len(self.rows):
            units = self.rows[int(head) - 1].grown
            if int(depth) < len(units):
                return units[int(depth)]
        raise self.bad("format/secondary", f"there is no unit of EDU {head} at depth {depth}", line)

    def signals(self, text: str, on: tuple[Span, ...], line: int) -> list[Signal]:
        found, at = [], 0
        while text != "_" and at < len(text):
            match = _SIGNALS.match(text, at)
            if match is None:
                raise self.bad("format/signal", f"{text[at:]!r} is not type-subtype-tokens-status", line)
            tokens = tuple(token for part in match[3].split(",") if part != "_" for token in _range(part))
            status = "" if match[4] == "_" else match[4]
            words = marker_words(tokens, self.words) if match[1] in MARKERS else ""
            subtype = match[1] if words and match[2] == words else match[2]
            found.append(Signal(on, match[1], subtype, tokens, status))
            at = match.end()
        return found

    def extras(self) -> tuple[list[SecondaryEdge], list[Signal]]:
        edges, signals = [], []
        for row in self.rows:
            signals += self.signals(row.signals, (row.grown[-1],), row.line)
            for text in row.secondary.split("|") if row.secondary not in ("_", "") else ():
                parts = text.split(":", 4)
                if len(parts) < 4:
                    what = f"the secondary edge {text!r} is not head:relation:depth:depth:signals"
                    raise self.bad("format/secondary", what, row.line)
                head, relation, here, there = parts[:4]
                source, target = self.grown(str(row.number), here, row.line), self.grown(head, there, row.line)
                edges.append(SecondaryEdge(source, target, relation))
                signals += self.signals(parts[4] if len(parts) > 4 else "_", (source, target), row.line)
        return edges, signals

    def read(self) -> RSTDocument:
        children: dict[int, list[_Row]] = defaultdict(list)
        for row in self.rows:
            children[row.head].append(row)
        for row in reversed(self.order()):
            self.build(row, children[row.number])
        edges, signals = self.extras()
        tree = join_edus((row.text for row in self.rows), self.assembly.nodes)
        kept = tuple(sorted(self.assembly.kept))
        return RSTDocument(tree, self.name, secondary=tuple(edges), signals=tuple(signals), kept=kept)


def _range(text: str) -> Iterable[int]:
    first, _, last = text.partition("-")
    # A range of a broken file must not fill the memory.
    return range(int(first), min(int(last or first), int(first) + 10_000) + 1)


def read_rsd(data: str, name: str = "") -> RSTDocument:
    """Returns the document of an .rsd file with attachment depths; features of EDUs are not kept.

    Args:
        data: The file.
        name: For messages.

    Raises:
        DiscoError: `format/...` naming the line: columns missing, EDUs out of order, no single root, a cycle, crossing
            branches, or depths that leave the tree open.
    """
    return _Reader(data, name).read()
