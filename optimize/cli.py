"""What the two command lines share: errors for people, progress on stderr, results on stdout."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from disco_dspy.config import Config, load_config
from disco_dspy.settings import ProgramSettings
from signatures.errors import DiscoError

OK, INTERRUPTED = 0, 130
SPEAK_EVERY = 10.0


def settings_of(config: Config, k: int | None) -> ProgramSettings:
    """Program settings from the `[program]` table, `k` overridden where given."""
    table = {**config.program, **({"k": k} if k is not None else {})}
    return ProgramSettings.read(table)


def read_config(path: Path | None) -> Config:
    """The configuration file named, or the one found."""
    return load_config(path)


def run(work: Callable[[], int], *, as_json: bool, resume: str) -> int:
    """Runs a command and turns its failures into messages and exit codes.

    Args:
        work: The command; returns its exit code.
        as_json: Whether errors are JSON on stdout as well.
        resume: What to say when it was interrupted.
    """
    errors = Console(stderr=True)
    try:
        return work()
    except DiscoError as error:
        code = error.exit_code
        errors.print(f"[bold red]error[/] {error.code}: {error.sentence}", highlight=False, soft_wrap=True)
        errors.print(error.remedy, highlight=False, soft_wrap=True, markup=False)
        if as_json:
            emit({"error": {"code": error.code, "sentence": error.sentence, "remedy": error.remedy}, "exit_code": code})
        return code
    except KeyboardInterrupt:
        errors.print(f"Interrupted. {resume}", highlight=False, soft_wrap=True)
        return INTERRUPTED


def emit(data: Any) -> None:
    """Writes one JSON object to stdout."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True, default=str) + "\n")
    sys.stdout.flush()


class Bars:
    """A campaign's progress as bars on stderr: phase, items, mean score, calls, time left.

    Args:
        budget: Calls there are.
        quiet: Draw nothing.
    """

    def __init__(self, budget: int, *, quiet: bool = False) -> None:
        # The stream of now: campaigns send what libraries print elsewhere.
        self.console = Console(file=sys.stderr, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description:<9}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("score {task.fields[score]:>5}  calls {task.fields[calls]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._budget = budget
        self._values: list[float] = []
        self._task: Any = None
        self._spoke = time.monotonic()

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def phase(self, name: str, total: int) -> None:
        """Begins a bar."""
        self._values = []
        self._task = self._progress.add_task(name, total=max(total, 1), score="-", calls=f"-/{self._budget}")

    def item(self, value: float, spent: int) -> None:
        """Moves the bar by one item."""
        self._values.append(value)
        mean = 100 * sum(self._values) / len(self._values)
        self._progress.update(self._task, advance=1, score=f"{mean:.1f}", calls=f"{spent}/{self._budget}")
        if not self.console.is_terminal and time.monotonic() - self._spoke >= SPEAK_EVERY:
            # Bars are drawn on terminals only; a log wants a line now and then.
            self._spoke = time.monotonic()
            task = self._progress.tasks[self._task]
            calls = f"calls {spent}/{self._budget}"
            self.say(f"{task.description}: {int(task.completed)}/{int(task.total or 0)}, score {mean:.1f}, {calls}")

    def say(self, sentence: str) -> None:
        """Prints a line above the bars."""
        self.console.print(sentence, highlight=False, markup=False)
