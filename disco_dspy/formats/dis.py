"""Reading and writing .dis, the Lisp form of RST-DT."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from disco_dspy.formats.assembly import Assembly
from disco_dspy.formats.chains import Chains
from disco_dspy.formats.document import RSTDocument, Span, as_document, join_edus
from disco_dspy.formats.problems import problem
from signatures.errors import DiscoError
from signatures.tree import RSTTree

_MENDED = "Repair the file, or export it again from the tool it came from."
# The text of an EDU may hold parentheses; only its closing mark ends it. RST-DT has remarks that start with //.
_TOKEN = re.compile(r"\(\s*text\s+_!(?P<text>.*?)_!\s*\)|(?P<remark>//TT_ERR[^\n]*)|[()]|[^\s()]+", re.DOTALL)
_CLOSING = re.compile(r"_!(?=\s*\))")
_NOT_IN_LABEL = re.compile(r"[\s()]+")


@dataclass
class _Item:
    """A bracket: `head` is its first word; `words` the further ones; `parts` the brackets inside."""

    line: int
    words: list[str] = field(default_factory=list)
    parts: list[_Item] = field(default_factory=list)
    text: str | None = None
    span: Span = (0, 0)

    @property
    def head(self) -> str:
        return self.words[0].casefold() if self.words else ""

    def part(self, head: str) -> _Item | None:
        return next((part for part in self.parts if part.head == head), None)

    @property
    def units(self) -> list[_Item]:
        return [part for part in self.parts if part.head in ("nucleus", "satellite")]


class _Reader:
    def __init__(self, data: str, name: str) -> None:
        self.data = data
        self.name = name
        self.assembly = Assembly(name)
        self.texts: list[str] = []

    def bad(self, code: str, what: str, line: int | None) -> DiscoError:
        return problem(code, self.name, what, _MENDED, line)

    def brackets(self) -> _Item:
        top = _Item(1)
        open_items = [top]
        line, seen = 1, 0
        for match in _TOKEN.finditer(self.data):
            line += self.data.count("\n", seen, match.start())
            seen = match.start()
            token = match[0]
            if match["text"] is not None:
                open_items[-1].parts.append(_Item(line, ["text"], text=match["text"]))
            elif token == "(":
                item = _Item(line)
                open_items[-1].parts.append(item)
                open_items.append(item)
            elif token == ")":
                if len(open_items) == 1:
                    raise self.bad("format/brackets", "a bracket closes that was not opened", line)
                open_items.pop()
            elif match["remark"] is None:
                open_items[-1].words.append(token)
        if len(open_items) > 1:
            where = open_items[-1].line
            what = f"the file ends before the bracket of line {where} is closed"
            raise self.bad("format/brackets", what, line + self.data.count("\n", seen))
        if len(top.parts) != 1 or top.words or top.parts[0].head != "root":
            raise self.bad("format/brackets", "it is not one ( Root ... ) bracket", 1)
        return top.parts[0]

    def build(self, item: _Item) -> None:
        leaf, text = item.part("leaf"), item.part("text")
        if leaf or text:
            if text is None or not (text.text or "").strip():
                raise self.bad("format/empty-edu", "an EDU has no text", item.line)
            if item.units:
                raise self.bad("format/group", "an EDU cannot have parts", item.line)
            self.texts.append(text.text or "")
            number = len(self.texts)
            if leaf and leaf.words[1:] != [str(number)]:
                what = f"EDU {' '.join(leaf.words[1:])} stands where EDU {number} was expected"
                raise self.bad("format/id", what, leaf.line)
            item.span = (number, number)
            return
        self.inner(item)
        said = item.part("span")
        if said and said.words[1:] != [str(item.span[0]), str(item.span[1])]:
            what = f"the span is given as {'-'.join(said.words[1:])} but its EDUs are {item.span[0]}-{item.span[1]}"
            raise self.bad("format/span", what, said.line)

    def inner(self, item: _Item) -> None:
        nuclei = [unit for unit in item.units if unit.head == "nucleus"]
        if not nuclei:
            raise self.bad("format/group", "a node has no nucleus", item.line)
        content = self.assembly.chain(
            [unit.span for unit in nuclei], [self.relation(unit) for unit in nuclei], item.line
        )
        satellites = [(unit.span, self.relation(unit), unit.line) for unit in item.units if unit.head == "satellite"]
        item.span = self.assembly.wrap(content, satellites)

    def relation(self, unit: _Item) -> str:
        given = unit.part("rel2par")
        if given is None or len(given.words) < 2:
            raise self.bad("format/relation", "a unit has no (rel2par ...)", unit.line)
        return "-".join(given.words[1:])

    def read(self) -> RSTDocument:
        root = self.brackets()
        order = _bottom_up(root)
        wide = any(len(item.units) > 2 for item in order)
        for item in order:
            self.build(item)
        # Only a file with nodes of many parts means something by nesting two of the same relation.
        kept = tuple(sorted(self.assembly.kept)) if wide else ()
        return RSTDocument(join_edus(self.texts, self.assembly.nodes), self.name, kept=kept)


def _bottom_up(root: _Item) -> list[_Item]:
    order, waiting = [], [root]
    while waiting:
        item = waiting.pop()
        order.append(item)
        waiting += item.units
    return order[::-1]


def read_dis(data: str, name: str = "") -> RSTDocument:
    """Returns the document of a .dis file, binary or not; nodes with several nuclei are binarised to the right.

    Args:
        data: The file.
        name: For messages.

    Raises:
        DiscoError: `format/...` naming the line: unbalanced brackets, EDUs out of order, an EDU without text, a span
            that disagrees with its EDUs.
    """
    return _Reader(data.removeprefix("\ufeff"), name).read()


def write_dis(document: RSTTree | RSTDocument, *, flatten: bool = False) -> str:
    """Returns a tree as .dis, each EDU on a line of its own.

    White space of the text becomes single spaces, white space and parentheses in labels a hyphen; secondary edges and
    signals are left out.

    Args:
        document: What to write.
        flatten: Whether a chain of one multinuclear relation becomes one node with several nuclei; parsers expect
            the binary form.
    """
    full = as_document(document)
    tree = full.tree
    if len(tree.edus) == 1:
        return f"( Root (leaf 1) {_text(tree, 1)} )\n"
    chains = Chains(tree, full.kept, flatten=flatten)
    lines = []
    # (unit, role, relation), or a closing bracket of this depth.
    waiting: list[tuple[Span, str, str, int] | int] = [((1, len(tree.edus)), "Root", "", 0)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, int):
            lines.append("  " * item + ")")
            continue
        unit, role, relation, depth = item
        label = f" (rel2par {_NOT_IN_LABEL.sub('-', relation)})" if relation else ""
        node = chains.node(unit)
        if node is None:
            lines.append(f"{'  ' * depth}( {role} (leaf {unit[0]}){label} {_text(tree, unit[0])} )")
            continue
        lines.append(f"{'  ' * depth}( {role} (span {unit[0]} {unit[1]}){label}")
        waiting.append(depth)
        parts = (
            chains.parts(node) if node.nuclearity == "NN" else [(node.first, node.split), (node.split + 1, node.last)]
        )
        for number in range(len(parts) - 1, -1, -1):
            nucleus = node.nuclearity == "NN" or node.nuclearity[number] == "N"
            name = node.relation if node.nuclearity == "NN" or not nucleus else "span"
            waiting.append((parts[number], "Nucleus" if nucleus else "Satellite", name, depth + 1))
    return "\n".join(lines) + "\n"


def _text(tree: RSTTree, number: int) -> str:
    # The closing mark cannot be quoted, so a text that holds it gets a space; the next reader must find the end.
    return f"(text _!{_CLOSING.sub('_ !', tree.edu_text(number))}_!)"
