"""The Planner: evidence, graph and question to the blueprint of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import dspy
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from signatures.lenient import Reply, json_inside, lines_of, pick, wrap

EVIDENCE_PATTERN = "^[0-9]{1,3}([.][0-9]{1,3})?$"
"""What a server that constrains output holds each reference to: a chunk, or one of its EDUs."""


def _text(value: Any) -> Any:
    """One line of text from whatever stands in a text field."""
    if isinstance(value, list | tuple):
        value = "; ".join(str(item) for item in value)
    return "" if value is None else " ".join(str(value).split())


def _reference(item: Mapping[str, Any]) -> str:
    chunk, edu = pick(item, "chunk", "source", "id"), pick(item, "edu", "unit")
    return f"{chunk}.{edu}" if edu else chunk


def _evidence(value: Any) -> Any:
    """`"1, 3.2"` is two references; other text forms are those of any list of strings."""
    items = lines_of(_reference)(value)
    if isinstance(items, list):
        return [part.strip() for item in items for part in item.replace(";", ",").split(",") if part.strip()]
    return items


Text = Annotated[str, BeforeValidator(_text)]
Reference = Annotated[str, WithJsonSchema({"type": "string", "pattern": EVIDENCE_PATTERN})]


class StepOut(Reply):
    """One step of a plan as the model writes it."""

    move: Text = Field(
        default="", description="what the step does, in a word or two, such as ANSWER, CONTRAST, CONDITION"
    )
    say: Text = Field(default="", description="the content, one sentence")
    evidence: Annotated[list[Reference], BeforeValidator(_evidence)] = Field(
        default_factory=list, description='references such as "3" or "3.2"'
    )
    reconcile: Text = Field(default="", description="how conflicting evidence fits together, else empty")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"say": value} if isinstance(value, str) else value


def _steps(value: Any) -> Any:
    value = json_inside(value)
    if isinstance(value, str):
        return lines_of(str)(value)
    return [value] if isinstance(value, Mapping) else [] if value is None else value


class PlannerOutput(Reply):
    """The steps of a plan. Lenient; `decode_blueprint` keeps what is valid."""

    steps: Annotated[list[StepOut], BeforeValidator(_steps)]

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        value = json_inside(value)
        if isinstance(value, Mapping) and "steps" not in value and "say" in value:
            return {"steps": [value]}
        return wrap("steps", ("plan", "blueprint"))(value)


class Planner(dspy.Signature):
    """Plan the answer to the question as a short list of discourse steps. Do not write the answer itself.

    First what the evidence shows on the question as a whole, then its conditions, exceptions and conflicts, last the
    conclusion that answers the question. Read before you conclude: a plan that begins with the answer guesses it.
    - move: what the step does, in a word or two, such as FINDING, EXCEPTION, CONDITION, CONTRAST, CONCLUSION.
    - say: its content in one sentence, taken from the evidence, with its numbers.
    - evidence: what it rests on, as chunk or chunk.unit. Every factual step needs some. Only what exists.
    - reconcile: only for conflicting evidence, else "". Wherever `graph` links chunks that contradict, contrast or
      qualify each other and both matter here, one step must cite both and say under what condition each finding holds
      (group, time, method, place), or that the conflict stays open.
    Order the steps as the answer will run: 2 to 5 steps. Leave out evidence that does not bear on the question. Heed
    `task` for the form of the answer. If the evidence does not answer the question, plan to say so.
    """

    evidence: str = dspy.InputField(desc="the numbered chunks")
    graph: str = dspy.InputField(desc="relations between chunks; pairs not listed are unrelated")
    task: str = dspy.InputField(desc="what form the answer must have; may be empty")
    question: str = dspy.InputField()
    plan: PlannerOutput = dspy.OutputField(desc="the steps in order")
