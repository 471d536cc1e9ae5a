"""A language model that answers by role: a real `dspy.LM` whose engine looks at which output is asked for.

    lm = scripted_lm({"answer": "Two of three studies agree [1][2]."})
    lm.script.garble("grapher")             # the next grapher reply is nonsense
    with dspy.context(lm=lm): ...
    lm.script.asked("planner")[0].text      # the exact prompt

Replies are given per output field (`tree`, `graph`, `plan`, `answer`, `other` for any request that is no role's), as
text, as something JSON can hold, as an exception to raise, as a function of the `Ask`, or as a list of those, used
one by one (the last one stays). Without a reply a role gets a plausible one.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.lm15 import Config, Message, Request, Response, TextPart, Usage

FIELDS = {"parser": "tree", "grapher": "graph", "planner": "plan", "generator": "answer"}
ROLES = {field: role for role, field in FIELDS.items()}
_REMINDER = re.compile(r"^(?:Reply|Write) .*`(tree|graph|plan|answer)`", re.MULTILINE)

Reply = Any


@dataclass(frozen=True)
class Ask:
    """One request as the engine saw it."""

    field: str
    system: str
    turns: tuple[tuple[str, str], ...]
    config: Config

    @property
    def role(self) -> str:
        return ROLES.get(self.field, "other")

    @property
    def text(self) -> str:
        """The whole prompt: system text, then the turns."""
        return "\n\n".join([self.system, *(text for _, text in self.turns)])

    @property
    def last(self) -> str:
        return self.turns[-1][1]


def _text(parts: Any) -> str:
    if parts is None or isinstance(parts, str):
        return parts or ""
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def read_request(request: Request) -> Ask:
    turns = tuple((message.role, _text(message.parts)) for message in request.messages)
    found = _REMINDER.findall(turns[-1][1])
    return Ask(found[-1] if found else "other", _text(request.system), turns, request.config)


def plausible(ask: Ask) -> Reply:
    """What a well-behaved small model might say to this request."""
    if ask.field == "tree":
        count = len(re.findall(r"^\[\d+\]", ask.last, re.MULTILINE))
        return {"spans": [f"{first}-{count} NS elaboration" for first in range(count - 1, 0, -1)]}
    chunks = [int(number) for number in re.findall(r"^\[(\d+)\]", ask.last, re.MULTILINE)]
    if ask.field == "graph":
        return {"edges": [f"{a}>{b} ELABORATES" for a, b in itertools.pairwise(chunks)]}
    if ask.field == "plan":
        cited = [str(number) for number in chunks]
        return {"steps": [{"move": "claim", "say": "state the finding", "evidence": cited, "reconcile": ""}]}
    if ask.field == "answer":
        return f"This is the finding {f'[{chunks[0]}]' if chunks else ''}".strip() + "."
    return "ok"


class Script:
    """The engine. Thread-safe; a deep copy is the same script, so optimizers may copy the program."""

    def __init__(self, replies: Mapping[str, Reply] | None = None, *, schema: bool = True) -> None:
        self.replies: dict[str, Reply] = dict(replies or {})
        self.supports_response_schema = schema
        self.supports_function_calling = False
        self.supports_reasoning = False
        self.supported_params = frozenset({"response_format", "temperature", "max_tokens"} if schema else ())
        self.requests: list[Ask] = []
        self._faults: dict[str, deque[Callable[[str], str]]] = defaultdict(deque)
        self._used: dict[str, int] = defaultdict(int)
        self._lock = threading.RLock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Script:
        return self

    def asked(self, role: str) -> list[Ask]:
        """The requests of one role, in order."""
        return [ask for ask in self.requests if ask.role == role]

    def _fault(self, role: str, times: int, change: Callable[[str], str]) -> None:
        self._faults[FIELDS.get(role, role)].extend([change] * times)

    def fail(self, role: str, error: Exception | None = None, times: int = 1) -> None:
        """The next `times` requests of the role raise (default: a server error)."""

        def change(_: str) -> str:
            raise error or dspy.LMServerError("scripted failure", status=500)

        self._fault(role, times, change)

    def garble(self, role: str, times: int = 1, text: str = "I am not able to do that.") -> None:
        """The next `times` replies of the role are `text`."""
        self._fault(role, times, lambda _: text)

    def truncate(self, role: str, times: int = 1, keep: float = 0.6) -> None:
        """The next `times` replies of the role are cut, as at `max_tokens`."""
        self._fault(role, times, lambda reply: "\0" + reply[: max(1, int(len(reply) * keep))])

    def _say(self, ask: Ask) -> str:
        reply = self.replies.get(ask.field, plausible)
        if isinstance(reply, list):
            turn = self._used[ask.field]
            self._used[ask.field] += 1
            reply = reply[min(turn, len(reply) - 1)]
        if callable(reply):
            reply = reply(ask)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)

    def complete(self, request: Request) -> Response:
        ask = read_request(request)
        with self._lock:
            self.requests.append(ask)
            faults = self._faults[ask.field]
            fault = faults.popleft() if faults else None
            text = self._say(ask)
        if fault is not None:
            text = fault(text)
        cut = text.startswith("\0")
        text = text.removeprefix("\0")
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant(text),
            finish_reason="length" if cut else "stop",
            usage=Usage(input_tokens=len(ask.text) // 4, output_tokens=len(text) // 4),
        )


class AsyncScript:
    """The same script for `await`."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def __deepcopy__(self, memo: dict[int, Any]) -> AsyncScript:
        return self

    async def complete(self, request: Request) -> Response:
        return self.script.complete(request)


class ScriptedLM(dspy.LM):
    """`dspy.LM` with its script at hand."""

    @property
    def script(self) -> Script:
        assert isinstance(self.engine, Script)
        return self.engine


def scripted_lm(
    replies: Mapping[str, Reply] | None = None, *, schema: bool = True, name: str = "scripted/model", **settings: Any
) -> ScriptedLM:
    """A `dspy.LM` over a new `Script`. Not cached and not retried unless asked.

    Args:
        replies: By output field; see the module's text.
        schema: Whether the "server" takes a JSON schema.
        name: Model name, part of cache keys.
        settings: Anything `dspy.LM` takes, such as `cache=True`.
    """
    script = Script(replies, schema=schema)
    options: dict[str, Any] = {"cache": False, "num_retries": 0, "temperature": 0.0, "max_tokens": 1024, **settings}
    return ScriptedLM(name, engine=script, async_engine=AsyncScript(script), **options)
