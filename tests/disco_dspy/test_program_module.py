from __future__ import annotations

import asyncio
import copy
from typing import Any

import dspy
import pytest

from disco_dspy.backbones import Backbones
from disco_dspy.corpus.types import Chunk
from disco_dspy.passages import Passages
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from disco_dspy.usage import RoleUsageTracker
from tests.disco_dspy.programs import QUESTION, TEXTS, Store, run
from tests.scripted import Ask, ScriptedLM, plausible, scripted_lm


def roles(lm: ScriptedLM) -> list[str]:
    return [ask.role for ask in lm.script.requests]


# -- usage ---


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


# -- as a DSPy module ---


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
