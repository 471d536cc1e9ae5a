"""`disco ask`: a question, an answer with citations, its sources."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from disco_dspy.cli.session import make_ready, no_index, open_backbones, open_config, open_index, open_program
from disco_dspy.cli.terminal import Terminal, terminal

if TYPE_CHECKING:
    import dspy

    from disco_dspy.program import DiscoRAG
    from disco_dspy.traces import Trace


def ask(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", envvar="DISCO_QUESTION", help="The question; `-` reads it from stdin.")
    ],
    index_dir: IndexOption = DEFAULT_INDEX,
    program: ProgramOption = None,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", envvar="DISCO_K", min=1, help="Chunks to retrieve. [10, or the program's]"),
    ] = None,
    task: Annotated[
        str, typer.Option("--task", envvar="DISCO_TASK", help="What the answer should look like, such as `one word`.")
    ] = "",
    scope: Annotated[
        str | None,
        typer.Option("--scope", envvar="DISCO_SCOPE", help="Only documents below this folder or matching this glob."),
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
    """Answer a question from the index, with citations.

    `[3]` cites chunk 3, `[3.2]` its second elementary discourse unit; the sources below the answer show both. Every
    chunk is parsed once and its tree kept; the answer with everything behind it is kept as a trace.
    """
    import dspy

    from disco_dspy.case import Case
    from disco_dspy.cli.watch import Watch
    from disco_dspy.index.index import Index
    from disco_dspy.show.trace import answer_view, trace_view, warnings

    screen = terminal()
    text = sys.stdin.read() if question == "-" else question
    switches = {"k": k, "trees": False if no_trees else None, "graph": False if no_graph else None, "plan": plan}
    loaded = open_config(config)
    backbones = open_backbones(loaded, backbone)
    # Everything that can be wrong for free is looked at before a model is fetched or started.
    runner = open_program(program, None, backbones, loaded, switches, screen)
    Case(text, task, runner.settings, runner.inventory)
    if not Index.exists(index_dir):
        raise no_index(index_dir)
    make_ready(backbones, screen)
    with open_index(index_dir, loaded, screen) as opened, backbones, Steps(screen) as steps:
        watch = runner.retriever = Watch(opened, steps)
        started = time.monotonic()
        with dspy.context(callbacks=[watch], disable_history=True):
            prediction = runner(question=text, task=task, scope=scope)
        trace = _trace(prediction, text, task, runner, program, time.monotonic() - started)
    kept = _keep(index_dir, trace, screen)
    screen.result(trace.to_dict(), trace_view(trace) if explain else answer_view(trace))
    for line in warnings(trace):
        screen.warn(line)
    if kept:
        screen.note(f"trace {trace.id} (disco show trace {trace.id} --index {index_dir})")


def _trace(
    prediction: dspy.Prediction, question: str, task: str, runner: DiscoRAG, program: Path | None, seconds: float
) -> Trace:
    from disco_dspy.config import ROLES
    from disco_dspy.traces import Trace, new_id

    name, created = new_id()
    backbones = runner.backbones
    return Trace(
        id=name,
        created=created,
        question=question.strip(),
        task=task,
        answer=prediction.response,
        chunks=tuple(prediction.chunks),
        trees=tuple(prediction.trees),
        graph=prediction.graph,
        blueprint=prediction.blueprint,
        health=tuple(record.to_dict() for record in prediction.health),
        usage=prediction.usage,
        seconds=round(seconds, 2),
        settings=runner.settings.model_dump(mode="json"),
        program=str(program) if program else None,
        backbones={role: backbones.describe(role) for role in ROLES} if backbones is not None else {},
    )


def _keep(index: Path, trace: Trace, screen: Terminal) -> bool:
    """Stores the trace; an answer that cost minutes is printed even when the disk is full."""
    from disco_dspy import traces

    try:
        traces.save(index, trace)
    except OSError as error:
        screen.warn(f"the trace could not be stored: {error.strerror or error}")
        return False
    return True
