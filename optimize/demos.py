"""Keeps demonstrations small: no long evidence in them, and a token budget per role.

No optimiser knows how long a demonstration is; two traces of a grapher or generator carry its whole evidence twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from pydantic import BaseModel

from disco_dspy.prompting.adapters import STATIC, shown_demo

# Tokens of all demonstrations of a role together. A chunk of 256 tokens and its tree cost about 500.
TOKEN_BUDGET = {"parser": 1500, "grapher": 600, "planner": 600, "generator": 600}


def tidy(predictor: Any, role: str, budget: Mapping[str, int] = TOKEN_BUDGET) -> list[str]:
    """Takes long evidence out of a predictor's demonstrations and drops those beyond the role's budget.

    A demonstration that shows nothing but its reply once the evidence is out is dropped too.

    Args:
        predictor: A `dspy.Predict`, changed in place.
        role: Name of the role, for its budget.
        budget: Most tokens of all demonstrations together, by role.

    Returns:
        One sentence for each thing that was done, for the report.
    """
    kept: list[dspy.Example] = []
    spent = 0
    most = budget.get(role, min(budget.values()))
    for demo in predictor.demos:
        # What is the same in every call is shown once by the layout; in each demonstration it would be dead weight.
        small = dspy.Example({k: v for k, v in shown_demo(dict(demo)).items() if k not in STATIC})
        size = tokens(small)
        says = [name for name in predictor.signature.input_fields if name in small]
        if says and spent + size <= most:
            kept.append(small)
            spent += size
    dropped = len(predictor.demos) - len(kept)
    predictor.demos = kept
    return [f"{role}: {dropped} demonstrations did not fit into {most} tokens"] if dropped else []


def tokens(demo: Mapping[str, Any] | dspy.Example) -> int:
    """Estimates the tokens of a demonstration, a little high: four characters each, one per CJK character."""
    text = " ".join(_plain(value) for key, value in dict(demo).items() if key != "augmented")
    wide = sum(char > "\u2e7f" for char in text)
    return wide + (len(text) - wide + 3) // 4


def merge(bootstrapped: Sequence[dspy.Example], labelled: Sequence[dspy.Example], most: int) -> list[dspy.Example]:
    """Joins traces of the model's own with worked gold examples, at most `most`.

    Gold examples fill what traces leave free and get at least one place: a trace shows what the model does already, a
    gold tree what it should do.
    """
    room = max(0, most - 1) if labelled else most
    return [*bootstrapped[:room], *labelled][:most]


def _plain(value: Any) -> str:
    return value.model_dump_json() if isinstance(value, BaseModel) else str(value)
