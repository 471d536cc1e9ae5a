"""A model behind an OpenAI-compatible server on loopback: plays all roles from gold, better once it was tuned.

Its replies depend on nothing but the request, so two campaigns see the same model. Untuned (no demonstration, no
`TUNED` in the instructions) it answers half of the items right; tuned, all of them.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from disco_dspy.prompting.evidence import render_edus
from disco_dspy.prompting.neutralise import neutralise
from optimize.benchmarks.gum import Gum
from optimize.benchmarks.hotpotqa import HotpotQA
from signatures.decode_tree import encode_tree

TUNED = "TUNED"
_REMINDER = re.compile(r"^(?:Reply|Write) .*`(tree|graph|plan|answer)`", re.MULTILINE)


@cache
def gold_trees() -> dict[str, list[str]]:
    return {neutralise(render_edus(t.text, t.edus)): encode_tree(t) for t in Gum().gold.values()}


@cache
def gold_answers() -> dict[str, str]:
    return {neutralise(row["question"].strip()): row["answer"] for row in HotpotQA().rows.values()}


def lucky(text: str) -> bool:
    """Half of all texts, always the same half."""
    return hashlib.sha256(text.encode()).digest()[0] % 2 == 0


def reply(body: dict[str, Any]) -> str:
    """What the model says to a request."""
    messages = body["messages"]
    prompt = "\n".join(str(message["content"]) for message in messages)
    last = str(messages[-1]["content"])
    found = _REMINDER.findall(last)
    field = found[-1] if found else ""
    if field == "tree":
        tuned = TUNED in prompt or sum(message["role"] == "user" for message in messages) > 1
        chunk = next((text for text in gold_trees() if text in last), None)
        if chunk is not None and (tuned or lucky(chunk)):
            return json.dumps({"spans": gold_trees()[chunk]})
        count = len(re.findall(r"^\[\d+\]", last, re.MULTILINE))
        return json.dumps({"spans": [f"{n}-{count} NN joint" for n in range(count - 1, 0, -1)]})
    if field == "graph":
        return json.dumps({"edges": ["1>2 ELABORATES"]})
    if field == "plan":
        return json.dumps({"steps": [{"move": "answer", "say": "give it", "evidence": ["1"], "reconcile": ""}]})
    if field == "answer":
        question, answer = next(((q, a) for q, a in gold_answers().items() if q in last), ("", "nothing"))
        return f"{answer} [1]" if TUNED in prompt or "# Example" in prompt or lucky(question) else "nobody knows [1]"
    if "new_instruction" in prompt:
        return json.dumps({"new_instruction": f"Do the task with care. {TUNED} {len(prompt) % 97}"})
    return json.dumps({"answer": "disco"})


class Backend:
    """The running server.

    Attributes:
        api_base: Its address.
        answered: How often each request, by content, was answered in full.
        received: Requests that arrived.
        on_request: Called with the running number of each request before it is answered; true leaves it unanswered.
        status: HTTP status to answer with.
        stubborn: Whether the first answer to anything is of no use, so that every role asks twice.
    """

    def __init__(self) -> None:
        self.api_base = ""
        self.answered: Counter[str] = Counter()
        self.received = 0
        self.on_request: Callable[[int], bool] = lambda number: False
        self.status = 200
        self.stubborn = False
        self.lock = threading.Lock()

    def config(self, folder: Path) -> Path:
        """Writes a `disco.toml` that names this server `fake`, and returns its path."""
        path = folder / "disco.toml"
        path.write_text(
            f'[backbones.fake]\nmodel = "fake-1"\napi_base = "{self.api_base}"\nmax_retries = 0\n'
            "[roles]\ndefault = 'fake'\n[program]\nk = 3\n",
            encoding="utf-8",
        )
        return path


@contextmanager
def backend() -> Iterator[Backend]:
    state = Backend()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet a reply: two would wait for a delayed acknowledgement, 40 ms a call

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.received += 1
                number = state.received
            if state.on_request(number):
                self.close_connection = True
                return
            first = "could not be used" not in str(body["messages"][-1]["content"])
            useless = state.stubborn and first and "disco" not in str(body["messages"])
            text = "I would rather not." if useless else reply(body)
            data: dict[str, Any] = {"error": {"message": "told to fail", "type": "error"}}
            if state.status == 200:
                usage = {"prompt_tokens": len(str(body)) // 4, "completion_tokens": len(text) // 4}
                data = {
                    "id": "r",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "fake-1",
                    "choices": [
                        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                    ],
                    "usage": {**usage, "total_tokens": sum(usage.values())},
                }
            raw = json.dumps(data).encode()
            self.send_response(state.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            self.wfile.flush()
            with state.lock:
                state.answered[hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()] += 1

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.api_base = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
