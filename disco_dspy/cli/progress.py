"""Progress on stderr: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from disco_dspy.cli.terminal import Terminal
from disco_dspy.show.text import one_line

_LINE_EVERY_SECONDS = 5.0


class Steps:
    """Shows one activity after another; safe to call from several threads.

    Args:
        terminal: Where to write; a quiet one gets nothing.
        unit: `bytes` shows megabytes in place of counts.
    """

    def __init__(self, terminal: Terminal, unit: str = "") -> None:
        self._terminal = terminal
        self._bytes = unit == "bytes"
        self._lock = threading.Lock()
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._label = ""
        self._said = 0.0
        self._started = time.monotonic()

    def __enter__(self) -> Steps:
        """Starts the display."""
        if not self._terminal.quiet and self._terminal.err.is_terminal:
            count = TextColumn("{task.fields[megabytes]}") if self._bytes else MofNCompleteColumn()
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), count)
            self._live = Progress(*columns, TimeElapsedColumn(), console=self._terminal.err, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes the display away, so that what follows starts on a clean line."""
        if self._live is not None:
            self._live.stop()

    def update(self, label: str, done: int | None = None, total: int | None = None) -> None:
        """Says what is at work.

        Args:
            label: Such as `parse` or a file name.
            done: How many are finished; None when there is nothing to count.
            total: Of how many; None when unknown.
        """
        with self._lock:
            if self._live is not None:
                self._draw(self._live, label, done, total)
            elif not self._terminal.quiet:
                self._say(label, done, total)
            self._label = label

    def _draw(self, live: Progress, label: str, done: int | None, total: int | None) -> None:
        megabytes = _megabytes(done, total) if self._bytes else ""
        fields = {"description": one_line(label, 60), "completed": done or 0, "total": total, "megabytes": megabytes}
        if self._task is None:
            self._task = live.add_task(**fields)
        else:
            live.update(self._task, **fields)

    def _say(self, label: str, done: int | None, total: int | None) -> None:
        now = time.monotonic()
        finished = done is not None and done == total
        if label == self._label and not finished and now - self._said < _LINE_EVERY_SECONDS:
            return
        self._said = now
        count = ""
        if done is not None:
            shown = _megabytes(done, total) if self._bytes else f"{done}/{total if total is not None else '?'}"
            count = f" {shown}"
        self._terminal.note(f"{one_line(label, 80)}{count} ({now - self._started:.0f}s)")


def _megabytes(done: int | None, total: int | None) -> str:
    whole = f" of {total / 1e6:.0f}" if total else ""
    return f"{(done or 0) / 1e6:.0f}{whole} MB"
