from __future__ import annotations

import dspy
import pytest

from disco_dspy.program import DiscoRAG
from optimize.demos import TOKEN_BUDGET, merge, tidy, tokens
from optimize.instructions import MOST_CHARACTERS, GuardedProposer, problem
from signatures.grapher import GrapherOutput
from tests.scripted import scripted_lm


def grapher_demo(evidence: str) -> dspy.Example:
    return dspy.Example(
        augmented=True, evidence=evidence, relations="a table", graph=GrapherOutput(edges=["1>2 SUPPORTS"])
    )


def test_long_evidence_leaves_and_a_demo_that_shows_nothing_else_too() -> None:
    predictor = DiscoRAG().grapher.predict
    predictor.demos = [grapher_demo("x" * 5000), grapher_demo("[1] short")]
    notes = tidy(predictor, "grapher")
    assert [dict(demo).get("evidence") for demo in predictor.demos] == ["[1] short"]
    assert "relations" not in predictor.demos[0] and notes


def test_the_generator_keeps_a_demo_without_its_long_evidence() -> None:
    predictor = DiscoRAG().generator.predict
    predictor.demos = [dspy.Example(evidence="x" * 5000, question="why?", task="", graph="", plan="", answer="so")]
    assert tidy(predictor, "generator") == []
    assert "evidence" not in predictor.demos[0] and predictor.demos[0].question == "why?"


def test_demos_stay_within_the_tokens_of_the_role() -> None:
    predictor = DiscoRAG().parser.predict
    predictor.demos = [dspy.Example(chunk="[1] " + "word " * 500, tree="t") for _ in range(6)]
    tidy(predictor, "parser")
    assert 1 <= len(predictor.demos) < 6
    assert sum(map(tokens, predictor.demos)) <= TOKEN_BUDGET["parser"]


def test_tokens_counts_chinese_by_the_character() -> None:
    assert tokens({"chunk": "北京大学" * 10}) == 40
    assert tokens({"chunk": "abcd" * 10}) == 10


def test_gold_gets_a_place_beside_the_models_own_traces() -> None:
    own = [dspy.Example(n=n, augmented=True) for n in range(3)]
    gold = [dspy.Example(n=n) for n in range(8)]
    assert [("augmented" in demo) for demo in merge(own, gold, 3)] == [True, True, False]
    assert merge(own, [], 2) == own[:2]
    assert merge([], gold, 3) == gold[:3]
    assert merge(own, gold, 0) == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("x" * (MOST_CHARACTERS + 1), "longer"),
        ("Okay, so the user wants a tree", "thinking"),
        ("<think>Let us see", "thinking"),
        ("Write [[ ## tree ## ]] first", "markers"),
        ("Join units. For instance " + "the river rises in the hills and flows to the sea " * 3, "copies"),
    ],
)
def test_texts_that_are_no_instructions_are_refused(text: str, part: str) -> None:
    shown = ["the river rises in the hills and flows to the sea " * 4]
    assert part in problem(text, shown)


def test_plain_instructions_are_taken() -> None:
    assert problem("Join the units of a sentence first, then sentences.", ["some text " * 40]) == ""


def proposed(reply: object) -> tuple[dict[str, str], list[str], list]:
    notes: list[str] = []
    lm = scripted_lm({"other": reply})
    rows = [{"Inputs": {"chunk": "[1] " + "long text " * 400}, "Generated Outputs": {"tree": "x"}, "Feedback": "bad"}]
    with dspy.context(lm=lm):
        made = GuardedProposer(notes)({"parser.predict": "old"}, {"parser.predict": rows}, ["parser.predict"])
    return made, notes, lm.script.requests


def test_a_good_proposal_is_taken_and_its_prompt_is_short() -> None:
    made, notes, requests = proposed({"new_instruction": "Join sentences before paragraphs."})
    assert made == {"parser.predict": "Join sentences before paragraphs."} and notes == []
    assert len(requests) == 1 and len(requests[0].text) < 6000


@pytest.mark.parametrize("reply", ["no JSON", {"new_instruction": ""}, {"new_instruction": "Okay, let me think"}])
def test_a_bad_proposal_leaves_the_instructions_alone(reply: object) -> None:
    made, notes, _ = proposed(reply)
    assert made == {"parser.predict": "old"} and len(notes) == 1
