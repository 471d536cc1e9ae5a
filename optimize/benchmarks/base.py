"""What a benchmark is to everything else: items, a student, a score, pooled figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import dspy

from optimize.scores import Score
from optimize.splits import Splits

if TYPE_CHECKING:
    from disco_dspy.program import DiscoRAG
    from disco_dspy.settings import ProgramSettings


class Benchmark(ABC):
    """Items with gold, and how to run and score a program on them.

    Examples carry an id and short fields, never documents: optimisers print and quote them. Documents and gold are
    looked up here by id.

    Attributes:
        name: What `--benchmark` takes.
        roles: Roles that can be tuned on it.
        metric: One line that says what `score` is; its wording is part of a campaign's identity, so a changed metric
            means a changed line.
        figures: Names of the pooled figures in the order of a report, `score` first.
    """

    name: ClassVar[str]
    roles: ClassVar[tuple[str, ...]]
    metric: ClassVar[str]
    figures: ClassVar[tuple[str, ...]]

    def __deepcopy__(self, memo: dict[int, Any]) -> Benchmark:
        return self

    @property
    @abstractmethod
    def data(self) -> dict[str, str]:
        """SHA-256 of each data file read, by name."""

    @abstractmethod
    def split(self, seed: int, limits: dict[str, int]) -> Splits:
        """Seeded splits, no longer than the limits."""

    @abstractmethod
    def student(self, program: DiscoRAG) -> dspy.Module:
        """A module whose inputs are an example's and whose roles are copies of the program's, under the same names."""

    @abstractmethod
    def calls(self, example: dspy.Example, settings: ProgramSettings, changed: Sequence[str] | None = None) -> float:
        """Distinct requests one run of an item is expected to make, without retries.

        Args:
            example: The item.
            settings: The program's switches.
            changed: Count only the requests that are new once these roles have changed; None counts all.
        """

    @abstractmethod
    def score(self, example: dspy.Example, prediction: dspy.Prediction, role: str | None = None) -> Score:
        """Judges one prediction; the feedback speaks to `role` when one is named, the value never depends on it."""

    @abstractmethod
    def aggregate(self, scores: Sequence[Score]) -> dict[str, float]:
        """Pooled figures in [0, 1] by name; `score` is the headline, 0 for no scores at all."""

    def headline(self, scores: Sequence[Score]) -> float:
        """The pooled `score` alone; resampling asks for it thousands of times."""
        return self.aggregate(scores)["score"]

    def nothing(self, example: dspy.Example) -> dict[str, float]:
        """Parts of the score of an item without any prediction."""
        return {}

    def labelled(self, role: str, examples: Sequence[dspy.Example], student: dspy.Module) -> list[dspy.Example]:
        """Gold demonstrations for a role's predictor, best first; none where the benchmark has no gold reply."""
        return []


def adopt(program: DiscoRAG, student: dspy.Module, roles: Sequence[str]) -> DiscoRAG:
    """A copy of the program with the state of the student's tuned roles.

    Args:
        program: The start program; not changed.
        student: What an optimiser gave back.
        roles: The roles to take over; all others keep the program's state.
    """
    from optimize.freezing import roles_of

    adopted = program.deepcopy()
    targets, sources = roles_of(adopted), roles_of(student)
    for role in roles:
        targets[role].predict.load_state(sources[role].predict.dump_state())
    return adopted
