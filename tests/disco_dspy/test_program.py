from __future__ import annotations

import asyncio
import copy
import threading
from typing import Any

import dspy
import pytest

from disco_dspy.backbones import Backbones
from disco_dspy.corpus.types import Chunk
from disco_dspy.engines import Call
from disco_dspy.passages import Passages, chunk_of
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from disco_dspy.usage import RoleUsageTracker
from signatures.errors import DiscoError
from tests.scripted import Ask, ScriptedLM, plausible, scripted_lm

TEXTS = [
    "Vitamin D lowered influenza in winter, although only in adults with low levels.",
    "Large trials found no effect. Researchers said that the dose was small because funding was cut.",
    "Oily fish is a source of vitamin D.",
]
QUESTION = "Does vitamin D prevent influenza?"


class Store:
    """A tree store in memory that counts."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {}
        self.refuse = False
        self.lock = threading.Lock()

    def get_tree(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        row = self.rows.get((text_sha256, fingerprint))
        return row[0] if row else None

    def tree_health(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        row = self.rows.get((text_sha256, fingerprint))
        return row[1] if row else None

    def put_tree(self, text_sha256: str, fingerprint: str, tree: dict[str, Any], health: dict[str, Any]) -> None:
        if self.refuse:
            raise DiscoError("index/read-only", "The index was opened read-only.", "Open it without read_only.")
        with self.lock:
            self.rows[text_sha256, fingerprint] = (tree, health)


def run(lm: ScriptedLM, program: DiscoRAG | None = None, asynchronous: bool = False, **inputs: Any) -> dspy.Prediction:
    program = program or DiscoRAG()
    given = {"question": QUESTION, **inputs}
    if program.retriever is None:
        given.setdefault("chunks", TEXTS)
    with dspy.context(lm=lm):
        return asyncio.run(program.acall(**given)) if asynchronous else program(**given)


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


# -- switches ------------------------------------------------------------------------------------------------------


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


# -- degradation on the prediction ---------------------------------------------------------------------------------


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


# -- stored trees --------------------------------------------------------------------------------------------------


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


# -- retrieval -----------------------------------------------------------------------------------------------------


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


# -- usage ---------------------------------------------------------------------------------------------------------


def exact(lm: ScriptedLM) -> dict[str, dict[str, int]]:
    """What the scripted model counted itself, from its requests and the deterministic replies."""
    totals: dict[str, dict[str, int]] = {}
    for ask in lm.script.requests:
        row = totals.setdefault(ask.role, {"calls": 0, "prompt_tokens": 0})
        row["calls"] += 1
        row["prompt_tokens"] += len(ask.text) // 4
    return totals


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("threads", [1, 8])
def test_usage_per_role_is_exact(threads: int, asynchronous: bool) -> None:
    lm = scripted_lm()
    lm.script.garble("parser", times=3)
    texts = [f"Group {n} was better, although group {n + 1} was worse. It rained because of {n}." for n in range(12)]
    outer = RoleUsageTracker()
    with dspy.context(usage_tracker=outer):
        made = run(lm, DiscoRAG(settings=ProgramSettings(parse_threads=threads)), asynchronous, chunks=texts)
    wanted = exact(lm)
    assert wanted["parser"]["calls"] > 12
    for usage in (made.usage, outer.by_role()):
        assert {role: {key: row[key] for key in wanted[role]} for role, row in usage.items()} == wanted


def test_dspy_usage_tracking_gets_all_of_it(lm: ScriptedLM) -> None:
    with dspy.context(track_usage=True):
        made = run(lm, DiscoRAG(settings=ProgramSettings(parse_threads=4)))
    total = sum(row["prompt_tokens"] for row in made.usage.values())
    usage = made.get_lm_usage() or {}
    assert usage["scripted/model"]["prompt_tokens"] == total


def test_questions_at_once_do_not_mix_usage() -> None:
    lm = scripted_lm()
    program = DiscoRAG()

    async def both() -> list[dspy.Prediction]:
        return await asyncio.gather(*(program.acall(question=QUESTION, chunks=[text] * 1) for text in TEXTS[:2]))

    with dspy.context(lm=lm):
        one, two = asyncio.run(both())
    assert one.usage["parser"]["calls"] == two.usage["parser"]["calls"] == 1
    assert one.usage["generator"]["prompt_tokens"] != two.usage["generator"]["prompt_tokens"]


# -- as a DSPy module ----------------------------------------------------------------------------------------------


def test_threads_keep_the_order_of_the_trace() -> None:
    def slow(ask: Ask) -> Any:
        return plausible(ask)

    texts = [f"Group {n} was better, although it rained." for n in range(8)]
    traces = []
    for threads in (1, 8):
        with dspy.context(trace=[]):
            run(scripted_lm({"tree": slow}), DiscoRAG(settings=ProgramSettings(parse_threads=threads)), chunks=texts)
            traces.append([inputs for _, inputs, _ in dspy.settings.trace])
    assert traces[0] == traces[1] and len(traces[0]) == 11


def test_four_predictors_by_name() -> None:
    names = [name for name, _ in DiscoRAG().named_predictors()]
    assert names == ["parser.predict", "grapher.predict", "planner.predict", "generator.predict"]


def test_a_copy_shares_index_and_models_but_no_prompt() -> None:
    store = Store()
    passages = Passages.of(TEXTS)
    program = DiscoRAG(passages, trees=store, backbones=Backbones.from_lm(scripted_lm()))
    for twin in (program.deepcopy(), copy.deepcopy(program)):
        assert twin.retriever is passages and twin.trees is store and twin.backbones is program.backbones
        assert twin.planner.predict is not program.planner.predict
        twin.planner.predict.demos = [dspy.Example(question="x")]
        assert program.planner.predict.demos == []


def test_each_role_has_its_backbone() -> None:
    class ByRole(Backbones):
        def lm(self, role: str) -> dspy.LM:
            return lms[role]

    lms = {role: scripted_lm(name=f"scripted/{role}") for role in ("parser", "grapher", "planner", "generator")}
    program = DiscoRAG(Passages.of(TEXTS), backbones=ByRole.from_lm(lms["parser"]))
    program(QUESTION)
    for role, lm in lms.items():
        assert {ask.role for ask in lm.script.requests} == {role}


def test_a_pinned_model_wins() -> None:
    pinned, other = scripted_lm(), scripted_lm()
    program = DiscoRAG(Passages.of(TEXTS), backbones=Backbones.from_lm(other))
    program.grapher.predict.lm = pinned
    program(QUESTION)
    assert roles(pinned) == ["grapher"] and "grapher" not in roles(other)


def test_bootstrapping_fills_every_role(lm: ScriptedLM) -> None:
    program = DiscoRAG(Passages.of(TEXTS))
    optimizer = dspy.BootstrapFewShot(metric=lambda *_: True, max_bootstrapped_demos=1, max_labeled_demos=0)
    with dspy.context(lm=lm):
        tuned = optimizer.compile(program, trainset=[dspy.Example(question=QUESTION).with_inputs("question")])
        before = len(lm.script.requests)
        tuned(QUESTION)
    for role in ("parser", "grapher", "planner", "generator"):
        assert len(getattr(tuned, role).predict.demos) == 1
    assert "# Example 1" in lm.script.requests[before + 2].text


def test_chinese_text_end_to_end(lm: ScriptedLM) -> None:
    text = "维生素D降低了流感发病率，但仅限于冬季。因为剂量太小，大型试验没有发现效果。"
    made = run(lm, chunks=[text, TEXTS[0]], question="维生素D能预防流感吗？")
    assert len(made.trees[0].edus) >= 2
    assert "".join(text[edu.start : edu.end] for edu in made.trees[0].edus) == text


def test_index_as_retriever_and_store(tmp_path: Any, lm: ScriptedLM) -> None:
    """The real Index: BM25 needs no embedder to search."""
    from disco_dspy.index import Index, IndexSettings
    from tests.embedding import HashEmbedder

    folder = tmp_path / "docs"
    folder.mkdir()
    for number, text in enumerate(TEXTS):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    with Index.create(tmp_path / "index", IndexSettings(retrieval="bm25"), HashEmbedder()) as index:
        index.update(folder)
        program = DiscoRAG(index)
        made = run(lm, program)
        assert isinstance(made.chunks[0], Chunk) and len(made.chunks) >= 1
        parsed = len(lm.script.asked("parser"))
        assert parsed
        again = run(lm, program)
        assert len(lm.script.asked("parser")) == parsed
        assert again.trees == made.trees
