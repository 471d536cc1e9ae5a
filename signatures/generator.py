"""The Generator: evidence, graph, plan and question to the answer with citations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dspy
from pydantic import model_validator

from signatures.lenient import Reply, pick


class GeneratorOutput(Reply):
    """The answer as free text with citation marks; `decode_answer` keeps the marks that point at something."""

    text: str

    @classmethod
    def from_text(cls, text: str) -> GeneratorOutput:
        """Returns the output for a reply that is plain text, not JSON."""
        return cls(text=text)

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"text": value}
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return {"text": "\n".join(value)}
        if isinstance(value, Mapping) and "text" not in value and pick(value, "answer", "response"):
            lowered = {str(key).lower(): content for key, content in value.items()}
            return {"text": str(lowered.get("answer") or lowered.get("response"))}
        return value


class Generator(dspy.Signature):
    """Answer the question from the evidence, following the plan.

    - Use the form that `task` asks for; if it is empty, write two to five plain sentences.
    - Cover the steps of `plan` in order, in your own sentences. Where plan and evidence differ, the evidence is right.
      If `plan` is empty, work from the evidence alone.
    - Put the number of the evidence a sentence rests on in square brackets at its end: a chunk, or chunk.unit.
    - Say only what the evidence says. Never invent facts, numbers or names. Do not speak of chunks, units or plans.
    - State the condition under which a finding holds. Where findings conflict, report both and how they fit together,
      as the plan reconciles them; never hide one.
    - If the evidence does not answer the question, say so.
    """

    evidence: str = dspy.InputField(desc="the numbered chunks")
    graph: str = dspy.InputField(desc="relations between chunks; pairs not listed are unrelated")
    plan: str = dspy.InputField(desc="the steps of the answer; may be empty")
    task: str = dspy.InputField(desc="what form the answer must have; may be empty")
    question: str = dspy.InputField()
    answer: GeneratorOutput = dspy.OutputField()
