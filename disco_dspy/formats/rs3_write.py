"""Writing .rs3 (RSTTool, rstWeb) and .rs4 (rstWeb: with secondary edges and signals)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from disco_dspy.formats.chains import Chains
from disco_dspy.formats.document import RSTDocument, Span, as_document
from disco_dspy.formats.problems import problem
from signatures.tree import RSTTree

# XML 1.0 has no way to write these, not even as a reference.
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)


@dataclass
class _Group:
    """A group of the file; `parent` and `relation` are empty for the root."""

    id: int
    kind: str
    parent: int = 0
    relation: str = ""


@dataclass
class _Writer:
    document: RSTDocument
    chains: Chains
    ids: dict[Span, int] = field(default_factory=dict)
    groups: list[_Group] = field(default_factory=list)
    # EDU number to (parent id, relation).
    segments: dict[int, tuple[int, str]] = field(default_factory=dict)

    def new_group(self, kind: str) -> _Group:
        group = _Group(len(self.document.tree.edus) + len(self.groups) + 1, kind)
        self.groups.append(group)
        return group

    def attach(self, unit: Span, parent: int, relation: str) -> None:
        if unit[0] == unit[1]:
            self.segments[unit[0]] = (parent, relation)
        else:
            group = self.groups[self.ids[unit] - len(self.document.tree.edus) - 1]
            group.parent, group.relation = parent, relation

    def number(self) -> None:
        """Gives every unit that stands in the file its id, in pre-order."""
        count = len(self.document.tree.edus)
        self.ids = {(n, n): n for n in range(1, count + 1)}
        for node in self.document.tree.nodes:
            if not self.chains.inner(node):
                kind = "multinuc" if node.nuclearity == "NN" else "span"
                self.ids[node.first, node.last] = self.new_group(kind).id

    def link(self) -> None:
        for node in self.document.tree.nodes:
            if self.chains.inner(node):
                continue
            here = self.ids[node.first, node.last]
            if node.nuclearity == "NN":
                for part in self.chains.parts(node):
                    self.attach(part, here, node.relation)
                continue
            left, right = (node.first, node.split), (node.split + 1, node.last)
            nucleus, satellite = (left, right) if node.nuclearity == "NS" else (right, left)
            host = self.ids[nucleus]
            inside = self.chains.node(nucleus)
            if inside and inside.nuclearity == "NN" and inside.relation == node.relation:
                # A satellite with the label of the nuclei would look like one more of them.
                between = self.new_group("span")
                self.attach(nucleus, between.id, "span")
                between.parent, between.relation = here, "span"
                host = between.id
            else:
                self.attach(nucleus, here, "span")
            self.attach(satellite, host, node.relation)

    def header(self, *, signals: bool) -> list[str]:
        used = {(n.relation, "multinuc" if n.nuclearity == "NN" else "rst") for n in self.document.tree.nodes}
        known = set(self.document.relations)
        used |= {(e.relation, "rst") for e in self.document.secondary if not {k for r, k in known if r == e.relation}}
        lines = ["\t<header>", "\t\t<relations>"]
        for label, kind in [*self.document.relations, *sorted(used - known)]:
            lines.append(f"\t\t\t<rel name={_attribute(label)} type={_attribute(kind)}/>")
        lines.append("\t\t</relations>")
        if signals:
            known_types = {kind for kind, _ in self.document.signal_types}
            extra: dict[str, set[str]] = {}
            for signal in self.document.signals:
                if signal.type not in known_types:
                    extra.setdefault(signal.type, set()).add(signal.subtype)
            types = [*self.document.signal_types, *((k, ";".join(sorted(v))) for k, v in sorted(extra.items()))]
            lines.append("\t\t<sigtypes>")
            lines += [f"\t\t\t<sig type={_attribute(k)} subtypes={_attribute(v)}/>" for k, v in types]
            lines.append("\t\t</sigtypes>")
        return [*lines, "\t</header>"]

    def body(self) -> list[str]:
        lines = []
        tree = self.document.tree
        for edu in tree.edus:
            parent = _parent(*self.segments.get(edu.index, (0, "")))
            text = escape(_clean(tree.edu_text(edu.index)))
            lines.append(f'\t\t<segment id="{edu.index}"{parent}>{text}</segment>')
        for group in self.groups:
            lines.append(f'\t\t<group id="{group.id}" type="{group.kind}"{_parent(group.parent, group.relation)}/>')
        return lines

    def extras(self) -> list[str]:
        lines = ["\t\t<secedges>"]
        for edge in self.document.secondary:
            source, target = self.id_of(edge.source), self.id_of(edge.target)
            lines.append(
                f'\t\t\t<secedge id="{source}-{target}" source="{source}" target="{target}" '
                f"relname={_attribute(edge.relation)}/>"
            )
        lines += ["\t\t</secedges>", "\t\t<signals>"]
        for signal in self.document.signals:
            source = "-".join(str(self.id_of(unit)) for unit in signal.on)
            status = f" status={_attribute(signal.status)}" if signal.status else ""
            tokens = ",".join(map(str, signal.tokens))
            lines.append(
                f'\t\t\t<signal source="{source}" type={_attribute(signal.type)} '
                f'subtype={_attribute(signal.subtype)} tokens="{tokens}"{status}/>'
            )
        return [*lines, "\t\t</signals>"]

    def id_of(self, unit: Span) -> int:
        if unit not in self.ids:
            raise problem(
                "format/unit",
                self.document.name,
                f"an edge or signal names EDUs {unit[0]}-{unit[1]}, which are no unit of the tree",
                "Point it at an EDU or at a node.",
            )
        return self.ids[unit]


def _attribute(value: str) -> str:
    return quoteattr(_clean(value))


def _parent(parent: int, relation: str) -> str:
    return f' parent="{parent}" relname={_attribute(relation)}' if parent else ""


def _write(document: RSTDocument, *, extras: bool, flatten: bool) -> str:
    named = document.named_units() if extras else document.kept
    writer = _Writer(document, Chains(document.tree, named, flatten=flatten))
    writer.number()
    writer.link()
    body = writer.body() + (writer.extras() if extras else [])
    header = writer.header(signals=extras)
    return "\n".join(["<rst>", *header, "\t<body>", *body, "\t</body>", "</rst>", ""])


def write_rs3(document: RSTTree | RSTDocument, *, flatten: bool = True) -> str:
    """Returns a tree as .rs3.

    The white space of the text becomes single spaces, and secondary edges and signals are left out (`write_rs4`
    keeps them). Characters that XML cannot hold become U+FFFD.

    Args:
        document: What to write.
        flatten: Whether a chain of one multinuclear relation becomes one node with several nuclei, as people draw it.
            Read again it is the same binary tree either way.
    """
    return _write(as_document(document), extras=False, flatten=flatten)


def write_rs4(document: RSTTree | RSTDocument, *, flatten: bool = True) -> str:
    """Returns a document as .rs4; as `write_rs3`, with secondary edges and signals.

    Args:
        document: What to write.
        flatten: As for `write_rs3`.

    Raises:
        DiscoError: `format/unit` if an edge or signal names EDUs that are no unit of the tree.
    """
    return _write(as_document(document), extras=True, flatten=flatten)
