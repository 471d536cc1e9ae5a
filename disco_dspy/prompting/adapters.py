"""The two prompt layouts: shared evidence first, and role text first.

Both are DSPy adapters for signatures with one output, always set explicitly (DSPy 3.5 changes the default one). Text
is built in methods of our own and put into messages in one place each, because 3.5 changes what `format` returns.
"""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import dspy
from dspy.adapters.json_adapter import JSONAdapter
from dspy.adapters.utils import format_field_value

from disco_dspy.prompting import texts
from disco_dspy.prompting.neutralise import neutralise
from disco_dspy.prompting.shape import (
    Reply,
    narrowed,
    output_of,
    read_reply,
    reads_text,
    shape_line,
    show_output,
    wire_schema,
)

SHARED = ("evidence", "graph", "plan")
"""Inputs that stand first, in this order, so that a server re-uses what it computed for another role."""

STATIC = ("relations",)
"""Inputs that are the same in every call and in every demonstration; shown once, with the instructions."""

DEMO_EVIDENCE_LIMIT = 1600
"""Longest evidence a demonstration shows, in characters: one or two short chunks. Longer evidence is left out, since
a demonstration with its own full evidence costs more than the shared prefix saves (measured)."""

_Self = TypeVar("_Self", bound="_OneOutput")
Messages = list[dict[str, Any]]


