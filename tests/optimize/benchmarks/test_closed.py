from __future__ import annotations

import dspy
import pytest

from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from optimize.benchmarks import find_benchmark
from optimize.benchmarks.closed import ClosedQA
from optimize.evaluation import evaluate
from signatures.errors import DiscoError
from tests.scripted import scripted_lm

NAMES = ["hotpotqa", "ramdocs"]


def answered(benchmark: ClosedQA, example: dspy.Example, text: str, **replies: object) -> tuple[dspy.Prediction, list]:
    lm = scripted_lm({"answer": text, **replies})
    with dspy.context(lm=lm):
        prediction = benchmark.student(DiscoRAG())(**example.inputs())
    return prediction, lm.script.requests


def closed(name: str) -> ClosedQA:
    made = find_benchmark(name)
    assert isinstance(made, ClosedQA)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_an_item_sees_its_own_passages_only(name: str) -> None:
    benchmark = closed(name)
    example = benchmark.split(0, {}).heldout[0]
    prediction, asked = answered(benchmark, example, "nothing [1]")
    assert [chunk.id for chunk in prediction.chunks] == [chunk.id for chunk in benchmark.chunks[example.id]]
    assert len(asked) <= benchmark.calls(example, ProgramSettings())
    assert set(example.keys()) == {"id", "question", "task", "scope"}


@pytest.mark.parametrize("name", NAMES)
def test_calls_count_what_changed_roles_make_new(name: str) -> None:
    benchmark = closed(name)
    example = benchmark.split(0, {}).heldout[0]
    passages = len(benchmark.chunks[example.id])
    settings = ProgramSettings()
    assert benchmark.calls(example, settings) == passages + 3
    assert [benchmark.calls(example, settings, (role,)) for role in benchmark.roles] == [passages + 3, 3, 2, 1]
    assert benchmark.calls(example, ProgramSettings(trees=False, graph=False, plan="none")) == 1
    assert benchmark.calls(example, ProgramSettings(k=1)) == 3


def test_hotpotqa_scores_words_and_marks() -> None:
    benchmark = closed("hotpotqa")
    example = next(e for e in benchmark.split(0, {}).heldout if len(benchmark.rows[e.id]["answer"].split()) == 2)
    row = benchmark.rows[example.id]
    titles = [passage.title for passage in benchmark.passages(row)]
    marks = "".join(f"[{titles.index(title) + 1}]" for title in row["supporting"])

    def score(text: str):
        return benchmark.score(example, answered(benchmark, example, text)[0])

    right = score(f"{row['answer']} {marks}")
    assert right.value == 1.0 and right.parts["support_recall"] == 1.0 and right.parts["em"] == 1.0
    bare = score(row["answer"])
    assert bare.value == pytest.approx(0.8) and "No mark" in bare.feedback
    half = score(f"{row['answer']} [1][77]")
    assert half.parts["citation_validity"] == 0.5 and half.value == pytest.approx(0.9)
    wrong = score("[1] I cannot say")
    assert wrong.value == 0.0 and row["answer"] in wrong.feedback
    assert benchmark.aggregate([right, wrong])["score"] == 0.5


def test_ramdocs_wants_all_right_answers_and_no_wrong_one() -> None:
    benchmark = closed("ramdocs")
    example = next(
        e
        for e in benchmark.split(0, {}).train
        if benchmark.rows[e.id]["wrong_answers"] and len(benchmark.rows[e.id]["gold_answers"]) == 2
    )
    row = benchmark.rows[example.id]
    one, two = row["gold_answers"]

    def score(text: str):
        return benchmark.score(example, answered(benchmark, example, text)[0])

    assert score(f"{one} [1]; {two} [2]").value == 1.0
    half = score(f"{one} [1]")
    assert half.value == pytest.approx(0.5) and two in half.feedback
    misled = score(f"{one} [1]; {two} [2]; {row['wrong_answers'][0]} [3]")
    assert misled.parts["strict"] == 0.0 and misled.value < 1.0 and row["wrong_answers"][0] in misled.feedback


def test_ramdocs_judges_the_graph_beside_the_answer() -> None:
    benchmark = closed("ramdocs")
    for example in benchmark.split(0, {}).train:
        kinds = [document["type"] for document in benchmark.rows[example.id]["documents"]]
        if kinds.count("misinfo") == 1 and "correct" in kinds:
            break
    bad, good = kinds.index("misinfo") + 1, kinds.index("correct") + 1
    caught, _ = answered(benchmark, example, "x [1]", graph={"edges": [f"{good}>{bad} CONTRADICTS"]})
    missed, _ = answered(benchmark, example, "x [1]", graph={"edges": []})
    assert benchmark.score(example, caught).parts["conflict_recall"] == 1.0
    score = benchmark.score(example, missed, "grapher")
    assert score.parts["conflict_recall"] == 0.0 and "no conflict edge" in score.feedback
    assert score.value == benchmark.score(example, missed, "generator").value


def test_an_answer_nobody_can_use_scores_nothing_and_the_run_goes_on() -> None:
    benchmark = closed("hotpotqa")
    examples = benchmark.split(0, {}).heldout[:2]
    row = benchmark.rows[examples[1].id]
    with dspy.context(lm=scripted_lm({"answer": ["", "", f"{row['answer']} [1]"]})):
        done = evaluate(benchmark.student(DiscoRAG()), examples, benchmark)
    assert [item.score.value for item in done.items] == [0.0, 1.0]
    assert "answer/unusable" in done.items[0].error and done.complete
    assert [item.id for item in done.items] == [example.id for example in examples]


def test_a_backbone_that_fails_is_no_score() -> None:
    benchmark = closed("hotpotqa")
    lm = scripted_lm()
    lm.script.fail("generator")
    with dspy.context(lm=lm), pytest.raises(DiscoError, match="backbone/server"):
        evaluate(benchmark.student(DiscoRAG()), benchmark.split(0, {}).heldout[:1], benchmark)
