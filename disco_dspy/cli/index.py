"""`disco index`: make an index equal to a folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType

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
from disco_dspy.cli.session import make_ready, open_backbones, open_config, open_embedder, open_program
from disco_dspy.cli.terminal import Terminal, terminal
from disco_dspy.show.text import plain
from signatures.errors import DiscoError, nearest

if TYPE_CHECKING:
    from disco_dspy.config import Config
    from disco_dspy.corpus.types import Chunk
    from disco_dspy.health import Health
    from disco_dspy.index.index import Index, IndexReport
    from disco_dspy.index.settings import IndexSettings

_SHOWN = 20


def index(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", envvar="DISCO_FOLDER", help="Folder (or one file) with txt, md, html or jsonl documents."
        ),
    ],
    index_dir: IndexOption = DEFAULT_INDEX,
    preset: Annotated[
        str | None,
        typer.Option(
            envvar="DISCO_PRESET", help="Settings to start from: default, or paper (plain cut, dense top 10)."
        ),
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
        bool,
        typer.Option("--parse", envvar="DISCO_PARSE", help="Parse every chunk now, not when it is first retrieved."),
    ] = False,
    program: ProgramOption = None,
    backbone: BackboneOption = None,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Make the index equal to a folder.

    Follows added, changed, renamed and removed files. Unchanged text is neither embedded nor parsed again. Files that
    cannot be read are reported and the rest is indexed (exit code 4).
    """
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
    settings = _settings(index_dir, loaded, preset, {key: value for key, value in given.items() if value is not None})
    _check_source(folder, settings)
    with Index.open_or_create(index_dir, settings, open_embedder(loaded, screen)) as opened:
        with Steps(screen) as steps:
            report = opened.update(
                folder,
                progress=lambda event: steps.update(event.stage, event.done, event.total),
                wait=wait,
            )
        parsed = None
        if parse:
            parsed = _parse_all(opened, loaded, backbone, program, screen)
        screen.result(_facts(report, index_dir, parsed), _view(report, index_dir, parsed))
    if report.failed or (parsed is not None and parsed["failed"]):
        raise typer.Exit(failures.INCOMPLETE)


def _settings(path: Path, config: Config, preset_name: str | None, given: dict[str, Any]) -> IndexSettings:
    """What is asked for: the command line over the preset or the file, over what the index was made with."""
    from pydantic import ValidationError

    from disco_dspy.index.index import Index
    from disco_dspy.index.settings import IndexSettings, preset

    base: dict[str, Any] = {}
    if preset_name is not None:
        base = preset(preset_name).model_dump()
    else:
        if Index.exists(path):
            with Index.open(path, read_only=True) as existing:
                base = existing.settings.model_dump()
        base |= config.index
    try:
        return IndexSettings.model_validate(base | given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the combination of settings"
        if first["type"] == "extra_forbidden":
            remedy = nearest(place, IndexSettings.model_fields)
        else:
            remedy = "Correct it on the command line or in the [index] table of disco.toml."
        raise DiscoError("settings/invalid", f"The index setting {place}: {first['msg']}.", remedy) from error


def _check_source(folder: Path, settings: IndexSettings) -> None:
    """Refuses a missing or empty folder before an index is made or a model is offered for it."""
    from disco_dspy.corpus.loaders import load_folder

    next(iter(load_folder(folder, settings)), None)


def _parse_all(
    index: Index, config: Config, backbone: str | None, program: Path | None, screen: Terminal
) -> dict[str, int]:
    """Parses every chunk that has no tree yet.

    Returns:
        How many trees were `stored` before, `parsed` now, and `failed`.

    Raises:
        DiscoError: `parse/failed` when not one chunk could be parsed.
    """
    from disco_dspy.parsing import ChunkParsing, in_threads

    finished: list[Health] = []
    with open_backbones(config, backbone) as backbones:
        runner = open_program(program, index, backbones, config, {}, screen)
        make_ready(backbones, screen)
        embedded = backbones.describe("parser")["kind"] == "embedded"
        threads = 1 if embedded else runner.settings.parse_threads
        parsing = ChunkParsing(runner.parser, index, threads)
        chunks = list({chunk.text_sha256: chunk for chunk in index.chunks()}.values())
        with Steps(screen) as steps:

            def one(chunk: Chunk) -> None:
                steps.update("parse", len(finished), len(chunks))
                finished.append(parsing.one(chunk).health)
                steps.update("parse", len(finished), len(chunks))

            in_threads(one, chunks, threads)
    failed = [health for health in finished if health.status == "degraded"]
    stored = sum(not health.attempts for health in finished if health.status != "degraded")
    if failed and len(failed) == len(finished):
        reason = failed[0].problems[0].sentence
        raise DiscoError(
            "parse/failed",
            f"Not one of {len(failed)} chunks could be parsed. {reason}",
            "The index itself is complete. Run `disco doctor --call`, then the same command again.",
            exit_code=5,
        )
    return {"stored": stored, "parsed": len(finished) - stored - len(failed), "failed": len(failed)}


def _facts(report: IndexReport, path: Path, parsed: dict[str, int] | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "index": str(path),
        "added": list(report.added),
        "changed": list(report.changed),
        "renamed": [list(pair) for pair in report.renamed],
        "removed": list(report.removed),
        "kept": list(report.kept),
        "unchanged": report.unchanged,
        "documents": report.documents,
        "chunks": report.chunks,
        "embedded": report.embedded,
        "failed": [asdict(problem) for problem in report.failed],
        "skipped": [asdict(problem) for problem in report.skipped],
    }
    return facts if parsed is None else facts | {"parsed": parsed}


def _view(report: IndexReport, path: Path, parsed: dict[str, int] | None) -> RenderableType:
    counts = {
        "added": len(report.added),
        "changed": len(report.changed),
        "renamed": len(report.renamed),
        "removed": len(report.removed),
        "kept as they were": len(report.kept),
        "unchanged": report.unchanged,
    }
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing changed"
    line = f"{path}: {report.documents} documents, {report.chunks} chunks ({told}; {report.embedded} texts embedded)"
    parts: list[RenderableType] = [plain(line)]
    if parsed is not None:
        parts.append(
            plain(f"trees: {parsed['stored']} stored before, {parsed['parsed']} parsed, {parsed['failed']} failed")
        )
    for problems, style in ((report.failed, "yellow"), (report.skipped, "dim")):
        shown = problems[:_SHOWN]
        parts += [plain(f"{each.severity} {each.source}: {each.sentence}", style) for each in shown]
        if len(problems) > len(shown):
            parts.append(plain(f"... and {len(problems) - len(shown)} more; --json lists all", style))
    return Group(*parts)
