"""Question answering over each item's own passages: what HotpotQA and RAMDocs share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import dspy

from disco_dspy.corpus.types import Chunk
from disco_dspy.passages import Passages, chunk_of
from optimize.benchmarks.base import Benchmark
from optimize.data import read_rows
from optimize.metrics.grounding import validity
from optimize.splits import Splits, split

if TYPE_CHECKING:
    from disco_dspy.program import DiscoRAG
    from disco_dspy.settings import ProgramSettings

# What a request of a role depends on: it is new when any of these has changed.
UPSTREAM = {
    "parser": ("parser",),
    "grapher": ("parser", "grapher"),
    "planner": ("parser", "grapher", "planner"),
    "generator": ("parser", "grapher", "planner", "generator"),
}

# What an answer loses without any valid mark. It scales the answer's own figure, so that marks alone earn nothing.
GROUNDING_WEIGHT = 0.2


@dataclass(frozen=True)
class Passage:
    """One passage of an item, before it is a chunk."""

    title: str
    text: str


class ClosedQA(Benchmark):
    """A benchmark whose items bring their passages: one chunk a passage, retrieval limited to the item's own.

    The whole program runs, so any role can be tuned on the end figure.
    """

    roles: ClassVar[tuple[str, ...]] = ("parser", "grapher", "planner", "generator")
    task: ClassVar[str]
    file: ClassVar[str] = "items.jsonl"

    @cached_property
    def _read(self) -> tuple[list[dict[str, Any]], str]:
        return read_rows(self.name, self.file)

    @cached_property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Items by id."""
        return {row["id"]: row for row in self._read[0]}

    @property
    def data(self) -> dict[str, str]:
        """SHA-256 of each data file read, by name."""
        return {f"{self.name}/{self.file}": self._read[1]}

    @abstractmethod
    def passages(self, row: dict[str, Any]) -> list[Passage]:
        """The passages of an item, in their order."""

    @cached_property
    def chunks(self) -> dict[str, list[Chunk]]:
        """Chunks by item id; their source opens with the id, which is the scope of the item's retrieval."""
        made: dict[str, list[Chunk]] = {}
        for id, row in self.rows.items():
            made[id] = [
                chunk_of((passage.title, passage.text), f"{id}/{number:02d}")
                for number, passage in enumerate(self.passages(row), 1)
            ]
        return made

    def split(self, seed: int, limits: dict[str, int]) -> Splits:
        """Seeded splits of the one file: 40 % held out, of the rest a third to choose by."""
        examples = [
            dspy.Example(id=id, question=row["question"], task=self.task, scope=f"{id}/").with_inputs(
                "question", "task", "scope"
            )
            for id, row in self.rows.items()
        ]
        return split(examples, None, seed, limits)

    def student(self, program: DiscoRAG) -> dspy.Module:
        """The program itself, over the passages of all items."""
        student = program.deepcopy()
        student.retriever = Passages([chunk for chunks in self.chunks.values() for chunk in chunks])
        # One call at a time, in a fixed order: a budget then ends at the same call in every run.
        student.settings = student.settings.model_copy(update={"parse_threads": 1})
        return student

    def calls(self, example: dspy.Example, settings: ProgramSettings, changed: Sequence[str] | None = None) -> float:
        """One parse a passage, and one request for each other role that is switched on."""
        chunks = min(settings.k, len(self.chunks[example.id]))
        counts = {
            "parser": chunks if settings.trees else 0,
            "grapher": int(settings.graph and chunks > 1),
            "planner": int(settings.plan != "none"),
            "generator": 1,
        }
        if changed is None:
            return sum(counts.values())
        return sum(n for role, n in counts.items() if any(up in changed for up in UPSTREAM[role]))

    def number_of(self, example: dspy.Example, prediction: dspy.Prediction) -> dict[int, int]:
        """For each chunk number in the prediction, the 1-based number of the passage it is."""
        places = {chunk.id: number for number, chunk in enumerate(self.chunks[example.id], 1)}
        return {number: places[chunk.id] for number, chunk in enumerate(prediction.chunks, 1)}


def grounded(value: float, valid: float) -> float:
    """The answer's own figure, lessened by up to a fifth for citations that are missing or point at nothing."""
    return value * (1 - GROUNDING_WEIGHT + GROUNDING_WEIGHT * valid)


def citation_validity(prediction: dspy.Prediction) -> float:
    """Share of the answer's marks that point at evidence, in [0, 1]; 0 without any mark."""
    removed = sum(
        int(problem.sentence.count("["))
        for health in prediction.health
        if health.role == "generator"
        for problem in health.problems
        if problem.code == "answer/removed-citations"
    )
    return validity(len(prediction.response.citations), removed)


def role_advice(role: str | None, prediction: dspy.Prediction) -> str:
    """What went wrong in one role's own reply, from its health; empty when nothing did."""
    records = [health for health in prediction.health if role is None or health.role == role]
    sentences = dict.fromkeys(problem.sentence for health in records for problem in health.problems)
    return " ".join(list(sentences)[:3])
