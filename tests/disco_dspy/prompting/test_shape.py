from __future__ import annotations

import json
from typing import Any

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from hypothesis import given
from hypothesis import strategies as st

from disco_dspy.prompting.shape import (
    narrowed,
    one_of,
    output_of,
    read_reply,
    reads_text,
    shape_line,
    show_output,
    wire_schema,
)
from signatures.generator import Generator
from signatures.grapher import Grapher
from signatures.parser import Parser, ParserOutput
from signatures.planner import Planner, PlannerOutput

ALL = (Parser, Grapher, Planner, Generator)


def read(signature: type[dspy.Signature], text: str) -> tuple[Any, bool]:
    fields, reply = read_reply(signature, text, "Test")
    assert reply.text == text
    return fields[output_of(signature)[0]], reply.cut


def nodes(schema: Any) -> list[dict[str, Any]]:
    found = [schema] if isinstance(schema, dict) else []
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []:
        found += nodes(value)
    return found


@pytest.mark.parametrize("signature", [Parser, Grapher, Planner])
def test_schema_is_what_strict_servers_take(signature: type[dspy.Signature]) -> None:
    schema = wire_schema(output_of(signature)[1])
    for node in nodes(schema):
        assert not {"$ref", "$defs", "title", "description", "default", "anyOf"} & set(node)
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
    assert '"pattern"' in json.dumps(schema)


def test_schema_keeps_the_order_of_fields() -> None:
    steps = wire_schema(PlannerOutput)["properties"]["steps"]["items"]
    assert list(steps["properties"]) == ["move", "say", "evidence", "reconcile"]


def test_shapes_are_one_line_each() -> None:
    assert shape_line(ParserOutput) == '{"spans": ["i-j NUC relation", ...]}'
    assert shape_line(output_of(Grapher)[1]) == '{"edges": ["source>target RELATION", ...]}'
    assert shape_line(PlannerOutput) == (
        '{"steps": [{"move": "...", "say": "...", "evidence": ["chunk.unit", ...], "reconcile": "..."}, ...]}'
    )


def test_only_the_generator_writes_text() -> None:
    assert [reads_text(output_of(signature)[1]) for signature in ALL] == [False, False, False, True]


def test_narrowing_leaves_the_shared_schema_alone() -> None:
    schema = wire_schema(ParserOutput)
    before = json.dumps(schema)
    made = narrowed(schema, {"spans": {"maxItems": 3, "pattern": "^x$"}})
    assert made["properties"]["spans"]["maxItems"] == 3
    assert made["properties"]["spans"]["items"]["pattern"] == "^x$"
    assert json.dumps(schema) == before


def test_lists_inside_a_list_are_narrowed() -> None:
    made = narrowed(wire_schema(PlannerOutput), {"steps": {"maxItems": 2}, "steps.evidence": {"pattern": "^1$"}})
    assert made["properties"]["steps"]["maxItems"] == 2
    assert made["properties"]["steps"]["items"]["properties"]["evidence"]["items"]["pattern"] == "^1$"
    with pytest.raises(KeyError):
        narrowed(wire_schema(PlannerOutput), {"stairs": {"maxItems": 2}})


def test_patterns_only_of_labels_that_every_server_reads_alike() -> None:
    assert one_of(["cause", "same-unit", "CAUSED_BY"]) == "(cause|same-unit|CAUSED_BY)"
    assert one_of(["cause", "a.b"]) is None
    assert one_of(["对比"]) is None
    assert one_of([]) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"spans": ["1-2 NS cause"]}',
        '{"tree": {"spans": ["1-2 NS cause"]}}',
        '["1-2 NS cause"]',
        '```json\n{"spans": ["1-2 NS cause"]}\n```',
        '<think>1 and 2 belong together {"spans": []}</think>\n{"spans": ["1-2 NS cause"]}',
        'Here is the tree: {"spans": ["1-2 NS cause"]} I hope it helps [1].',
        '{"spans": ["1-2 NS cause",]}',
        "{'spans': ['1-2 NS cause']}",
        "1-2 NS cause",
    ],
)
def test_parser_replies_in_many_wrappings(text: str) -> None:
    output, cut = read(Parser, text)
    assert output.spans == ["1-2 NS cause"] and not cut


def test_a_reply_that_is_cut_says_so() -> None:
    output, cut = read(Parser, '{"spans": ["1-2 NS cause", "3-4 NN jo')
    assert output.spans[0] == "1-2 NS cause" and cut


@pytest.mark.parametrize("text", ["", "   ", "```\n```", "<think>hm</think>"])
@pytest.mark.parametrize("signature", ALL)
def test_empty_replies_are_refused(signature: type[dspy.Signature], text: str) -> None:
    with pytest.raises(AdapterParseError, match="It was empty"):
        read(signature, text)


def test_prose_is_no_plan() -> None:
    with pytest.raises(AdapterParseError, match="It holds no JSON"):
        read(Planner, "First I would look at chunk 1.")


@pytest.mark.parametrize(
    "text",
    ["See [1] and [2].", "Sorry [[ ## answer ## ]]", "[[ ## graph ## ]]", "[...]", "[1] is about [2]", "{}", "{"],
)
def test_brackets_in_prose_are_no_empty_list(text: str) -> None:
    try:
        output, _ = read(Grapher, text)
    except AdapterParseError:
        return
    assert output.edges == [text]


def test_an_empty_list_is_a_reply() -> None:
    for text in ('{"edges": []}', "[]", 'None are related: {"edges": []}'):
        assert read(Grapher, text)[0].edges == []


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(AdapterParseError, match=r"^steps: "):
        read(Planner, '{"no": 1}')


@pytest.mark.parametrize(
    "text", ['{"answer": "Yes [1]."}', '{"answer": {"text": "Yes [1]."}}', '{"text": "Yes [1]."}', "Yes [1]."]
)
def test_answers_with_and_without_json(text: str) -> None:
    assert read(Generator, text)[0].text == "Yes [1]."


@given(st.text(), st.sampled_from(ALL))
def test_any_text_is_read_or_refused(text: str, signature: type[dspy.Signature]) -> None:
    try:
        output, _ = read(signature, text)
    except AdapterParseError:
        return
    assert isinstance(output, output_of(signature)[1])


@given(st.lists(st.text(max_size=20), max_size=5))
def test_an_output_shown_is_read_back(spans: list[str]) -> None:
    output = ParserOutput(spans=spans)
    shown = show_output(ParserOutput, output)
    assert "\n" not in shown
    assert read(Parser, shown)[0] == output
    assert show_output(ParserOutput, output.model_dump()) == shown
