from __future__ import annotations

from typing import Any

import dspy
import pytest

from disco_dspy.passages import Passages, chunk_of
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from signatures.errors import DiscoError
from tests.disco_dspy.programs import QUESTION, TEXTS, run
from tests.scripted import ScriptedLM, scripted_lm


def roles(lm: ScriptedLM) -> list[str]:
    return [ask.role for ask in lm.script.requests]


def facts(made: dspy.Prediction) -> dict[str, Any]:
    return dict(made.items())


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_whole_path(lm: ScriptedLM, asynchronous: bool) -> None:
    made = run(lm, asynchronous=asynchronous)
    assert sorted(roles(lm)) == ["generator", "grapher", "parser", "parser", "planner"]
    assert roles(lm)[2:] == ["grapher", "planner", "generator"]
    assert made.answer == made.response.text == "This is the finding [1]."
    assert [str(citation.evidence) for citation in made.citations] == ["1"]
    assert [chunk.text for chunk in made.chunks] == TEXTS
    assert [len(tree.edus) for tree in made.trees] == [2, 4, 1]
    assert len(made.graph.edges) == 2
    assert made.blueprint.steps[0].say == "state the finding"
    assert [record.role for record in made.health] == ["parser"] * 3 + ["grapher", "planner", "generator"]
    assert [record.subject for record in made.health[:3]] == [chunk.id for chunk in made.chunks]
    assert {record.status for record in made.health} == {"ok"}


def test_async_equals_sync() -> None:
    one, two = scripted_lm(), scripted_lm()
    sync, asynchronous = run(one), run(two, asynchronous=True)
    assert facts(sync) == facts(asynchronous)
    assert sorted(ask.text for ask in one.script.requests) == sorted(ask.text for ask in two.script.requests)


def test_async_degrades_alike() -> None:
    made = []
    for asynchronous in (False, True):
        lm = scripted_lm()
        for role in ("grapher", "planner"):
            lm.script.garble(role, times=2)
        lm.script.garble("parser", times=4)
        made.append(facts(run(lm, asynchronous=asynchronous)))
    assert made[0] == made[1]
    assert [record.status for record in made[0]["health"]] == [
        "degraded",
        "degraded",
        "ok",
        "degraded",
        "degraded",
        "ok",
    ]


# -- switches ----------------------------------------


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, ["parser", "parser", "grapher", "planner", "generator"]),
        ({"trees": False}, ["grapher", "planner", "generator"]),
        ({"graph": False}, ["parser", "parser", "planner", "generator"]),
        ({"plan": "none"}, ["parser", "parser", "grapher", "generator"]),
        ({"trees": False, "graph": False, "plan": "none"}, ["generator"]),
        ({"trees": False, "graph": False, "plan": "generic-after"}, ["planner", "generator"]),
        ({"trees": False, "graph": False, "plan": "generic-before"}, ["planner", "generator"]),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_switches(lm: ScriptedLM, settings: dict[str, Any], wanted: list[str], asynchronous: bool) -> None:
    made = run(lm, DiscoRAG(settings=ProgramSettings(**settings)), asynchronous)
    assert sorted(roles(lm)) == sorted(wanted)
    assert made.answer
    prompt = lm.script.asked("generator")[0].text
    assert ("1* Vitamin D" in prompt) == settings.get("trees", True)
    assert ("\n Vitamin D lowered" in prompt) != settings.get("trees", True)
    assert ("[[ ## graph ## ]]" in prompt) == settings.get("graph", True)
    assert ("[[ ## plan ## ]]" in prompt) == (settings.get("plan") != "none")
    assert (made.graph is None) == (not settings.get("graph", True))


def test_generic_plans_see_no_structure(lm: ScriptedLM) -> None:
    run(lm, DiscoRAG(settings=ProgramSettings(plan="generic-after")))
    prompt = lm.script.asked("planner")[0].text
    assert "\n Vitamin D lowered" in prompt and "[[ ## graph" not in prompt and "ELABORATES" not in prompt
    other = scripted_lm()
    run(other, DiscoRAG(settings=ProgramSettings(plan="generic-before")))
    assert roles(other)[0] == "planner"
    assert "lowered influenza" not in other.script.requests[0].text and QUESTION in other.script.requests[0].text


def test_citing_chunks_only(lm: ScriptedLM) -> None:
    lm.script.replies["answer"] = "Yes [1.2], no [2]."
    made = run(lm, DiscoRAG(settings=ProgramSettings(cite="chunk")))
    assert made.answer == "Yes, no [2]."
    assert "\n* Vitamin D" in made.evidence


