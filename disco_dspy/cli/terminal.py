"""Where output goes: results to stdout, progress and complaints to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from disco_dspy.show.text import plain


@dataclass
class Terminal:
    """What one run of the command writes to, and how.

    Attributes:
        json: Results as one JSON value on stdout, errors as one JSON value on stderr.
        quiet: No progress.
        debug: A traceback with every error.
        out: Results.
        err: Progress, warnings, errors.
    """

    json: bool = False
    quiet: bool = False
    debug: bool = False
    # Wide enough that a pipe does not wrap a path or an answer in the middle.
    out: Console = field(default_factory=lambda: Console(width=None if sys.stdout.isatty() else 120))
    err: Console = field(default_factory=lambda: Console(stderr=True, width=None if sys.stderr.isatty() else 120))

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked something."""
        return not self.json and sys.stdin.isatty() and sys.stderr.isatty()

    def result(self, value: Any, view: RenderableType | None = None) -> None:
        """Prints the result: `value` as JSON when asked for, else `view`.

        Args:
            value: Anything `json.dumps` takes.
            view: A rich renderable; the JSON when None.
        """
        if self.json or view is None:
            self.out.file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
            return
        if self.out.is_terminal:
            self.out.print(view, soft_wrap=isinstance(view, str))
            return
        with self.out.capture() as captured:
            self.out.print(view, soft_wrap=isinstance(view, str))
        # Columns are padded to their width, which is only noise in a file.
        self.out.file.write("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")

    def note(self, text: str | Text, style: str = "dim") -> None:
        """Prints a line of progress or explanation, unless quiet."""
        if not self.quiet:
            self.err.print(plain(text, style) if isinstance(text, str) else text, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Prints a warning, quiet or not."""
        self.err.print(plain(f"warning: {text}", "yellow"), soft_wrap=True)


_current: ContextVar[Terminal] = ContextVar("disco_terminal")


def terminal() -> Terminal:
    """Returns the terminal of this run; a default one outside of a run."""
    current = _current.get(None)
    if current is None:
        current = Terminal(debug=env_flag("DISCO_DEBUG"), json=env_flag("DISCO_JSON"))
        _current.set(current)
    return current


@contextmanager
def fresh_terminal() -> Iterator[Terminal]:
    """Gives one run a terminal of its own, on the streams of this moment."""
    token = _current.set(Terminal(debug=env_flag("DISCO_DEBUG"), json=env_flag("DISCO_JSON")))
    try:
        yield _current.get()
    finally:
        _current.reset(token)


def env_flag(name: str) -> bool:
    """Whether an environment variable says yes; needed before the options are parsed, for errors in parsing them."""
    return os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}
