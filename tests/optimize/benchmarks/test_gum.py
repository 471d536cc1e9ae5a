from __future__ import annotations

import dspy
import pytest

from disco_dspy.health import Health
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from optimize.benchmarks.gum import FILES, Gum
from optimize.data import read_rows
from signatures.errors import DiscoError
from signatures.relations import load_inventory
from signatures.tree import check_tree
from tests.scripted import scripted_lm


@pytest.fixture(scope="module")
def gum() -> Gum:
    return Gum()


def predict(tree: object) -> dspy.Prediction:
    return dspy.Prediction(tree=tree, health=Health("parser"))


def test_gold_is_valid_and_openly_licensed(gum: Gum) -> None:
    inventory = load_inventory("refined-19", "intra")
    assert len(gum.gold) == 153 + 73
    for tree in gum.gold.values():
        check_tree(tree, inventory)
    for name in FILES:
        rows, _ = read_rows("gum", name)
        assert {row["licence"] for row in rows} <= {"CC BY 4.0", "CC BY 2.5", "CC BY-SA 3.0"}
        for row in rows:
            edus = gum.gold[row["id"]].edus
            # Ours run up to the next one, the corpus' end before the white space.
            assert [row["text"][e.start : e.end].rstrip() for e in edus] == [
                row["text"][start:end].rstrip() for start, end in row["edus"]
            ]


def test_train_and_heldout_share_no_document(gum: Gum) -> None:
    ids = gum.split(0, {}).ids()
    documents = {name: {id.split("#")[0] for id in part} for name, part in ids.items()}
    assert not (documents["train"] | documents["val"]) & documents["heldout"]


def test_gold_scores_one_and_no_tree_scores_nothing(gum: Gum) -> None:
    examples = gum.split(0, {}).heldout[:12]
    perfect = [gum.score(e, predict(gum.gold[e.id])) for e in examples]
    assert [score.value for score in perfect] == [1.0] * 12 and not any(score.feedback for score in perfect)
    assert set(gum.aggregate(perfect).values()) == {1.0}
    missing = gum.score(examples[0], predict(None))
    assert missing.value == 0.0 and "No tree" in missing.feedback
    assert missing.parts == gum.nothing(examples[0])


def test_figures_are_pooled_and_the_headline_agrees(gum: Gum) -> None:
    examples = gum.split(0, {}).heldout[:12]
    with dspy.context(lm=scripted_lm()):
        student = gum.student(DiscoRAG())
        scores = [gum.score(e, student(**e.inputs())) for e in examples]
    figures = gum.aggregate(scores)
    assert gum.headline(scores) == pytest.approx(figures["score"])
    assert figures["score"] == pytest.approx((figures["S"] + figures["F"]) / 2)
    assert figures["score"] != pytest.approx(sum(s.value for s in scores) / len(scores))
    assert list(figures) == list(gum.figures)
    assert gum.aggregate([])["score"] == gum.headline([]) == 0.0


def test_the_student_parses_gold_edus_with_the_programs_own_role(gum: Gum) -> None:
    program = DiscoRAG()
    student = gum.student(program)
    assert [name for name, _ in student.named_predictors()] == ["parser.predict"]
    example = gum.split(0, {}).heldout[0]
    with dspy.context(lm=scripted_lm()):
        tree = student(**example.inputs()).tree
    assert tree.edus == gum.gold[example.id].edus
    assert set(example.keys()) == {"id"}


def test_another_inventory_is_refused(gum: Gum) -> None:
    with pytest.raises(DiscoError, match="benchmark/inventory"):
        gum.student(DiscoRAG(settings=ProgramSettings(inventory="paper-24")))


def test_labelled_demonstrations_are_short_gold_trees(gum: Gum) -> None:
    examples = gum.split(0, {}).train
    made = gum.labelled("parser", examples, DiscoRAG())
    assert made and all(set(demo.keys()) == {"chunk", "tree"} for demo in made)
    assert all(5 <= len(demo.tree.spans) <= 11 for demo in made[:3])
    assert gum.labelled("grapher", examples, DiscoRAG()) == []
