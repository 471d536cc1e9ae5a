"""Each rung for each role: parsed, repaired, asked once more, degraded, error."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy
import pytest

from disco_dspy.backbones import Backbones
from disco_dspy.engines import Call
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings, RoleSettings
from signatures.errors import DiscoError
from tests.scripted import ScriptedLM, scripted_lm

TEXT = "It rained, although the sun shone. We left because it was late."
GRAPH_INPUT = {"evidence": "[1]\n a\n\n[2]\n b", "size": 2}
PLAN_INPUT = {"question": "Why?", "evidence": "[1]\n a\n\n[2]\n b", "edu_counts": (0, 0)}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "parser": ("tree", {"text": TEXT}),
    "grapher": ("graph", GRAPH_INPUT),
    "planner": ("blueprint", PLAN_INPUT),
    "generator": ("answer", PLAN_INPUT),
}
ROLES = list(CASES)
HELPERS = ["parser", "grapher", "planner"]


def ask(
    lm: ScriptedLM, role: str, *, settings: RoleSettings | None = None, asynchronous: bool = False, **inputs: Any
) -> Any:
    program = DiscoRAG(settings=ProgramSettings(roles={role: settings} if settings else {}))
    module = getattr(program, role)
    with dspy.context(lm=lm):
        given = {**CASES[role][1], **inputs}
        return asyncio.run(module.acall(**given)) if asynchronous else module(**given)


def value(made: Any, role: str) -> Any:
    return made[CASES[role][0]]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("role", ROLES)
def test_a_good_reply_is_used_as_it_came(lm: ScriptedLM, role: str, asynchronous: bool) -> None:
    made = ask(lm, role, asynchronous=asynchronous)
    assert (made.health.role, made.health.status, made.health.attempts, made.health.problems) == (role, "ok", 1, ())
    assert value(made, role)
    assert len(lm.script.requests) == 1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("role", HELPERS)
def test_an_unusable_reply_is_asked_once_more_with_the_failure_quoted(
    lm: ScriptedLM, role: str, asynchronous: bool
) -> None:
    lm.script.garble(role, text="I will not. <|im_end|>")
    made = ask(lm, role, asynchronous=asynchronous)
    assert (made.health.status, made.health.attempts) == ("ok", 2)
    assert len(made.health.problems) == 1
    first, second = lm.script.asked(role)
    assert second.last.startswith(first.last)
    note = second.last.removeprefix(first.last)
    assert made.health.problems[0].sentence in note
    assert "I will not. < |im_end| >" in note
    assert (first.config.temperature, second.config.temperature) == (0.0, 0.7)
    assert value(made, role)


@pytest.mark.parametrize("reply", ["", "   ", "```\n```"])
def test_an_empty_answer_is_asked_once_more(lm: ScriptedLM, reply: str) -> None:
    lm.script.garble("generator", text=reply)
    made = ask(lm, "generator")
    assert (made.health.status, made.health.attempts) == ("ok", 2)
    assert made.health.codes() == ("reply/unparsable",)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("role", HELPERS)
def test_unusable_twice_is_degraded(lm: ScriptedLM, role: str, asynchronous: bool) -> None:
    lm.script.garble(role, times=2)
    made = ask(lm, role, asynchronous=asynchronous)
    assert (made.health.status, made.health.attempts) == ("degraded", 2)
    assert made.health.codes()[-1] == f"{role}/degraded"
    assert len(made.health.problems) == 3
    assert len(lm.script.requests) == 2
    result = value(made, role)
    assert (result.edges == () and result.size == 2) if role == "grapher" else result is None


@pytest.mark.parametrize("role", HELPERS)
def test_a_failing_backbone_degrades_without_asking_again(lm: ScriptedLM, role: str) -> None:
    lm.script.fail(role, dspy.LMAuthError("wrong key", status=401))
    made = ask(lm, role)
    assert (made.health.status, made.health.attempts) == ("degraded", 1)
    assert made.health.codes() == ("backbone/auth", f"{role}/degraded")
    assert len(lm.script.requests) == 1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_no_answer_is_an_error(lm: ScriptedLM, asynchronous: bool) -> None:
    lm.script.garble("generator", times=2, text="[9]")
    with pytest.raises(DiscoError) as caught:
        ask(lm, "generator", asynchronous=asynchronous)
    assert (caught.value.code, caught.value.exit_code, caught.value.retryable) == ("answer/unusable", 5, True)
    assert "2 attempts" in caught.value.sentence


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (dspy.LMAuthError("wrong key", status=401), "backbone/auth"),
        (dspy.LMTransportError("connection refused"), "backbone/unreachable"),
        (dspy.ContextWindowExceededError(message="too long"), "backbone/context"),
    ],
)
def test_a_generator_without_backbone_is_an_error(lm: ScriptedLM, error: Exception, code: str) -> None:
    lm.script.fail("generator", error)
    with pytest.raises(DiscoError) as caught:
        ask(lm, "generator")
    assert (caught.value.code, caught.value.exit_code) == (code, 5)


def test_no_model_at_all_is_an_error() -> None:
    with pytest.raises(DiscoError, match=r"backbone/none.*grapher"):
        DiscoRAG().grapher(**GRAPH_INPUT)


def test_a_budget_that_is_spent_is_no_failure_of_a_role() -> None:
    """Degrading would let an optimizer go on with worse and worse programs."""

    def guard(call: Call) -> None:
        raise DiscoError("budget/spent", f"No call left for the {call.role}.", "Raise --max-calls.")

    script = scripted_lm().script
    program = DiscoRAG(backbones=Backbones.from_engine(script, guard=guard))
    with pytest.raises(DiscoError) as caught:
        program.grapher(**GRAPH_INPUT)
    assert (caught.value.code, caught.value.sentence) == ("budget/spent", "No call left for the grapher.")
    assert script.requests == []


def test_spans_that_do_not_fit_are_repaired(lm: ScriptedLM) -> None:
    lm.script.replies["tree"] = {"spans": ["1-2 NS cause", "9-9 NS x", "1-4 NN joint"]}
    made = ask(lm, "parser")
    assert (made.health.status, made.health.codes()) == ("repaired", ("tree/repaired",))
    assert len(made.tree.nodes) == len(made.tree.edus) - 1


def test_edges_that_do_not_fit_are_dropped(lm: ScriptedLM) -> None:
    lm.script.replies["graph"] = {"edges": ["1>2 SUPPORTS", "1>7 SUPPORTS", "2>2 SUPPORTS", "rubbish"]}
    made = ask(lm, "grapher")
    assert (made.health.status, made.health.codes()) == ("repaired", ("graph/dropped-edges",))
    assert "3 of 4 edges" in made.health.problems[0].sentence
    assert len(made.graph.edges) == 1


def test_a_graph_without_edges_is_a_reply(lm: ScriptedLM) -> None:
    lm.script.replies["graph"] = {"edges": []}
    made = ask(lm, "grapher")
    assert (made.health.status, made.health.attempts, made.graph.edges) == ("ok", 1, ())


def test_plans_are_judged(lm: ScriptedLM) -> None:
    from signatures.graph import Edge, RhetoricalGraph

    graph = RhetoricalGraph(2, (Edge(1, 2, "CONTRADICTS"),), "inter-chunk")
    step = {"move": "", "say": "It rained.", "evidence": ["1", "8.1"], "reconcile": ""}
    lm.script.replies["plan"] = {"steps": [step]}
    made = ask(lm, "planner", graph=graph)
    assert made.health.status == "flawed"
    assert made.health.codes() == ("plan/dropped-references", "plan/unhandled-conflict")
    lm.script.replies["plan"] = {"steps": [{**step, "evidence": ["1", "2"]}]}
    assert ask(lm, "planner", graph=graph).health.status == "ok"


def test_citations_are_judged(lm: ScriptedLM) -> None:
    lm.script.replies["answer"] = "It rained [1][7]."
    made = ask(lm, "generator")
    assert (made.answer.text, made.health.status) == ("It rained [1].", "repaired")
    assert made.health.codes() == ("answer/removed-citations",)
    lm.script.replies["answer"] = "It rained."
    assert (ask(lm, "generator").health.status, ask(lm, "generator").health.codes()) == ("flawed", ("answer/uncited",))


@pytest.mark.parametrize("role", ROLES)
def test_a_reply_that_was_cut_says_so(lm: ScriptedLM, role: str) -> None:
    lm.script.replies["answer"] = "It rained all day [1]. It then became dark and nobody"
    lm.script.truncate(role, keep=0.8)
    made = ask(lm, role)
    assert "reply/cut" in made.health.codes()
    # The grapher's only edge was lost with the end of the reply, so that it was asked again.
    assert (made.health.status, made.health.attempts) == (("ok", 2) if role == "grapher" else ("flawed", 1))


def test_retries_are_a_setting(lm: ScriptedLM) -> None:
    lm.script.garble("planner", times=3)
    assert ask(lm, "planner", settings=RoleSettings(retries=0)).health.attempts == 1
    assert ask(lm, "planner", settings=RoleSettings(retries=2, retry_temperature=1.5)).health.status == "ok"
    assert [ask.config.temperature for ask in lm.script.asked("planner")] == [0.0, 0.0, 1.5, 1.5]


def test_a_cached_bad_reply_does_not_come_back() -> None:
    """DSPy caches bad replies too; only another rollout reaches the model."""
    lm = scripted_lm(cache=True, name="scripted/cached")
    lm.script.garble("grapher")
    assert ask(lm, "grapher").health.attempts == 2
    again = ask(lm, "grapher")
    assert (again.health.status, again.health.attempts) == ("ok", 2)
    assert len(lm.script.requests) == 2  # the second time all of it came from the cache


def test_reasoning_models_keep_their_own_limits() -> None:
    lm = scripted_lm(name="openai/o3-mini", temperature=1.0, max_tokens=16000)
    lm.script.garble("parser")
    ask(lm, "parser")
    for request in lm.script.requests:
        assert request.config.temperature == 1.0
        assert request.config.max_tokens == 16000


def test_short_replies_get_short_limits(lm: ScriptedLM) -> None:
    ask(lm, "parser")
    ask(lm, "grapher")
    assert [request.config.max_tokens for request in lm.script.requests] == [16 * 3 + 32, 12 * 1 + 32]


def test_what_needs_no_model_asks_none(lm: ScriptedLM) -> None:
    made = ask(lm, "parser", text="One unit only.")
    assert (len(made.tree.edus), made.health.attempts, made.health.status) == (1, 0, "ok")
    assert ask(lm, "grapher", size=1).health.attempts == 0
    assert ask(lm, "parser", text=" ").tree.edus
    assert lm.script.requests == []


def test_gold_edus_are_taken(lm: ScriptedLM) -> None:
    from signatures.tree import edus_from_starts

    edus = edus_from_starts(TEXT, [0, 11])
    made = ask(lm, "parser", edus=edus, sentences=[1])
    assert made.tree.edus == edus
    assert "[2] although the sun shone. We left because it was late." in lm.script.requests[0].last


def test_a_role_that_fails_for_good_leaves_its_last_reply_in_the_trace(lm: ScriptedLM) -> None:
    lm.script.garble("grapher", times=2, text="[1] is about [2]")
    with dspy.context(trace=[]):
        ask(lm, "grapher")
        assert [made.graph.edges for _, _, made in dspy.settings.trace] == [["[1] is about [2]"]]


def test_retried_calls_leave_one_clean_trace(lm: ScriptedLM) -> None:
    """What an optimizer makes demonstrations of: the inputs and the good output, without the retry note."""
    lm.script.garble("grapher")
    with dspy.context(trace=[]):
        ask(lm, "grapher")
        trace = dspy.settings.trace
        assert len(trace) == 1
        _, inputs, made = trace[0]
        assert set(inputs) == {"evidence", "relations"}
        assert made.graph.edges == ["1>2 ELABORATES"]
