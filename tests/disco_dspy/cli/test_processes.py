"""Real processes: Ctrl-C, SIGKILL, two at once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.disco_dspy.cli.conftest import ROOT, Command, play
from tests.disco_dspy.fake_server import FakeServer

QUESTION = "Does the spray help children?"
Start = Callable[..., "subprocess.Popen[str]"]


class Hold:
    """Makes the server wait before it answers requests of one kind, and tells when the first has come."""

    def __init__(self, server: FakeServer, kind: str) -> None:
        self.arrived, self.go = threading.Event(), threading.Event()
        self.kind = kind
        server.answer = self

    def __call__(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.kind in body:
            self.arrived.set()
            self.go.wait(60)
        return play(body)


def interrupted(process: subprocess.Popen[str]) -> str:
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "error run/interrupted: Stopped by Ctrl-C." in err
    assert "Traceback" not in err
    assert time.monotonic() - started < 15
    return err


def test_ctrl_c_while_indexing_keeps_the_index(disco: Command, start: Start, project: Path, server: FakeServer) -> None:
    disco("index", "corpus")
    (project / "corpus" / "more.txt").write_text("One more finding.", encoding="utf-8")
    hold = Hold(server, "input")
    process = start("index", "corpus")
    assert hold.arrived.wait(60)
    interrupted(process)
    hold.go.set()
    server.answer = play
    assert disco("status", "--json").json["index"]["documents"] == 3
    assert disco("index", "corpus", "--json").json["added"] == ["more.txt"]


def test_ctrl_c_while_a_role_is_at_work(disco: Command, start: Start, server: FakeServer) -> None:
    disco("index", "corpus")
    hold = Hold(server, "messages")
    process = start("ask", QUESTION)
    assert hold.arrived.wait(60)
    interrupted(process)
    hold.go.set()
    server.answer = play
    assert disco("ask", QUESTION).code == 0


@pytest.mark.parametrize("kill", [True, False])
def test_two_processes_index_at_once(
    disco: Command, start: Start, project: Path, server: FakeServer, kill: bool
) -> None:
    hold = Hold(server, "input")
    first = start("index", "corpus")
    assert hold.arrived.wait(60)
    second = disco("index", "corpus")
    assert (second.code, second.error) == (7, "index/busy"), second.err
    if kill:
        first.kill()
        first.communicate(timeout=30)
        hold.go.set()
        assert disco("index", "corpus", "--json").json["documents"] == 3
        return
    hold.go.set()
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert "3 documents" in out
    assert disco("ask", QUESTION).code == 0


def test_a_person_is_offered_the_embedded_model_and_may_decline(disco: Command, project: Path) -> None:
    disco("index", "corpus")
    text = (project / "disco.toml").read_text(encoding="utf-8")
    (project / "disco.toml").write_text(text.split("[backbones.lab]")[0], encoding="utf-8")
    keyboard, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from disco_dspy.cli.main import run; run()", "ask", QUESTION],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "200"},
        stdin=screen,
        stdout=subprocess.PIPE,
        stderr=screen,
    )
    os.close(screen)
    seen = ""
    while "Pull it now?" not in seen:
        seen += os.read(keyboard, 4096).decode()
    os.write(keyboard, b"n\n")
    process.wait(30)
    seen += os.read(keyboard, 4096).decode()
    os.close(keyboard)
    assert "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M (1,117 MB, Apache-2.0)" in seen
    assert "backbone/none" in seen
    assert process.returncode == 5
