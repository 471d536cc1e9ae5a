"""RST trees over the exact text of a chunk: EDUs by offsets, binary nodes by EDU numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

from signatures.inventory import NUCLEARITIES, Inventory, Nuclearity

Role = Literal["N", "S"]
Head = tuple[int, str, Role]

_VISIBLE = re.compile(r"\S")


@dataclass(frozen=True)
class Edu:
    """An elementary discourse unit: `text[start:end]`.

    Args:
        index: Its number, from 1.
        start: Character offset of its first character, inclusive.
        end: Character offset, exclusive; equal to the start of the next EDU, so white space belongs to the EDU before.
    """

    index: int
    start: int
    end: int


@dataclass(frozen=True)
class Node:
    """An inner node of a binary tree.

    Args:
        first: Number of its first EDU.
        split: Number of the last EDU of its left part, first <= split < last.
        last: Number of its last EDU, inclusive.
        nuclearity: Which part is the nucleus: NS left, SN right, NN both.
        relation: A label of the tree's inventory.
        repaired: True if the span or its label is not what the model said but what the decoder filled in.
    """

    first: int
    split: int
    last: int
    nuclearity: Nuclearity
    relation: str
    repaired: bool = False


@dataclass(frozen=True)
class RSTTree:
    """The discourse structure of one text. Build it with `decode_tree`; `check_tree` states what holds for it.

    Args:
        text: The exact text of the chunk.
        edus: In order, contiguous, covering the text.
        nodes: The len(edus) - 1 inner nodes in pre-order (node, left part, right part).
        inventory: Name of the inventory the labels come from.
    """

    text: str
    edus: tuple[Edu, ...]
    nodes: tuple[Node, ...]
    inventory: str

    def edu_text(self, number: int) -> str:
        """Returns the text of an EDU on a single line, without white space around it.

        Args:
            number: From 1 to len(edus).

        Raises:
            IndexError: If there is no such EDU.
        """
        if not 1 <= number <= len(self.edus):
            raise IndexError(f"EDU {number} of {len(self.edus)}")
        edu = self.edus[number - 1]
        return " ".join(self.text[edu.start : edu.end].split())

    @cached_property
    def _heads(self) -> tuple[Head, ...]:
        heads: list[Head] = [(0, "", "N")] * len(self.edus)
        head_of = {(n, n): n for n in range(1, len(self.edus) + 1)}
        # Parts come before wholes: by last EDU, shorter spans first.
        for node in bottom_up(self.nodes):
            left, right = head_of[node.first, node.split], head_of[node.split + 1, node.last]
            head, other = (right, left) if node.nuclearity == "SN" else (left, right)
            head_of[node.first, node.last] = head
            heads[other - 1] = (head, node.relation, "N" if node.nuclearity == "NN" else "S")
        return tuple(heads)

    def heads(self) -> list[Head]:
        """Returns the tree as dependencies, one (parent EDU, relation, role) for each EDU in order.

        The root EDU has parent 0, an empty relation and role N. Role S is a satellite of its parent; role N a further
        nucleus, joined to the first one. The order in which satellites of one nucleus attach is not kept.
        """
        return list(self._heads)

    @cached_property
    def _depths(self) -> tuple[int, ...]:
        depths: dict[int, int] = {0: -1}
        for number in range(1, len(self.edus) + 1):
            path = []
            while number not in depths:
                path.append(number)
                number = self._heads[number - 1][0]
            for step, child in enumerate(reversed(path), 1):
                depths[child] = depths[number] + step
        return tuple(depths[number] for number in range(1, len(self.edus) + 1))

    def depth(self, number: int) -> int:
        """Returns how far an EDU is below the root EDU in the dependency form (0 for the root).

        Args:
            number: From 1 to len(edus).

        Raises:
            IndexError: If there is no such EDU.
        """
        if not 1 <= number <= len(self.edus):
            raise IndexError(f"EDU {number} of {len(self.edus)}")
        return self._depths[number - 1]

    def to_dict(self, *, with_text: bool = True) -> dict[str, Any]:
        """Returns plain data for JSON: `inventory`, `starts` (EDU start offsets), `rows` [i, k, j, nuc, rel, repaired].

        Args:
            with_text: Whether to carry the text too; without it, `from_dict` must be given the text.
        """
        data: dict[str, Any] = {
            "inventory": self.inventory,
            "starts": [edu.start for edu in self.edus],
            "rows": [[n.first, n.split, n.last, n.nuclearity, n.relation, n.repaired] for n in self.nodes],
        }
        return {"text": self.text, **data} if with_text else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], text: str | None = None) -> RSTTree:
        """Returns the tree that `to_dict` wrote.

        Args:
            data: What `to_dict` returned, possibly through JSON.
            text: The text, where the data does not carry it.

        Raises:
            ValueError: If the data has another shape or does not form a tree over the text. Labels are not checked
                against an inventory here; `check_tree` does that.
        """
        try:
            text = data["text"] if text is None else text
            starts = [int(start) for start in data["starts"]]
            nodes = tuple(
                Node(int(i), int(k), int(j), cast(Nuclearity, nuclearity), str(relation), bool(repaired))
                for i, k, j, nuclearity, relation, repaired in data["rows"]
            )
            inventory = str(data["inventory"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a stored tree: {error!r}") from error
        if not isinstance(text, str):
            raise ValueError("not a stored tree: it has no text")
        ends = [*starts[1:], len(text)]
        edus = tuple(Edu(n, start, end) for n, (start, end) in enumerate(zip(starts, ends, strict=True), 1))
        tree = cls(text, edus, nodes, inventory)
        check_shape(tree)
        return tree


def bottom_up(nodes: Iterable[Node]) -> list[Node]:
    """Returns nodes with the parts of a node before the node, left before right."""
    return sorted(nodes, key=lambda node: (node.last, -node.first))


def edus_from_starts(text: str, starts: Iterable[int]) -> tuple[Edu, ...]:
    """Returns EDUs that cover a text exactly.

    Total: starts are clipped, sorted and made unique, 0 is added, a start inside white space moves to the next visible
    character, and no EDU is empty or only white space unless the whole text is.

    Args:
        text: Any text; an empty one gives one empty EDU.
        starts: Character offsets at which EDUs begin, in any order.
    """
    visible = (_VISIBLE.search(text, start) for start in {s for s in starts if 0 < s < len(text)})
    first = _VISIBLE.search(text)
    floor = first.start() if first else len(text)
    cuts = [0, *sorted({match.start() for match in visible if match and match.start() > floor})]
    return tuple(Edu(n, start, end) for n, (start, end) in enumerate(zip(cuts, [*cuts[1:], len(text)], strict=True), 1))


def check_shape(tree: RSTTree) -> None:
    """Checks that EDUs cover the text and nodes form one binary tree over them.

    Args:
        tree: Any tree.

    Raises:
        ValueError: Naming the first thing that does not hold.
    """
    if not tree.edus:
        raise ValueError("a tree needs at least one EDU")
    at = 0
    for number, edu in enumerate(tree.edus, 1):
        if edu.index != number:
            raise ValueError(f"EDU {number} has index {edu.index}")
        if edu.start != at:
            raise ValueError(f"EDU {number} starts at {edu.start}, but the one before ends at {at}")
        if len(tree.edus) > 1 and not tree.text[edu.start : edu.end].strip():
            raise ValueError(f"EDU {number} has no visible text")
        at = edu.end
    if at != len(tree.text):
        raise ValueError(f"EDUs end at {at}, the text at {len(tree.text)}")
    if len(tree.nodes) != len(tree.edus) - 1:
        raise ValueError(f"{len(tree.edus)} EDUs need {len(tree.edus) - 1} nodes, not {len(tree.nodes)}")
    expected = [(1, len(tree.edus))]
    for node in tree.nodes:
        while expected and expected[-1][0] == expected[-1][1]:
            expected.pop()
        span = expected.pop() if expected else None
        if (node.first, node.last) != span:
            raise ValueError(f"node {node.first}-{node.last} stands where {span} was expected")
        if not node.first <= node.split < node.last:
            raise ValueError(f"node {node.first}-{node.last} is split after {node.split}")
        if node.nuclearity not in NUCLEARITIES:
            raise ValueError(f"node {node.first}-{node.last} has nuclearity {node.nuclearity!r}")
        expected += [(node.split + 1, node.last), (node.first, node.split)]


def check_tree(tree: RSTTree, inventory: Inventory) -> None:
    """Checks every invariant of a tree.

    EDUs are in order, contiguous and join to the text exactly; N EDUs have N - 1 nodes in pre-order, so every split
    point stands once; labels belong to the inventory; nuclearity is allowed for the label.

    Args:
        tree: Any tree.
        inventory: The one its labels must come from.

    Raises:
        ValueError: Naming the invariant that is broken and where.
    """
    check_shape(tree)
    if tree.inventory != inventory.name:
        raise ValueError(f"the tree was made with inventory {tree.inventory!r}, not {inventory.name!r}")
    relations = {relation.name: relation for relation in inventory.relations}
    for node in tree.nodes:
        relation = relations.get(node.relation)
        if relation is None:
            raise ValueError(f"node {node.first}-{node.last} has label {node.relation!r}, not in {inventory.name!r}")
        if node.nuclearity not in relation.nuclearity:
            raise ValueError(f"node {node.first}-{node.last}: {node.relation!r} does not allow {node.nuclearity}")
