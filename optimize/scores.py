"""What a metric says about one item: a figure, its parts, and a short sentence of advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Score:
    """The judgement of one prediction.

    Args:
        value: What optimisers climb, in [0, 1].
        parts: Named figures or counts behind it; a benchmark's `aggregate` knows how to pool them.
        feedback: Short and specific advice for whoever rewrites a role's instructions; empty when all is well.

    Raises:
        ValueError: When `value` is outside [0, 1].
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    feedback: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"a score lies in [0, 1], not {self.value}")
