"""The four signatures: fields the adapter relies on, schemas that constrain, lenient outputs."""

from __future__ import annotations

import json
import re
from typing import Any

import dspy
import pytest
from dspy.adapters.json_adapter import _get_structured_outputs_response_format
from dspy.clients.legacy_requests import _strict_json_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from signatures.decode_tree import decode_tree
from signatures.generator import Generator, GeneratorOutput
from signatures.grapher import EDGE_PATTERN, Grapher, GrapherOutput
from signatures.parser import SPAN_PATTERN, Parser, ParserOutput
from signatures.planner import EVIDENCE_PATTERN, Planner, PlannerOutput
from signatures.relations import load_inventory
from signatures.tree import edus_from_starts

ROLES: list[tuple[Any, list[str], str, type[BaseModel]]] = [
    (Parser, ["relations", "chunk"], "tree", ParserOutput),
    (Grapher, ["evidence", "relations"], "graph", GrapherOutput),
    (Planner, ["evidence", "graph", "task", "question"], "plan", PlannerOutput),
    (Generator, ["evidence", "graph", "plan", "task", "question"], "answer", GeneratorOutput),
]


def wire_schema(signature: type[dspy.Signature]) -> dict[str, Any]:
    """The JSON schema as DSPy sends it to a server with strict structured output."""
    return _strict_json_schema(_get_structured_outputs_response_format(signature).model_json_schema())  # type: ignore[arg-type]


@pytest.mark.parametrize(("role", "inputs", "output", "model"), ROLES)
def test_fields_are_the_ones_the_adapter_relies_on(role: Any, inputs: list[str], output: str, model: Any) -> None:
    assert list(role.input_fields) == inputs
    assert {name: field.annotation for name, field in role.output_fields.items()} == {output: model}
    assert 300 < len(role.instructions) < 1700


@pytest.mark.parametrize(("role", "inputs", "output", "model"), ROLES)
def test_the_schema_on_the_wire_is_closed_and_flat(role: Any, inputs: list[str], output: str, model: Any) -> None:
    schema = wire_schema(role)

    def walk(part: Any, inside: tuple[str, ...] = ()) -> None:
        if not isinstance(part, dict):
            return
        if "$ref" in part:
            name = part["$ref"].rsplit("/", 1)[-1]
            assert name not in inside, "a schema that contains itself"
            walk(schema["$defs"][name], (*inside, name))
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        assert "default" not in part and "patternProperties" not in part
        for below in part.get("properties", {}).values():
            walk(below, inside)
        walk(part.get("items"), inside)

    walk(schema)
    assert "decode_" not in json.dumps(schema)


def test_item_patterns_reach_the_wire() -> None:
    def items(role: Any, model: str, field: str) -> dict[str, Any]:
        return wire_schema(role)["$defs"][model]["properties"][field]["items"]

    assert items(Parser, "ParserOutput", "spans") == {"type": "string", "pattern": SPAN_PATTERN}
    assert items(Grapher, "GrapherOutput", "edges") == {"type": "string", "pattern": EDGE_PATTERN}
    assert items(Planner, "StepOut", "evidence") == {"type": "string", "pattern": EVIDENCE_PATTERN}
    assert list(wire_schema(Planner)["$defs"]["StepOut"]["properties"]) == ["move", "say", "evidence", "reconcile"]
    assert re.search(EVIDENCE_PATTERN, "3.12") and not re.search(EVIDENCE_PATTERN, "3.")


def test_the_example_in_the_parsers_instructions_is_a_tree() -> None:
    _, example = Parser.instructions.split("With 5 units, for instance,")
    spans = re.findall(r"(\d)-(\d)", example.split(".")[0])
    replies = [f"{first}-{last} NN joint" for first, last in spans]
    assert all(re.search(SPAN_PATTERN, reply) for reply in replies)
    edus = edus_from_starts("abcde", range(5))
    tree, health = decode_tree("abcde", edus, [replies], load_inventory("refined-19"))
    assert (health.spans_used, health.spans_lost, health.repaired_nodes, len(tree.nodes)) == (4, 0, 0, 4)


def test_no_instructions_hold_a_value_that_could_be_copied() -> None:
    # A 1.5B answered with the example sentence of an earlier prompt, and labelled spans in the order of its example.
    for signature in (Parser, Grapher, Planner, Generator):
        assert not re.search(r"\d+-\d+ (NS|SN|NN) |\d+>\d+ [A-Z]|\[\d", signature.instructions), signature.__name__


