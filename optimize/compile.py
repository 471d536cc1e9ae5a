"""Compiles a program: tunes roles for one backbone on one benchmark, within a budget of calls.

    python -m optimize.compile --benchmark gum --roles parser --optimizer bootstrap --backbone embedded \
        --max-calls 40 --out programs/gum-parser

The same command again finds the finished campaign and makes no call; after a kill it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from optimize.benchmarks import BENCHMARKS
from optimize.campaign import Campaign
from optimize.cli import OK, Bars, emit, read_config, run, settings_of
from optimize.freezing import ROLES
from optimize.optimizers import OPTIMIZERS
from optimize.report import plan_table, summary
from optimize.spec import Spec
from optimize.splits import parse_limits


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m optimize.compile",
        description="Tune roles of the program for one backbone on one benchmark, within a budget of model calls.",
        epilog="Exit codes: 0 done, 2 usage, 3 bad input, 5 backbone, 6 artifact, 7 the same campaign is running, "
        "130 interrupted. The same command again goes on, and makes no call twice.",
    )
    made.add_argument("--benchmark", required=True, metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    made.add_argument("--roles", required=True, metavar="ROLE[,ROLE]", help=f"roles to tune: {', '.join(ROLES)}")
    made.add_argument("--optimizer", required=True, metavar="NAME", help=f"one of {', '.join(OPTIMIZERS)}")
    made.add_argument("--backbone", required=True, metavar="NAME", help="backbone that plays every role")
    made.add_argument("--reflection-backbone", default="", metavar="NAME", help="writes instructions (default: same)")
    made.add_argument("--max-calls", required=True, type=_positive, metavar="N", help="most distinct model calls")
    made.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="where the artifact goes")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="seed of splits and sampling (default 0)")
    made.add_argument("--items", default="", metavar="LIMITS", help="most items: train=20,val=10,heldout=30")
    made.add_argument("--k", type=_positive, default=None, metavar="N", help="chunks per question (default: settings)")
    made.add_argument("--runs", type=Path, default=Path("runs"), metavar="FOLDER", help="campaign folders")
    made.add_argument("--config", type=Path, default=None, metavar="FILE", help="disco.toml (default: found)")
    made.add_argument("--json", action="store_true", help="result as JSON on stdout")
    made.add_argument("--dry-run", action="store_true", help="show how the budget is split, make no call")
    return made


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    given = parser().parse_args(arguments)
    resume = "Run the same command again to go on; calls already made are not repeated."
    return run(lambda: _compile(given), as_json=given.json, resume=resume)


def _compile(given: argparse.Namespace) -> int:
    config = read_config(given.config)
    names = {name.strip() for name in given.roles.split(",") if name.strip()}
    spec = Spec(
        benchmark=given.benchmark,
        # In the paper's order, unknown names last: the campaign refuses those with the nearest one.
        roles=(*(role for role in ROLES if role in names), *sorted(names - set(ROLES))),
        optimizer=given.optimizer,
        backbone=given.backbone,
        reflection=given.reflection_backbone,
        max_calls=given.max_calls,
        seed=given.seed,
        limits=parse_limits(given.items),
        settings=settings_of(config, given.k),
    )
    campaign = Campaign(spec, config, given.runs)
    plan = asdict(campaign.plan)
    if given.dry_run:
        if given.json:
            emit({"plan": plan, "run": str(campaign.run_dir.path), "splits": campaign.splits.ids()})
        else:
            Console().print(plan_table(plan))
        return OK
    with Bars(spec.max_calls) as bars:
        bars.console.print(plan_table(plan))
        result = campaign.run(given.out, bars)
    if given.json:
        emit(result)
    else:
        Console().print(summary(result, campaign.benchmark.figures))
    return OK


if __name__ == "__main__":
    sys.exit(main())
