"""`disco index`: make an index equal to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from disco_dspy.cli import failures
from disco_dspy.cli.options import (
    DEFAULT_INDEX,
    BackboneOption,
    ConfigOption,
    IndexOption,
    JsonFlag,
    ProgramOption,
    QuietFlag,
)
from disco_dspy.cli.progress import Steps
from disco_dspy.cli.terminal import Terminal, terminal
from disco_dspy.show.text import plain

if TYPE_CHECKING:
    from disco_dspy.config import Config
    from disco_dspy.index.index import Index, IndexReport
    from disco_dspy.index.settings import IndexSettings

_STAGES = {"read": "read", "embed": "embed", "write": "write"}


def index(
    folder: Annotated[
        Path, typer.Argument(envvar="DISCO_FOLDER", help="Folder (or one file) with txt, md, html or jsonl documents.")
    ],
    index_dir: IndexOption = DEFAULT_INDEX,
    preset: Annotated[
        str | None,
        typer.Option(envvar="DISCO_PRESET", help="Settings to start from: default, or paper (plain cut, dense top 10)."),
    ] = None,
    chunk_size: Annotated[
        int | None, typer.Option(envvar="DISCO_CHUNK_SIZE", min=8, help="Most tokens in a chunk. [256]")
    ] = None,
    overlap: Annotated[
        int | None, typer.Option(envvar="DISCO_OVERLAP", min=0, help="Tokens a chunk repeats from the one before. [0]")
    ] = None,
    retrieval: Annotated[
        str | None, typer.Option(envvar="DISCO_RETRIEVAL", help="How chunks are found: hybrid, dense or bm25.")
    ] = None,
    text_field: Annotated[
        str | None, typer.Option(envvar="DISCO_TEXT_FIELD", help="JSON Lines field with the text. [text]")
    ] = None,
    title_field: Annotated[
        str | None, typer.Option(envvar="DISCO_TITLE_FIELD", help="JSON Lines field with the title. [title]")
    ] = None,
    id_field: Annotated[
        str | None, typer.Option(envvar="DISCO_ID_FIELD", help="JSON Lines field with the record's name. [id]")
    ] = None,
    wait: Annotated[
        float, typer.Option(envvar="DISCO_WAIT", min=0, help="Seconds to wait while another process indexes.")
    ] = 0.0,
    parse: Annotated[
        bool, typer.Option("--parse", envvar="DISCO_PARSE", help="Parse every chunk now, not when it is first retrieved.")
    ] = False,
    program: ProgramOption = None,
    backbone: BackboneOption = None,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Make the index equal to a folder: added, changed, renamed and removed files.

    Unchanged text is neither embedded nor parsed again. Files that cannot be read are reported and the rest is indexed (exit code 4).
    """
    from disco_dspy.cli.session import load_settings, open_config
    from disco_dspy.index.index import Index

    screen = terminal()
    loaded = open_config(config)
    given = {
        "chunk_size": chunk_size,
        "overlap": overlap,
        "retrieval": retrieval,
        "text_field": text_field,
        "title_field": title_field,
        "id_field": id_field,
    }
    settings = _settings(Index, index_dir, loaded, preset, {key: value for key, value in given.items() if value is not None})
    _check_source(folder)
    with Index.open_or_create(index_dir, settings, load_settings.embedder(loaded, screen)) as opened:
        with Steps(screen) as steps:
            report = opened.update(
                folder,
                progress=lambda event: steps.update(_STAGES[event.stage], event.done, event.total),
                wait=wait,
            )
        parsed = None
        if parse:
            parsed = load_settings.parse_all(opened, loaded, backbone, program, screen)
        screen.result(_facts(report, index_dir, parsed), _view(report, index_dir, parsed))
    if report.failed:
        raise typer.Exit(failures.INCOMPLETE)
