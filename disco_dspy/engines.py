"""The meter between DSPy and a model: it sees real calls only, below DSPy's cache and retries.

An engine here is DSPy's: an object with `complete(Request) -> Response`. DSPy keeps the cache, the retry policy and
the history; the inner engine keeps the wire; the meter asks the guard, times the call and writes the ledger.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dspy.lm15 import LM15Error, Request, Response
from dspy.utils.exceptions import LMError

from disco_dspy.ledger import Ledger, LedgerEntry
from disco_dspy.usage import current_role
from signatures.errors import DiscoError


@dataclass(frozen=True)
class Call:
    """A real call about to be made, as the guard sees it.

    Attributes:
        role: Role on whose behalf it is made.
        backbone: Name of the backbone.
        model: Model string.
    """

    role: str
    backbone: str
    model: str


Guard = Callable[[Call], None]
"""Consulted before each real call; raises `DiscoError` to forbid it (a budget that is spent)."""


class CallRefused(DiscoError, LMError):
    """A call that was never made: the guard forbade it, or the backbone cannot start.

    It is both a `DiscoError`, to be shown, and a DSPy `LMError`, because DSPy hides every other exception of an
    engine behind `LMUnexpectedError`.
    """

    def __init__(self, code: str, sentence: str, remedy: str, *, retryable: bool = False, exit_code: int = 5) -> None:
        # Neither parent's constructor: each would hand its arguments to the other. These are both parents' fields.
        Exception.__init__(self, code, sentence, remedy)
        self.code = code
        self.sentence = self.message = sentence
        self.remedy = remedy
        self.retryable = retryable
        self.exit_code = exit_code
        self.model = self.provider = self.provider_code = self.status = self.request_id = self.retry_after = None

    @classmethod
    def of(cls, error: DiscoError) -> CallRefused:
        """Wraps an error of ours so that it passes through DSPy unchanged."""
        if isinstance(error, CallRefused):
            return error
        return cls(error.code, error.sentence, error.remedy, retryable=error.retryable, exit_code=error.exit_code)


class _Meter:
    """What the two engines share: declared capabilities, the guard, the ledger."""

    supports_function_calling = False
    supports_reasoning = False

    def __init__(
        self,
        factory: Callable[[], Any],
        *,
        backbone: str,
        ledger: Ledger,
        guard: Guard | None = None,
        json_schema: Callable[[], bool] = lambda: True,
    ) -> None:
        self._factory = factory
        self._lock = threading.Lock()
        self._json_schema = json_schema
        self.backbone = backbone
        self.ledger = ledger
        self.guard = guard

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # Optimisers deep-copy programs; a connection, a ledger and a budget are shared, never copied.
        return self

    def __reduce__(self) -> Any:
        raise TypeError("A backbone is never pickled; save the program and set its backbones again after loading.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.backbone!r})"

    @property
    def supports_response_schema(self) -> bool:
        """Whether a strict `json_schema` is sent; DSPy's `JSONAdapter` reads this."""
        return self._json_schema()

    @property
    def supported_params(self) -> frozenset[str]:
        """Generation options DSPy's adapters may use."""
        params = {"temperature", "max_tokens", "top_p", "stop", "seed", "presence_penalty", "frequency_penalty"}
        return frozenset(params | {"response_format"} if self._json_schema() else params)

    def _begin(self, request: Request) -> tuple[Call, float]:
        call = Call(current_role(), self.backbone, request.model)
        if self.guard is not None:
            try:
                self.guard(call)
            except LMError:
                raise
            except DiscoError as exc:
                raise CallRefused.of(exc) from exc
        return call, time.perf_counter()

    def _end(self, call: Call, started: float, reply: Any = None, error: BaseException | None = None) -> None:
        usage = getattr(reply, "usage", None)
        entry = LedgerEntry(
            role=call.role,
            backbone=call.backbone,
            model=call.model,
            prompt_tokens=getattr(usage, "input_tokens", None),
            completion_tokens=getattr(usage, "output_tokens", None),
            cached_prompt_tokens=getattr(usage, "cache_read_tokens", None),
            seconds=round(time.perf_counter() - started, 4),
            finish_reason=getattr(reply, "finish_reason", None),
            error=_error_code(error) if error is not None else None,
            at=round(time.time(), 3),
        )
        try:
            self.ledger.append(entry)
        except DiscoError as exc:
            raise CallRefused.of(exc) from exc


