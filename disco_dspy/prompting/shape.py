"""The form of a role's reply: as one line for the prompt, as a JSON schema for the wire, and read back leniently."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import dspy
import json_repair
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, ValidationError

# One example per property, since an instruction that was tuned may no longer show the form of an item.
# They name the parts instead of showing values: small models copy values (seen with a 1.5B, word for word).
EXAMPLES = {"spans": "i-j NUC relation", "edges": "source>target RELATION", "evidence": "chunk.unit"}
ELLIPSIS = "..."

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_DROPPED = frozenset({"title", "description", "default", "examples"})
_FENCE = re.compile(r"^\s*```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\s*$", re.DOTALL)
_LIKE_JSON = re.compile(r"""\{|\[\s*(?:["'{]|\d+\s*-)""")
# Reasoning models served without a reasoning parser leave their thoughts in the reply.
_THOUGHTS = re.compile(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@runtime_checkable
class ReadsText(Protocol):
    """An output model whose reply is plain text instead of JSON."""

    @classmethod
    def from_text(cls, text: str) -> Any:
        """Returns the output that a plain reply means."""
        ...


@dataclass(frozen=True)
class Reply:
    """What a model sent.

    Attributes:
        text: As it came.
        cut: Whether it ended in the middle (JSON that is not closed).
    """

    text: str
    cut: bool = False


def output_of(signature: type[dspy.Signature]) -> tuple[str, type[BaseModel]]:
    """Returns the name and the model of a role's single output.

    Raises:
        TypeError: If the signature has another number or kind of outputs.
    """
    fields = list(signature.output_fields.items())
    if len(fields) != 1:
        raise TypeError(f"{signature.__name__} must have one output field, not {len(fields)}")
    name, field = fields[0]
    model = field.annotation
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise TypeError(f"{signature.__name__}.{name} must be a pydantic model")
    return name, model


def reads_text(model: type[BaseModel]) -> bool:
    """Returns whether the reply is plain text."""
    return issubclass(model, ReadsText)


@lru_cache(maxsize=64)
def wire_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON schema for `response_format`: strict, without references, titles and descriptions.

    Args:
        model: Without recursion and dictionaries (servers refuse the one and empty the other).
    """
    schema = model.model_json_schema()
    return _inlined(schema, schema.get("$defs", {}))


def narrowed(schema: dict[str, Any], items: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns a schema whose lists are held to what this one call allows.

    Args:
        schema: From `wire_schema`.
        items: By property, `outer.inner` for a list inside the objects of a list: `pattern` of an item, `minItems`,
            `maxItems`.

    Raises:
        KeyError: If the schema has no such list.
    """
    made = copy.deepcopy(schema)
    for path, rules in items.items():
        node = made
        for name in path.split("."):
            node = node.get("items", node)["properties"][name]
        if "pattern" in rules:
            node["items"]["pattern"] = rules["pattern"]
        for limit in ("minItems", "maxItems"):
            if limit in rules:
                node[limit] = rules[limit]
    return made


def numbers_to(last: int) -> str:
    """Returns a pattern for the numbers from 1 to `last`, as any regular-expression dialect reads it."""
    return "(" + "|".join(str(number) for number in range(1, last + 1)) + ")"


def one_of(labels: Iterable[str]) -> str | None:
    """Returns a pattern for any of these labels; none if one holds characters that patterns of servers may misread."""
    names = list(labels)
    return "(" + "|".join(names) + ")" if names and all(_PLAIN.fullmatch(name) for name in names) else None


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    made = {
        key: {name: _inlined(sub, definitions) for name, sub in value.items()}
        if key == "properties"
        else _inlined(value, definitions)
        for key, value in node.items()
        if key not in _DROPPED and key != "$defs"
    }
    if made.get("type") == "object":
        made["required"] = list(made.get("properties", {}))
        made["additionalProperties"] = False
    return made


def shape_line(model: type[BaseModel]) -> str:
    """Returns the reply's form as one line, such as `{"edges": ["source>target RELATION", ...]}`."""
    return _shape(wire_schema(model), "")


def _shape(node: dict[str, Any], name: str) -> str:
    if "properties" in node:
        return "{" + ", ".join(f'"{key}": {_shape(sub, key)}' for key, sub in node["properties"].items()) + "}"
    if node.get("type") == "array":
        return f"[{_shape(node['items'], name)}, {ELLIPSIS}]"
    if node.get("type") in {"integer", "number"}:
        return "0"
    if "enum" in node:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in node["enum"])
    return f'"{EXAMPLES.get(name, ELLIPSIS)}"'


def show_output(model: type[BaseModel], value: Any) -> str:
    """Returns an output as a model would write it, for a demonstration.

    Args:
        model: The output model.
        value: An instance, or plain data that it accepts (what a loaded program holds).
    """
    output = value if isinstance(value, model) else model.model_validate(value)
    if reads_text(model):
        return str(getattr(output, "text", output))
    return json.dumps(output.model_dump(mode="json"), ensure_ascii=False)


def read_reply(signature: type[dspy.Signature], text: str, adapter: str) -> tuple[dict[str, Any], Reply]:
    """Returns the output a reply holds, under its field's name, and what was noticed on the way.

    Lenient: thoughts and fences around the JSON, the field's name around the object, JSON that is cut or slightly
    wrong, and plain lines where a list of strings was due. What the items mean is decided later, by total decoders.

    Args:
        signature: With one output.
        text: The reply.
        adapter: Name for the error.

    Raises:
        AdapterParseError: If no output can be read.
    """
    name, model = output_of(signature)
    body = _body(text)
    if not body:
        raise _unread(signature, text, adapter, "It was empty.")
    if reads_text(model):
        return {name: _from_text(name, model, body)}, Reply(text)
    value, cut = _json(body)
    if value is None:
        value = {next(iter(model.model_fields)): body.splitlines()} if _is_lines(model) else None
        if value is None:
            raise _unread(signature, text, adapter, "It holds no JSON.")
    elif isinstance(value, dict) and name in value and name not in model.model_fields:
        value = value[name]
    try:
        return {name: model.model_validate(value)}, Reply(text, cut)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the JSON"
        raise _unread(signature, text, adapter, f"{place}: {first['msg']}.") from error


def _body(text: str) -> str:
    text = _THOUGHTS.sub("", text, count=1).strip()
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text


def _from_text(name: str, model: Any, body: str) -> Any:
    # Some models wrap everything in JSON once they have seen any.
    if body.startswith("{") and body.endswith("}"):
        try:
            value = json.loads(body)
            return model.model_validate(value[name] if isinstance(value.get(name), dict) else value)
        except (ValueError, ValidationError):
            return model.from_text(body)
    return model.from_text(body)


def _json(body: str) -> tuple[Any, bool]:
    """The JSON object or array that a reply is or contains, repaired if need be, and whether it was cut off.

    Inside prose only an object counts, or an array that is valid: brackets alone ("[1]", a section marker) would be
    repaired to an empty list, and an empty list is a reply that means something.
    """
    for start in sorted(at for at in (body.find("{"), body.find("[")) if at >= 0):
        try:
            value, end = json.JSONDecoder().raw_decode(body, start)
        except (ValueError, RecursionError):
            continue
        alone = not (body[:start] + body[end:]).strip()
        if (
            isinstance(value, dict)
            or any(isinstance(item, str | dict | list) for item in value)
            or (alone and not value)
        ):
            return value, False
    start = 0 if _LIKE_JSON.match(body) else body.find("{")
    if start < 0:
        return None, False
    try:
        value = json_repair.loads(body[start:])
    except RecursionError:
        return None, False
    if not value or not isinstance(value, dict | list):
        return None, False
    return value, not body.rstrip().endswith(("}", "]"))


def _is_lines(model: type[BaseModel]) -> bool:
    properties = wire_schema(model).get("properties", {})
    return len(properties) == 1 and all(
        sub.get("type") == "array" and sub["items"].get("type") == "string" for sub in properties.values()
    )


def _unread(signature: type[dspy.Signature], text: str, adapter: str, why: str) -> AdapterParseError:
    # DSPy annotates an instance where it wants the class.
    wanted: Any = signature
    return AdapterParseError(adapter_name=adapter, signature=wanted, lm_response=text, message=why)
