"""Campaigns that are killed or interrupted end as if nothing had happened, and ask nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from optimize import data
from tests.optimize.backend import Backend
from tests.optimize.conftest import Compile

BUDGETS = {"bootstrap": 24, "gepa": 70}


def interrupted(model: Backend, words: list[str], at: int, signal_number: int) -> tuple[int, str]:
    """Runs the command in a process of its own and sends it a signal at its n-th request, which stays unanswered."""
    root = Path(data.__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "optimize.compile", *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    start = model.received

    def strike(number: int) -> bool:
        if number - start == at:
            process.send_signal(signal_number)
            return True
        return False

    model.on_request = strike
    try:
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
        model.on_request = lambda number: False
    return process.returncode, errors


@pytest.fixture(autouse=True)
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Campaigns begun at different moments record the same one, so that artifacts can be compared byte by byte."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1750000000")


@pytest.mark.parametrize("optimizer", BUDGETS)
def test_sigkill_in_the_middle(
    compiled: Compile, arguments: Callable[..., list[str]], model: Backend, tmp_path: Path, optimizer: str
) -> None:
    whole = compiled(optimizer=optimizer, max_calls=BUDGETS[optimizer])
    assert whole.code == 0
    options = {
        "optimizer": optimizer,
        "max_calls": BUDGETS[optimizer],
        "runs": tmp_path / "runs2",
        "out": tmp_path / "program2",
    }
    model.answered.clear()
    half = whole.asked // 2
    code, _ = interrupted(model, arguments(**options), half, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert not options["out"].exists()

    resumed = compiled(**options)
    assert resumed.code == 0
    assert set(model.answered.values()) == {1}, "a request that was answered was asked again"
    assert sum(model.answered.values()) == whole.asked
    assert resumed.asked == whole.asked - (half - 1)
    assert resumed.files() == whole.files()
    assert {k: v for k, v in resumed.result.items() if k not in ("run", "out")} == {
        k: v for k, v in whole.result.items() if k not in ("run", "out")
    }
    assert compiled(**options).asked == 0


def test_control_c_ends_with_130_and_goes_on(
    compiled: Compile, arguments: Callable[..., list[str]], model: Backend, tmp_path: Path
) -> None:
    options = {"runs": tmp_path / "runs2"}
    code, errors = interrupted(model, arguments(**options), 9, signal.SIGINT)
    assert code == 130
    assert "same command again" in errors and "Traceback" not in errors
    assert compiled(**options).code == 0
    assert set(model.answered.values()) == {1}
