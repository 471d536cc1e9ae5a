"""Who spends what: the role a call belongs to, and token totals per role."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import dspy
from dspy.utils.usage_tracker import UsageTracker

UNKNOWN_ROLE = "other"

_role: ContextVar[str | None] = ContextVar("disco_role", default=None)


@contextmanager
def role_scope(role: str) -> Iterator[None]:
    """Marks every call inside as one role's, in this thread or task.

    Args:
        role: Such as `parser` or `reflection`.
    """
    token = _role.set(role)
    try:
        yield
    finally:
        _role.reset(token)


def current_role() -> str:
    """Returns the role on whose behalf this code runs.

    A `role_scope` wins; else the innermost calling module with a text attribute `role`; else `other`.
    """
    scoped = _role.get()
    if scoped:
        return scoped
    for module in reversed(dspy.settings.caller_modules or []):
        role = getattr(module, "role", None)
        if isinstance(role, str) and role:
            return role
    return UNKNOWN_ROLE


class RoleUsageTracker(UsageTracker):
    """Sums tokens per role exactly, across threads.

    Use as `with dspy.context(usage_tracker=tracker)`. DSPy deep-copies the tracker for each worker thread, which
    loses the counts; this one copies to itself. Replies from the cache cost nothing and count nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._roles: dict[str, dict[str, int]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> RoleUsageTracker:
        return self

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        """Adds one reply's tokens to the current role.

        Args:
            lm: Model name.
            usage_entry: The server's count (`prompt_tokens`, `completion_tokens`); empty for a cached reply.
        """
        if not usage_entry:
            return
        role = current_role()
        details = usage_entry.get("prompt_tokens_details") or {}
        with self._lock:
            super().add_usage(lm, usage_entry)
            row = self._roles.setdefault(
                role, {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cached_prompt_tokens": 0}
            )
            row["calls"] += 1
            row["prompt_tokens"] += int(usage_entry.get("prompt_tokens") or 0)
            row["completion_tokens"] += int(usage_entry.get("completion_tokens") or 0)
            row["cached_prompt_tokens"] += int(_field(details, "cached_tokens") or 0)

    def by_role(self) -> dict[str, dict[str, int]]:
        """Returns `{role: {calls, prompt_tokens, completion_tokens, cached_prompt_tokens}}`, a copy."""
        with self._lock:
            return {role: dict(row) for role, row in self._roles.items()}

    def total(self) -> dict[str, int]:
        """Returns the sums over all roles."""
        sums = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cached_prompt_tokens": 0}
        for row in self.by_role().values():
            for key, value in row.items():
                sums[key] += value
        return sums


def _field(value: Any, name: str) -> Any:
    # LiteLLM hands over an object where the native engine hands over a dict.
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)
