"""The call budget: counts distinct requests to a model, stops at the limit, and says beforehand how N is split.

A request counts once whether it is answered by the network or by the campaign's cache, so a campaign that was killed
and started again spends the same budget, in the same order, and ends alike. The count is taken where DSPy asks its
cache, below every retry and adapter and above every engine: role calls, quoted retries and reflection all pass there.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.clients.cache import Cache

from signatures.errors import DiscoError


class BudgetSpent(BaseException):
    """The next request would pass the limit.

    Not an `Exception`: optimisers swallow those per item and would go on, scoring every further item as a failure.
    """


class CallBudget:
    """Counts distinct requests and refuses the one that would pass `limit`.

    Args:
        total: Most distinct requests of the whole campaign.
        check: Called before each request; raises to stop the campaign (`optimize.breaker`).
    """

    def __init__(self, total: int, check: Callable[[], None] = lambda: None) -> None:
        self.total = total
        self.limit = total
        self._check = check
        self._seen: set[str] = set()
        self._unkeyed = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> int:
        """Distinct requests so far."""
        return len(self._seen) + self._unkeyed

    @property
    def remaining(self) -> int:
        """Requests left under the present limit."""
        return max(0, self.limit - self.spent)

    def charge(self, key: str | None) -> None:
        """Counts one request.

        Args:
            key: Cache key of the request, or None for one that has none (it always counts).

        Raises:
            BudgetSpent: When it is new and nothing is left.
        """
        self._check()
        with self._lock:
            if key is not None and key in self._seen:
                return
            if self.spent >= self.limit:
                raise BudgetSpent(f"{self.spent} of {self.limit} calls are spent")
            if key is None:
                self._unkeyed += 1
            else:
                self._seen.add(key)

    @contextmanager
    def capped(self, calls: int) -> Iterator[None]:
        """Lets a phase spend at most `calls` more, never beyond the total."""
        before = self.limit
        self.limit = min(self.total, self.spent + max(0, calls))
        try:
            yield
        finally:
            self.limit = before


class _CountedCache(Cache):
    """A `Cache` that charges the budget and leaves the storing to the cache it stands in for."""

    def __init__(self, inner: Cache, budget: CallBudget) -> None:
        # The parent's constructor would open a second store; every method that touches one is passed on instead.
        self._inner = inner
        self._budget = budget

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __contains__(self, key: str) -> bool:
        return key in self._inner

    def get(self, request: dict[str, Any], ignored_args_for_cache_key: list[str] | None = None) -> Any:
        try:
            key = self._inner.cache_key(request, ignored_args_for_cache_key)
        except TypeError:  # a request that cannot be written as JSON is never cached, so each one counts
            key = None
        self._budget.charge(key)
        return self._inner.get(request, ignored_args_for_cache_key)

    def put(
        self,
        request: dict[str, Any],
        value: Any,
        ignored_args_for_cache_key: list[str] | None = None,
        enable_memory_cache: bool = True,
    ) -> None:
        self._inner.put(request, value, ignored_args_for_cache_key, enable_memory_cache)


@contextmanager
def counted(budget: CallBudget) -> Iterator[CallBudget]:
    """Charges every request made inside to the budget.

    The LM cache must have been set before (`disco_dspy.cache.configure_lm_cache`); it is put back afterwards.
    """
    inner: Cache = dspy.cache  # pyright: ignore[reportAttributeAccessIssue] - made on first read
    _install(_CountedCache(inner, budget))
    try:
        yield budget
    finally:
        _install(inner)


def _install(cache: Cache) -> None:
    # The lock DSPy's own configure_cache takes.
    with dspy._cache_lock:
        dspy.cache = cache  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(frozen=True)
class BudgetPlan:
    """How N calls are split, made before the first one.

    Args:
        total: The limit given by the user.
        preflight: Calls that ask each backbone whether it is there.
        before: Calls reserved for measuring the start program.
        optimise: Calls left for the optimiser.
        after: Calls reserved for measuring the winner; less than `before` when it shares replies with the start.
        heldout: Held-out items that `before` and `after` pay for.
        train: Training items the optimiser may run.
        val: Validation items it may run (0 when it chooses nothing by validation).
        full: Expected calls for the first run of an item.
        changed: Expected calls for running it again with the tuned roles changed.
    """

    total: int
    preflight: int
    before: int
    optimise: int
    after: int
    heldout: int
    train: int
    val: int
    full: float
    changed: float

    def runs(self) -> int:
        """Runs of single items that `optimise` pays for, each of `train` and `val` new once."""
        first = (self.train + self.val) * self.full
        return self.train + self.val + max(0, int((self.optimise - first) / max(self.changed, 0.1)))


# A role may ask once more when a reply cannot be used; plan for every fourth call to do so.
RETRY_ALLOWANCE = 1.25


def plan(
    total: int,
    *,
    preflight: int,
    full: float,
    changed: float,
    share: float,
    pool: tuple[int, int, int],
    uses_val: bool,
) -> BudgetPlan:
    """Splits a budget between measuring and optimising.

    Args:
        total: The limit, in distinct requests.
        preflight: Requests spent before anything is measured.
        full: Expected requests for the first run of one item, without retries.
        changed: Expected requests for one more run after the tuned roles have changed.
        share: Part of the rest that the optimiser gets at least; 0 when nothing is optimised.
        pool: Items there are of train, val and held-out.
        uses_val: Whether the optimiser runs validation items, and training items again and again.

    Raises:
        DiscoError: `budget/too-small` when not even two held-out items and one training item can be paid for.
    """
    full, changed = max(full, 0.01) * RETRY_ALLOWANCE, changed * RETRY_ALLOWANCE if share else 0.0
    rest = total - preflight
    heldout = min(pool[2], int(rest * (1 - share) / (full + changed)))
    before, after = math.ceil(heldout * full), math.ceil(heldout * changed)
    optimise = max(0, rest - before - after) if share else 0
    least = min(2, pool[2])
    # An optimiser that chooses by validation needs an item to learn from and one to choose by.
    least_runs = (2 if uses_val else 1) if share else 0
    if heldout < least or optimise < least_runs * full:
        measured = math.ceil(least * (full + changed) / (1 - share))
        need = preflight + max(measured, math.ceil(least_runs * full / share) if share else 0)
        raise DiscoError(
            "budget/too-small",
            f"{total} calls do not pay for measuring {least} items before and after and for optimising, at about "
            f"{full:.1f} calls an item.",
            f"Give --max-calls {max(need, total) + 1} or more.",
            exit_code=2,
        )
    # An optimiser that reflects runs the same items again and again: half its calls may go to first runs of new ones.
    items = max(least_runs, int(optimise / full * (0.5 if uses_val else 1)))
    val = min(pool[1], max(1, items // 3)) if uses_val and share else 0
    train = min(pool[0], items - val)
    return BudgetPlan(
        total,
        preflight,
        before,
        optimise,
        after,
        heldout,
        train,
        val,
        round(full / RETRY_ALLOWANCE, 3),
        round(changed / RETRY_ALLOWANCE, 3),
    )
