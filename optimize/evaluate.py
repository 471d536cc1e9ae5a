"""Measures a program on a benchmark's split.

python -m optimize.evaluate --benchmark gum --split dev --program programs/gum-parser --backbone embedded --json
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dspy
from rich.console import Console
from rich.table import Table

from disco_dspy import artifact
from disco_dspy.backbones import Backbones, explain_lm_error
from disco_dspy.cache import lm_cache
from disco_dspy.program import DiscoRAG
from optimize.benchmarks import BENCHMARKS, find_benchmark
from optimize.breaker import BackboneDown, Breaker
from optimize.budget import CallBudget, counted
from optimize.cli import OK, Bars, emit, read_config, run, settings_of
from optimize.evaluation import Evaluation, ItemResult, evaluate
from signatures.errors import DiscoError, nearest

# What people call them, and what the splits are called here.
SPLITS = {"train": "train", "val": "val", "dev": "heldout", "heldout": "heldout", "test": "heldout"}
UNLIMITED = 1_000_000_000


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m optimize.evaluate", description="Measure a program on a benchmark's items."
    )
    made.add_argument("--benchmark", required=True, metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    made.add_argument("--split", default="dev", metavar="NAME", help="train, val or dev (held-out; the default)")
    made.add_argument("--program", default="none", metavar="PATH", help="artifact folder, or none (the start program)")
    made.add_argument("--backbone", required=True, metavar="NAME", help="backbone that plays every role")
    made.add_argument("--items", type=int, default=None, metavar="N", help="most items")
    made.add_argument("--max-calls", type=int, default=None, metavar="N", help="most distinct model calls")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits (default 0)")
    made.add_argument("--k", type=int, default=None, metavar="N", help="chunks per question, without a program")
    made.add_argument("--cache", type=Path, default=None, metavar="FOLDER", help="LM cache (default: the user's)")
    made.add_argument("--config", type=Path, default=None, metavar="FILE", help="disco.toml (default: found)")
    made.add_argument("--json", action="store_true", help="figures and items as JSON on stdout")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(arguments)
    resume = "Run the same command again; replies already received are not asked for again."
    return run(lambda: _evaluate(given), as_json=given.json, resume=resume)


def _evaluate(given: argparse.Namespace) -> int:
    config = read_config(given.config)
    benchmark = find_benchmark(given.benchmark)
    if given.split not in SPLITS:
        remedy = nearest(given.split, SPLITS)
        raise DiscoError("split/unknown", f"There is no split {given.split!r}.", remedy, exit_code=2)
    name = SPLITS[given.split]
    limits = {name: given.items} if given.items else {}
    examples = getattr(benchmark.split(given.seed, limits), name)
    breaker = Breaker()
    budget = CallBudget(given.max_calls or UNLIMITED, breaker.check)
    with Backbones.single(given.backbone, config) as backbones:
        program = (
            DiscoRAG(backbones=backbones, settings=settings_of(config, given.k))
            if given.program == "none"
            else artifact.load(Path(given.program), backbones=backbones, config=config)
        )
        student = benchmark.student(program)
        with contextlib.ExitStack() as stack:
            bars = stack.enter_context(Bars(given.max_calls or 0))
            stack.enter_context(lm_cache(given.cache))
            stack.enter_context(dspy.context(callbacks=[breaker], max_history_size=200))
            stack.enter_context(counted(budget))

            def heard(item: ItemResult) -> None:
                breaker.check()
                bars.item(item.score.value, budget.spent)

            bars.phase(given.split, len(examples))
            try:
                done = evaluate(student, examples, benchmark, on_item=heard)
            except BackboneDown as down:
                raise explain_lm_error(down.cause, given.backbone) from down.cause
    _show(given, benchmark.figures, benchmark.metric, done, budget.spent)
    return OK


def _show(given: argparse.Namespace, figures: Sequence[str], metric: str, done: Evaluation, calls: int) -> None:
    data: dict[str, Any] = {
        "benchmark": given.benchmark,
        "split": given.split,
        "program": given.program,
        "backbone": given.backbone,
        "metric": metric,
        "figures": {name: round(done.figures[name], 6) for name in figures},
        "complete": done.complete,
        "calls": calls,
        "items": [item.to_dict() for item in done.items],
    }
    if given.json:
        emit(data)
        return
    table = Table(title=f"{given.benchmark}, {given.split}: {len(done.items)} items", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name in figures:
        table.add_row(name, f"{done.figures[name] * 100:.1f}")
    console = Console()
    console.print(table)
    if not done.complete:
        console.print(f"The calls ended after {len(done.items)} items; give more with --max-calls.")


if __name__ == "__main__":
    sys.exit(main())
