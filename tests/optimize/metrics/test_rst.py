"""The scorer against figures that three independent implementations agree on.

`tests/fixtures/metric_oracle.json` comes with the gold sample (data/README.md, gum): worked examples and whole-split
rule baselines, computed with educe 3c1e298, isanlp_rst f2c112b and dipo 0.2.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.data import read_rows
from optimize.metrics.rst import Counts, FlatTree, advice, original_parseval, rst_parseval, segmentation

ORACLE = json.loads((Path(__file__).parents[2] / "fixtures" / "metric_oracle.json").read_text(encoding="utf-8"))
EXAMPLES = {example["name"].split()[0]: example for example in ORACLE["examples"]}
FORMS: dict[str, Callable[[FlatTree, FlatTree | None], Counts]] = {
    "original_parseval": original_parseval,
    "rst_parseval": rst_parseval,
}


def trees(example: dict[str, Any]) -> tuple[FlatTree, FlatTree]:
    """Gold and predicted tree of a worked example, offsets in tokens."""

    def offsets(edus: list[str]) -> list[tuple[int, int]]:
        made, at = [], 0
        for edu in edus:
            made.append((at, at + len(edu.split())))
            at = made[-1][1]
        return made

    return (
        FlatTree.of(offsets(example["gold_edus"]), example["gold_tree"]),
        FlatTree.of(offsets(example["pred_edus"]), example["pred_tree"]),
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str, form: str) -> None:
    example = EXAMPLES[name]
    counts = FORMS[form](*trees(example))
    for letter, expected in example[form].items():
        assert counts.precision(letter) == pytest.approx(expected["P"], abs=5e-5)
        assert counts.recall(letter) == pytest.approx(expected["R"], abs=5e-5)
        assert counts.f1(letter) == pytest.approx(expected["F1"], abs=5e-5)


@pytest.mark.parametrize("name", EXAMPLES)
def test_segmentation_of_worked_examples(name: str) -> None:
    gold, predicted = trees(EXAMPLES[name])
    counts, expected = segmentation(gold.edus, predicted.edus), EXAMPLES[name]["segmentation"]
    assert (counts.precision("S"), counts.recall("S"), counts.f1("S")) == pytest.approx(
        (expected["P"], expected["R"], expected["F1"]), abs=5e-5
    )


@pytest.mark.parametrize(("group", "form"), [("E1-E4", "original"), ("E1-E4", "rst"), ("E1-E6", "original")])
def test_pooled_examples_sum_counts(group: str, form: str) -> None:
    names = [f"E{n}" for n in range(1, int(group[-1]) + 1)]
    scorer = original_parseval if form == "original" else rst_parseval
    pooled = sum((scorer(*trees(EXAMPLES[name])) for name in names), Counts())
    for letter in "SNRF":
        assert pooled.f1(letter) == pytest.approx(ORACLE["pooled_micro"][group][form][letter]["F1"], abs=5e-5)


Build = Callable[[int, list[int]], list[list[object]]]


def right_branching(first: int, last: int, label: tuple[str, str]) -> list[list[object]]:
    return [[i, i, last, *label] for i in range(first, last)]


def left_branching(first: int, last: int, label: tuple[str, str]) -> list[list[object]]:
    return [[first, j - 1, j, *label] for j in range(last, first, -1)]


def by_sentence(count: int, openers: list[int], label: tuple[str, str]) -> list[list[object]]:
    rows: list[list[object]] = []
    for n, first in enumerate(openers):
        last = openers[n + 1] - 1 if n + 1 < len(openers) else count
        if last < count:
            rows.append([first, last, count, *label])
        rows += right_branching(first, last, label)
    return rows


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("baseline", ["right_branching", "left_branching", "sentence_then_text"])
def test_rule_baselines_on_the_dev_chunks(baseline: str, form: str) -> None:
    rows, _ = read_rows("gum", "dev.jsonl")
    total = Counts()
    for row in rows:
        count = len(row["edus"])
        gold = [[*node[:4], fine] for node, fine in zip(row["tree"], row["fine"], strict=True)]
        if baseline == "left_branching":
            predicted = left_branching(1, count, ("NN", "joint-list"))
        elif baseline == "right_branching":
            predicted = right_branching(1, count, ("NS", "elaboration-additional"))
        else:
            starts = set(row["sentence_starts"])
            openers = [n for n, (start, _) in enumerate(row["edus"], 1) if n == 1 or start in starts]
            predicted = by_sentence(count, openers, ("NS", "elaboration-additional"))
        total += FORMS[form](FlatTree.of(row["edus"], gold), FlatTree.of(row["edus"], predicted))
    scores = ORACLE["dev_chunks_maximal_baselines"]["scores"]
    expected = next(v for k, v in scores.items() if k.startswith(baseline) and k.endswith("fine32"))
    assert total.gold == expected["n_gold_original" if form == "original_parseval" else "n_gold_rst"]
    for letter in "SNRF":
        assert total.f1(letter) == pytest.approx(expected[form][letter], abs=5e-5)


def test_no_tree_predicts_nothing_and_one_edu_counts_nothing() -> None:
    gold, _ = trees(EXAMPLES["E1"])
    assert original_parseval(gold, None) == Counts(gold=3)
    single = FlatTree.of([(0, 4)], [])
    assert original_parseval(single, single) == Counts()
    assert original_parseval(single, single).f1("S") == 1.0


@st.composite
def random_trees(draw: st.DrawFn) -> FlatTree:
    count = draw(st.integers(2, 9))
    labels = st.tuples(st.sampled_from(["NS", "SN", "NN"]), st.sampled_from(["joint", "cause", "contrast"]))

    def build(i: int, j: int) -> list[list[object]]:
        if i == j:
            return []
        k = draw(st.integers(i, j - 1))
        return [[i, k, j, *draw(labels)], *build(i, k), *build(k + 1, j)]

    return FlatTree.of([(3 * n, 3 * n + 3) for n in range(count)], build(1, count))


@given(random_trees())
def test_a_tree_against_itself_is_perfect(tree: FlatTree) -> None:
    for scorer in FORMS.values():
        counts = scorer(tree, tree)
        assert [counts.f1(letter) for letter in "SNRF"] == [1.0] * 4
    assert advice(tree, tree) == ""


@given(random_trees(), random_trees())
def test_counts_are_ordered_and_symmetric(one: FlatTree, two: FlatTree) -> None:
    for scorer in FORMS.values():
        there, back = scorer(one, two), scorer(two, one)
        assert 0 <= there.F <= min(there.N, there.R) <= max(there.N, there.R) <= there.S <= min(there.gold, there.pred)
        assert [there.f1(letter) for letter in "SNRF"] == [back.f1(letter) for letter in "SNRF"]


def test_advice_names_what_was_missed_and_confused() -> None:
    assert "2-4" not in advice(*trees(EXAMPLES["E1"]))
    said = advice(*trees(EXAMPLES["E1"]))
    assert "1-2 SN elaboration should be NS elaboration" in said
    said = advice(*trees(EXAMPLES["E2"]))
    assert "Missed 1 of 3 spans, such as 1-2 NS elaboration" in said
    assert "not in the gold tree: 2-4 NS elaboration" in said
    assert "No tree" in advice(trees(EXAMPLES["E1"])[0], None)
