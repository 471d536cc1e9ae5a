"""The ladder every role climbs down: parsed, repaired, asked once more, degraded."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError, LMError

from disco_dspy.backbones import Backbones, explain_lm_error
from disco_dspy.health import Health, Problem, Status
from disco_dspy.prompting import texts
from disco_dspy.prompting.adapters import EvidenceFirst, RoleFirst
from disco_dspy.prompting.neutralise import one_line
from disco_dspy.settings import RoleSettings
from signatures.errors import DiscoError

CUT = Problem("reply/cut", "The reply ended at its longest allowed length.")

QUOTE = 300
"""Characters of a refused reply that the next attempt quotes."""


@dataclass(frozen=True)
class Decoded:
    """What a role made of a reply.

    Attributes:
        value: The structure.
        status: `ok`, `repaired` or `flawed`; `degraded` for a reply that cannot be used at all.
        problems: What was dropped, mended or is still wrong.
    """

    value: Any
    status: Status = "ok"
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Job:
    """One thing to ask a model for.

    Attributes:
        inputs: Values of the signature's inputs.
        decode: Makes the structure out of the output.
        fallback: What the program goes on with when nothing usable came.
        without: What that means, for people, such as "The chunk is shown without a tree."
        max_tokens: Longest reply that makes sense; none leaves it to the backbone.
        items: Narrower rules for lists, for servers that hold replies to a schema; see `shape.narrowed`.
    """

    inputs: dict[str, Any]
    decode: Callable[[Any], Decoded]
    fallback: Any
    without: str
    max_tokens: int | None = None
    items: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """One request to be made: its number from 0, and what is appended to the prompt."""

    job: Job
    number: int
    note: str


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt: an output, or what was raised; whether it was cut; what DSPy traced of it."""

    output: Any = None
    error: Exception | None = None
    cut: bool = False
    quote: str = ""
    trace: tuple[Any, ...] = ()


