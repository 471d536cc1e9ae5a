"""Keeps demonstrations small: no evidence in them, and a token budget per role.

No optimiser knows how long a demonstration is; two traces of a grapher or generator carry its whole evidence twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dspy
from pydantic import BaseModel

# The shared context of the evidence-first layout: a demonstration shows the form of a reply, not somebody else's text.
SHARED_FIELDS = ("evidence",)

# Tokens of all demonstrations of a role together. A chunk of 256 tokens and its tree cost about 500.
TOKEN_BUDGET = {"parser": 1500, "grapher": 400, "planner": 600, "generator": 600}


def tidy(predictor: dspy.Predict, role: str, budget: Mapping[str, int] = TOKEN_BUDGET) -> list[str]:
    """Strips shared context from a predictor's demonstrations and drops those beyond the role's budget.

    Args:
        predictor: Changed in place.
        role: Name of the role, for its budget.
        budget: Most tokens of all demonstrations together, by role.

    Returns:
        One sentence for each thing that was done, for the report.
    """
    kept: list[dspy.Example] = []
    spent = 0
    most = budget.get(role, min(budget.values()))
    for demo in predictor.demos:
        small = demo if role == "parser" else _without(demo, SHARED_FIELDS)
        size = tokens(small)
        if spent + size <= most:
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


def _without(demo: dspy.Example, names: Sequence[str]) -> dspy.Example:
    return dspy.Example({key: value for key, value in dict(demo).items() if key not in names})


def _plain(value: Any) -> str:
    return value.model_dump_json() if isinstance(value, BaseModel) else str(value)
