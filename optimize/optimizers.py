"""Optimisers as records: name, what they change, what they need, how they run.

Each takes a student and gives one back with only the chosen roles changed. They run on one thread: the order of calls
is then the same in every run, which is what lets a killed campaign be replayed from the LM cache to the same end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.teleprompt.bootstrap import BootstrapFewShot

from optimize import demos
from optimize.benchmarks.base import Benchmark
from optimize.budget import BudgetPlan, BudgetSpent, CallBudget
from optimize.freezing import only, roles_of, thaw
from optimize.instructions import GuardedProposer, problem
from signatures.errors import DiscoError, nearest


@dataclass
class Job:
    """One optimisation: what to tune, on what, with how much.

    Args:
        student: The benchmark's module around the start program; never changed.
        benchmark: Scores predictions.
        roles: Roles to tune; the others stay as they are.
        train: Items to learn from.
        val: Items to choose between candidates by.
        plan: Split of the budget.
        budget: The running count, capped for this phase.
        seed: Seed of everything random.
        baseline: Mean item score of the start program in [0, 1], measured before.
        reflection_lm: Writes instructions; only optimisers that reflect need it.
        progress: Told each metric value as it is known.
        notes: Sentences for the report, appended to.
    """

    student: dspy.Module
    benchmark: Benchmark
    roles: tuple[str, ...]
    train: Sequence[dspy.Example]
    val: Sequence[dspy.Example]
    plan: BudgetPlan
    budget: CallBudget
    seed: int
    baseline: float
    reflection_lm: dspy.LM | None = None
    progress: Callable[[float], None] = lambda value: None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Optimizer:
    """A named optimiser.

    Args:
        name: What `--optimizer` takes.
        tunes: `demonstrations`, `instructions` or `nothing`.
        share: Part of the budget that it gets at least; the rest measures before and after.
        settings: Everything that shapes its result beside data and seed; part of the campaign's identity.
        run: Does the work.
        reflects: Whether it needs a model that writes instructions.
        uses_val: Whether it chooses candidates on validation items.
    """

    name: str
    tunes: str
    share: float
    settings: dict[str, Any]
    run: Callable[[Job, dict[str, Any]], dspy.Module]
    reflects: bool = False
    uses_val: bool = False


def _none(job: Job, settings: dict[str, Any]) -> dspy.Module:
    return job.student.deepcopy()


def _bootstrap(job: Job, settings: dict[str, Any]) -> dspy.Module:
    # A program never learns from an answer worse than its usual ones, nor from a bad one because all are.
    threshold = max(settings["threshold"], job.baseline)

    def good(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> bool:
        # A bool, because a demo optimiser takes any truthy value, a Prediction of score 0 included, for success.
        value = job.benchmark.score(example, prediction).value
        job.progress(value)
        return value >= threshold

    most = settings["demos"]["parser" if job.roles == ("parser",) else "others"]
    optimizer = _Bootstrap(
        metric=good,
        max_bootstrapped_demos=most,
        # Raw examples would be put into every role's demonstrations, whatever their fields; `labelled` below does it
        # for the roles that have gold replies.
        max_labeled_demos=0,
        max_rounds=1,
        # An answer nobody can use raises and is simply no demonstration; a backbone that fails trips the breaker.
        max_errors=len(job.train) + 1,
    )
    with only(job.student, job.roles):
        student = optimizer.compile(job.student, trainset=list(job.train))
    thaw(student)
    if optimizer.cut_short:
        job.notes.append("bootstrap: the call budget ended the search before the training items did")
    for role in job.roles:
        predictor = predictor_of(student, role)
        traces = list(predictor.demos)
        labelled = job.benchmark.labelled(role, job.train, student)
        predictor.demos = demos.merge(traces, labelled, most)
        job.notes += demos.tidy(predictor, role)
        own = sum("augmented" in demo for demo in predictor.demos)
        job.notes.append(
            f"{role}: {len(predictor.demos)} demonstrations, {own} of its own that scored at least {threshold:.2f} "
            f"({len(traces)} found) and {len(predictor.demos) - own} from gold"
        )
    return student


class _Bootstrap(BootstrapFewShot):
    """BootstrapFewShot that keeps what it has when the budget ends."""

    cut_short = False

    def _bootstrap(self, *, max_bootstraps: int | None = None) -> None:
        self.validation: list[dspy.Example] = []
        try:
            super()._bootstrap(max_bootstraps=max_bootstraps)
        except BudgetSpent:
            self.cut_short = True


def _gepa(job: Job, settings: dict[str, Any]) -> dspy.Module:
    if job.reflection_lm is None:
        raise ValueError("gepa needs a reflection LM")
    minibatch = min(settings["minibatch"], len(job.train))
    best = _Best()

    def metric(
        gold: dspy.Example,
        pred: dspy.Prediction,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> dspy.Prediction:
        role = pred_name.split(".")[0] if pred_name else None
        score = job.benchmark.score(gold, pred, role)
        if pred_name is None:
            job.progress(score.value)
        return dspy.Prediction(score=score.value, feedback=score.feedback or "This reply was right.")

    # One round: a minibatch of new items, the child on it, a proposal, and the validation set if the child is better.
    step = math.ceil(minibatch * job.plan.full + (minibatch + len(job.val)) * job.plan.changed) + 1
    optimizer = dspy.GEPA(
        metric=metric,
        max_metric_calls=max(len(job.val), job.plan.runs()),
        reflection_minibatch_size=minibatch,
        reflection_lm=job.reflection_lm,
        instruction_proposer=GuardedProposer(job.notes),
        use_merge=len(job.roles) > 1,
        num_threads=1,
        # No log_dir: GEPA would trust a pickle there without asking whose it is. The LM cache is the checkpoint.
        seed=job.seed,
        gepa_kwargs={"callbacks": [best], "stop_callbacks": [lambda state: job.budget.remaining < step]},
    )
    with only(job.student, job.roles):
        try:
            student = optimizer.compile(job.student, trainset=list(job.train), valset=list(job.val))
        except BudgetSpent:
            job.notes.append("gepa: the call budget ended the search; the best candidate so far was taken")
            student = job.student.deepcopy()
            for role in job.roles:
                if f"{role}.predict" in best.instructions:
                    predictor = predictor_of(student, role)
                    predictor.signature = predictor.signature.with_instructions(best.instructions[f"{role}.predict"])
    thaw(student)
    job.notes.append(f"gepa: {best.evaluated} candidates measured on {len(job.val)} validation items")
    for role in job.roles:
        start = predictor_of(job.student, role).signature.instructions
        predictor = predictor_of(student, role)
        reason = problem(predictor.signature.instructions)
        if reason and predictor.signature.instructions != start:
            predictor.signature = predictor.signature.with_instructions(start)
            job.notes.append(f"{role}: the new instructions were refused, {reason}")
        elif predictor.signature.instructions == start:
            job.notes.append(f"{role}: no candidate beat the start instructions")
    return student


class _Best:
    """Hears from GEPA which candidate leads, so that an ended budget loses nothing."""

    def __init__(self) -> None:
        self.instructions: dict[str, str] = {}
        self.evaluated = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> _Best:
        return self

    def on_valset_evaluated(self, event: dict[str, Any]) -> None:
        """GEPA's event: a candidate was measured on the whole validation set."""
        self.evaluated += 1
        if event["is_best_program"]:
            self.instructions = dict(event["candidate"])


OPTIMIZERS = {
    record.name: record
    for record in (
        Optimizer("none", "nothing", 0.0, {}, _none),
        Optimizer(
            "bootstrap",
            "demonstrations",
            0.4,
            {"threshold": 0.5, "demos": {"parser": 3, "others": 1}, "tokens": dict(demos.TOKEN_BUDGET)},
            _bootstrap,
        ),
        Optimizer("gepa", "instructions", 0.6, {"minibatch": 3}, _gepa, reflects=True, uses_val=True),
    )
}


def find_optimizer(name: str) -> Optimizer:
    """The record of a name.

    Raises:
        DiscoError: `optimizer/unknown`, with the nearest name.
    """
    if name not in OPTIMIZERS:
        raise DiscoError(
            "optimizer/unknown", f"There is no optimizer {name!r}.", nearest(name, OPTIMIZERS), exit_code=2
        )
    return OPTIMIZERS[name]


def predictor_of(student: dspy.Module, role: str) -> Any:
    """The predictor inside a role of a student: a `dspy.Predict`, or what an optimiser put in its place."""
    return roles_of(student)[role].predict
