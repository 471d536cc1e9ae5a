"""The Parser: one chunk to its RST tree, as a flat list of spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import dspy
from pydantic import BeforeValidator, WithJsonSchema, model_validator

from signatures.lenient import Reply, json_inside, lines_of, pick, wrap

SPAN_PATTERN = "^[0-9]{1,3}-[0-9]{1,3} (NS|SN|NN) [a-z][a-z-]{1,23}$"
"""What a server that constrains output holds each item to. The label set is a run-time table, so only its shape."""


def _write(item: Mapping[str, Any]) -> str:
    span = pick(item, "span", "edus", "range", "units")
    first, last = pick(item, "i", "first", "start", "from"), pick(item, "j", "last", "end", "to")
    nuclearity = pick(item, "nuc", "nuclearity", "type")
    return f"{span or f'{first}-{last}'} {nuclearity} {pick(item, 'rel', 'relation', 'label')}"


Span = Annotated[str, WithJsonSchema({"type": "string", "pattern": SPAN_PATTERN})]


class ParserOutput(Reply):
    """Spans of a tree, bottom-up, each `i-j NUC relation`. Lenient; `decode_tree` makes a valid tree of any list."""

    spans: Annotated[list[Span], BeforeValidator(lines_of(_write))]

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        return wrap("spans", ("tree", "nodes", "relations"))(json_inside(value))


class Parser(dspy.Signature):
    """Build the rhetorical structure tree of a text that is already cut into numbered units.

    Join neighbouring parts, two at a time, until one span covers all units: first the units of each sentence, then
    neighbouring sentences, then ever larger parts.
    Write every join as one string "i-j NUC relation":
    - i-j: number of the first and of the last unit of the joined span, i smaller than j.
    - NUC: the part that matters more. NS = the left part, SN = the right part, NN = both alike.
    - relation: one label of the table in `relations`, with a NUC that the table allows for it.
    A text of n units needs exactly n-1 strings. With 5 units, for instance, the spans could be 1-2, 4-5, 3-5 and 1-5.
    No span twice. Spans lie inside each other or apart, they never cross. The last one covers units 1 to n.
    Choose each relation by what the two parts say, not by habit. Never write the text of a unit.
    """

    relations: str = dspy.InputField(desc="table of allowed labels, each with its NUC and meaning")
    chunk: str = dspy.InputField(desc="the text as numbered units, one a line; an empty line is a paragraph break")
    tree: ParserOutput = dspy.OutputField(desc="all n-1 joins, bottom-up")
