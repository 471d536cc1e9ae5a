"""Optimisers where the budget is not as planned, and what they leave alone."""

from __future__ import annotations

from dataclasses import replace

import dspy
import pytest

from disco_dspy.program import DiscoRAG
from optimize.benchmarks import adopt, find_benchmark
from optimize.budget import CallBudget, counted, plan
from optimize.freezing import roles_of
from optimize.optimizers import OPTIMIZERS, Job, find_optimizer
from signatures.errors import DiscoError
from tests.optimize.backend import TUNED, Backend, reply
from tests.optimize.conftest import Compile
from tests.scripted import Ask, scripted_lm


def as_backend(ask: Ask) -> str:
    """The loopback model's replies without the loopback."""
    turns = [{"role": role, "content": text} for role, text in ask.turns]
    return reply({"messages": [{"role": "system", "content": ask.system}, *turns]})


def model() -> dspy.LM:
    return scripted_lm(dict.fromkeys(("tree", "graph", "plan", "answer", "other"), as_backend), cache=True)


def job(name: str, roles: tuple[str, ...], calls: int, lm: dspy.LM, benchmark: str = "gum") -> tuple[Job, CallBudget]:
    made = find_benchmark(benchmark)
    splits = made.split(0, {"train": 6, "val": 3, "heldout": 4})
    budget = CallBudget(calls)
    planned = plan(48, preflight=1, full=1, changed=1, share=0.5, pool=(6, 3, 4), uses_val=name == "gepa")
    student = made.student(DiscoRAG())
    return (
        Job(student, made, roles, splits.train, splits.val, planned, budget, 0, 0.3, reflection_lm=lm),
        budget,
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("roles", [("grapher",), ("planner", "generator"), ("generator",)])
def test_other_roles_stay_as_they_are_byte_by_byte(name: str, roles: tuple[str, ...]) -> None:
    lm = model()
    work, budget = job(name, roles, 400, lm, "hotpotqa")
    start = DiscoRAG()
    before = work.student.dump_state(json_mode=True)
    with dspy.context(lm=lm), counted(budget):
        student = OPTIMIZERS[name].run(work, OPTIMIZERS[name].settings)
    assert work.student.dump_state(json_mode=True) == before
    after = adopt(start, student, roles).dump_state(json_mode=True)
    for role in roles_of(start):
        if role not in roles:
            assert after[f"{role}.predict"] == before[f"{role}.predict"]
    # Nothing stays hidden: the next stage and the saved state see all four.
    assert len(student.named_predictors()) == 4


@pytest.mark.parametrize("calls", [1, 2, 4])
def test_bootstrap_keeps_what_it_has_when_the_calls_end(calls: int) -> None:
    lm = model()
    work, budget = job("bootstrap", ("parser",), calls, lm)
    with dspy.context(lm=lm), counted(budget):
        student = OPTIMIZERS["bootstrap"].run(work, OPTIMIZERS["bootstrap"].settings)
    assert budget.spent <= calls == len(lm.script.requests) or budget.spent < calls  # type: ignore[attr-defined]
    assert 1 <= len(student.parser.predict.demos) <= 3  # gold trees cost no call


@pytest.mark.parametrize("calls", [2, 9, 15, 60])
def test_gepa_gives_the_best_so_far_when_the_calls_end(calls: int) -> None:
    lm = model()
    work, budget = job("gepa", ("parser",), calls, lm)
    # The stopper that ends a search between rounds is told that rounds cost nothing, so that the guard has to.
    work.plan = replace(work.plan, full=0.0, changed=0.0, optimise=4)
    with dspy.context(lm=lm), counted(budget):
        student = OPTIMIZERS["gepa"].run(work, OPTIMIZERS["gepa"].settings)
    assert budget.spent <= calls
    instructions = student.parser.predict.signature.instructions
    start = work.student.parser.predict.signature.instructions
    assert instructions == start or TUNED in instructions
    if calls == 60:
        assert TUNED in instructions


@pytest.mark.parametrize("optimizer", ["bootstrap", "gepa"])
def test_a_model_that_needs_to_be_asked_twice_never_passes_the_budget(
    compiled: Compile, model: Backend, optimizer: str
) -> None:
    model.stubborn = True
    done = compiled(optimizer=optimizer, max_calls=40)
    assert done.code == 0
    assert done.asked == done.result["calls"]["spent"] <= 40
    assert 0 < done.result["items"]["before"] < done.result["plan"]["heldout"]
    again = compiled(optimizer=optimizer, max_calls=40)
    assert again.asked == 0 and again.files() == done.files()


def test_unknown_optimizer() -> None:
    with pytest.raises(DiscoError, match="Did you mean 'bootstrap'"):
        find_optimizer("bootstrp")
