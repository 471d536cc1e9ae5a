"""Blueprints: references exist, empty steps go, conflicts without reconciliation are reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signatures.blueprint import Blueprint, Evidence, Step, decode_blueprint
from signatures.graph import Edge, RhetoricalGraph
from signatures.planner import PlannerOutput, StepOut

GRAPH = RhetoricalGraph(3, (Edge(1, 3, "CONTRADICTS"), Edge(2, 3, "SUPPORTS")), "inter-chunk")
COUNTS = [4, 0, 2]

_values = st.one_of(
    st.none(), st.text(max_size=20), st.integers(-2, 40), st.sampled_from(["1", "3.2", "[1.4], 2", "9", "2.1", "none"])
)
_steps = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {},
            optional={
                "move": _values,
                "say": _values,
                "evidence": st.one_of(_values, st.lists(_values, max_size=4)),
                "reconcile": _values,
            },
        ),
        _values,
    ),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(_steps)
def test_any_steps_give_a_valid_blueprint(steps: list[Any]) -> None:
    blueprint, health = decode_blueprint(steps, GRAPH, COUNTS)
    for step in blueprint.steps:
        assert all(reference.exists(COUNTS) for reference in step.evidence)
        assert len(set(step.evidence)) == len(step.evidence)
        assert step.say or step.evidence or step.reconcile
        assert all("\n" not in text for text in (step.move, step.say, step.reconcile))
    assert health.steps == len(steps) == len(blueprint.steps) + health.empty_steps
    assert set(health.unhandled_conflicts) <= set(GRAPH.conflicts())
    assert len(blueprint.render().splitlines()) >= len(blueprint.steps)
    stored = json.loads(json.dumps(blueprint.to_dict()))
    assert Blueprint.from_dict(stored) == blueprint
    again, clean = decode_blueprint(PlannerOutput.model_validate(stored).steps, GRAPH, COUNTS)
    assert again == blueprint and clean.dropped_refs == 0


def test_references_that_point_at_nothing_are_dropped_and_counted() -> None:
    step = StepOut(
        move="CLAIM", say="A  b\nc\x07\ud800", evidence=["1", "1.4", "1.5", "2.1", "[3.2]", "4", "chunk 1", "x", ""]
    )
    blueprint, health = decode_blueprint([step, StepOut()], GRAPH, COUNTS)
    assert blueprint.steps == (Step("CLAIM", "A b c", (Evidence(1), Evidence(1, 4), Evidence(3, 2)), ""),)
    assert (health.steps, health.dropped_refs, health.empty_steps) == (2, 4, 1)


@pytest.mark.parametrize(
    ("evidence", "reconcile", "handled"),
    [
        (["1.2", "3"], "", True),
        (["1"], "chunk 3 studied adults, so both hold", True),
        (["3.1"], "unlike 1.4 this is about winter", True),
        (["1"], "the conflict stays open", False),
        (["1"], "of 13 trials, 30 failed and 0.3 remained", False),
        (["1"], "none", False),
        (["2"], "1 and 3 differ", False),
        ([], "1 and 3 differ", False),
        (["1", "2"], "", False),
    ],
)
def test_a_conflict_is_handled_by_one_step_that_names_both(evidence: list[str], reconcile: str, handled: bool) -> None:
    _, health = decode_blueprint([StepOut(say="x", evidence=evidence, reconcile=reconcile)], GRAPH, COUNTS)
    assert health.unhandled_conflicts == (() if handled else (Edge(1, 3, "CONTRADICTS"),))


def test_two_steps_that_name_one_side_each_reconcile_nothing() -> None:
    steps = [{"say": "yes", "evidence": ["1"]}, {"say": "no", "evidence": ["3"]}]
    assert decode_blueprint(steps, GRAPH, COUNTS)[1].unhandled_conflicts


def test_the_plan_reads_as_numbered_lines_with_marks() -> None:
    blueprint = Blueprint(
        (
            Step("ANSWER", "Yes, in winter", (Evidence(1, 2),)),
            Step("", "Trials differ", (Evidence(1), Evidence(3)), "holds for adults only"),
            Step("CONCLUSION", ""),
        )
    )
    assert blueprint.render().splitlines() == [
        "1. (ANSWER) Yes, in winter [1.2]",
        "2. Trials differ [1][3]",
        "   How it fits together: holds for adults only",
        "3. (CONCLUSION)",
    ]
    assert Blueprint().render() == ""


def test_what_is_no_stored_blueprint_is_refused() -> None:
    for data in (
        {},
        {"steps": [{}]},
        {"steps": 3},
        {"steps": [{"move": "", "say": "", "evidence": [3], "reconcile": ""}]},
    ):
        with pytest.raises(ValueError):
            Blueprint.from_dict(data)
