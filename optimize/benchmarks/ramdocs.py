"""RAMDocs: an ambiguous question, documents that agree, differ, mislead or are noise; every right answer is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import dspy

from optimize.benchmarks.closed import ClosedQA, Passage, citation_validity, grounded, role_advice
from optimize.benchmarks.hotpotqa import means
from optimize.data import field
from optimize.metrics.answers import contains, share_contained
from optimize.metrics.graph import conflict_recall, noise_left_alone
from optimize.scores import Score


class RamDocs(ClosedQA):
    """Recall of the gold answers, lessened by wrong ones, and citations."""

    name: ClassVar[str] = "ramdocs"
    metric: ClassVar[str] = (
        "ramdocs-1: share of gold answers given x (1 - share of wrong answers given) x (0.8 + 0.2 share of its "
        "citations that exist); mean over items"
    )
    figures: ClassVar[tuple[str, ...]] = (
        "score",
        "gold_recall",
        "wrong_share",
        "strict",
        "citation_validity",
        "conflict_recall",
        "noise_left_alone",
    )
    task: ClassVar[str] = (
        "Several different answers may each be right, because the name in the question is shared. Give every answer "
        "that the evidence supports, each short, separated by semicolons, each followed by the marks of its evidence. "
        "Leave out an answer that other evidence on the same thing contradicts. No sentences, no explanation."
    )

    def passages(self, row: dict[str, Any]) -> list[Passage]:
        """The documents; they have no titles."""
        return [Passage("", document["text"]) for document in field(row, "documents", self.name)]

    def score(self, example: dspy.Example, prediction: dspy.Prediction, role: str | None = None) -> Score:
        """Judges which answers were given, then the marks and, for the record, the graph."""
        row = self.rows[example.id]
        answer = prediction.response.plain
        golds, wrongs = field(row, "gold_answers", self.name), field(row, "wrong_answers", self.name)
        recall, wrong = share_contained(answer, golds), share_contained(answer, wrongs)
        valid = citation_validity(prediction)
        parts = {
            "gold_recall": recall,
            "wrong_share": wrong,
            "strict": float(recall == 1 and wrong == 0),
            "citation_validity": valid,
            **self._graph(example, prediction),
        }
        value = grounded(recall * (1 - wrong), valid)
        lines = []
        missing = [gold for gold in golds if not contains(answer, gold)]
        if missing:
            lines.append("Right answers that were not given: " + "; ".join(missing[:4]) + ".")
        given = [text for text in wrongs if contains(answer, text)]
        if given:
            lines.append("Given although other evidence contradicts it: " + "; ".join(given[:3]) + ".")
        if valid < 1:
            lines.append("No mark was given." if not prediction.response.citations else "Some marks point at nothing.")
        if parts.get("conflict_recall", 1.0) < 1 and role in (None, "grapher"):
            lines.append("A document that contradicts the others has no conflict edge to them in the graph.")
        return Score(value, parts, " ".join([*lines, role_advice(role, prediction)]).strip())

    def _graph(self, example: dspy.Example, prediction: dspy.Prediction) -> dict[str, float]:
        if prediction.graph is None:
            return {}
        documents = self.rows[example.id]["documents"]
        places = self.number_of(example, prediction)
        kinds = [documents[places[number] - 1]["type"] for number in sorted(places)]
        conflicts = [(edge.source, edge.target) for edge in prediction.graph.conflicts()]
        edges = [(edge.source, edge.target) for edge in prediction.graph.edges]
        figures = {
            "conflict_recall": conflict_recall(kinds, conflicts),
            "noise_left_alone": noise_left_alone(kinds, edges),
        }
        return {name: figure for name, figure in figures.items() if figure is not None}

    def nothing(self, example: dspy.Example) -> dict[str, float]:
        """Zeros for the answer; the graph is not judged."""
        return dict.fromkeys(("gold_recall", "wrong_share", "strict", "citation_validity"), 0.0)

    def aggregate(self, scores: Sequence[Score]) -> dict[str, float]:
        """Means over the items that have the figure."""
        return means(scores, self.figures)
