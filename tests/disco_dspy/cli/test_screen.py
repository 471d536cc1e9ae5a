"""Progress, pulls and diagnoses as they reach the screen."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from disco_dspy import models
from disco_dspy.cli.progress import Steps
from disco_dspy.cli.terminal import Terminal
from disco_dspy.models import PullProgress
from tests.disco_dspy.cli.conftest import Command


def screen(*, quiet: bool = False, live: bool = False) -> tuple[Terminal, io.StringIO]:
    err = io.StringIO()
    console = Console(file=err, width=100, force_terminal=live)
    return Terminal(quiet=quiet, out=Console(file=io.StringIO()), err=console), err


def test_a_pipe_gets_a_line_at_each_change_and_at_the_end() -> None:
    terminal, err = screen()
    with Steps(terminal) as steps:
        for done in range(101):
            steps.update("embed", done, 100)
        steps.update("relate")
    assert [line.split(" (")[0] for line in err.getvalue().splitlines()] == ["embed 0/100", "embed 100/100", "relate"]


def test_bytes_are_megabytes() -> None:
    terminal, err = screen()
    with Steps(terminal, unit="bytes") as steps:
        steps.update("qwen (hub)", 12_000_000, 1_117_000_000)
    assert err.getvalue().startswith("qwen (hub) 12 of 1117 MB")


def test_quiet_is_quiet() -> None:
    for live in (True, False):
        terminal, err = screen(quiet=True, live=live)
        with Steps(terminal) as steps:
            steps.update("embed", 1, 2)
        assert err.getvalue() == ""


def test_a_terminal_gets_a_bar_that_leaves_nothing_behind() -> None:
    terminal, err = screen(live=True)
    with Steps(terminal) as steps:
        steps.update("parse [bold]", 1, 3)
        steps.update("relate")
    assert "relate" in err.getvalue()
    assert err.getvalue().endswith("\x1b[?25h") or "\x1b[2K" in err.getvalue()


def test_pull_says_what_it_does(disco: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(name: str, tell: Callable[[PullProgress], None]) -> Path:
        tell(PullProgress(name, "hub", 0, 100))
        tell(PullProgress(name, "parts", 0, 100, "hub: the hub cannot be reached"))
        tell(PullProgress(name, "done", 100, 100))
        return tmp_path / name

    monkeypatch.setattr(models, "pull", pull)
    run = disco("models", "pull", "embedded-small", "minilm", "smollm2-135m")
    assert run.code == 0, run.err
    assert [line.split()[0] for line in run.out.splitlines()] == ["smollm2-135m", "minilm"]
    assert "smollm2-135m: hub: the hub cannot be reached" in run.err
    assert "smollm2-135m (parts)" in run.err
    # Without a name: what the configuration needs, which here is an endpoint for both.
    assert disco("models", "pull", "--json").json == {}


def test_doctor_names_what_is_wrong_and_what_to_do(disco: Command, project: Path) -> None:
    (project / "disco.toml").unlink()
    report = disco("doctor", "--json")
    assert report.code == 5
    found = {check["name"]: check for check in report.json["checks"]}
    assert found["model qwen2.5-coder-1.5b"]["status"] == "fail"
    assert "disco models pull" in found["model qwen2.5-coder-1.5b"]["remedy"]
    assert found["index"]["status"] == "warn"
    text = disco("doctor")
    assert "disco models pull qwen2.5-coder-1.5b" in text.out
    (project / "disco.toml").write_text("[roles]\ndefault = 'nobody'\n", encoding="utf-8")
    report = disco("doctor", "--json")
    assert report.code == 3
    assert report.json["checks"][-1]["code"] == "backbone/unknown"


def test_errors_are_json_when_json_is_asked_for(disco: Command) -> None:
    run = disco("status", "--json")
    assert run.code == 3
    assert not run.out
    assert set(json.loads(run.err)["error"]) == {"code", "sentence", "remedy", "retryable"}