class Role(dspy.Module):
    """Base of the four roles. One predictor at `.predict`, so an optimizer can tune a role or freeze it alone.

    Args:
        signature: With one output.
        adapter: Its prompt layout.
        settings: Its decoding.
        backbones: Where its model comes from; none uses the LM of `dspy.context` or `dspy.configure`.
    """

    role = ""
    output = ""

    def __init__(
        self,
        signature: type[dspy.Signature],
        adapter: EvidenceFirst | RoleFirst,
        settings: RoleSettings,
        backbones: Backbones | None,
    ) -> None:
        super().__init__()
        self.predict: Any = dspy.Predict(signature)
        self.adapter = adapter
        self.settings = settings
        self.backbones = backbones

    def job(self, **inputs: Any) -> Job | dspy.Prediction:
        """Returns what to ask for, or the result where no model is needed."""
        raise NotImplementedError

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Returns the role's structure under its output name, and `health`."""
        job = self.job(**inputs)
        if isinstance(job, dspy.Prediction):
            return job
        ladder = self._ladder(job)
        attempt = next(ladder)
        while True:
            try:
                attempt = ladder.send(self._ask(attempt))
            except StopIteration as end:
                return end.value

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """As `forward`, awaiting the model."""
        job = self.job(**inputs)
        if isinstance(job, dspy.Prediction):
            return job
        ladder = self._ladder(job)
        attempt = next(ladder)
        while True:
            try:
                attempt = ladder.send(await self._aask(attempt))
            except StopIteration as end:
                return end.value

    def lm(self) -> dspy.BaseLM:
        """Returns the model that will be asked: the predictor's own, the backbone's, or DSPy's current one.

        Raises:
            DiscoError: `backbone/none` when there is none.
        """
        lm = self.predict.lm or (self.backbones.lm(self.role) if self.backbones is not None else dspy.settings.lm)
        if lm is None:
            raise DiscoError(
                "backbone/none",
                f"The {self.role} has no language model.",
                "Pass backbones=Backbones() or an LM through dspy.configure(lm=...).",
            )
        return lm

    def backbone_name(self) -> str:
        """Returns the backbone's name for messages."""
        return self.backbones.name_for(self.role) if self.backbones is not None else getattr(self.lm(), "model", "lm")

    def give_up(self, job: Job, problems: tuple[Problem, ...], attempts: int, error: Exception | None) -> Any:
        """Returns the prediction when nothing usable came.

        Args:
            job: What was asked for.
            problems: Of all attempts.
            attempts: How many were made.
            error: The last call's error, if it failed.
        """
        last = (Problem(f"{self.role}/degraded", job.without),)
        return self.result(job.fallback, Health(self.role, "degraded", attempts, problems + last))

    def result(self, value: Any, health: Health) -> dspy.Prediction:
        """Returns a prediction with the structure under the output's name."""
        return dspy.Prediction(**{self.output: value, "health": health})

    def _ladder(self, job: Job) -> Generator[Attempt, Outcome, dspy.Prediction]:
        """Asks until a reply is usable. Synchronous and asynchronous callers drive the same steps."""
        problems: tuple[Problem, ...] = ()
        note, number, outcome = "", 0, Outcome()
        for number in range(self.settings.retries + 1):
            outcome = yield Attempt(job, number, note)
            error = outcome.error
            if isinstance(error, LMError):
                # DSPy has retried what a retry can help; the model is not there.
                explained = explain_lm_error(error, self.backbone_name())
                problems += (Problem(explained.code, explained.sentence),)
                break
            if error is None:
                decoded = job.decode(outcome.output)
                if decoded.status != "degraded":
                    join_traces([outcome.trace])
                    return self._accepted(decoded, outcome, number + 1, problems)
                why = decoded.problems + ((CUT,) if outcome.cut else ())
            else:
                why = (Problem("reply/unparsable", _reason(error)),)
            problems += why
            note = texts.RETRY.format(why=" ".join(problem.sentence for problem in why), quote=outcome.quote)
        # Attempts that were followed by a better one leave no trace, or they would become demonstrations. A role that
        # fails for good does, or no optimizer that learns from failures would ever see it.
        join_traces([outcome.trace])
        return self.give_up(job, problems, number + 1, outcome.error)

    def _accepted(
        self, decoded: Decoded, outcome: Outcome, attempts: int, before: tuple[Problem, ...]
    ) -> dspy.Prediction:
        status, problems = decoded.status, before + decoded.problems
        if outcome.cut:
            problems += (CUT,)
            status = "flawed"
        return self.result(decoded.value, Health(self.role, status, attempts, problems))

    def _ask(self, attempt: Attempt) -> Outcome:
        lm, adapter = self.lm(), self.adapter.for_call(attempt.note, attempt.job.items)
        with dspy.context(lm=lm, adapter=adapter, trace=[]):
            try:
                made = self.predict(**attempt.job.inputs, config=self._config(attempt, lm))
            except (AdapterParseError, LMError) as error:
                return _failed(error, adapter)
            return self._came(made, lm, adapter)

    async def _aask(self, attempt: Attempt) -> Outcome:
        lm, adapter = self.lm(), self.adapter.for_call(attempt.note, attempt.job.items)
        with dspy.context(lm=lm, adapter=adapter, trace=[]):
            try:
                made = await self.predict.acall(**attempt.job.inputs, config=self._config(attempt, lm))
            except (AdapterParseError, LMError) as error:
                return _failed(error, adapter)
            return self._came(made, lm, adapter)

    def _came(self, made: dspy.Prediction, lm: dspy.BaseLM, adapter: EvidenceFirst | RoleFirst) -> Outcome:
        reply = adapter.reply
        cut = (reply is not None and reply.cut) or _hit_the_limit(lm, adapter)
        output = made[self._wire_name()]
        return Outcome(output=output, cut=cut, quote=_quote(adapter), trace=tuple(dspy.settings.trace or ()))

    def _wire_name(self) -> str:
        return next(iter(self.predict.signature.output_fields))

    def _config(self, attempt: Attempt, lm: dspy.BaseLM) -> dict[str, Any]:
        """Decoding of one request; what is not set here is the backbone's."""
        config: dict[str, Any] = {}
        if self.settings.temperature is not None:
            config["temperature"] = self.settings.temperature
        # A reasoning model's limit covers its thoughts, whose length the input does not tell.
        if self.settings.max_tokens is not None:
            config["max_tokens"] = self.settings.max_tokens
        elif attempt.job.max_tokens and "max_completion_tokens" not in lm.kwargs:
            own = lm.kwargs.get("max_tokens")
            config["max_tokens"] = min(attempt.job.max_tokens, own) if own else attempt.job.max_tokens
        if attempt.number:
            # Bad replies are cached like good ones: only another rollout reaches the model again.
            config["rollout_id"] = attempt.number
            if config.get("temperature", lm.kwargs.get("temperature")) == 0:
                config["temperature"] = self.settings.retry_temperature
        return config


def join_traces(parts: Iterable[Iterable[Any]]) -> None:
    """Appends to DSPy's current trace what was traced apart, within its longest length.

    Args:
        parts: Entries, in the order they belong.
    """
    trace = dspy.settings.trace
    if trace is None:
        return
    for part in parts:
        trace.extend(part)
    if len(trace) > dspy.settings.max_trace_size:
        del trace[: len(trace) - dspy.settings.max_trace_size]


def _failed(error: Exception, adapter: EvidenceFirst | RoleFirst) -> Outcome:
    # The guard of a budget, or a backbone that cannot start: no failure of a role, and not to be worked around.
    cause: BaseException | None = error
    seen: set[int] = set()
    # DSPy raises some errors from themselves, so a chain of causes may be a ring.
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, DiscoError):
            raise cause
        seen.add(id(cause))
        cause = cause.__cause__
    return Outcome(error=error, quote=_quote(adapter))


def _quote(adapter: EvidenceFirst | RoleFirst) -> str:
    text = one_line(adapter.reply.text if adapter.reply is not None else "")
    return text if len(text) <= QUOTE else text[:QUOTE].rstrip() + " ..."


def _reason(error: Exception) -> str:
    """The first line of a parse error: what was wrong, without the reply and DSPy's wording around it."""
    first = str(getattr(error, "message", error)).split("\n", 1)[0].strip()
    return "It was empty." if not first or "empty or null" in first else first


def _hit_the_limit(lm: dspy.BaseLM, adapter: EvidenceFirst | RoleFirst) -> bool:
    """Whether the server says that the reply was cut; DSPy keeps that only in the history."""
    for entry in reversed(lm.history[-64:]):
        if entry.get("messages") == adapter.messages:
            return getattr(entry.get("response"), "finish_reason", None) == "length"
    return False
