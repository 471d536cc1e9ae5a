"""Stops a campaign at the first backbone failure that retries did not mend.

Optimisers catch exceptions item by item and call the item a failure: a wrong key would burn the whole budget and end
with a score of 0. A failure noted here is raised at the next request as something they do not catch.
"""

from __future__ import annotations

from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import LMError


class BackboneDown(BaseException):
    """A model could not be reached or refused to serve; `cause` is DSPy's error.

    Not an `Exception`, so that no optimiser turns it into a score.
    """

    def __init__(self, cause: LMError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Breaker(BaseCallback):
    """A DSPy callback that remembers the first error of a model call; a prompt too long for it does not count.

    Use with `dspy.context(callbacks=[breaker])` and call `check` before each request and after each phase.
    """

    def __init__(self) -> None:
        self._error: LMError | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Breaker:
        return self

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Notes a failure; DSPy has already retried what can be retried."""
        if isinstance(exception, LMError) and not isinstance(exception, dspy.ContextWindowExceededError):
            self._error = self._error or exception

    def check(self) -> None:
        """Raises when a call has failed.

        Raises:
            BackboneDown: With the first failure.
        """
        if self._error is not None:
            raise BackboneDown(self._error)
