from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from optimize import compile as command
from tests.optimize.backend import Backend, backend


@pytest.fixture
def model() -> Iterator[Backend]:
    """A model behind HTTP on loopback; see `backend`."""
    with backend() as server:
        yield server


@dataclass
class Done:
    """A compile that has ended: exit code, what it wrote to stdout as JSON, requests the model got meanwhile."""

    code: int
    result: dict[str, Any]
    asked: int
    out: Path

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.out.iterdir())}

    def state(self) -> dict[str, Any]:
        return json.loads((self.out / "program.json").read_text(encoding="utf-8"))


Compile = Callable[..., Done]


@pytest.fixture
def arguments(model: Backend, tmp_path: Path) -> Callable[..., list[str]]:
    """Arguments of the command for the loopback model; keywords are options, `_` for `-`."""
    config = model.config(tmp_path)

    def make(**options: Any) -> list[str]:
        given = {
            "benchmark": "gum",
            "roles": "parser",
            "optimizer": "bootstrap",
            "backbone": "fake",
            "max_calls": 30,
            "out": tmp_path / "program",
            "runs": tmp_path / "runs",
            "config": config,
            **options,
        }
        pairs = ((f"--{name.replace('_', '-')}", str(value)) for name, value in given.items())
        return [word for pair in pairs for word in pair] + ["--json"]

    return make


@pytest.fixture
def compiled(
    model: Backend, arguments: Callable[..., list[str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Compile:
    """Runs the command in this process."""

    def run(**options: Any) -> Done:
        before = model.received
        code = command.main(arguments(**options))
        out = capsys.readouterr().out
        return Done(
            code,
            json.loads(out) if out else {},
            model.received - before,
            Path(options.get("out", tmp_path / "program")),
        )

    return run
