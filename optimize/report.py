"""What a compile found, for people: the artifact's `report.md`, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from optimize.evaluation import Evaluation

if TYPE_CHECKING:
    from optimize.campaign import Campaign

WORST_SHOWN = 5


def verdict(result: Mapping[str, Any]) -> str:
    """One sentence: what was decided and why."""
    comparison = result["comparison"]
    if not result["tuned"]:
        return "Nothing was tuned: this is the start program, measured."
    if comparison is None:
        return "The budget left no calls to measure the tuned program, so the start program was kept."
    gain = comparison["after"] - comparison["before"]
    figures = f"{_percent(comparison['before'])} to {_percent(comparison['after'])}"
    moved = f"{figures} on {comparison['items']} held-out items"
    if result["decision"] == "winner":
        return f"The tuned program is better: {moved} ({gain * 100:+.1f})."
    if gain < 0:
        return f"The tuned program is worse ({moved}), so the start program was kept."
    return f"The tuned program is not better ({moved}), so the start program was kept."


def render(campaign: Campaign, result: Mapping[str, Any], before: Evaluation, after: Evaluation, created: str) -> str:
    """The Markdown report; the same campaign gives the same bytes.

    Args:
        campaign: What was asked for.
        result: What came of it, as `Campaign.run` returns it.
        before: The start program on held-out items.
        after: The tuned program on them.
        created: When the campaign was begun.
    """
    spec, plan, calls = campaign.spec, result["plan"], result["calls"]
    reflects = f", reflection `{campaign.reflection}`" if campaign.optimizer.reflects else ""
    lines = [
        f"# {spec.benchmark}: {', '.join(spec.roles)} by {spec.optimizer} on `{spec.backbone}`",
        "",
        verdict(result),
        "",
        f"- Begun {created}; seed {spec.seed}; backbone `{spec.backbone}`{reflects}.",
        f"- Score: {campaign.benchmark.metric}.",
        f"- Calls: {calls['spent']} of {calls['budget']} (distinct requests, retries and reflection included).",
        f"- Split of the budget: {plan['preflight']} preflight, {plan['before']} before, {plan['optimise']} optimise, "
        f"{plan['after']} after; {plan['train']} training and {plan['val']} validation items.",
        "",
        "## Held-out figures",
        "",
        "| figure | before | after |",
        "| --- | ---: | ---: |",
        *(
            f"| {name} | {_percent(before.figures[name])} | {_percent(after.figures[name])} |"
            for name in campaign.benchmark.figures
        ),
    ]
    comparison = result["comparison"]
    if comparison:
        lines += [
            "",
            f"Score with 95 % intervals from {comparison['items']} items (bootstrap): "
            f"before {_interval(comparison['before_ci'])}, after {_interval(comparison['after_ci'])}, "
            f"difference {_interval(comparison['difference_ci'], signed=True)} (paired); "
            f"after is ahead in {comparison['chance_better']:.0%} of resamples.",
        ]
    if result["notes"]:
        lines += ["", "## Notes", "", *(f"- {note}" for note in result["notes"])]
    lines += ["", "## Weakest items after tuning", "", *_weakest(after)]
    return "\n".join(lines).rstrip() + "\n"


def _weakest(evaluation: Evaluation) -> Sequence[str]:
    worst = sorted(evaluation.items, key=lambda item: (item.score.value, item.id))[:WORST_SHOWN]
    rows = [f"| {item.id} | {item.score.value:.2f} | {_cell(item.error or item.score.feedback)} |" for item in worst]
    return ["| item | score | what was wrong |", "| --- | ---: | --- |", *rows] if rows else ["None were run."]


def summary(result: Mapping[str, Any], figures: Sequence[str]) -> RenderableType:
    """The result for a terminal.

    Args:
        result: As `Campaign.run` returns it.
        figures: Names to show, in order.
    """
    table = Table(title="Held-out items", title_justify="left")
    table.add_column("figure")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for name in figures:
        before, after = (result["figures"][side].get(name, 0.0) for side in ("before", "after"))
        style = "green" if after > before else "red" if after < before else ""
        table.add_row(name, _percent(before), Text(_percent(after), style=style))
    calls = result["calls"]
    style = "bold green" if result["decision"] == "winner" else "bold"
    lines = [
        Text(verdict(result), style=style),
        Text(f"Calls: {calls['spent']} of {calls['budget']}. Run folder: {result['run']}"),
        Text(f"Program: {result['out']}"),
    ]
    return Group(table, *(Text(f"- {note}") for note in result["notes"]), *lines)


def plan_table(plan: Mapping[str, Any]) -> Table:
    """How the budget is split, for a terminal."""
    table = Table(title=f"{plan['total']} calls", title_justify="left")
    for name in ("phase", "calls", "what for"):
        table.add_column(name, justify="right" if name == "calls" else "left")
    table.add_row("preflight", str(plan["preflight"]), "is each backbone there")
    table.add_row("before", str(plan["before"]), f"start program on {plan['heldout']} held-out items")
    if plan["optimise"]:
        val = f", {plan['val']} validation items" if plan["val"] else ""
        table.add_row("optimise", str(plan["optimise"]), f"{plan['train']} training items{val}")
        table.add_row("after", str(plan["after"]), "tuned program on the same held-out items")
    return table


def _percent(figure: float) -> str:
    return f"{figure * 100:.1f}"


def _interval(bounds: Sequence[float], *, signed: bool = False) -> str:
    low, high = bounds
    return f"{low * 100:+.1f} to {high * 100:+.1f}" if signed else f"{low * 100:.1f} to {high * 100:.1f}"


def _cell(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "/")
    return flat if len(flat) <= 240 else flat[:239] + "…"
