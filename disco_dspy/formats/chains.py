"""Chains of one multinuclear relation: a + (b + (c + d)) is drawn as one node with four nuclei."""

from __future__ import annotations

from collections.abc import Iterable

from disco_dspy.formats.document import Span
from signatures.tree import Node, RSTTree


class Chains:
    """Which nodes of a tree are only there because it is binary.

    Args:
        tree: Any valid tree.
        kept: Units that must stay nodes of their own.
        flatten: False keeps every node.
    """

    def __init__(self, tree: RSTTree, kept: Iterable[Span] = (), *, flatten: bool = True) -> None:
        self._nodes = {(node.first, node.last): node for node in tree.nodes}
        keep = set(kept)
        self._inner: set[Span] = set()
        for node in tree.nodes if flatten else ():
            right = self._nodes.get((node.split + 1, node.last))
            same = right and node.nuclearity == right.nuclearity == "NN" and node.relation == right.relation
            if right and same and (right.first, right.last) not in keep:
                self._inner.add((right.first, right.last))

    def node(self, unit: Span) -> Node | None:
        """Returns the node of a unit, or None for an EDU."""
        return self._nodes.get(unit)

    def inner(self, node: Node) -> bool:
        """Returns whether a node goes up in the chain of its parent."""
        return (node.first, node.last) in self._inner

    def parts(self, node: Node) -> list[Span]:
        """Returns the units that a node joins, left to right: two, or all nuclei of the chain it heads."""
        parts = [(node.first, node.split)]
        right = (node.split + 1, node.last)
        while right in self._inner:
            inner = self._nodes[right]
            parts.append((inner.first, inner.split))
            right = (inner.split + 1, inner.last)
        return [*parts, right]
