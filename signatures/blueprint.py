"""The blueprint of an answer: ordered discourse steps, their evidence, and how conflicts are reconciled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signatures.evidence import Evidence, read_references
from signatures.graph import Edge, RhetoricalGraph
from signatures.reading import printable

__all__ = ["Blueprint", "BlueprintHealth", "Evidence", "Step", "decode_blueprint"]

# What models write where there is nothing to say.
_NOTHING = frozenset({"", "-", "none", "n/a", "na", "null", "nil", "no conflict", "not applicable", "无"})


@dataclass(frozen=True)
class Step:
    """One step of an answer.

    Args:
        move: The discourse move it makes, such as `CLAIM` or a relation; may be empty.
        say: What to say, on one line.
        evidence: Existing references, without repetition.
        reconcile: How conflicting evidence is brought together, such as the condition under which each finding holds;
            empty where nothing conflicts.
    """

    move: str
    say: str
    evidence: tuple[Evidence, ...] = ()
    reconcile: str = ""


@dataclass(frozen=True)
class Blueprint:
    """The steps of an answer, in order."""

    steps: tuple[Step, ...] = ()

    def render(self) -> str:
        """Returns the steps as numbered lines for a prompt, with evidence as the marks an answer cites."""
        # The words and marks of a step stand as they may stand in the answer: a small model copies its plan.
        lines = []
        for number, step in enumerate(self.steps, 1):
            move = f"({step.move})" if step.move else ""
            marks = "".join(f"[{reference}]" for reference in step.evidence)
            lines.append(f"{number}. " + " ".join(part for part in (move, step.say, marks) if part))
            if step.reconcile:
                lines.append(f"   How it fits together: {step.reconcile}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data for JSON, in the shape of a Planner's output."""
        return {
            "steps": [
                {"move": s.move, "say": s.say, "evidence": [str(e) for e in s.evidence], "reconcile": s.reconcile}
                for s in self.steps
            ]
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Blueprint:
        """Returns the blueprint that `to_dict` wrote.

        Raises:
            ValueError: If the data has another shape.
        """
        try:
            return cls(
                tuple(
                    Step(
                        str(step["move"]),
                        str(step["say"]),
                        tuple(reference for item in step["evidence"] for reference in read_references(item)),
                        str(step["reconcile"]),
                    )
                    for step in data["steps"]
                )
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a stored blueprint: {error!r}") from error


@dataclass(frozen=True)
class BlueprintHealth:
    """What became of a plan.

    Args:
        steps: Steps in the reply.
        dropped_refs: References that point at nothing.
        empty_steps: Steps that said nothing, left out.
        unhandled_conflicts: Edges of the contrast family that no step brings together.
    """

    steps: int = 0
    dropped_refs: int = 0
    empty_steps: int = 0
    unhandled_conflicts: tuple[Edge, ...] = ()


def decode_blueprint(
    steps: Sequence[Any], graph: RhetoricalGraph, edu_counts: Sequence[int]
) -> tuple[Blueprint, BlueprintHealth]:
    """Returns the blueprint that a plan describes, and what was wrong with it.

    Total: references that point at nothing are dropped and counted; a step without text, reconciliation and evidence
    is left out and counted. A conflict edge is handled when one step cites both its chunks, or cites one and its
    reconciliation names the other.

    Args:
        steps: Objects or mappings with `move`, `say`, `evidence` (texts) and `reconcile`, all optional.
        graph: The graph the plan was made for.
        edu_counts: Number of EDUs of each chunk; 0 for a chunk that was not cut.
    """
    kept: list[Step] = []
    dropped = empty = 0
    for item in steps:
        given = _field(item, "evidence")
        texts = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else []
        references: dict[Evidence, None] = {}
        for text in texts:
            found = read_references(str(text))
            good = [reference for reference in found if reference.exists(edu_counts)]
            # Text that should be a reference and names none is lost as well; a way of saying "none" is not.
            dropped += len(found) - len(good) if found else not _says_nothing(str(text))
            references.update(dict.fromkeys(good))
        reconcile = _line(_field(item, "reconcile"))
        reconcile = "" if _says_nothing(reconcile) else reconcile
        step = Step(_line(_field(item, "move")), _line(_field(item, "say")), tuple(references), reconcile)
        if step.say or step.reconcile or step.evidence:
            kept.append(step)
        else:
            empty += 1
    unhandled = tuple(edge for edge in graph.conflicts() if not any(_handles(step, edge) for step in kept))
    return Blueprint(tuple(kept)), BlueprintHealth(len(steps), dropped, empty, unhandled)


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def _line(value: Any) -> str:
    return "" if value is None else " ".join(printable(str(value)).split())


def _says_nothing(text: str) -> bool:
    return text.casefold().strip(" .[]") in _NOTHING


def _handles(step: Step, edge: Edge) -> bool:
    cited = {reference.chunk for reference in step.evidence}
    here = {edge.source, edge.target} & cited
    if len(here) == 1:
        (other,) = {edge.source, edge.target} - here
        return re.search(rf"(?<![0-9.]){other}(?:\.[0-9]+)?(?![0-9])", step.reconcile) is not None
    return len(here) == 2
