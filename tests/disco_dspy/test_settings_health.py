from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from disco_dspy.health import STATUSES, Health, Problem, worst
from disco_dspy.settings import ProgramSettings, RoleSettings
from signatures.errors import DiscoError


@pytest.mark.parametrize(
    ("values", "key", "hint"),
    [
        ({"tres": True}, "tres", "Did you mean 'trees'?"),
        ({"roles": {"parser": {"retrys": 1}}}, "roles.parser.retrys", "Did you mean 'retries'?"),
        ({"roles": {"parsr": {}}}, "roles", "Correct 'roles'"),
        ({"k": 0}, "k", "Correct 'k'"),
        ({"plan": "all"}, "plan", "Correct 'plan'"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, object], key: str, hint: str) -> None:
    with pytest.raises(DiscoError) as caught:
        ProgramSettings.read(values)
    assert caught.value.code == "settings/invalid"
    assert repr(key) in caught.value.sentence and hint in caught.value.remedy


def test_an_unknown_role_names_the_nearest() -> None:
    with pytest.raises(DiscoError, match="Did you mean 'parser'"):
        ProgramSettings.read({"roles": {"parsr": {}}})


def test_settings_read_and_default() -> None:
    settings = ProgramSettings.read({"k": 5, "roles": {"planner": {"temperature": 0.2}}})
    assert settings.role("planner").temperature == 0.2
    assert settings.role("parser") == RoleSettings()
    assert ProgramSettings.model_validate_json(settings.model_dump_json()) == settings


HEALTH = st.builds(
    Health,
    role=st.sampled_from(["parser", "planner"]),
    status=st.sampled_from(STATUSES),
    attempts=st.integers(0, 6),
    problems=st.lists(st.builds(Problem, st.text(), st.text()), max_size=3).map(tuple),
    subject=st.text(),
)


@given(HEALTH)
def test_health_survives_json(record: Health) -> None:
    assert Health.from_dict(json.loads(json.dumps(record.to_dict()))) == record


@given(st.lists(HEALTH))
def test_the_worst_counts(records: list[Health]) -> None:
    assert worst(records) == (max((r.status for r in records), key=STATUSES.index) if records else "ok")


def test_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="not a health status"):
        Health.from_dict({"role": "parser", "status": "fine"})
