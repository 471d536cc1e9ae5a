"""Rewrites a role's instructions, and refuses rewrites that are no instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dspy.teleprompt.gepa.instruction_proposal import InstructionProposer
from dspy.utils.exceptions import AdapterParseError

from disco_dspy.usage import role_scope

MOST_CHARACTERS = 3000
SHOWN_CHARACTERS = 1200
LEAK_CHARACTERS = 80

_THINKING = re.compile(
    r"^\W*(?:</?think|okay[, ]|ok[, ]|hmm|wait[, ]|let me |let's |alright|first, i |i need to |i should |the user )",
    re.IGNORECASE,
)
_MARKERS = re.compile(r"\[\[ ?## |<\|[a-z_]+\|>|</?think>", re.IGNORECASE)
_CLIPPED = " […]"
# Inputs that are the same for every item and may be repeated in instructions.
_PUBLIC = {"relations", "task"}


def problem(text: str, examples: Sequence[str] = ()) -> str:
    """Says why a text will not do as instructions; empty when it will.

    Args:
        text: The proposed instructions.
        examples: Inputs the writer was shown; a long piece of one in the text is a leak.
    """
    stripped = text.strip()
    if not stripped:
        return "it is empty"
    if len(stripped) > MOST_CHARACTERS:
        return f"it is longer than {MOST_CHARACTERS} characters"
    if _THINKING.match(stripped):
        return "it reads like a model's thinking"
    if _MARKERS.search(stripped):
        return "it holds prompt markers"
    if any(_leaks(stripped, example) for example in examples):
        return "it copies text of a training example"
    return ""


def _leaks(text: str, example: str) -> bool:
    step = LEAK_CHARACTERS // 2
    return any(example[at : at + LEAK_CHARACTERS] in text for at in range(0, len(example) - LEAK_CHARACTERS + 1, step))


class GuardedProposer(InstructionProposer):  # pyright: ignore[reportGeneralTypeIssues] - DSPy decorates it
    """GEPA's proposer with short examples, its own ledger role, and a check of what comes back.

    A proposal that fails the check leaves the instructions as they were: the child then equals its parent, costs no
    further call (the cache has every reply) and is not accepted.

    Args:
        notes: Receives one sentence for each refused proposal.
    """

    def __init__(self, notes: list[str]) -> None:
        super().__init__(
            additional_instructions=(
                f"At most {MOST_CHARACTERS // 2} characters. Write general rules for the assistant; do not copy text "
                "from the examples and do not write about yourself. Keep the required output form."
            )
        )
        self._notes = notes

    def __call__(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """Proposes instructions for the named predictors; the present ones where the proposal will not do."""
        clipped = {name: [_clip(example) for example in rows] for name, rows in reflective_dataset.items()}
        texts = dict.fromkeys(components_to_update, "")
        try:
            with role_scope("reflection"):
                texts.update(super().__call__(candidate, clipped, components_to_update))
        except (AdapterParseError, ValueError) as error:
            # The reflection model answered with something unreadable: a refused proposal like any other.
            self._notes.append(f"reflection: no readable proposal ({type(error).__name__})")
            return {name: candidate[name] for name in components_to_update if name in candidate}
        accepted: dict[str, str] = {}
        for name, text in texts.items():
            reason = problem(text, [piece for row in clipped.get(name, []) for piece in _strings(row.get("Inputs"))])
            if reason:
                self._notes.append(f"{name}: a proposal was refused, {reason}")
            accepted[name] = candidate[name] if reason else text
        return accepted


def _clip(value: Any) -> Any:
    """Shortens long strings anywhere in a reflective example, which else carries a role's whole evidence."""
    if isinstance(value, str):
        return value if len(value) <= SHOWN_CHARACTERS else value[:SHOWN_CHARACTERS] + _CLIPPED
    if isinstance(value, Mapping):
        return {key: _clip(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clip(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return _clip(dump()) if callable(dump) else value


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [piece for key, item in value.items() if key not in _PUBLIC for piece in _strings(item)]
    return []