def _error_code(error: BaseException) -> str:
    if isinstance(error, LM15Error | LMError):
        return str(getattr(error, "code", None) or type(error).__name__)
    return "interrupted" if isinstance(error, KeyboardInterrupt | asyncio.CancelledError) else type(error).__name__


class MeteredEngine(_Meter):
    """Synchronous calls, one ledger line each.

    Args:
        factory: Makes the inner engine at the first real call, and may raise `DiscoError` (no key, no model).
        backbone: Name for the ledger.
        ledger: Where calls are written.
        guard: Asked before each call.
        json_schema: Tells whether the server obeys a JSON schema.
    """

    _inner: Any = None

    def _engine(self) -> Any:
        with self._lock:
            if self._inner is None:
                try:
                    self._inner = self._factory()
                except DiscoError as exc:
                    raise CallRefused.of(exc) from exc
            return self._inner

    def complete(self, request: Request) -> Response:
        """Makes one real call.

        Raises:
            CallRefused: The guard forbade it, or the backbone cannot start.
            LM15Error: The server's failure, for DSPy's retry policy.
        """
        engine = self._engine()
        call, started = self._begin(request)
        try:
            response = engine.complete(request)
        except DiscoError as exc:
            # The embedded model is not here or cannot start: no call was made.
            raise CallRefused.of(exc) from exc
        except BaseException as exc:
            self._end(call, started, error=exc)
            raise
        self._end(call, started, response)
        return response

    def stream(self, request: Request) -> Iterator[Any]:
        """Makes one real call whose reply arrives in events; the line is written at the last one."""
        engine = self._engine()
        call, started = self._begin(request)
        last = None
        try:
            for event in engine.stream(request):
                last = event
                yield event
        except DiscoError as exc:
            raise CallRefused.of(exc) from exc
        except BaseException as exc:
            self._end(call, started, error=exc)
            raise
        self._end(call, started, last)

    def close(self) -> None:
        """Closes the connection; a later call opens a new one."""
        with self._lock:
            inner, self._inner = self._inner, None
        if inner is not None and hasattr(inner, "close"):
            inner.close()


class AsyncMeteredEngine(_Meter):
    """Asynchronous calls, one ledger line each; one inner engine per event loop, because its sockets belong to it.

    Args: As `MeteredEngine`.
    """

    def __init__(self, factory: Callable[[], Any], **kwargs: Any) -> None:
        super().__init__(factory, **kwargs)
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    def _make(self, loop: asyncio.AbstractEventLoop) -> Any:
        with self._lock:
            engine = self._loops.get(loop)
            if engine is None:
                engine = self._factory()
                self._loops[loop] = engine
            return engine

    async def _engine(self) -> Any:
        loop = asyncio.get_running_loop()
        engine = self._loops.get(loop)
        if engine is None:
            try:
                # Starting the embedded server loads a model: not on the event loop.
                engine = await asyncio.to_thread(self._make, loop)
            except DiscoError as exc:
                raise CallRefused.of(exc) from exc
        return engine

    async def complete(self, request: Request) -> Response:
        """Makes one real call. Raises as `MeteredEngine.complete`."""
        engine = await self._engine()
        call, started = self._begin(request)
        try:
            response = await engine.complete(request)
        except DiscoError as exc:
            raise CallRefused.of(exc) from exc
        except BaseException as exc:
            self._end(call, started, error=exc)
            raise
        self._end(call, started, response)
        return response

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """Makes one real call whose reply arrives in events."""
        engine = await self._engine()
        call, started = self._begin(request)
        last = None
        try:
            async for event in engine.stream(request):
                last = event
                yield event
        except DiscoError as exc:
            raise CallRefused.of(exc) from exc
        except BaseException as exc:
            self._end(call, started, error=exc)
            raise
        self._end(call, started, last)

    async def aclose(self) -> None:
        """Closes this event loop's connection."""
        inner = self._loops.pop(asyncio.get_running_loop(), None)
        if inner is not None and hasattr(inner, "aclose"):
            await inner.aclose()
