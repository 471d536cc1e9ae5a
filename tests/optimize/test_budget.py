from __future__ import annotations

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.budget import BudgetSpent, CallBudget, counted, plan
from signatures.errors import DiscoError
from tests.scripted import scripted_lm


def test_a_request_counts_once_cached_or_not() -> None:
    lm = scripted_lm({"other": "ok"}, cache=True)
    budget = CallBudget(10)
    with counted(budget):
        for text in ("a", "b", "a"):
            lm(text)
        lm("a", temperature=0.7, rollout_id=1)
        lm("a", temperature=0.7, rollout_id=2)
    assert budget.spent == 4
    assert len(lm.script.requests) == 4


def test_the_call_past_the_limit_is_not_made() -> None:
    lm = scripted_lm({"other": "ok"}, cache=True)
    budget = CallBudget(2)
    with counted(budget):
        lm("a")
        lm("b")
        lm("a")
        with pytest.raises(BudgetSpent):
            lm("c")
    assert budget.spent == 2 and budget.remaining == 0
    assert len(lm.script.requests) == 2


def test_optimisers_cannot_swallow_it() -> None:
    assert not issubclass(BudgetSpent, Exception)


def test_the_cache_is_put_back() -> None:
    before = dspy.cache
    with counted(CallBudget(1)):
        assert dspy.cache is not before
    assert dspy.cache is before


def test_a_phase_is_capped_within_the_total() -> None:
    budget = CallBudget(5)
    with budget.capped(2):
        budget.charge("a")
        budget.charge("b")
        budget.charge("a")
        with pytest.raises(BudgetSpent):
            budget.charge("c")
    budget.charge("c")
    with budget.capped(99):
        assert budget.remaining == 2
    budget.charge(None)
    budget.charge(None)
    with pytest.raises(BudgetSpent):
        budget.charge(None)


def test_check_stops_before_the_count() -> None:
    def refuse() -> None:
        raise KeyboardInterrupt

    budget = CallBudget(5, refuse)
    with pytest.raises(KeyboardInterrupt):
        budget.charge("a")
    assert budget.spent == 0


@given(
    total=st.integers(5, 5000),
    full=st.floats(0.5, 14),
    part=st.floats(0, 1),
    share=st.sampled_from([0.0, 0.4, 0.6]),
    uses_val=st.booleans(),
)
def test_plans_add_up(total: int, full: float, part: float, share: float, uses_val: bool) -> None:
    pool = (102, 51, 73)
    try:
        made = plan(
            total, preflight=1, full=full, changed=full * part, share=share, pool=pool, uses_val=uses_val and share > 0
        )
    except DiscoError as error:
        assert error.code == "budget/too-small" and error.exit_code == 2
        return
    assert made.preflight + made.before + made.optimise + made.after <= total
    assert 2 <= made.heldout <= pool[2] and made.before >= made.heldout * full
    if share:
        assert 1 <= made.train <= pool[0] and made.optimise >= full
        assert made.runs() >= made.train + made.val
    else:
        assert made.optimise == made.after == made.train == made.val == 0


def test_what_is_not_needed_for_measuring_goes_to_the_optimiser() -> None:
    made = plan(1000, preflight=1, full=1, changed=1, share=0.4, pool=(102, 51, 10), uses_val=False)
    assert made.heldout == 10 and made.before == made.after == 13
    assert made.optimise == 1000 - 1 - 26


def test_too_small_says_how_much_would_do() -> None:
    with pytest.raises(DiscoError) as caught:
        plan(20, preflight=1, full=13, changed=13, share=0.4, pool=(9, 9, 9), uses_val=False)
    need = int(caught.value.remedy.split()[2])
    made = plan(need, preflight=1, full=13, changed=13, share=0.4, pool=(9, 9, 9), uses_val=False)
    assert made.heldout == 2
