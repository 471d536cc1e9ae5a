"""An OpenAI-compatible server on loopback that records what was on the wire and answers as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class FakeServer:
    address: str = ""
    answer: Answer = field(default=lambda body: chat_reply("ok"))
    requests: list[Seen] = field(default_factory=list)

    @property
    def api_base(self) -> str:
        return f"{self.address}/v1"


def chat_reply(text: str, *, finish: str = "stop", cached: int = 3) -> tuple[int, dict[str, Any]]:
    return 200, {
        "id": "r",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def failure(status: int, message: str = "no", **extra: Any) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "error", "code": None, **extra}}


@contextmanager
def fake_server(answer: Answer | None = None) -> Iterator[FakeServer]:
    state = FakeServer()
    if answer is not None:
        state.answer = answer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            status, reply = state.answer(body)
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
