"""The parser: one chunk to its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from disco_dspy.backbones import Backbones
from disco_dspy.corpus.units import edu_starts, sentence_edus
from disco_dspy.health import Health, Problem
from disco_dspy.prompting.adapters import RoleFirst
from disco_dspy.prompting.evidence import render_edus
from disco_dspy.prompting.shape import numbers_to, one_of
from disco_dspy.roles.base import Decoded, Job, Role
from disco_dspy.settings import RoleSettings
from signatures.decode_tree import decode_tree
from signatures.parser import Parser
from signatures.relations import NUCLEARITIES, Inventory
from signatures.tree import Edu, RSTTree, edus_from_starts

TOKENS_PER_SPAN = 16
"""Reply tokens allowed for a span; gold trees take 8 (measured), long label names and numbers more."""


class ParserRole(Role):
    """Reads a chunk, writes its RST tree. A chunk of one EDU needs no model.

    Args:
        inventory: Relations inside a chunk.
        settings: See `Role`.
        backbones: See `Role`.
    """

    role = "parser"
    output = "tree"

    def __init__(self, inventory: Inventory, settings: RoleSettings, backbones: Backbones | None) -> None:
        super().__init__(Parser, RoleFirst(), settings, backbones)
        self.inventory = inventory

    def job(
        self,
        text: str = "",
        edus: Sequence[Edu] | None = None,
        sentences: Sequence[int] | None = None,
        **_: Any,
    ) -> Job | dspy.Prediction:
        """Returns what to ask about a chunk; the prediction has `tree` (none when degraded) and `health`.

        Args:
            text: The chunk.
            edus: Its EDUs; none cuts it by rule.
            sentences: Numbers of the EDUs that open a sentence; none finds them by rule.
        """
        units = tuple(edus) if edus is not None else edus_from_starts(text, edu_starts(text))
        if len(units) == 1:
            return self.result(RSTTree(text, units, (), self.inventory.name), Health(self.role, attempts=0))
        opening = list(sentences) if sentences is not None else sentence_edus(text, units)

        def decode(output: Any) -> Decoded:
            tree, health = decode_tree(text, units, [output.spans], self.inventory, sentence_starts=opening)
            if health.status == "empty":
                sentence = f"None of its {health.spans_given} joins fits units 1 to {len(units)}."
                return Decoded(None, "degraded", (Problem("tree/empty", sentence),))
            if health.status == "ok":
                return Decoded(tree)
            lost = f"{health.spans_lost} of {health.spans_given} joins did not fit; " if health.spans_lost else ""
            sentence = f"{lost}{health.repaired_nodes} of {len(tree.nodes)} nodes were filled in by rule."
            return Decoded(tree, "repaired", (Problem("tree/repaired", sentence),))

        inputs = {"relations": self.inventory.describe(), "chunk": render_edus(text, units)}
        limit = TOKENS_PER_SPAN * (len(units) - 1) + 32
        items = {"spans": {"maxItems": len(units) - 1, **_pattern(self.inventory, len(units))}}
        return Job(inputs, decode, None, "The chunk is shown as plain text, without a tree.", limit, items)


def _pattern(inventory: Inventory, size: int) -> dict[str, str]:
    """The pattern of a join: units that exist, and the labels that each nuclearity allows."""
    parts = []
    for nuclearity in NUCLEARITIES:
        labels = [relation.name for relation in inventory.relations if nuclearity in relation.nuclearity]
        allowed = one_of(labels)
        if labels and allowed is None:
            return {}
        if allowed:
            parts.append(f"{nuclearity} {allowed}")
    return {"pattern": f"^{numbers_to(size)}-{numbers_to(size)} ({'|'.join(parts)})$"}
