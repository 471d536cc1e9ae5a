"""A project in a temporary folder, an endpoint on loopback that plays the four roles and embeds, the command itself."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from disco_dspy.cli.main import main
from tests.disco_dspy.fake_server import FakeServer, chat_reply, fake_server
from tests.scripted import Ask, plausible

ROOT = Path(__file__).parents[3]
DIMENSION = 16

DOCUMENTS = {
    "bronchiolitis.md": "# Bronchiolitis\n\nThe spray did not shorten the stay. However, it helped where a lung had "
    "collapsed. More studies are needed.\n",
    "malacia.md": "# Malacia\n\nThe spray brought no benefit. Children coughed less without it, although the "
    "difference was small.\n",
    "drains.txt": "Drains were compared with no drains. Fewer seromas formed with a drain, but the stay was longer.\n",
}


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The code of the error that was shown; empty when there was none."""
        lines = [line for line in self.err.splitlines() if line.startswith("error ")]
        return lines[0].split()[1].rstrip(":") if lines else ""


def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Answers as a small, well-behaved model and embedder would."""
    if "input" in body:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        rows = [{"object": "embedding", "index": at, "embedding": embed(text)} for at, text in enumerate(texts)]
        return 200, {
            "object": "list",
            "data": rows,
            "model": body["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
    return chat_reply(say(body))


def say(body: dict[str, Any]) -> str:
    reply = plausible(read_body(body))
    return reply if isinstance(reply, str) else json.dumps(reply)


def read_body(body: dict[str, Any]) -> Ask:
    """The same view of a request as the scripted engine has, from what was on the wire."""
    from dspy.lm15 import Config

    from tests.scripted import _REMINDER

    turns = tuple((message["role"], str(message["content"])) for message in body["messages"])
    found = _REMINDER.findall(turns[-1][1])
    system = next((text for role, text in turns if role == "system"), "")
    return Ask(found[-1] if found else "other", system, tuple(turn for turn in turns if turn[0] != "system"), Config())


def embed(text: str) -> list[float]:
    """Words hashed into a few numbers: texts that share words are near each other."""
    row = [0.01] * DIMENSION
    for word in text.lower().split():
        row[hashlib.sha256(word.encode()).digest()[0] % DIMENSION] += 1.0
    return row


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server(play) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> Path:
    """The current folder: a corpus and a disco.toml whose backbone and embedder are the server."""
    folder = tmp_path / "project"
    (folder / "corpus").mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (folder / "corpus" / name).write_text(text, encoding="utf-8")
    write_config(folder, server.api_base)
    for name in [name for name in os.environ if name.startswith("DISCO_") and name != "DISCO_CACHE"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(folder)
    return folder


def write_config(folder: Path, api_base: str, *, model: str = "tiny", key: str = "", extra: str = "") -> None:
    key_line = f'api_key_env = "{key}"\n' if key else ""
    (folder / "disco.toml").write_text(
        f'embedder = "litellm:openai/words"\n{extra}\n'
        f'[embedding]\napi_base = "{api_base}"\ndimension = {DIMENSION}\n\n'
        f'[backbones.lab]\nmodel = "{model}"\napi_base = "{api_base}"\nmax_retries = 0\n{key_line}\n'
        '[roles]\ndefault = "lab"\n',
        encoding="utf-8",
    )


Command = Callable[..., Run]


@pytest.fixture
def disco(project: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in this process."""

    def run(*arguments: str) -> Run:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return run


@pytest.fixture
def start(project: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the command as a process of its own."""

    def run(*arguments: str) -> subprocess.Popen[str]:
        code = "from disco_dspy.cli.main import run; run()"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run
