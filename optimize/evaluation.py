"""Runs a program over items and scores it: in order, with ids, each item once.

Our own loop rather than `dspy.Evaluate`, which sends an item again when it is slow (a paid call twice), turns a dead
endpoint into a column of zeros and gives back scores without ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dspy

from optimize.budget import BudgetSpent
from optimize.scores import Score
from signatures.errors import DiscoError

if TYPE_CHECKING:
    from optimize.benchmarks.base import Benchmark


@dataclass(frozen=True)
class ItemResult:
    """One item: its id, its score, and the error that kept the program from answering (empty when it answered)."""

    id: str
    score: Score
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "id": self.id,
            "value": round(self.score.value, 6),
            "parts": {name: round(figure, 6) for name, figure in sorted(self.score.parts.items())},
            "feedback": self.score.feedback,
            "error": self.error,
        }


@dataclass(frozen=True)
class Evaluation:
    """All items that were run.

    Args:
        items: Results in the order of the examples.
        figures: The benchmark's pooled figures; `score` is the headline.
        complete: False when the budget ended the run early.
    """

    items: tuple[ItemResult, ...]
    figures: dict[str, float]
    complete: bool = True

    @property
    def scores(self) -> list[Score]:
        """Scores in item order."""
        return [item.score for item in self.items]


def evaluate(
    student: dspy.Module,
    examples: Sequence[dspy.Example],
    benchmark: Benchmark,
    *,
    on_item: Callable[[ItemResult], None] = lambda item: None,
) -> Evaluation:
    """Runs and scores every example, one after the other.

    A question the program refuses scores 0 with the reason kept; a backbone that fails ends the run, because a zero
    would say something about the prompt that is not so.

    Args:
        student: The module the benchmark made.
        examples: Examples of that benchmark.
        benchmark: Scores and pools.
        on_item: Called after each item, for progress.

    Returns:
        The evaluation; incomplete when the call budget ran out.

    Raises:
        DiscoError: A code `backbone/...` when the model fails to serve, as it came.
    """
    results: list[ItemResult] = []
    complete = True
    for example in examples:
        try:
            result = _run(student, example, benchmark)
        except BudgetSpent:
            complete = False
            break
        results.append(result)
        on_item(result)
    return Evaluation(tuple(results), benchmark.aggregate([result.score for result in results]), complete)


def _run(student: dspy.Module, example: dspy.Example, benchmark: Benchmark) -> ItemResult:
    try:
        prediction = student(**example.inputs())
    except DiscoError as error:
        # An answer nobody can use is the program's failure; a model that does not serve is not.
        if error.code.startswith("backbone/") and error.code != "backbone/context":
            raise
        return ItemResult(example.id, Score(0.0, benchmark.nothing(example), error.sentence), str(error))
    return ItemResult(example.id, benchmark.score(example, prediction))
