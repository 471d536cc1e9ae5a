"""What went less than well: one record per role call, on every prediction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

Status = Literal["ok", "repaired", "flawed", "degraded"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""From best to worst.

ok: used as it came (perhaps at the second try, see `attempts`). repaired: parts were dropped or mended by rule.
flawed: used as it came although something is wrong with it. degraded: nothing usable came; the answer does without.
"""


@dataclass(frozen=True)
class Problem:
    """One thing that went wrong.

    Attributes:
        code: Stable slug `area/what`, such as `reply/unparsable`; to count by.
        sentence: For people.
    """

    code: str
    sentence: str


@dataclass(frozen=True)
class Health:
    """How one call of a role went.

    Attributes:
        role: `parser`, `grapher`, `planner`, `generator`, or `index` for the store.
        status: See `Status`.
        attempts: Model replies asked for; 0 when a stored result or a rule sufficed.
        problems: In the order met; those of failed attempts too.
        subject: What it was about, such as a chunk's id; empty for the whole question.
    """

    role: str
    status: Status = "ok"
    attempts: int = 1
    problems: tuple[Problem, ...] = ()
    subject: str = ""

    def about(self, subject: str) -> Health:
        """Returns the same record with another subject."""
        return replace(self, subject=subject)

    def codes(self) -> tuple[str, ...]:
        """Returns the problems' codes."""
        return tuple(problem.code for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values, for JSON."""
        return {
            "role": self.role,
            "status": self.status,
            "attempts": self.attempts,
            "subject": self.subject,
            "problems": [{"code": problem.code, "sentence": problem.sentence} for problem in self.problems],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Health:
        """Returns the record that `to_dict` wrote."""
        problems = tuple(Problem(str(item["code"]), str(item["sentence"])) for item in data.get("problems", ()))
        status = data["status"]
        if status not in STATUSES:
            raise ValueError(f"{status!r} is not a health status; known: {', '.join(STATUSES)}")
        return cls(str(data["role"]), status, int(data.get("attempts", 1)), problems, str(data.get("subject", "")))


def worst(records: Iterable[Health]) -> Status:
    """Returns the worst status among the records; `ok` when there are none."""
    worst_yet: Status = "ok"
    for record in records:
        if STATUSES.index(record.status) > STATUSES.index(worst_yet):
            worst_yet = record.status
    return worst_yet
