"""Taking in a role's reply however it is wrapped; what it says is judged later, by total decoding."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from signatures.reading import strip_list_marker


def _bare(schema: dict[str, Any]) -> None:
    """Leaves what constrains a reply: our docstrings are not for models, and strict servers refuse defaults."""
    for key in ("title", "description"):
        schema.pop(key, None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
        field.pop("default", None)


class Reply(BaseModel):
    """Base of the roles' output models: unknown keys are ignored, and the JSON schema carries no prose of ours."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_bare)


def wrap(field: str, other_names: Iterable[str] = ()) -> Callable[[Any], Any]:
    """Returns a pydantic "before" validator that accepts the content of a one-field model without its wrapping.

    A bare list or text becomes `{field: ...}`; a known other name of the field, or the only list in an object, is
    taken for it. Anything else is left for pydantic to refuse, so that a retry can quote the failure.

    Args:
        field: The model's field.
        other_names: Names models use for it, besides any name of an only list.
    """

    def validator(value: Any) -> Any:
        if isinstance(value, list | tuple | str):
            return {field: value}
        if isinstance(value, Mapping) and field not in value:
            for name in other_names:
                if name in value:
                    return {field: value[name]}
            lists = [content for content in value.values() if isinstance(content, list)]
            if len(lists) == 1:
                return {field: lists[0]}
        return value

    return validator


def lines_of(write: Callable[[Mapping[str, Any]], str]) -> Callable[[Any], Any]:
    """Returns a "before" validator that turns what stands for a list of short strings into one.

    Text is read as JSON if it is a JSON list or object, else split at line ends; mappings go through `write`; numbers
    and lists of parts are joined to text; None and blank items fall away.

    Args:
        write: Turns one mapping, such as `{"i": 1, "j": 2, "nuc": "NS", "rel": "cause"}`, into its string.
    """

    def one(item: Any) -> str:
        if isinstance(item, Mapping):
            return write(item)
        if isinstance(item, list | tuple):
            return " ".join(one(part) for part in item)
        return "" if item is None else str(item)

    def validator(value: Any) -> Any:
        value = json_inside(value)
        if isinstance(value, str):
            value = [strip_list_marker(line) for line in value.splitlines()]
        elif value is None:
            value = []
        elif isinstance(value, Mapping):
            value = [value]
        elif isinstance(value, int | float):
            value = [str(value)]
        if not isinstance(value, list | tuple):
            return value
        return [line for line in (one(item).strip() for item in value) if line]

    return validator


def json_inside(value: Any) -> Any:
    """Returns the list or object that a text holds as JSON, or the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            # Not JSON after all ("[1] > [2] SUPPORTS"), or nested beyond reason: it is read as plain lines.
            return value
    return value


def pick(item: Mapping[str, Any], *names: str) -> str:
    """Returns the first of some keys that a mapping has, as text on one line, or "".

    Args:
        item: Keys are compared without case.
        names: In order of preference, lower case.
    """
    lowered = {str(key).lower(): content for key, content in item.items()}
    for name in names:
        if lowered.get(name) is not None:
            return " ".join(str(lowered[name]).split())
    return ""
