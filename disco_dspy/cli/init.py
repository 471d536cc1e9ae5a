"""`disco init`: a commented disco.toml to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from disco_dspy.cli.options import JsonFlag
from disco_dspy.cli.terminal import terminal


def init(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", envvar="DISCO_INIT_FOLDER", help="Where to write disco.toml; made when missing."
        ),
    ] = Path(),
    json_output: JsonFlag = False,
) -> None:
    """Write a commented disco.toml; never overwrites one.

    Everything has a default, so this is needed only to use an endpoint of your own or to change a setting.
    """
    from disco_dspy.config import CONFIG_NAME, write_default_config

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CONFIG_NAME
    write_default_config(path)
    terminal().result({"config": str(path)}, f"Wrote {path}. Next: `disco index FOLDER`, then `disco ask QUESTION`.")
