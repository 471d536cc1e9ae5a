"""JSON: the one form that keeps everything, down to the exact white space of the text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from disco_dspy.formats.document import AS_WRITTEN, RSTDocument, as_document
from disco_dspy.formats.problems import problem
from signatures.inventory import Nuclearity
from signatures.tree import Node, RSTTree, check_shape, edus_from_starts

_SHAPES = "A tree is text, starts and rows [first, split, last, nuclearity, relation, repaired]."


def write_json(document: RSTTree | RSTDocument) -> str:
    """Returns a document on one line: exact text, EDU offsets, rows, and the extras that are not empty."""
    return json.dumps(as_document(document).to_dict(), ensure_ascii=False) + "\n"


def read_json(data: str, name: str = "") -> RSTDocument:
    """Returns the document of a JSON object.

    Read are what `write_json` and `RSTTree.to_dict` give, and the layout of the gold sample: `text`, `edus` [start,
    end) and `tree` rows [first, split, last, nuclearity, relation], where a sixth value of a row is passed over.

    Args:
        data: One object.
        name: For messages, and of the document where it has none.

    Raises:
        DiscoError: `format/json` with the line, or `format/tree` if it does not form a tree over its text.
    """
    try:
        value = json.loads(data.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        what = f"it is not JSON ({error.msg}, column {error.colno})"
        raise problem("format/json", name, what, "Repair the file or write it again.", error.lineno) from error
    except RecursionError as error:
        raise problem("format/json", name, "it is nested too deep to be a tree", _SHAPES) from error
    if not isinstance(value, dict):
        raise problem("format/json", name, f"it holds a {type(value).__name__} instead of one object", _SHAPES)
    try:
        document = _sample(value) if "edus" in value else RSTDocument.from_dict(value)
    except (ValueError, TypeError, KeyError) as error:
        raise problem("format/tree", name, f"it is not a tree over its text ({error})", _SHAPES) from error
    return document if document.name else RSTDocument(**{**document.__dict__, "name": name})


def _sample(value: Mapping[str, Any]) -> RSTDocument:
    text, spans = str(value["text"]), [(int(start), int(end)) for start, end in value["edus"]]
    edus = edus_from_starts(text, [start for start, _ in spans])
    for (start, end), edu in zip(spans, edus, strict=True):
        if text[start:end].split() != text[edu.start : edu.end].split():
            raise ValueError(f"EDU {edu.index} does not reach from the one before to the next")
    nodes = tuple(
        Node(int(row[0]), int(row[1]), int(row[2]), cast(Nuclearity, row[3]), str(row[4])) for row in value["tree"]
    )
    tree = RSTTree(text, edus, nodes, AS_WRITTEN)
    check_shape(tree)
    return RSTDocument(tree, str(value.get("id") or value.get("doc") or ""))
