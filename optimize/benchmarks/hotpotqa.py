"""HotpotQA: two-hop questions over ten paragraphs, two of which support the short answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from optimize.benchmarks.closed import ClosedQA, Passage, citation_validity, grounded, role_advice
from optimize.data import field
from optimize.metrics.answers import exact_match, token_f1
from optimize.metrics.grounding import support
from optimize.scores import Score


class HotpotQA(ClosedQA):
    """Short-answer F1 and citations over the item's own ten paragraphs."""

    name: ClassVar[str] = "hotpotqa"
    metric: ClassVar[str] = (
        "hotpotqa-1: token F1 of the answer x (0.8 + 0.2 share of its citations that exist); mean over items"
    )
    figures: ClassVar[tuple[str, ...]] = ("score", "f1", "em", "citation_validity", "support_recall")
    task: ClassVar[str] = (
        "Give only the short answer: a name, a date, a number, yes or no, in as few words as possible, with the marks "
        "of the evidence right after it. No sentence, no explanation."
    )

    def passages(self, row: dict[str, Any]) -> list[Passage]:
        """The ten paragraphs."""
        return [Passage(p["title"], p["text"]) for p in field(row, "passages", self.name)]

    def score(self, example: dspy.Example, prediction: dspy.Prediction, role: str | None = None) -> Score:
        """Judges the answer's words, then its marks."""
        row = self.rows[example.id]
        answer, gold = prediction.response.plain, [field(row, "answer", self.name)]
        f1, valid = token_f1(answer, gold), citation_validity(prediction)
        places = self.number_of(example, prediction)
        titles = {n: p.title for n, p in enumerate(self.passages(row), 1)}
        wanted = {n for n, title in titles.items() if title in row["supporting"]}
        cited = {places[c.evidence.chunk] for c in prediction.response.citations if c.evidence.chunk in places}
        _, recall = support(cited, wanted)
        return Score(
            grounded(f1, valid),
            {"f1": f1, "em": exact_match(answer, gold), "citation_validity": valid, "support_recall": recall},
            _feedback(row, answer, f1, valid, [titles[n] for n in sorted(wanted - cited)], prediction, role),
        )

    def nothing(self, example: dspy.Example) -> dict[str, float]:
        """Zeros."""
        return dict.fromkeys(self.figures[1:], 0.0)

    def aggregate(self, scores: Sequence[Score]) -> dict[str, float]:
        """Means over items."""
        return means(scores, self.figures)


def means(scores: Sequence[Score], figures: Sequence[str]) -> dict[str, float]:
    """Mean of each figure over the items that have it, 0 where none has; `score` is the mean of the values."""
    pooled = {"score": sum(score.value for score in scores) / len(scores) if scores else 0.0}
    for name in figures[1:]:
        known = [score.parts[name] for score in scores if name in score.parts]
        pooled[name] = sum(known) / len(known) if known else 0.0
    return pooled


def _feedback(
    row: dict[str, Any],
    answer: str,
    f1: float,
    valid: float,
    missed: list[str],
    prediction: dspy.Prediction,
    role: str | None,
) -> str:
    lines = []
    if f1 < 1:
        lines.append(f"The answer was {answer[:160]!r}; the right one is {row['answer']!r}.")
        if f1 > 0 and len(answer.split()) > 2 * len(row["answer"].split()):
            lines.append("It holds the answer but says far more than the short answer asked for.")
    if missed:
        lines.append("The evidence that decides it was not cited: " + "; ".join(missed) + ".")
    if valid < 1:
        lines.append("No mark was given." if not prediction.response.citations else "Some marks point at nothing.")
    return " ".join([*lines, role_advice(role, prediction)]).strip()
