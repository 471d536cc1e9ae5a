"""Writes docs/cli.md from the commands' own --help, so that the two cannot differ (a test compares them)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

_WIDTH = 100
_HEADING = """# The `disco` command

Written by `make docs` from the commands' own `--help`; do not edit. Results go to stdout,
progress and errors to stderr. Every option can be set by the environment variable named beside it.
"""


def render() -> str:
    """Returns the whole page."""
    from disco_dspy.cli.main import app

    command = typer.main.get_command(app)
    pages = [f"## {path}\n\n```text\n{text}\n```\n" for path, text in _pages(command, "disco", None)]
    return "\n".join([_HEADING, *pages])


def _pages(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.context_class(command, info_name=name, parent=parent, terminal_width=_WIDTH)
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield context.command_path, text
    for sub in getattr(command, "commands", {}).values():
        yield from _pages(sub, sub.name, context)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), encoding="utf-8")
