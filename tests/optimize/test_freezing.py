from __future__ import annotations

import pytest

from disco_dspy.program import DiscoRAG
from optimize.freezing import ROLES, only, roles_of, thaw


@pytest.mark.parametrize("role", ROLES)
def test_only_the_chosen_role_can_be_seen_and_all_are_seen_again(role: str) -> None:
    program = DiscoRAG()
    state = program.dump_state(json_mode=True)
    with only(program, [role]):
        assert [name for name, _ in program.named_predictors()] == [f"{role}.predict"]
        copy = program.deepcopy()
    assert [name for name, _ in program.named_predictors()] == [f"{name}.predict" for name in ROLES]
    assert len(copy.named_predictors()) == 1
    thaw(copy)
    assert copy.dump_state(json_mode=True) == state == program.dump_state(json_mode=True)


def test_flags_are_cleared_when_the_optimiser_fails() -> None:
    program = DiscoRAG()
    with pytest.raises(RuntimeError), only(program, ["planner"]):
        raise RuntimeError
    assert len(program.named_predictors()) == 4


def test_roles_of_a_part_of_the_program() -> None:
    assert list(roles_of(DiscoRAG())) == list(ROLES)
