"""What a file of a discourse tool holds: a tree, and what a plain `RSTTree` has no room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from disco_dspy.formats.problems import problem
from signatures.errors import nearest
from signatures.inventory import Inventory
from signatures.tree import Edu, Node, RSTTree, check_shape

Span = tuple[int, int]
"""A unit: first and last EDU number, inclusive. Every unit of a tree has another span."""

AS_WRITTEN = "as-written"
"""Inventory name of a tree whose labels are those of the file it was read from."""

_VERSION = "disco-rst/1"


@dataclass(frozen=True)
class SecondaryEdge:
    """A relation beside the tree (eRST).

    Args:
        source: The unit it goes out from (the satellite).
        target: The unit it points at.
        relation: Label, as written.
    """

    source: Span
    target: Span
    relation: str


@dataclass(frozen=True)
class Signal:
    """A mark in the text that shows a relation (eRST).

    Args:
        on: One unit, for the relation that joins it to its parent; or source and target of a secondary edge.
        type: Such as `dm` or `semantic`.
        subtype: Such as `lexical_chain`; for an orphan marker, the words.
        tokens: Numbers from 1 of the tokens that signal, counted over the white-space tokens of the file's text.
        status: Such as `gold`; empty where the file says nothing.
    """

    on: tuple[Span, ...]
    type: str
    subtype: str
    tokens: tuple[int, ...] = ()
    status: str = ""


@dataclass(frozen=True)
class RSTDocument:
    """A tree with its secondary edges, signals and original labels.

    Args:
        tree: Any valid tree; its text is the EDUs joined by a space unless `onto` placed it in another.
        name: Of the document, for messages and titles; may be empty.
        labels: For each node of the tree the label as the file wrote it; empty where the tree carries it itself.
        secondary: Secondary edges.
        signals: Signals.
        relations: Declared (label, `rst` or `multinuc`), the unused ones too.
        signal_types: Declared (type, subtypes joined by semicolons).
        kept: Multinuclear units that stand on their own although a chain of the same relation goes through them.
    """

    tree: RSTTree
    name: str = ""
    labels: tuple[str, ...] = ()
    secondary: tuple[SecondaryEdge, ...] = ()
    signals: tuple[Signal, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    signal_types: tuple[tuple[str, str], ...] = ()
    kept: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        """The text the tree stands on."""
        return self.tree.text

    def project(self, inventory: Inventory) -> RSTDocument:
        """Returns the document with the labels of an inventory; the original ones go to `labels`.

        A nuclearity that the inventory does not allow for the label becomes the label's default, marked `repaired`.

        Args:
            inventory: Of kind `intra`.

        Raises:
            DiscoError: `format/label` if a label means nothing in the inventory.
        """
        original = self.labels or tuple(node.relation for node in self.tree.nodes)
        nodes = []
        for node, label in zip(self.tree.nodes, original, strict=True):
            relation = inventory.find(label, node.nuclearity)
            if relation is None:
                raise problem(
                    "format/label",
                    self.name,
                    f"the label {label!r} has no counterpart in the inventory {inventory.name!r}",
                    f"Add it as an alias to the inventory's TOML file. {nearest(label, inventory.labels)}",
                )
            fits = node.nuclearity in relation.nuclearity
            nuclearity = node.nuclearity if fits else relation.nuclearity[0]
            repaired = node.repaired or not fits
            nodes.append(replace(node, relation=relation.name, nuclearity=nuclearity, repaired=repaired))
        return replace(self, tree=replace(self.tree, nodes=tuple(nodes), inventory=inventory.name), labels=original)

    def onto(self, text: str) -> RSTDocument:
        """Returns the document over another spelling of the same text, such as the untokenised original.

        Args:
            text: Equal to the document's text but for white space.

        Raises:
            DiscoError: `format/other-text` where the two differ in anything else.
        """
        starts, at = [], 0
        for edu in self.tree.edus:
            first = None
            for character in self.text[edu.start : edu.end]:
                if character.isspace():
                    continue
                while at < len(text) and text[at].isspace():
                    at += 1
                if at >= len(text) or text[at] != character:
                    seen = repr(text[at : at + 20]) if at < len(text) else "the end"
                    raise problem(
                        "format/other-text",
                        self.name,
                        f"EDU {edu.index} ({self.tree.edu_text(edu.index)[:40]!r}) is not in the text: it has {seen} "
                        f"at character {at}",
                        "Give the text the file was made from; only its white space may differ.",
                    )
                first = at if first is None else first
                at += 1
            starts.append(0 if edu.index == 1 or first is None else first)
        if text[at:].strip():
            raise problem(
                "format/other-text",
                self.name,
                f"the text goes on after the last EDU, with {text[at:].strip()[:20]!r}",
                "Give the text the file was made from; only its white space may differ.",
            )
        ends = [*starts[1:], len(text)]
        edus = tuple(Edu(n, start, end) for n, (start, end) in enumerate(zip(starts, ends, strict=True), 1))
        return replace(self, tree=replace(self.tree, text=text, edus=edus))

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data for JSON: the tree's own keys, and those of the extras that are not empty."""
        data: dict[str, Any] = {"format": _VERSION, "name": self.name, **self.tree.to_dict()}
        data["labels"] = list(self.labels)
        data["secondary"] = [[list(e.source), list(e.target), e.relation] for e in self.secondary]
        data["signals"] = [[[list(s) for s in g.on], g.type, g.subtype, list(g.tokens), g.status] for g in self.signals]
        for key in ("relations", "signal_types", "kept"):
            data[key] = [list(pair) for pair in getattr(self, key)]
        return {key: value for key, value in data.items() if value or key in ("text", "rows")}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RSTDocument:
        """Returns the document that `to_dict` wrote; a plain `RSTTree.to_dict` is read as well.

        Raises:
            ValueError: If the data has another shape or does not form a tree over the text.
        """
        if data.get("format", _VERSION) != _VERSION:
            raise ValueError(f"format {data['format']!r} is not {_VERSION!r}")
        tree = RSTTree.from_dict(data)
        try:
            secondary = tuple(SecondaryEdge(_span(s), _span(t), str(r)) for s, t, r in data.get("secondary", ()))
            signals = tuple(
                Signal(tuple(map(_span, on)), str(kind), str(subtype), tuple(map(int, tokens)), str(status))
                for on, kind, subtype, tokens, status in data.get("signals", ())
            )
            document = cls(
                tree,
                str(data.get("name", "")),
                tuple(map(str, data.get("labels", ()))),
                secondary,
                signals,
                tuple((str(a), str(b)) for a, b in data.get("relations", ())),
                tuple((str(a), str(b)) for a, b in data.get("signal_types", ())),
                tuple(map(_span, data.get("kept", ()))),
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a stored document: {error}") from error
        if document.labels and len(document.labels) != len(tree.nodes):
            raise ValueError(f"{len(document.labels)} labels for {len(tree.nodes)} nodes")
        units = set(unit_spans(tree))
        for span in document.named_units():
            if span not in units:
                raise ValueError(f"{span[0]}-{span[1]} is no unit of the tree")
        return document

    def named_units(self) -> list[Span]:
        """Returns the units that extras point at, with repetition."""
        units = list(self.kept)
        for edge in self.secondary:
            units += [edge.source, edge.target]
        for signal in self.signals:
            units += signal.on
        return units

    def _repr_svg_(self) -> str:
        from disco_dspy.show.svg import tree_svg  # pictures are only wanted in notebooks

        return tree_svg(self.tree)


def _span(value: Sequence[int]) -> Span:
    first, last = value
    return int(first), int(last)


def unit_spans(tree: RSTTree) -> list[Span]:
    """Returns the spans of all units: EDUs, then inner nodes."""
    return [(n, n) for n in range(1, len(tree.edus) + 1)] + [(node.first, node.last) for node in tree.nodes]


def as_document(tree: RSTTree | RSTDocument) -> RSTDocument:
    """Returns a document; a plain tree gets no extras."""
    return tree if isinstance(tree, RSTDocument) else RSTDocument(tree)


def join_edus(texts: Iterable[str], nodes: Iterable[Node], inventory: str = AS_WRITTEN) -> RSTTree:
    """Returns a tree over the text that EDUs joined by a space form.

    Args:
        texts: At least one, none of them only white space; inner white space becomes single spaces.
        nodes: In any order.
        inventory: Name for the tree.

    Raises:
        ValueError: If the nodes do not form a tree over the EDUs.
    """
    lines = [" ".join(text.split()) for text in texts]
    edus, at = [], 0
    for number, line in enumerate(lines, 1):
        end = at + len(line) + (number < len(lines))
        edus.append(Edu(number, at, end))
        at = end
    ordered = tuple(sorted(nodes, key=lambda node: (node.first, -node.last)))
    tree = RSTTree(" ".join(lines), tuple(edus), ordered, inventory)
    check_shape(tree)
    return tree
