"""The Grapher: all retrieved chunks together to their rhetorical graph, as a sparse list of edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import dspy
from pydantic import BeforeValidator, WithJsonSchema, model_validator

from signatures.lenient import Reply, json_inside, lines_of, pick, wrap

EDGE_PATTERN = "^[0-9]{1,3}>[0-9]{1,3} [A-Z][A-Z_]{1,23}$"
"""What a server that constrains output holds each item to."""


def _write(item: Mapping[str, Any]) -> str:
    source = pick(item, "source", "src", "from", "i", "a", "chunk1")
    target = pick(item, "target", "dst", "to", "j", "b", "chunk2")
    return f"{source}>{target} {pick(item, 'relation', 'rel', 'label', 'type')}"


EdgeText = Annotated[str, WithJsonSchema({"type": "string", "pattern": EDGE_PATTERN})]


class GrapherOutput(Reply):
    """The edges of a graph, each `source>target RELATION`. Lenient; `decode_graph` keeps what is valid."""

    edges: Annotated[list[EdgeText], BeforeValidator(lines_of(_write))]

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        return wrap("edges", ("graph", "relations", "links"))(json_inside(value))


class Grapher(dspy.Signature):
    """Say how the numbered chunks of the evidence relate to each other.

    Look at all chunks together. For each pair whose contents really bear on each other, write one string
    "source>target RELATION": RELATION is one label of the table in `relations`, and the sentence
    "chunk source RELATION chunk target" is true.
    - Leave unrelated pairs out; sharing a topic or a word is not enough. No edges at all is a valid answer: [].
    - Look hardest for chunks that disagree, differ or limit each other on the same point.
    - At most one relation for a pair. Only chunk numbers that exist. Never a chunk with itself.
    """

    evidence: str = dspy.InputField(desc="the numbered chunks")
    relations: str = dspy.InputField(desc="table of allowed labels with their meaning")
    graph: GrapherOutput = dspy.OutputField(desc="the related pairs, strongest first")
