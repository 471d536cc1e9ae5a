"""Options that several verbs share; each has one name, one help text and one environment variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disco_dspy.cli.terminal import terminal

DEFAULT_INDEX = Path(".disco/index")


def _json(value: bool) -> bool:
    terminal().json = terminal().json or value
    return value


def _quiet(value: bool) -> bool:
    terminal().quiet = terminal().quiet or value
    return value


JsonFlag = Annotated[
    bool,
    typer.Option("--json", envvar="DISCO_JSON", callback=_json, is_eager=True, help="Print the result as JSON."),
]
QuietFlag = Annotated[
    bool,
    typer.Option("--quiet", "-q", envvar="DISCO_QUIET", callback=_quiet, is_eager=True, help="Print no progress."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", envvar="DISCO_CONFIG", help="disco.toml to use; by default the nearest one upwards from here."
    ),
]
IndexOption = Annotated[Path, typer.Option("--index", "-i", envvar="DISCO_INDEX", help="Directory of the index.")]
ProgramOption = Annotated[
    Path | None,
    typer.Option(
        "--program", "-p", envvar="DISCO_PROGRAM", help="Compiled program to answer with; the plain one without it."
    ),
]
BackboneOption = Annotated[
    str | None,
    typer.Option(
        "--backbone", "-b", envvar="DISCO_BACKBONE", help="Backbone for every role, instead of disco.toml's [roles]."
    ),
]
