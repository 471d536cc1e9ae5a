"""Diagram sources: Mermaid (renders in Markdown on many sites) and DOT (Graphviz)."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from disco_dspy.formats.chains import Chains
from disco_dspy.formats.document import RSTDocument, Span, as_document, unit_spans
from signatures.graph import RhetoricalGraph
from signatures.tree import RSTTree

_MERMAID = {'"': "#quot;", "#": "#35;", "&": "#amp;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\\": "#92;"}
_DOT_WIDTH = 28


def _mermaid_text(text: str) -> str:
    return "".join(_MERMAID.get(character, character) for character in " ".join(text.split()))


def _dot_text(text: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()), _DOT_WIDTH) or [""]
    return "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)


def _id(unit: Span) -> str:
    return f"e{unit[0]}" if unit[0] == unit[1] else f"n{unit[0]}_{unit[1]}"


def _links(tree: RSTTree, chains: Chains) -> list[tuple[Span, Span, bool]]:
    """(node, part, whether the part is a nucleus), wholes before parts."""
    links = []
    for node in tree.nodes:
        if chains.inner(node):
            continue
        unit = (node.first, node.last)
        if node.nuclearity == "NN":
            links += [(unit, part, True) for part in chains.parts(node)]
        else:
            links.append((unit, (node.first, node.split), node.nuclearity == "NS"))
            links.append((unit, (node.split + 1, node.last), node.nuclearity == "SN"))
    return links


def tree_mermaid(document: RSTTree | RSTDocument, *, flatten: bool = True) -> str:
    """Returns a tree as a Mermaid flowchart: thick lines to nuclei, dotted ones to satellites.

    Args:
        document: What to draw.
        flatten: Whether a chain of one multinuclear relation becomes one node.
    """
    full = as_document(document)
    chains = Chains(full.tree, full.kept, flatten=flatten)
    lines = ["flowchart TD"]
    # Layouts keep the order in which nodes are named, so it is the order of the text.
    for unit in sorted(unit_spans(full.tree), key=lambda span: (span[0], -span[1])):
        node = chains.node(unit)
        if node is None:
            lines.append(f'    e{unit[0]}["{unit[0]}: {_mermaid_text(full.tree.edu_text(unit[0]))}"]')
        elif not chains.inner(node):
            lines.append(f'    {_id(unit)}(["{_mermaid_text(node.relation)}"])')
    for unit, part, nucleus in _links(full.tree, chains):
        lines.append(f"    {_id(unit)} {'==>|N|' if nucleus else '-.->|S|'} {_id(part)}")
    return "\n".join(lines) + "\n"


def tree_dot(document: RSTTree | RSTDocument, *, flatten: bool = True) -> str:
    """Returns a tree as a DOT digraph; as `tree_mermaid`.

    Args:
        document: What to draw.
        flatten: Whether a chain of one multinuclear relation becomes one node.
    """
    full = as_document(document)
    chains = Chains(full.tree, full.kept, flatten=flatten)
    lines = ["digraph rst {", "    ordering=out;", '    node [shape=box, fontname="sans-serif", fontsize=10];']
    for node in full.tree.nodes:
        if not chains.inner(node):
            label = _dot_text(node.relation)
            lines.append(f'    {_id((node.first, node.last))} [label="{label}", shape=ellipse];')
    for edu in full.tree.edus:
        lines.append(f'    e{edu.index} [label="{edu.index}: {_dot_text(full.tree.edu_text(edu.index))}"];')
    for unit, part, nucleus in _links(full.tree, chains):
        lines.append(f"    {_id(unit)} -> {_id(part)} [style={'bold' if nucleus else 'dashed'}];")
    return "\n".join([*lines, "}"]) + "\n"


def _chunk_names(graph: RhetoricalGraph, titles: Sequence[str]) -> list[str]:
    names = list(titles[: graph.size]) + [""] * (graph.size - len(titles))
    return [f"{number}: {name}" if name else f"{number}" for number, name in enumerate(names, 1)]


def graph_mermaid(graph: RhetoricalGraph, titles: Sequence[str] = ()) -> str:
    """Returns a rhetorical graph as a Mermaid flowchart; symmetric relations have no arrow.

    Args:
        graph: Any graph.
        titles: What to write beside the chunk numbers.
    """
    lines = ["flowchart LR"]
    lines += [f'    c{n}["{_mermaid_text(name)}"]' for n, name in enumerate(_chunk_names(graph, titles), 1)]
    for edge in graph.edges:
        arrow = "---" if edge.relation in (graph.symmetric or ()) else "-->"
        lines.append(f'    c{edge.source} {arrow}|"{_mermaid_text(edge.relation)}"| c{edge.target}')
    return "\n".join(lines) + "\n"


def graph_dot(graph: RhetoricalGraph, titles: Sequence[str] = ()) -> str:
    """Returns a rhetorical graph as a DOT digraph; symmetric relations have no arrow.

    Args:
        graph: Any graph.
        titles: What to write beside the chunk numbers.
    """
    lines = ["digraph graph_of_chunks {", '    node [shape=box, fontname="sans-serif", fontsize=10];']
    lines += [f'    c{n} [label="{_dot_text(name)}"];' for n, name in enumerate(_chunk_names(graph, titles), 1)]
    for edge in graph.edges:
        both = ", dir=none" if edge.relation in (graph.symmetric or ()) else ""
        lines.append(f'    c{edge.source} -> c{edge.target} [label="{_dot_text(edge.relation)}"{both}];')
    return "\n".join([*lines, "}"]) + "\n"
