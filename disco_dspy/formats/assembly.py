"""Putting a binary tree together from the parts that a file names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from disco_dspy.formats.document import Span
from disco_dspy.formats.problems import problem
from signatures.inventory import Nuclearity
from signatures.tree import Node


@dataclass
class Assembly:
    """Collects the nodes of one tree, parts before wholes.

    Args:
        name: Of the file, for messages.
        nodes: What was joined so far.
        kept: Multinuclear units that stand on their own inside a chain of the same relation.
    """

    name: str = ""
    nodes: list[Node] = field(default_factory=list)
    kept: list[Span] = field(default_factory=list)

    def join(self, left: Span, right: Span, nuclearity: Nuclearity, relation: str, line: int | None = None) -> Span:
        """Returns the unit that two neighbours form.

        Args:
            left: The earlier unit.
            right: The later unit.
            nuclearity: Which of them is the nucleus.
            relation: Label.
            line: Where the file says so.

        Raises:
            DiscoError: `format/crossing` if they do not touch.
        """
        if left[1] + 1 != right[0]:
            raise problem(
                "format/crossing",
                self.name,
                f"EDUs {_name(left)} and {_name(right)} are joined by {relation!r} but are not next to each other",
                "A tree without crossing branches is needed: re-attach the unit between them in the tool it came from.",
                line,
            )
        self.nodes.append(Node(left[0], left[1], right[1], nuclearity, relation))
        return left[0], right[1]

    def chain(self, parts: Sequence[Span], relations: Sequence[str], line: int | None = None) -> Span:
        """Returns the unit of several nuclei, binarised to the right: a + (b + (c + d)).

        Args:
            parts: At least one unit.
            relations: The label each part carries; usually one and the same.
            line: Where the file says so.

        Raises:
            DiscoError: `format/crossing` if they do not touch.
        """
        order = sorted(range(len(parts)), key=lambda n: parts[n])
        whole = parts[order[-1]]
        for place in range(len(order) - 2, -1, -1):
            whole = self.join(parts[order[place]], whole, "NN", relations[order[place + 1]], line)
        if len(parts) > 1:
            last = parts[order[-1]]
            inner = next((n for n in reversed(self.nodes) if (n.first, n.last) == last), None)
            if inner and inner.nuclearity == "NN" and inner.relation == relations[order[-1]]:
                self.kept.append(last)
        return whole

    def wrap(self, nucleus: Span, satellites: Sequence[tuple[Span, str, int]]) -> Span:
        """Returns a nucleus with its satellites: the left ones inside, each side from the nearest outwards.

        Args:
            nucleus: The unit they attach to.
            satellites: (unit, relation, line) in any order.

        Raises:
            DiscoError: `format/crossing` if one does not touch.
        """
        before = sorted((s for s in satellites if s[0] < nucleus), reverse=True)
        after = sorted(s for s in satellites if s[0] > nucleus)
        for unit, relation, line in [*before, *after]:
            if unit < nucleus:
                nucleus = self.join(unit, nucleus, "SN", relation, line)
            else:
                nucleus = self.join(nucleus, unit, "NS", relation, line)
        return nucleus


def _name(span: Span) -> str:
    return f"{span[0]}" if span[0] == span[1] else f"{span[0]}-{span[1]}"
