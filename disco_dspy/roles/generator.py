"""The generator: everything to the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import dspy
from dspy.utils.exceptions import LMError

from disco_dspy.backbones import Backbones, explain_lm_error
from disco_dspy.health import Problem
from disco_dspy.prompting.adapters import EvidenceFirst
from disco_dspy.roles.base import Decoded, Job, Role
from disco_dspy.roles.grapher import show_graph
from disco_dspy.settings import RoleSettings
from signatures.answer import decode_answer
from signatures.blueprint import Blueprint
from signatures.errors import DiscoError
from signatures.generator import Generator
from signatures.graph import RhetoricalGraph

MARKS_NAMED = 5
"""Removed marks that a problem names; a model that loops writes hundreds."""

_OPEN_MARK = re.compile(r"\[[\d.,; ]*$")
"""The mark in which a reply was cut."""


class GeneratorRole(Role):
    """Writes the answer. The only role the program cannot do without.

    Args:
        adapter: The layout shared by grapher, planner and generator.
        settings: See `Role`.
        backbones: See `Role`.
    """

    role = "generator"
    output = "answer"

    def __init__(self, adapter: EvidenceFirst, settings: RoleSettings, backbones: Backbones | None) -> None:
        super().__init__(Generator, adapter, settings, backbones)

    def job(
        self,
        question: str = "",
        task: str = "",
        evidence: str = "",
        graph: RhetoricalGraph | None = None,
        blueprint: Blueprint | None = None,
        edu_counts: Sequence[int] = (),
        **_: Any,
    ) -> Job | dspy.Prediction:
        """Returns what to ask for; the prediction has `answer` (a `signatures.answer.Answer`) and `health`.

        Args:
            question: The user's.
            task: Form the answer must have.
            evidence: The evidence block.
            graph: None when there is none to show.
            blueprint: None when there is no plan.
            edu_counts: EDUs that can be cited, per chunk.
        """

        def decode(output: Any) -> Decoded:
            answer, health = decode_answer(output.text, edu_counts)
            if not re.search(r"\w", _OPEN_MARK.sub("", answer.plain)):
                return Decoded(answer, "degraded", (Problem("answer/empty", "It holds no text beside marks."),))
            problems = []
            if health.removed:
                more = f" and {len(health.removed) - MARKS_NAMED} more" if len(health.removed) > MARKS_NAMED else ""
                removed = ", ".join(health.removed[:MARKS_NAMED]) + more
                problems.append(
                    Problem("answer/removed-citations", f"Marks pointing at nothing were removed: {removed}.")
                )
            if not health.cited:
                problems.append(Problem("answer/uncited", "The answer cites no evidence."))
                return Decoded(answer, "flawed", tuple(problems))
            return Decoded(answer, "repaired" if problems else "ok", tuple(problems))

        inputs = {
            "evidence": evidence,
            "graph": show_graph(graph),
            "plan": blueprint.render() if blueprint is not None else "",
            "task": task,
            "question": question,
        }
        return Job(inputs, decode, None, "There is no answer.")

    def give_up(self, job: Job, problems: tuple[Problem, ...], attempts: int, error: Exception | None) -> Any:
        """Raises: there is no answer to go on with.

        Raises:
            DiscoError: What failed at the backbone, or `answer/unusable`; the command line ends with 5.
        """
        if isinstance(error, LMError):
            raise explain_lm_error(error, self.backbone_name()) from error
        tries = "one attempt" if attempts == 1 else f"{attempts} attempts"
        raise DiscoError(
            "answer/unusable",
            f"Backbone {self.backbone_name()!r} gave no usable answer in {tries}: {problems[-1].sentence}",
            "Ask again, or use another backbone for the generator.",
            retryable=True,
            exit_code=5,
        ) from error
