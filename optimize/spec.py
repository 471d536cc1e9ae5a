"""What a campaign is asked to do, and who watches it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from disco_dspy.settings import ProgramSettings


@dataclass(frozen=True)
class Spec:
    """What the user asked for.

    Args:
        benchmark: Name of the benchmark.
        roles: Roles to tune, in the paper's order.
        optimizer: Name of the optimiser.
        backbone: Backbone that plays every role.
        reflection: Backbone that writes instructions; the same one when empty.
        max_calls: Most distinct requests.
        seed: Seed of splits, sampling and resampling.
        limits: Most items of each split.
        settings: The program's switches.
    """

    benchmark: str
    roles: tuple[str, ...]
    optimizer: str
    backbone: str
    max_calls: int
    reflection: str = ""
    seed: int = 0
    limits: dict[str, int] = field(default_factory=dict)
    settings: ProgramSettings = field(default_factory=ProgramSettings)


class Watcher(Protocol):
    """Hears how a campaign gets on; the command line draws progress from it."""

    def phase(self, name: str, total: int) -> None:
        """A phase begins that runs about `total` items."""
        ...

    def item(self, value: float, spent: int) -> None:
        """An item was scored, with the calls spent so far."""
        ...

    def say(self, sentence: str) -> None:
        """Something worth telling a person."""
        ...


class Silent:
    """A watcher that says nothing."""

    def phase(self, name: str, total: int) -> None:
        """Ignored."""

    def item(self, value: float, spent: int) -> None:
        """Ignored."""

    def say(self, sentence: str) -> None:
        """Ignored."""
