"""The grapher: the chunks together to their rhetorical graph."""

from __future__ import annotations

from typing import Any

import dspy

from disco_dspy.backbones import Backbones
from disco_dspy.health import Health, Problem
from disco_dspy.prompting.adapters import EvidenceFirst
from disco_dspy.prompting.shape import numbers_to, one_of
from disco_dspy.roles.base import Decoded, Job, Role
from disco_dspy.settings import RoleSettings
from signatures.graph import GraphHealth, RhetoricalGraph, decode_graph, encode_graph
from signatures.grapher import Grapher
from signatures.relations import Inventory

EDGES_PER_CHUNK, TOKENS_PER_EDGE = 3, 12
"""How long a reply may get: a small model may otherwise go through all pairs."""

NO_EDGES = "none"


class GrapherRole(Role):
    """Relates all chunks in one call. One chunk needs no model.

    Args:
        inventory: Relations between chunks.
        adapter: The layout shared by grapher, planner and generator.
        settings: See `Role`.
        backbones: See `Role`.
    """

    role = "grapher"
    output = "graph"

    def __init__(
        self, inventory: Inventory, adapter: EvidenceFirst, settings: RoleSettings, backbones: Backbones | None
    ) -> None:
        super().__init__(Grapher, adapter, settings, backbones)
        self.inventory = inventory

    def job(self, evidence: str = "", size: int = 0, **_: Any) -> Job | dspy.Prediction:
        """Returns what to ask about the chunks; the prediction has `graph` (without edges when degraded) and `health`.

        Args:
            evidence: The evidence block.
            size: Number of chunks in it.
        """
        empty, _health = decode_graph([], size, self.inventory)
        if size < 2:
            return self.result(empty, Health(self.role, attempts=0))

        def decode(output: Any) -> Decoded:
            graph, health = decode_graph(output.edges, size, self.inventory)
            if not health.dropped:
                return Decoded(graph)
            problem = Problem("graph/dropped-edges", _dropped(health, size))
            # Edges were given and not one can be kept: that is no reply, whereas an empty list is one.
            usable = bool(graph.edges or health.unrelated)
            return Decoded(graph, "repaired" if usable else "degraded", (problem,))

        inputs = {"evidence": evidence, "relations": self.inventory.describe()}
        most = min(EDGES_PER_CHUNK * size, size * (size - 1) // 2)
        labels = one_of(self.inventory.labels)
        items: dict[str, Any] = {"edges": {"maxItems": most}}
        if labels:
            items["edges"]["pattern"] = f"^{numbers_to(size)}>{numbers_to(size)} {labels}$"
        limit = TOKENS_PER_EDGE * most + 32
        return Job(inputs, decode, empty, "The answer is planned without relations between chunks.", limit, items)


def show_graph(graph: RhetoricalGraph | None) -> str:
    """Returns a graph for a prompt, one edge a line; nothing for no graph, `none` for one without edges."""
    if graph is None:
        return ""
    return "\n".join(encode_graph(graph)) or NO_EDGES


def _dropped(health: GraphHealth, size: int) -> str:
    counts = {
        "unreadable": health.unparsed,
        f"naming a chunk outside 1 to {size}": health.unknown_ids,
        "from a chunk to itself": health.self_loops,
        "a second time for a pair": health.duplicates,
        "with an unknown relation": health.unknown_labels,
    }
    parts = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{health.dropped} of {health.given} edges were dropped: {parts}."
