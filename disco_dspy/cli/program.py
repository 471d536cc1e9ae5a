"""`disco program`: what a compiled program is, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from disco_dspy.cli.options import JsonFlag
from disco_dspy.cli.terminal import terminal
from disco_dspy.show.text import plain, safe

app = typer.Typer(help="Compiled programs: what one is, and whether it is whole.", no_args_is_help=True)

_Directory = Annotated[Path, typer.Argument(metavar="DIR", envvar="DISCO_PROGRAM", help="Directory of the program.")]


@app.command()
def verify(directory: _Directory, json_output: JsonFlag = False) -> None:
    """Check a program: layout, checksums, fingerprints. Exit code 6 when it is refused."""
    from disco_dspy import artifact

    manifest = artifact.verify(directory)
    value = {"program": str(directory), "valid": True, "manifest": manifest.model_dump(mode="json")}
    terminal().result(value, f"{directory}: whole, and fits this installation.")


@app.command()
def show(directory: _Directory, json_output: JsonFlag = False) -> None:
    """Show a program's manifest and report."""
    from disco_dspy import artifact

    manifest = artifact.verify(directory).model_dump(mode="json")
    report = directory / "report.md"
    text = report.read_text(encoding="utf-8") if report.is_file() else ""
    parts: list[RenderableType] = [_manifest_view(manifest)]
    if text:
        parts += [Text(), Markdown(safe(text))]
    terminal().result({"program": str(directory), "manifest": manifest, "report": text}, Group(*parts))


def _manifest_view(manifest: dict[str, Any]) -> RenderableType:
    """Returns the manifest as two columns; nested tables one level deep, the rest as it is."""
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(style="magenta", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in manifest.items():
        if isinstance(value, dict):
            for inner, each in value.items():
                table.add_row(plain(f"{key}.{inner}"), plain(_brief(each)))
        else:
            table.add_row(plain(key), plain(_brief(value)))
    return table


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_brief(each)}" for key, each in value.items() if each not in (None, {}, []))
    if isinstance(value, list):
        return ", ".join(_brief(each) for each in value)
    return str(value)
