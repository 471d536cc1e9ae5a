"""`disco ask`: a question, an answer with citations, its sources."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from disco_dspy.cli.progress import Steps
from disco_dspy.cli.session import open_backbones, open_config, open_index, open_program
from disco_dspy.cli.terminal import Terminal, terminal

if TYPE_CHECKING:
    from disco_dspy.traces import Trace


def ask(
    question: Annotated[str, typer.Argument(envvar="DISCO_QUESTION", help="The question; `-` reads it from stdin.")],
    index_dir: IndexOption = DEFAULT_INDEX,
    program: ProgramOption = None,
    k: Annotated[
        int | None, typer.Option("--k", "-k", envvar="DISCO_K", min=1, help="Chunks to retrieve. [10, or the program's]")
    ] = None,
    task: Annotated[
        str, typer.Option("--task", envvar="DISCO_TASK", help="What the answer should look like, such as `one word`.")
    ] = "",
    scope: Annotated[
        str | None, typer.Option("--scope", envvar="DISCO_SCOPE", help="Only documents below this folder or matching this glob.")
    ] = None,
    backbone: BackboneOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", envvar="DISCO_EXPLAIN", help="Add blueprint, graph, trees, health and usage.")
    ] = False,
    no_trees: Annotated[
        bool, typer.Option("--no-trees", envvar="DISCO_NO_TREES", help="Do not parse the chunks (ablation).")
    ] = False,
    no_graph: Annotated[
        bool, typer.Option("--no-graph", envvar="DISCO_NO_GRAPH", help="Do not relate the chunks (ablation).")
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option(
            "--plan", envvar="DISCO_PLAN", help="full, none, or an ablation: generic-after, generic-before. [full]"
        ),
    ] = None,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Answer a question from the index, citing chunks (`[3]`) and their EDUs (`[3.2]`)."""
    from disco_dspy import traces
    from disco_dspy.show.trace import answer_view, trace_view, warnings

    screen = terminal()
    text = sys.stdin.read() if question == "-" else question
    switches = {"k": k, "trees": False if no_trees else None, "graph": False if no_graph else None, "plan": plan}
    loaded = open_config(config)
    backbones = open_backbones(loaded, backbone, screen)
    with open_index(index_dir, loaded, screen) as opened, backbones:
        runner = open_program(program, opened, backbones, loaded, switches)
        started = time.monotonic()
        with Steps(screen) as steps:
            prediction = runner(question=text, task=task, scope=scope)
        trace = _trace(prediction, text, task, runner, program, time.monotonic() - started)
    _keep(index_dir, trace, screen)
    screen.result(trace.to_dict(), trace_view(trace) if explain else answer_view(trace))
    for line in warnings(trace):
        screen.warn(line)
    screen.note(f"trace {trace.id} (disco show trace {trace.id} --index {index_dir})")
