from __future__ import annotations

import dspy
import pytest

from disco_dspy.backbones import Backbones
from disco_dspy.engines import Call
from disco_dspy.passages import Passages, chunk_of
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from signatures.errors import DiscoError
from tests.disco_dspy.programs import TEXTS, Store, run
from tests.scripted import ScriptedLM, plausible, scripted_lm


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_second_question_parses_nothing(lm: ScriptedLM, asynchronous: bool) -> None:
    lm.script.replies["tree"] = lambda ask: (
        {"spans": plausible(ask)["spans"][1:]} if "[4]" in ask.last else plausible(ask)
    )
    program = DiscoRAG(trees=Store())
    first = run(lm, program, asynchronous)
    assert len(lm.script.asked("parser")) == 2
    second = run(lm, program, asynchronous, question="And in winter?")
    assert len(lm.script.asked("parser")) == 2
    assert second.trees == first.trees and second.evidence == first.evidence
    assert [record.attempts for record in second.health[:3]] == [0, 0, 0]
    # What was wrong with a stored tree stays visible.
    assert [record.status for record in second.health[:3]] == [record.status for record in first.health[:3]]
    assert first.health[1].status == "repaired" and second.health[1].problems == first.health[1].problems


def test_degraded_trees_are_not_stored(lm: ScriptedLM) -> None:
    store = Store()
    lm.script.garble("parser", times=2)
    program = DiscoRAG(trees=store, settings=ProgramSettings(parse_threads=1))
    assert run(lm, program).health[0].status == "degraded"
    assert len(store.rows) == 1
    assert [record.status for record in run(lm, program).health[:3]] == ["ok", "ok", "ok"]


def test_another_prompt_model_or_inventory_parses_anew(lm: ScriptedLM) -> None:
    store = Store()
    program = DiscoRAG(trees=store)
    run(lm, program)
    tuned = DiscoRAG(trees=store)
    tuned.parser.predict.signature = tuned.parser.predict.signature.with_instructions("Parse.")
    demo = DiscoRAG(trees=store)
    demo.parser.predict.demos = [dspy.Example(chunk="[1] a\n[2] b", tree={"spans": ["1-2 NN joint"]})]
    paper = DiscoRAG(trees=store, settings=ProgramSettings(inventory="paper-24"))
    for other in (tuned, demo, paper):
        before = len(lm.script.asked("parser"))
        run(lm, other)
        assert len(lm.script.asked("parser")) == before + 2
    another = scripted_lm(name="scripted/other")
    run(another, program)
    assert len(another.script.asked("parser")) == 2


def test_broken_stored_trees_are_parsed_again(lm: ScriptedLM) -> None:
    store = Store()
    program = DiscoRAG(trees=store)
    run(lm, program)
    for key, (_, health) in store.rows.items():
        store.rows[key] = ({"inventory": "refined-19", "starts": [0, 5], "rows": []}, health)
    made = run(lm, program)
    assert len(lm.script.asked("parser")) == 4
    assert all(record.status == "ok" for record in made.health)


def test_a_store_that_refuses_does_not_cost_the_answer(lm: ScriptedLM) -> None:
    store = Store()
    store.refuse = True
    made = run(lm, DiscoRAG(trees=store))
    assert made.answer
    assert [record.codes() for record in made.health[:2]] == [("tree/not-stored",)] * 2
    assert made.health[0].status == "flawed" and made.trees[0] is not None


def test_equal_chunks_are_parsed_once(lm: ScriptedLM) -> None:
    made = run(lm, chunks=[TEXTS[0], TEXTS[0] + " More.", TEXTS[0]])
    assert len(lm.script.asked("parser")) == 2
    assert made.trees[0] == made.trees[2]


def test_parse_chunk_stores(lm: ScriptedLM) -> None:
    store = Store()
    with dspy.context(lm=lm):
        made = DiscoRAG(trees=store).parse_chunk(chunk_of(TEXTS[0], "a"))
    assert made.tree.text == TEXTS[0] and made.health.status == "ok" and len(store.rows) == 1


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_spent_budget_stops_the_parsing(asynchronous: bool) -> None:
    calls: list[str] = []

    def guard(call: Call) -> None:
        if len(calls) == 2:
            raise DiscoError("budget/spent", "No call left.", "Raise --max-calls.")
        calls.append(call.role)

    lm = scripted_lm()
    backbones = Backbones.from_engine(lm.script, lm._async_engine_spec, guard=guard, cache=False)
    program = DiscoRAG(backbones=backbones, settings=ProgramSettings(parse_threads=1))
    texts = [f"Group {n} was better, although it rained." for n in range(9)]
    with pytest.raises(DiscoError, match="budget/spent"):
        run(lm, program, asynchronous, chunks=texts)
    assert calls == ["parser", "parser"] and len(lm.script.requests) == 2


def test_a_new_retriever_keeps_a_store_given_apart(lm: ScriptedLM) -> None:
    store, passages = Store(), Passages.of(TEXTS)
    program = DiscoRAG(trees=store)
    program.retriever = passages
    assert program.trees is store and program.retriever is passages
