"""Reading .rs3 and .rs4, the XML of RSTTool and rstWeb."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from disco_dspy.formats.assembly import Assembly
from disco_dspy.formats.document import RSTDocument, SecondaryEdge, Signal, Span, join_edus
from disco_dspy.formats.problems import problem
from disco_dspy.formats.xml_guard import Element, read_xml
from signatures.errors import DiscoError

_FINISH = "Finish or repair the analysis in the tool it came from."
# RSTTool's schemas join parts of equal weight too.
_MULTINUCLEAR = ("multinuc", "constit", "schema")


@dataclass
class _Unit:
    """A segment or a group.

    Args:
        id: As in the file.
        multinuclear: Whether it is a group of nuclei.
        number: EDU number of a segment; 0 for a group.
        content: Span without the satellites that attach to it; known after its parts.
        whole: Span with them.
    """

    id: str
    element: Element
    multinuclear: bool
    number: int = 0
    parts: list[_Unit] = field(default_factory=list)
    content: Span = (0, 0)
    whole: Span = (0, 0)

    @property
    def relation(self) -> str:
        return self.element.attributes.get("relname", "").strip()

    @property
    def parent(self) -> str:
        return self.element.attributes.get("parent", "").strip()

    @property
    def span(self) -> Span:
        """What an edge or a signal that names this unit means."""
        return self.content if self.relation == "span" else self.whole


class _Reader:
    """One file."""

    def __init__(self, elements: list[Element], name: str) -> None:
        self.name = name
        self.units: dict[str, _Unit] = {}
        self.texts: list[str] = []
        self.declared: dict[str, set[str]] = {}
        self.relations: list[tuple[str, str]] = []
        self.signal_types: list[tuple[str, str]] = []
        self.edges: list[Element] = []
        self.marks: list[Element] = []
        self.assembly = Assembly(name)
        for element in elements:
            self.sort(element)
        if not self.texts:
            raise self.bad("format/empty", "there is no <segment> in it", "Give a file with at least one EDU.")

    def bad(self, code: str, what: str, remedy: str, line: int | None = None) -> DiscoError:
        return problem(code, self.name, what, remedy, line)

    def sort(self, element: Element) -> None:
        attributes = element.attributes
        if element.tag in ("segment", "group"):
            self.add_unit(element)
        elif element.tag == "rel":
            label, kind = attributes.get("name", "").strip(), attributes.get("type", "rst").strip()
            self.relations.append((label, kind))
            self.declared.setdefault(label, set()).add("multinuc" if kind in _MULTINUCLEAR else "rst")
        elif element.tag == "sig":
            self.signal_types.append((attributes.get("type", ""), attributes.get("subtypes", "")))
        elif element.tag == "secedge":
            self.edges.append(element)
        elif element.tag == "signal":
            self.marks.append(element)

    def add_unit(self, element: Element) -> None:
        key = element.attributes.get("id", "").strip()
        if not key or key in self.units:
            what = f"id {key!r} is used twice" if key else f"a <{element.tag}> has no id"
            raise self.bad("format/id", what, _FINISH, element.line)
        kind = element.attributes.get("type", "").strip()
        unit = _Unit(key, element, element.tag == "group" and kind in _MULTINUCLEAR)
        if element.tag == "segment":
            # Ids of RSTTool say nothing about the order of the text; the order in the file does.
            if not element.text.strip():
                raise self.bad("format/empty-edu", f"segment {key} has no text", _FINISH, element.line)
            self.texts.append(element.text)
            unit.number = len(self.texts)
        elif kind not in ("span", *_MULTINUCLEAR):
            what = f"group {key} has type {kind!r} instead of 'span' or 'multinuc'"
            raise self.bad("format/group", what, _FINISH, element.line)
        self.units[key] = unit

    def root(self) -> _Unit:
        roots = []
        for unit in self.units.values():
            if not unit.parent:
                roots.append(unit)
                continue
            parent = self.units.get(unit.parent)
            if parent is None:
                what = f"{unit.id} hangs on {unit.parent!r}, which is not there"
                raise self.bad("format/parent", what, _FINISH, unit.element.line)
            parent.parts.append(unit)
        if len(roots) == 1:
            return roots[0]
        if not roots:
            raise self.bad("format/cycle", "every unit hangs on another, so there is no root", _FINISH)
        line = roots[1].element.line
        some = ", ".join(unit.id for unit in roots[:5])
        raise self.bad("format/roots", f"{len(roots)} units hang on nothing ({some}), a tree has one", _FINISH, line)

    def order(self, root: _Unit) -> list[_Unit]:
        """Wholes before parts; a loop instead of recursion, since a chain is as deep as it has EDUs."""
        order = [root]
        for unit in order:
            order += unit.parts
        if len(order) < len(self.units):
            reached = {unit.id for unit in order}
            lost = next(unit for unit in self.units.values() if unit.id not in reached)
            raise self.bad("format/cycle", f"{lost.id} hangs on itself through others", _FINISH, lost.element.line)
        return order

    def nuclei(self, unit: _Unit) -> list[_Unit]:
        if not unit.multinuclear:
            return [part for part in unit.parts if part.relation == "span"]
        counts = Counter(part.relation for part in unit.parts)
        sure = any(self.declared.get(label) == {"multinuc"} for label in counts)
        found = []
        for part in unit.parts:
            kinds = self.declared.get(part.relation, set())
            if len(kinds) == 1:
                nucleus = kinds == {"multinuc"}
            else:
                # Declared as both or not at all: nuclei come at least in twos.
                nucleus = not sure and counts[part.relation] > 1
            if nucleus or part.relation == "span":
                found.append(part)
        return found

    def build(self, unit: _Unit) -> None:
        """Parts are built; builds the unit."""
        nuclei = self.nuclei(unit)
        line = unit.element.line
        if unit.number:
            unit.content = (unit.number, unit.number)
            if nuclei:
                raise self.bad("format/group", f"segment {unit.id} cannot have parts", _FINISH, line)
        elif not nuclei:
            raise self.bad("format/group", f"group {unit.id} has no nucleus", _FINISH, line)
        elif not unit.multinuclear and len(nuclei) > 1:
            raise self.bad("format/group", f"span group {unit.id} has {len(nuclei)} nuclei", _FINISH, line)
        else:
            unit.content = self.assembly.chain([n.whole for n in nuclei], [n.relation for n in nuclei], line)
        taken = {part.id for part in nuclei}
        satellites = []
        for part in unit.parts:
            if part.id in taken:
                continue
            if not part.relation:
                raise self.bad("format/relation", f"{part.id} has a parent but no relname", _FINISH, part.element.line)
            satellites.append((part.whole, part.relation, part.element.line))
        unit.whole = self.assembly.wrap(unit.content, satellites)

    def unit_span(self, key: str, line: int) -> Span:
        unit = self.units.get(key.strip())
        if unit is None:
            raise self.bad("format/parent", f"{key!r} is named but not there", _FINISH, line)
        return unit.span

    def secondary(self) -> dict[str, SecondaryEdge]:
        found = {}
        for element in self.edges:
            source = self.unit_span(element.attributes.get("source", ""), element.line)
            target = self.unit_span(element.attributes.get("target", ""), element.line)
            edge = SecondaryEdge(source, target, element.attributes.get("relname", ""))
            found[element.attributes.get("id", f"#{len(found)}")] = edge
        return found

    def signals(self, edges: dict[str, SecondaryEdge]) -> list[Signal]:
        found = []
        for element in self.marks:
            attributes = element.attributes
            key = attributes.get("source", "")
            edge = edges.get(key)
            on = (edge.source, edge.target) if edge else (self.unit_span(key, element.line),)
            numbers = [part.strip() for part in attributes.get("tokens", "").split(",") if part.strip()]
            if not all(part.isdecimal() for part in numbers):
                what = f"tokens {attributes.get('tokens')!r} are not numbers"
                raise self.bad("format/signal", what, "Write them as 3,4,5.", element.line)
            kind, subtype = attributes.get("type", ""), attributes.get("subtype", "")
            found.append(Signal(on, kind, subtype, tuple(map(int, numbers)), attributes.get("status", "")))
        return found

    def read(self) -> RSTDocument:
        for unit in reversed(self.order(self.root())):
            self.build(unit)
        edges = self.secondary()
        return RSTDocument(
            join_edus(self.texts, self.assembly.nodes),
            self.name,
            secondary=tuple(edges.values()),
            signals=tuple(self.signals(edges)),
            relations=tuple(self.relations),
            signal_types=tuple(self.signal_types),
            kept=tuple(sorted(self.assembly.kept)),
        )


def read_rs3(data: bytes | str, name: str = "") -> RSTDocument:
    """Returns the document of an .rs3 or .rs4 file.

    EDUs stand in the order of the file's segments whatever their ids; nodes with several nuclei are binarised to the
    right; several satellites of one nucleus attach left ones first, from the nearest outwards.

    Args:
        data: The file.
        name: For messages.

    Raises:
        DiscoError: `format/...` naming the line: broken or dangerous XML, no single root, a cycle, an unknown parent,
            a duplicate id, an EDU without text, crossing branches.
    """
    return _Reader(read_xml(data, name), name).read()
