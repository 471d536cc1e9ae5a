"""One tiny call before a long run: does the backbone answer, and does it obey a schema?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import dspy
from dspy.utils.exceptions import LMError
from pydantic import BaseModel, ConfigDict, ValidationError

from disco_dspy.lm_errors import explain_lm_error
from disco_dspy.usage import role_scope


class _Probe(BaseModel):
    """A reply no model gives by chance, so that it tells whether the schema was obeyed."""

    model_config = ConfigDict(extra="forbid")

    answer: Literal["disco"]


@dataclass(frozen=True)
class PreflightReport:
    """What the tiny call showed.

    Attributes:
        backbone: Name of the backbone.
        model: Model string.
        seconds: Wall time, a cold start included.
        json_schema: `obeyed`, `ignored` (declared, but the reply breaks it) or `not declared`.
        reply: The text that came back, at most 200 characters.
    """

    backbone: str
    model: str
    seconds: float
    json_schema: Literal["obeyed", "ignored", "not declared"]
    reply: str


def preflight(lm: dspy.LM, backbone: str) -> PreflightReport:
    """Makes one real call that bypasses the cache.

    Args:
        lm: The backbone's LM.
        backbone: Its name, for messages.

    Raises:
        DiscoError: As `explain_lm_error`.
    """
    declared = bool(lm.supports_response_schema)
    options = {"response_format": _Probe} if declared else {}
    started = time.perf_counter()
    try:
        with role_scope("preflight"), dspy.context(disable_history=True):
            # One attempt: a person is waiting to hear what is wrong.
            outputs = lm.copy(num_retries=0)('Reply with this JSON object: {"answer": "disco"}', cache=False, **options)
    except LMError as exc:
        raise explain_lm_error(exc, backbone) from exc
    first = outputs[0] if outputs else ""
    text = (first.get("text") if isinstance(first, dict) else first) or ""
    return PreflightReport(
        backbone=backbone,
        model=lm.model,
        seconds=round(time.perf_counter() - started, 3),
        json_schema=("obeyed" if _obeys(text) else "ignored") if declared else "not declared",
        reply=text[:200],
    )


def _obeys(text: str) -> bool:
    try:
        _Probe.model_validate_json(text)
    except ValidationError:
        return False
    return True