class _OneOutput:
    """What both layouts do: sections, the form of the reply, the retry note, the schema on the wire."""

    note: str = ""
    items: Mapping[str, dict[str, Any]] = MappingProxyType({})
    reply: Reply | None = None
    messages: Messages | None = None

    def for_call(self: _Self, note: str = "", items: Mapping[str, dict[str, Any]] | None = None) -> _Self:
        """Returns a copy for one call, which keeps what was sent (`messages`) and what came back (`reply`).

        Args:
            note: Appended last, such as why the reply before was refused.
            items: Narrower rules for lists of strings on the wire; see `narrowed`.
        """
        made = copy.copy(self)
        made.note, made.items, made.reply, made.messages = note, items or {}, None, None
        return made

    def _sections(self, signature: type[dspy.Signature], names: list[str], values: dict[str, Any]) -> list[str]:
        """One `[[ ## name ## ]]` section per input that has a value."""
        made = []
        for name in names:
            value = values.get(name)
            if value not in (None, ""):
                text = format_field_value(signature.input_fields[name], value)
                made.append(f"[[ ## {name} ## ]]\n{neutralise(str(text))}")
        return made

    def _instructions(self, signature: type[dspy.Signature], inputs: dict[str, Any]) -> list[str]:
        name, model = output_of(signature)
        static = [field for field in STATIC if field in signature.input_fields]
        form = texts.SHAPE_TEXT if reads_text(model) else texts.SHAPE.format(shape=shape_line(model))
        described = (signature.output_fields[name].json_schema_extra or {}).get("desc", "")
        if described and described != f"${{{name}}}":
            form = f"{form}\n`{name}`: {described}"
        return [textwrap.dedent(signature.instructions).strip(), *self._sections(signature, static, inputs), form]

    def _reminder(self, signature: type[dspy.Signature]) -> str:
        name, model = output_of(signature)
        return (texts.REMINDER_TEXT if reads_text(model) else texts.REMINDER).format(name=name)

    def _ending(self, signature: type[dspy.Signature]) -> list[str]:
        return [self._reminder(signature), self.note] if self.note else [self._reminder(signature)]

    def _demos(self, signature: type[dspy.Signature], demos: list[Any]) -> list[dict[str, Any]]:
        """Demonstrations that have the output and an input to show for it, as they are shown.

        A grapher's demonstration whose evidence is too long falls away: edges between unseen chunks teach nothing.
        """
        name, _ = output_of(signature)
        own = [field for field in signature.input_fields if field not in STATIC]
        shown = [shown_demo(dict(demo)) for demo in demos if name in demo]
        return [demo for demo in shown if any(demo.get(field) not in (None, "") for field in own)]

    def _prepare_response_format(
        self, lm: dspy.BaseLM, lm_kwargs: dict[str, Any], signature: type[dspy.Signature]
    ) -> None:
        # DSPy's own choice, but for three things: plain text needs no format; the schema is the output model itself,
        # without the field's name around it; and it keeps the patterns of list items.
        name, model = output_of(signature)
        if reads_text(model) or "response_format" not in lm.supported_params:
            return
        if lm.supports_response_schema:
            schema = {"name": name, "strict": True, "schema": narrowed(wire_schema(model), self.items)}
            lm_kwargs["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            lm_kwargs["response_format"] = {"type": "json_object"}

    def _read(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        self.reply = Reply(completion)
        fields, self.reply = read_reply(signature, completion, type(self).__name__)
        return fields


class EvidenceFirst(_OneOutput, JSONAdapter):
    """Constant system text, then evidence, graph and plan, then everything that belongs to one role.

    Grapher, planner and generator get the same bytes up to the end of the evidence, planner and generator up to the
    end of the graph, with or without demonstrations, whatever their instructions.

    Args:
        system: The constant system text (`texts.system_text`).
    """

    def __init__(self, system: str) -> None:
        super().__init__(use_native_function_calling=False)
        self.system = system

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        """Returns the same text for every role."""
        return self.system

    def format(self, signature: type[dspy.Signature], demos: list[Any], inputs: dict[str, Any]) -> Messages:
        """Returns one system and one user message."""
        shared = [name for name in SHARED if name in signature.input_fields]
        own = [name for name in signature.input_fields if name not in SHARED and name not in STATIC]
        examples = self._examples(signature, demos, own)
        parts = [
            *self._sections(signature, shared, inputs),
            "# Task",
            *self._instructions(signature, inputs),
            *examples,
            *(["# Now the case at the top"] if examples else []),
            *self._sections(signature, own, inputs),
            *self._ending(signature),
        ]
        self.messages = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": "\n\n".join(parts)},
        ]
        return self.messages

    def _examples(self, signature: type[dspy.Signature], demos: list[Any], own: list[str]) -> list[str]:
        name, model = output_of(signature)
        parts = []
        for number, demo in enumerate(self._demos(signature, demos), 1):
            fields = [field for field in (*SHARED, *own) if field in signature.input_fields]
            sections = [text.replace("[[ ## ", "[[ ## example ", 1) for text in self._sections(signature, fields, demo)]
            parts += [f"# Example {number}", *sections, f"Reply: {neutralise(show_output(model, demo[name]))}"]
        return parts

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """Returns `{output field: output}`; see `read_reply`."""
        return self._read(signature, completion)


class RoleFirst(_OneOutput, JSONAdapter):
    """Instructions, relation table and form in the system text, demonstrations as turns, then the input.

    For the parser, whose chunks have nothing in common but the role: everything before the chunk is re-used.
    """

    def __init__(self) -> None:
        super().__init__(use_native_function_calling=False)

    def format(self, signature: type[dspy.Signature], demos: list[Any], inputs: dict[str, Any]) -> Messages:
        """Returns a system message, two messages per demonstration, and the user message."""
        name, model = output_of(signature)
        own = [field for field in signature.input_fields if field not in STATIC]
        system = "\n\n".join([*self._instructions(signature, inputs), texts.DATA_RULE])
        messages: Messages = [{"role": "system", "content": system}]
        for demo in self._demos(signature, demos):
            shown = [*self._sections(signature, own, demo), self._reminder(signature)]
            messages.append({"role": "user", "content": "\n\n".join(shown)})
            messages.append({"role": "assistant", "content": show_output(model, demo[name])})
        content = "\n\n".join([*self._sections(signature, own, inputs), *self._ending(signature)])
        messages.append({"role": "user", "content": content})
        self.messages = messages
        return messages

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """Returns `{output field: output}`; see `read_reply`."""
        return self._read(signature, completion)


def shown_demo(demo: dict[str, Any]) -> dict[str, Any]:
    """Returns a demonstration without evidence that is too long to be shown; what is left out is never rendered.

    Args:
        demo: Field values.
    """
    evidence = demo.get("evidence")
    if isinstance(evidence, str) and len(evidence) > DEMO_EVIDENCE_LIMIT:
        return {field: value for field, value in demo.items() if field != "evidence"}
    return dict(demo)
