"""The rhetorical graph: how retrieved chunks relate to each other."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from signatures.inventory import CONTRAST, UNRELATED, Inventory, is_unrelated
from signatures.reading import find_relation, strip_list_marker
from signatures.relations import load_inventory

_PAIR = re.compile(r"(?<![0-9])([0-9]{1,6})(?:\.[0-9]+)?(\D*?)(?<![0-9])([0-9]{1,6})(?![0-9])(?:\.[0-9]+)?")
_BACKWARDS = re.compile(r"<|←|⟵|⇐")
_FORWARDS = re.compile(r">|→|⟶|⇒")


@dataclass(frozen=True)
class Edge:
    """A relation between two chunks, read "source RELATION target".

    Args:
        source: Chunk number, from 1.
        target: Chunk number, from 1.
        relation: A label of the graph's inventory.
    """

    source: int
    target: int
    relation: str


@dataclass(frozen=True)
class RhetoricalGraph:
    """Sparse graph over chunks 1 to `size`; an ordered pair without an edge is UNRELATED.

    Args:
        size: Number of chunks.
        edges: At most one for an ordered pair; a symmetric relation is stored once, lower number first.
        inventory: Name of the inventory the labels come from.
        symmetric: Labels that are read both ways; None takes them from the shipped inventory of that name.
        contrast: Labels of the contrast family; None as above.
    """

    size: int
    edges: tuple[Edge, ...]
    inventory: str
    symmetric: tuple[str, ...] | None = None
    contrast: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Fills the label sets, so that a graph made with a user's inventory is readable without the file."""
        if self.symmetric is None or self.contrast is None:
            symmetric, contrast = _label_sets(load_inventory(self.inventory, "inter"))
            object.__setattr__(self, "symmetric", symmetric if self.symmetric is None else self.symmetric)
            object.__setattr__(self, "contrast", contrast if self.contrast is None else self.contrast)

    @cached_property
    def _relations(self) -> dict[tuple[int, int], str]:
        table: dict[tuple[int, int], str] = {}
        for edge in self.edges:
            table[edge.source, edge.target] = edge.relation
            if edge.relation in (self.symmetric or ()):
                table[edge.target, edge.source] = edge.relation
        return table

    def relation(self, source: int, target: int) -> str:
        """Returns the label of an ordered pair of chunk numbers, or `UNRELATED`."""
        return self._relations.get((source, target), UNRELATED)

    def conflicts(self) -> tuple[Edge, ...]:
        """Returns the edges that need reconciling: those whose relation is of the contrast family."""
        return tuple(edge for edge in self.edges if edge.relation in (self.contrast or ()))

    def unrelated(self) -> tuple[int, ...]:
        """Returns the numbers of chunks with no edge at all."""
        linked = {number for edge in self.edges for number in (edge.source, edge.target)}
        return tuple(number for number in range(1, self.size + 1) if number not in linked)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data for JSON."""
        return {
            "size": self.size,
            "inventory": self.inventory,
            "edges": [[edge.source, edge.target, edge.relation] for edge in self.edges],
            "symmetric": list(self.symmetric or ()),
            "contrast": list(self.contrast or ()),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RhetoricalGraph:
        """Returns the graph that `to_dict` wrote.

        Raises:
            ValueError: If the data has another shape, or an edge names a chunk that is not there.
        """
        try:
            edges = tuple(Edge(int(source), int(target), str(label)) for source, target, label in data["edges"])
            symmetric, contrast = (tuple(str(label) for label in data[key]) for key in ("symmetric", "contrast"))
            graph = cls(int(data["size"]), edges, str(data["inventory"]), symmetric, contrast)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a stored graph: {error!r}") from error
        check_graph(graph)
        return graph


@dataclass(frozen=True)
class GraphHealth:
    """What became of the edges a model gave; everything that is not kept is counted once.

    Args:
        given: Items in the reply.
        unparsed: Items without two chunk numbers.
        unknown_ids: Edges that name a chunk that is not there.
        self_loops: Edges from a chunk to itself.
        duplicates: Edges for a pair that already has a relation.
        unknown_labels: Edges whose label is not in the inventory.
        unrelated: Pairs said to be unrelated, which is correct but needless.
    """

    given: int = 0
    unparsed: int = 0
    unknown_ids: int = 0
    self_loops: int = 0
    duplicates: int = 0
    unknown_labels: int = 0
    unrelated: int = 0

    @property
    def dropped(self) -> int:
        """Edges that were given and are not in the graph because they were wrong."""
        return self.unparsed + self.unknown_ids + self.self_loops + self.duplicates + self.unknown_labels


def _label_sets(inventory: Inventory) -> tuple[tuple[str, ...], tuple[str, ...]]:
    symmetric = tuple(relation.name for relation in inventory.relations if relation.symmetric)
    return symmetric, tuple(relation.name for relation in inventory.relations if relation.family == CONTRAST)


def check_graph(graph: RhetoricalGraph) -> None:
    """Checks that edges name two different existing chunks and that no ordered pair has two relations.

    Raises:
        ValueError: Naming the edge that is wrong.
    """
    seen: set[tuple[int, int]] = set()
    for edge in graph.edges:
        if not (1 <= edge.source <= graph.size and 1 <= edge.target <= graph.size) or edge.source == edge.target:
            raise ValueError(f"edge {edge.source}>{edge.target} does not join two of {graph.size} chunks")
        both = edge.relation in (graph.symmetric or ())
        pairs = {(edge.source, edge.target)} | ({(edge.target, edge.source)} if both else set())
        if pairs & seen:
            raise ValueError(f"pair {edge.source}>{edge.target} has two relations")
        seen |= pairs


def decode_graph(edges: Sequence[str], size: int, inventory: Inventory) -> tuple[RhetoricalGraph, GraphHealth]:
    """Returns the graph that a list of `source>target RELATION` strings describes, and what was wrong with them.

    Total: any list of strings gives a valid graph. The first relation of an ordered pair is kept.

    Args:
        edges: The reply. Also read: `1 -> 3: supports`, `chunk 1 contradicts chunk 3`, `3 supported by 1`, `3<1 ...`.
        size: Number of chunks.
        inventory: Of kind `inter`.
    """
    symmetric, contrast = _label_sets(inventory)
    faults: Counter[str] = Counter()
    kept: list[Edge] = []
    taken: set[tuple[int, int]] = set()
    for item in edges:
        edge = _read_edge(item, inventory)
        if edge is None:
            faults["unparsed"] += 1
            continue
        pairs = {(edge.source, edge.target)}
        if edge.relation in symmetric:
            pairs.add((edge.target, edge.source))
            edge = Edge(min(edge.source, edge.target), max(edge.source, edge.target), edge.relation)
        if not (1 <= edge.source <= size and 1 <= edge.target <= size):
            faults["unknown_ids"] += 1
        elif edge.source == edge.target:
            faults["self_loops"] += 1
        elif edge.relation == UNRELATED:
            faults["unrelated"] += 1
        elif not edge.relation:
            faults["unknown_labels"] += 1
        elif pairs & taken:
            faults["duplicates"] += 1
        else:
            taken |= pairs
            kept.append(edge)
    graph = RhetoricalGraph(max(size, 0), tuple(kept), inventory.name, symmetric, contrast)
    health = GraphHealth(
        given=len(edges),
        unparsed=faults["unparsed"],
        unknown_ids=faults["unknown_ids"],
        self_loops=faults["self_loops"],
        duplicates=faults["duplicates"],
        unknown_labels=faults["unknown_labels"],
        unrelated=faults["unrelated"],
    )
    return graph, health


def _read_edge(item: str, inventory: Inventory) -> Edge | None:
    """An edge whose relation is a label, "" for an unknown one or UNRELATED; None without two numbers."""
    text = strip_list_marker(unicodedata.normalize("NFKC", str(item)[:400]))
    pair = _PAIR.search(text)
    if pair is None:
        return None
    source, target = int(pair[1]), int(pair[3])
    words = f"{text[: pair.start()]} {pair[2]} {text[pair.end() :]}"
    if _BACKWARDS.search(pair[2]) and not _FORWARDS.search(pair[2]):
        source, target = target, source
    if is_unrelated(words):
        return Edge(source, target, UNRELATED)
    found = find_relation(inventory, words)
    if found is None:
        return Edge(source, target, UNRELATED if any(map(is_unrelated, words.split())) else "")
    relation, spelling = found
    if inventory.reads_reversed(spelling):
        source, target = target, source
    return Edge(source, target, relation.name)


def encode_graph(graph: RhetoricalGraph) -> list[str]:
    """Returns the edges as the strings a model writes, such as `1>3 CONTRADICTS`."""
    return [f"{edge.source}>{edge.target} {edge.relation}" for edge in graph.edges]