# -- degradation on the prediction ----------------------------------------


def test_everything_but_the_generator_may_fail(lm: ScriptedLM) -> None:
    for role in ("parser", "grapher", "planner"):
        lm.script.garble(role, times=9)
    made = run(lm)
    assert made.answer and made.blueprint is None and made.graph.edges == ()
    assert [record.status for record in made.health] == ["degraded", "degraded", "ok", "degraded", "degraded", "ok"]
    assert [tree is None for tree in made.trees] == [True, True, False]
    prompt = lm.script.asked("generator")[0].text
    assert "\n Vitamin D lowered" in prompt and "[[ ## graph" not in prompt and "[[ ## plan" not in prompt


def test_a_degraded_chunk_is_cited_as_a_whole(lm: ScriptedLM) -> None:
    lm.script.garble("parser", times=9)
    lm.script.replies["answer"] = "Yes [1][1.1], fish [3.1]."
    made = run(lm)
    assert made.answer == "Yes [1], fish [3.1]."


def test_a_dead_parser_is_asked_once_not_for_every_chunk(lm: ScriptedLM) -> None:
    lm.script.fail("parser", dspy.LMAuthError("wrong key", status=401), times=9)
    made = run(lm, DiscoRAG(settings=ProgramSettings(parse_threads=1)))
    assert len(lm.script.asked("parser")) == 1
    assert made.health[0].codes() == ("backbone/auth", "parser/degraded")
    assert (made.health[1].codes(), made.health[1].attempts) == (("parser/skipped",), 0)
    assert made.health[2].status == "degraded"
    assert made.answer


def test_one_overlong_chunk_does_not_stop_the_others(lm: ScriptedLM) -> None:
    lm.script.fail("parser", dspy.ContextWindowExceededError(message="too long"))
    made = run(lm, DiscoRAG(settings=ProgramSettings(parse_threads=1)))
    assert [record.status for record in made.health[:3]] == ["degraded", "ok", "ok"]


def test_a_dead_generator_is_an_error(lm: ScriptedLM) -> None:
    lm.script.fail("generator", times=9)
    with pytest.raises(DiscoError) as caught:
        run(lm)
    assert (caught.value.code, caught.value.exit_code) == ("backbone/server", 5)


# -- retrieval ----------------------------------------


def test_found_chunks_are_shown_in_reading_order(lm: ScriptedLM) -> None:
    chunks = [chunk_of(text, f"doc/{number}") for number, text in enumerate(TEXTS)]
    one = run(lm, DiscoRAG(Passages(chunks)))
    two = run(lm, DiscoRAG(Passages(list(reversed(chunks)))))
    assert one.evidence == two.evidence
    assert run(lm, DiscoRAG(Passages(chunks), settings=ProgramSettings(k=1))).chunks == (chunks[0],)
    assert len(run(lm, DiscoRAG(Passages(chunks), settings=ProgramSettings(k=200))).chunks) == 3


def test_scope(lm: ScriptedLM) -> None:
    program = DiscoRAG(Passages.of({"a": TEXTS[:1], "b": TEXTS[1:]}))
    assert [chunk.text for chunk in run(lm, program, scope="b").chunks] == TEXTS[1:]
    with pytest.raises(DiscoError, match="scope/empty"):
        run(lm, program, scope="c")


@pytest.mark.parametrize(
    ("inputs", "code", "exit_code"),
    [
        ({"question": ""}, "question/empty", 2),
        ({"question": " \n "}, "question/empty", 2),
        ({"question": "x" * 50_000}, "question/too-long", 2),
        ({"task": "x" * 50_000}, "task/too-long", 2),
        ({"chunks": []}, "index/empty", 3),
        ({"chunks": ["  "]}, "index/empty", 3),
    ],
)
def test_bad_input_costs_no_call(lm: ScriptedLM, inputs: dict[str, Any], code: str, exit_code: int) -> None:
    with pytest.raises(DiscoError) as caught:
        run(lm, **inputs)
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert lm.script.requests == []


def test_nothing_to_search(lm: ScriptedLM) -> None:
    with dspy.context(lm=lm), pytest.raises(DiscoError, match="index/none"):
        DiscoRAG()(QUESTION)
    with dspy.context(lm=lm), pytest.raises(DiscoError, match="index/empty"):
        DiscoRAG(Passages([]))(QUESTION)


def test_unknown_inventories_are_named() -> None:
    with pytest.raises(DiscoError, match="refined-19"):
        DiscoRAG(settings=ProgramSettings(inventory="refined-91"))
