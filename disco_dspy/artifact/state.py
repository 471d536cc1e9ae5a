"""`program.json`: DSPy's state of the four predictors, written and read strictly."""

from __future__ import annotations

from typing import Annotated, Any

import dspy
from dspy.utils.saving import get_dependency_versions
from pydantic import BaseModel, ConfigDict, Field

from disco_dspy.program import DiscoRAG
from disco_dspy.prompting.adapters import STATIC, shown_demo
from disco_dspy.settings import ROLES

MAX_BYTES = 4_000_000
"""Of any file of an artifact. Demonstrations of ten full chunks would not fit a prompt either."""

LONGEST_INSTRUCTIONS = 40_000
MOST_DEMOS = 64
_EXTRA_DEMO_KEYS = frozenset({"augmented"})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FieldState(_Strict):
    """One field's texts, by place."""

    prefix: str = Field(max_length=2000)
    description: str = Field(max_length=10_000)


class SignatureState(_Strict):
    """Instructions and field texts of a predictor."""

    instructions: str = Field(min_length=1, max_length=LONGEST_INSTRUCTIONS)
    fields: list[FieldState] = Field(max_length=32)


class PredictState(_Strict):
    """One predictor. `traces` and `train` are dead weight and stay empty; `lm` is null in every artifact."""

    traces: Annotated[list[Any], Field(max_length=0)]
    train: Annotated[list[Any], Field(max_length=0)]
    demos: list[dict[str, Any]] = Field(max_length=MOST_DEMOS)
    signature: SignatureState
    lm: None


class Metadata(_Strict):
    """What DSPy writes about versions."""

    dependency_versions: dict[str, str]


def predictor_names() -> list[str]:
    """Returns the keys of the predictors in the state."""
    return [f"{role}.predict" for role in ROLES]


def dump_state(program: DiscoRAG) -> dict[str, Any]:
    """Returns the state of all four predictors, frozen or not, in DSPy's form.

    Left out: pinned models, traces, and what of a demonstration is never shown (the relation table, long evidence).
    The prompts of the loaded program are the same bytes. A role frozen for an optimizer (`_compiled`) would vanish
    from DSPy's own `dump_state`; here it does not.

    Args:
        program: Tuned or not.
    """
    state: dict[str, Any] = {}
    for role in ROLES:
        predict = getattr(program, role).predict
        state[f"{role}.predict"] = {
            "traces": [],
            "train": [],
            "demos": [_plain(_kept(demo)) for demo in predict.demos],
            "signature": predict.signature.dump_state(),
            "lm": None,
        }
    state["metadata"] = {"dependency_versions": get_dependency_versions()}
    return state


def demo_problem(demo: dict[str, Any], signature: type[dspy.Signature]) -> str | None:
    """Returns what is wrong with a demonstration for a signature, or nothing.

    Args:
        demo: As stored.
        signature: The role's.
    """
    known = {*signature.fields, *_EXTRA_DEMO_KEYS}
    unknown = sorted(set(demo) - known)
    if unknown:
        return f"has the unknown field {unknown[0]!r}"
    for name in signature.input_fields:
        if name in demo and not isinstance(demo[name], str):
            return f"holds no text in {name!r}"
    for name, field in signature.output_fields.items():
        if name in demo and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            try:
                field.annotation.model_validate(demo[name])
            except ValueError:
                return f"holds no valid {name!r}"
    return None


def _kept(demo: Any) -> dict[str, Any]:
    return {name: value for name, value in shown_demo(dict(demo)).items() if name not in STATIC}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
