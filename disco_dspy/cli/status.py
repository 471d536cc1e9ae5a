"""`disco status`: what is indexed, and which model plays which role."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from disco_dspy.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, JsonFlag
from disco_dspy.cli.session import no_index, open_config
from disco_dspy.cli.terminal import terminal
from disco_dspy.show.text import one_line, plain

if TYPE_CHECKING:
    from disco_dspy.config import Config
    from disco_dspy.index.index import Index


def status(
    index_dir: IndexOption = DEFAULT_INDEX,
    documents: Annotated[
        bool, typer.Option("--documents", envvar="DISCO_DOCUMENTS", help="List every document with its chunks' ids.")
    ] = False,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Show what is indexed and who plays which role."""
    from disco_dspy import traces
    from disco_dspy.index.index import Index

    loaded = open_config(config)
    if not Index.exists(index_dir):
        raise no_index(index_dir)
    with Index.open(index_dir, read_only=True) as opened:
        facts = asdict(opened.status()) | {"path": str(index_dir), "traces": len(traces.names(index_dir))}
        listed = _documents(opened) if documents else None
    roles = _roles(loaded)
    value = {"index": facts, "roles": roles, "config": str(loaded.path) if loaded.path else None}
    if listed is not None:
        value["documents"] = listed
    parts: list[RenderableType] = [_index_view(facts), Text(), _roles_view(roles, loaded)]
    if listed is not None:
        parts += [Text(), _documents_view(listed)]
    terminal().result(value, Group(*parts))


def _documents(index: Index) -> list[dict[str, Any]]:
    chunks: dict[str, list[str]] = {}
    for chunk in index.chunks():
        chunks.setdefault(chunk.document, []).append(chunk.id)
    return [
        {"source": each.source, "title": each.title, "characters": each.characters, "chunks": chunks.get(each.id, [])}
        for each in index.documents()
    ]


def _roles(config: Config) -> dict[str, dict[str, str]]:
    from disco_dspy.config import ROLES

    found = {}
    for role in ROLES:
        name = config.backbone_for(role)
        backbone = config.backbone(name)
        found[role] = {"backbone": name, "model": backbone.model, "kind": backbone.kind}
    return found


def _grid() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(style="magenta", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _index_view(facts: dict[str, Any]) -> RenderableType:
    table = _grid()
    table.add_row("index", plain(f"{facts['path']} (generation {facts['generation']}, {facts['bytes'] / 1e6:,.1f} MB)"))
    table.add_row("corpus", plain(facts["corpus"] or "never indexed"))
    table.add_row("documents", f"{facts['documents']:,}")
    table.add_row("chunks", f"{facts['chunks']:,}")
    table.add_row("trees", f"{facts['trees']:,} stored, of any parser")
    table.add_row("traces", f"{facts['traces']:,}")
    table.add_row("embedder", plain(f"{facts['embedder']}, {facts['dimension']} dimensions"))
    if facts["pending"]:
        table.add_row("pending", f"{facts['pending']:,} embeddings of an unfinished run, re-used by the next")
    return table


def _roles_view(roles: dict[str, dict[str, str]], config: Config) -> RenderableType:
    table = _grid()
    for role, facts in roles.items():
        table.add_row(role, plain(f"{facts['backbone']}: {facts['model']} ({facts['kind']})"))
    table.add_row("config", plain(str(Path(config.path)) if config.path else "defaults (no disco.toml found)"))
    return table


def _documents_view(listed: list[dict[str, Any]]) -> RenderableType:
    table = _grid()
    for each in listed:
        ids = " ".join(chunk[:8] for chunk in each["chunks"])
        table.add_row(plain(one_line(each["source"], 60)), plain(f"{one_line(each['title'], 60)}  {ids}"))
    return table
