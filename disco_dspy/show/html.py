"""A blueprint as a piece of HTML, for notebooks and reports."""

from __future__ import annotations

from collections.abc import Sequence

from disco_dspy.show.svg_parts import FONT, clean, family, style
from signatures.blueprint import Blueprint
from signatures.graph import Edge

_SCOPE = "disco-plan"

_STYLE = (
    f".{_SCOPE}{{font:14px/1.45 {FONT};color:var(--ink);background:var(--paper);padding:14px 18px;border-radius:6px;"
    "max-width:760px;box-sizing:border-box}"
    f".{_SCOPE} h3{{font-size:15px;margin:0 0 10px;color:inherit}}"
    f".{_SCOPE} ol{{list-style:none;margin:0;padding:0}}"
    f".{_SCOPE} li{{display:grid;grid-template-columns:22px 1fr;gap:0 8px;margin:0 0 12px}}"
    f".{_SCOPE} .no{{color:var(--soft);text-align:right;font-size:13px}}"
    f".{_SCOPE} .move{{font-size:11.5px;font-weight:600;letter-spacing:.02em;margin-right:8px}}"
    f".{_SCOPE} .ev{{display:inline-block;border:1px solid var(--soft);border-radius:9px;padding:0 6px;font-size:11px;"
    "line-height:16px;margin:0 3px 0 0;color:var(--soft)}"
    f".{_SCOPE} .rec{{border-left:3px solid var(--contrast);padding-left:8px;margin-top:4px;font-size:13px}}"
    f".{_SCOPE} .rec b,.{_SCOPE} .open{{color:var(--contrast)}}"
    f".{_SCOPE} .open{{font-size:13px;margin:4px 0 0 30px}}.{_SCOPE} .none{{color:var(--soft)}}"
)


def blueprint_html(blueprint: Blueprint, *, title: str = "", unhandled: Sequence[Edge] = ()) -> str:
    """Returns a blueprint as one `<div>` that follows the reader's light or dark setting and leaves the page alone.

    Args:
        blueprint: Any blueprint.
        title: Above the steps.
        unhandled: Conflict edges that no step brings together, as `BlueprintHealth` lists them.
    """
    parts = [f'<div class="{_SCOPE}"><style>{style(_SCOPE)}{_STYLE}</style>']
    if title:
        parts.append(f"<h3>{clean(title)}</h3>")
    if blueprint.steps:
        parts.append("<ol>")
        for number, step in enumerate(blueprint.steps, 1):
            move = ""
            if step.move:
                move = f'<span class="move" style="color:var(--{family(step.move)})">{clean(step.move)}</span>'
            marks = "".join(f'<span class="ev">{reference}</span>' for reference in step.evidence)
            reconcile = f'<div class="rec"><b>Reconcile</b> {clean(step.reconcile)}</div>' if step.reconcile else ""
            parts.append(
                f'<li><span class="no">{number}</span><div>{move}{clean(step.say)} {marks}{reconcile}</div></li>'
            )
        parts.append("</ol>")
    else:
        parts.append('<div class="none">No steps.</div>')
    for edge in unhandled:
        words = f"No step reconciles {edge.source} {edge.relation} {edge.target}."
        parts.append(f'<div class="open">{clean(words)}</div>')
    return "\n".join([*parts, "</div>"]) + "\n"
