"""The blueprint: numbered discourse steps, their evidence, and how conflicts are reconciled."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from disco_dspy.show.text import one_line
from signatures.blueprint import Blueprint


def plan_view(blueprint: Blueprint) -> RenderableType:
    """Returns one row a step: number, move, what to say with its evidence, and the reconciliation beneath."""
    if not blueprint.steps:
        return Text("no steps", style="dim")
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for number, step in enumerate(blueprint.steps, start=1):
        say = Text(one_line(step.say))
        if step.evidence:
            say.append(" " + "".join(f"[{reference}]" for reference in step.evidence), style="cyan")
        if step.reconcile:
            say.append(f"\nreconcile: {one_line(step.reconcile)}", style="yellow")
        table.add_row(Text(f"{number}.", style="dim"), Text(one_line(step.move), style="magenta"), say)
    return table
