"""The planner: evidence, graph and question to the blueprint; and the paper's two plans without structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from disco_dspy.backbones import Backbones
from disco_dspy.health import Problem
from disco_dspy.prompting.adapters import EvidenceFirst
from disco_dspy.prompting.shape import numbers_to
from disco_dspy.roles.base import Decoded, Job, Role
from disco_dspy.roles.grapher import show_graph
from disco_dspy.settings import PlanMode, RoleSettings
from signatures.blueprint import Blueprint, BlueprintHealth, decode_blueprint
from signatures.graph import RhetoricalGraph
from signatures.planner import Planner

MAX_TOKENS = 640
"""Longest plan; one of three steps takes about 125 tokens."""

FEWEST_STEPS, MOST_STEPS, MOST_REFERENCES = 2, 8, 6
"""Of a plan and of a step, where the server holds replies to a schema. Fewest: a finding and a conclusion; a model
that may stop after one step guesses the conclusion (seen). Most: a small model may otherwise never stop."""

_GENERIC_AFTER = """Plan the answer to the question as a short list of steps. Do not write the answer itself.

- move: what the step does, in a word or two.
- say: its content in one sentence, taken from the evidence.
- evidence: the chunks it rests on, such as "5".
- reconcile: "".
Use as few steps as the question needs."""

_GENERIC_BEFORE = """Plan how to answer the question as a short list of steps, before any evidence is known. Do not
answer it.

- move: what the step does, in a word or two.
- say: what the answer should establish there, in one sentence.
- evidence: [].
- reconcile: "".
Use as few steps as the question needs."""


def planner_signature(mode: PlanMode) -> type[dspy.Signature]:
    """Returns the signature a planner of this mode starts from.

    `generic-after` does not read the graph, `generic-before` neither graph nor evidence; their instructions ask for
    an ordinary plan, so that the ablations differ from `full` in structure and not by a prompt that misses its input.

    Args:
        mode: `full` and `none` (whose planner is never asked) share the real signature.
    """
    if mode == "generic-after":
        return Planner.delete("graph").with_instructions(_GENERIC_AFTER)
    if mode == "generic-before":
        return Planner.delete("graph").delete("evidence").with_instructions(_GENERIC_BEFORE)
    return Planner


class PlannerRole(Role):
    """Plans the answer in discourse steps.

    Args:
        mode: See `ProgramSettings.plan`.
        adapter: The layout shared by grapher, planner and generator.
        settings: See `Role`.
        backbones: See `Role`.
    """

    role = "planner"
    output = "blueprint"

    def __init__(
        self, mode: PlanMode, adapter: EvidenceFirst, settings: RoleSettings, backbones: Backbones | None
    ) -> None:
        super().__init__(planner_signature(mode), adapter, settings, backbones)

    def job(
        self,
        question: str = "",
        task: str = "",
        evidence: str = "",
        graph: RhetoricalGraph | None = None,
        edu_counts: Sequence[int] = (),
        **_: Any,
    ) -> Job | dspy.Prediction:
        """Returns what to ask for; the prediction has `blueprint` (none when degraded) and `health`.

        Args:
            question: The user's.
            task: Form the answer must have.
            evidence: The evidence block.
            graph: None when there is none to show.
            edu_counts: EDUs that can be cited, per chunk; see `signatures.evidence`.
        """
        known = graph if graph is not None else RhetoricalGraph(len(edu_counts), (), "inter-chunk")

        def decode(output: Any) -> Decoded:
            blueprint, health = decode_blueprint(output.steps, known, edu_counts)
            if not blueprint.steps:
                return Decoded(None, "degraded", (Problem("plan/empty", "It has no step that says anything."),))
            return _judged(blueprint, health)

        values = {"evidence": evidence, "graph": show_graph(graph), "task": task, "question": question}
        inputs = {name: value for name, value in values.items() if name in self.predict.signature.input_fields}
        items = {
            "steps": {"minItems": FEWEST_STEPS, "maxItems": MOST_STEPS},
            "steps.evidence": {"maxItems": MOST_REFERENCES if edu_counts else 1, **_references(edu_counts)},
        }
        return Job(inputs, decode, None, "The answer is written without a plan.", MAX_TOKENS, items)


def _references(edu_counts: Sequence[int]) -> dict[str, str]:
    """The pattern of references that exist."""
    if not edu_counts:
        return {}
    chunks = [f"{at}([.]{numbers_to(count)})?" if count else str(at) for at, count in enumerate(edu_counts, 1)]
    return {"pattern": f"^({'|'.join(chunks)})$"}


def _judged(blueprint: Blueprint, health: BlueprintHealth) -> Decoded:
    problems = []
    if health.dropped_refs:
        sentence = f"{health.dropped_refs} references to evidence that does not exist were dropped."
        problems.append(Problem("plan/dropped-references", sentence))
    if health.empty_steps:
        problems.append(Problem("plan/empty-steps", f"{health.empty_steps} steps that said nothing were left out."))
    for edge in health.unhandled_conflicts:
        sentence = f"No step brings together chunks {edge.source} and {edge.target} ({edge.relation})."
        problems.append(Problem("plan/unhandled-conflict", sentence))
    if health.unhandled_conflicts:
        return Decoded(blueprint, "flawed", tuple(problems))
    return Decoded(blueprint, "repaired" if problems else "ok", tuple(problems))