@pytest.mark.parametrize(
    "reply",
    [
        {"spans": ["1-2 NS cause", "1-3 NN joint"]},
        {"spans": ["1-2 NS cause", "1-3 NN joint"], "comment": "extra"},
        ["1-2 NS cause", "1-3 NN joint"],
        "1-2 NS cause\n- 1-3 NN joint\n",
        '["1-2 NS cause", "1-3 NN joint"]',
        '{"spans": ["1-2 NS cause", "1-3 NN joint"]}',
        {"tree": ["1-2 NS cause", None, "1-3 NN joint"]},
        {
            "nodes": [
                {"i": 1, "j": 2, "nuc": "NS", "rel": "cause"},
                {"Span": "1-3", "Nuclearity": "NN", "relation": "joint"},
            ]
        },
        {"spans": [["1-2", "NS", "cause"], ["1-3", "NN", "joint"]]},
        {"whatever": ["1-2 NS cause", "1-3 NN joint"]},
    ],
)
def test_a_tree_is_taken_in_whatever_way_it_is_wrapped(reply: Any) -> None:
    assert ParserOutput.model_validate(reply).spans == ["1-2 NS cause", "1-3 NN joint"]


def test_a_graph_is_taken_in_whatever_way_it_is_wrapped() -> None:
    for reply in (
        {"edges": ["1>3 SUPPORTS"]},
        {"graph": [{"source": 1, "target": 3, "relation": "SUPPORTS"}]},
        {"edges": {"from": 1, "to": 3, "label": "SUPPORTS"}},
        "1>3 SUPPORTS",
    ):
        assert GrapherOutput.model_validate(reply).edges == ["1>3 SUPPORTS"]
    assert GrapherOutput.model_validate([]).edges == []
    assert GrapherOutput.model_validate("[1] > [3] SUPPORTS").edges == ["[1] > [3] SUPPORTS"]


def test_a_plan_is_taken_in_whatever_way_it_is_wrapped() -> None:
    reply = {"plan": [{"move": "CLAIM", "say": ["a", "b"], "evidence": "1, 3.2", "reconcile": None}, "then this"]}
    first, second = PlannerOutput.model_validate(reply).steps
    assert (first.move, first.say, first.evidence, first.reconcile) == ("CLAIM", "a; b", ["1", "3.2"], "")
    assert (second.say, second.evidence) == ("then this", [])
    step = {"say": "x", "evidence": [1, 3.2, {"chunk": 2, "edu": 1}, {"chunk": 4}]}
    for wrapped in (step, [step], {"steps": step}, json.dumps({"steps": [step]})):
        assert PlannerOutput.model_validate(wrapped).steps[0].evidence == ["1", "3.2", "2.1", "4"]
    assert [step.say for step in PlannerOutput.model_validate("1. first\n2. second").steps] == ["first", "second"]


def test_an_answer_is_taken_as_text_or_object() -> None:
    assert GeneratorOutput.from_text("a [1]").text == "a [1]"
    for reply in ({"text": "a [1]"}, "a [1]", {"answer": "a [1]", "x": 1}, ["a [1]"]):
        assert GeneratorOutput.model_validate(reply).text == "a [1]"


@pytest.mark.parametrize("model", [ParserOutput, GrapherOutput, PlannerOutput, GeneratorOutput])
@pytest.mark.parametrize("reply", [None, 3, {}, {"a": 1, "b": 2}])
def test_a_reply_without_content_is_refused_so_that_it_is_asked_again(model: type[BaseModel], reply: Any) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(reply)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["spans", "edges", "steps", "text", "evidence", "say", "i", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(_json, st.sampled_from([ParserOutput, GrapherOutput, PlannerOutput, GeneratorOutput]))
def test_any_json_is_taken_or_refused_by_validation_alone(reply: Any, model: type[BaseModel]) -> None:
    try:
        output = model.model_validate(reply)
    except ValidationError:
        return
    assert model.model_validate(output.model_dump()) == output


def test_outputs_come_through_dspys_own_parsing() -> None:
    adapter = dspy.JSONAdapter()
    parsed = adapter.parse(Parser, '{"tree": {"spans": ["1-2 NS cause"]}}')
    assert parsed["tree"].spans == ["1-2 NS cause"]
    bare = adapter.parse(Grapher, '{"graph": ["1>2 SUPPORTS"]}')
    assert bare["graph"].edges == ["1>2 SUPPORTS"]
