"""`disco show`: trees, graphs, blueprints and traces of earlier answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from disco_dspy.cli.options import (
    DEFAULT_INDEX,
    BackboneOption,
    ConfigOption,
    IndexOption,
    JsonFlag,
    ProgramOption,
    QuietFlag,
)
from disco_dspy.cli.session import make_ready, no_index, open_backbones, open_config, open_program
from disco_dspy.cli.terminal import terminal
from signatures.errors import DiscoError

if TYPE_CHECKING:
    from disco_dspy.corpus.types import Chunk
    from disco_dspy.health import Health
    from disco_dspy.index.index import Index
    from disco_dspy.program import DiscoRAG
    from signatures.tree import RSTTree

app = typer.Typer(help="Trees, and what was behind an earlier answer.", no_args_is_help=True)

TraceArgument = Annotated[
    str, typer.Argument(metavar="TRACE", envvar="DISCO_TRACE", help="Id of a trace, the beginning of one, or `last`.")
]


@app.command()
def tree(
    chunk: Annotated[
        str,
        typer.Argument(
            metavar="CHUNK",
            envvar="DISCO_CHUNK",
            help="Id of a chunk or its beginning; `disco status --documents` lists them.",
        ),
    ],
    index_dir: IndexOption = DEFAULT_INDEX,
    parse: Annotated[
        bool, typer.Option("--parse", envvar="DISCO_PARSE", help="Parse the chunk now if it has no stored tree.")
    ] = False,
    program: ProgramOption = None,
    backbone: BackboneOption = None,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Show the RST tree of a chunk."""
    from disco_dspy.index.index import Index
    from disco_dspy.show.tree import tree_view

    screen = terminal()
    loaded = open_config(config)
    if not Index.exists(index_dir):
        raise no_index(index_dir)
    with Index.open(index_dir) as opened:
        found = opened.chunk(chunk)
        backbones = open_backbones(loaded, backbone)
        runner = open_program(program, opened, backbones, loaded, {}, screen)
        parsed = _stored(opened, found, runner)
        if parsed is None and parse:
            make_ready(backbones, screen)
            screen.note("parse ...")
            made = runner.parse_chunk(found)
            parsed = made.tree or _refuse(made.health)
        if parsed is None:
            raise DiscoError(
                "tree/none",
                f"Chunk {found.id[:8]} of {found.source} has no stored tree by this program and backbone.",
                f"Parse it: `disco show tree {found.id[:8]} --parse`, or ask a question that retrieves it.",
            )
        screen.result(
            {"chunk": found.id, "tree": parsed.to_dict()}, tree_view(parsed, f"{found.title}, {found.source}")
        )


@app.command()
def graph(trace: TraceArgument = "last", index_dir: IndexOption = DEFAULT_INDEX, json_output: JsonFlag = False) -> None:
    """Show how the chunks behind an answer relate to each other."""
    from disco_dspy import traces
    from disco_dspy.show.graph import graph_view

    found = traces.load(index_dir, trace)
    if found.graph is None:
        raise _switched_off("graph", found.id)
    titles = [chunk.title for chunk in found.chunks]
    terminal().result({"trace": found.id, "graph": found.graph.to_dict()}, graph_view(found.graph, titles))


@app.command()
def plan(trace: TraceArgument = "last", index_dir: IndexOption = DEFAULT_INDEX, json_output: JsonFlag = False) -> None:
    """Show the blueprint behind an answer."""
    from disco_dspy import traces
    from disco_dspy.show.plan import plan_view

    found = traces.load(index_dir, trace)
    if found.blueprint is None:
        raise _switched_off("blueprint", found.id)
    terminal().result({"trace": found.id, "blueprint": found.blueprint.to_dict()}, plan_view(found.blueprint))


@app.command()
def trace(trace: TraceArgument = "last", index_dir: IndexOption = DEFAULT_INDEX, json_output: JsonFlag = False) -> None:
    """Show an earlier answer with its sources, blueprint, graph, trees, health and usage."""
    from disco_dspy import traces
    from disco_dspy.show.trace import trace_view

    found = traces.load(index_dir, trace)
    terminal().result(found.to_dict(), trace_view(found))


def _stored(index: Index, chunk: Chunk, program: DiscoRAG) -> RSTTree | None:
    from disco_dspy.parsing import parser_fingerprint
    from signatures.tree import RSTTree

    data = index.get_tree(chunk.text_sha256, parser_fingerprint(program.parser))
    return RSTTree.from_dict(data, chunk.text) if data is not None else None


def _refuse(health: Health) -> NoReturn:
    reasons = " ".join(problem.sentence for problem in health.problems)
    raise DiscoError(
        "tree/failed", f"The chunk could not be parsed. {reasons}", "Run `disco doctor --call`.", exit_code=5
    )


def _switched_off(what: str, trace: str) -> DiscoError:
    return DiscoError(
        f"{what}/none", f"The answer of trace {trace} was made without a {what}.", "Ask again without the switch."
    )
