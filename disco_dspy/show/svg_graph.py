"""A rhetorical graph as an SVG picture: chunks on a circle, their relations as labelled curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from disco_dspy.show.svg_parts import FONT, clean, clip, family, style, text_width
from signatures.graph import Edge, RhetoricalGraph

_SCOPE = "disco-graph"
_MARGIN = 20.0
_DISC = 15.0
_LABEL = 10.5
_LIST_LINE = 20.0
_LIST_WIDTH = 300.0
_TITLE = 30.0
# Labels are wide and low, so the circle is stretched.
_WIDE = 1.4
# Places along a curve to try for its label, the middle first.
_PLACES = (0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65, 0.3, 0.7, 0.25, 0.75)

Point = tuple[float, float]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Curve:
    """A quadratic curve from disc to disc."""

    start: Point
    bend: Point
    end: Point

    def at(self, t: float) -> Point:
        u = 1 - t
        x, y = (u * u * a + 2 * u * t * b + t * t * c for a, b, c in zip(self.start, self.bend, self.end, strict=True))
        return x, y


def _positions(size: int, radius: float, centre: Point) -> list[Point]:
    angles = [math.tau * n / max(size, 1) - math.pi / 2 for n in range(size)]
    return [(centre[0] + radius * _WIDE * math.cos(a), centre[1] + radius * math.sin(a)) for a in angles]


def _bow(edge: Edge, graph: RhetoricalGraph, taken: set[frozenset[int]]) -> float:
    """How far an edge bends to the left of its direction."""
    steps = (edge.target - edge.source) % graph.size
    pair = frozenset((edge.source, edge.target))
    second = pair in taken
    taken.add(pair)
    if graph.size > 3 and steps in (1, graph.size - 1):
        # Neighbours are joined outside of the ring, which leaves the middle to the others.
        outside = 30.0 if steps == 1 else -30.0
        return -outside if second else outside
    return 20.0


def _towards(start: Point, goal: Point, distance: float) -> Point:
    dx, dy = goal[0] - start[0], goal[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    return start[0] + dx / length * distance, start[1] + dy / length * distance


def _curve(start: Point, end: Point, bow: float) -> _Curve:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    # To the left of its direction, so that the two edges of a pair do not lie on each other.
    bend = (start[0] + end[0]) / 2 + dy / length * bow, (start[1] + end[1]) / 2 - dx / length * bow
    return _Curve(_towards(start, bend, _DISC + 2), bend, _towards(end, bend, _DISC + 3))


def _overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)


def _label_box(curve: _Curve, t: float, width: float) -> Box:
    x, y = curve.at(t)
    return x - width / 2 - 3, y - 7, x + width / 2 + 3, y + 7


def _place_labels(curves: Sequence[_Curve], widths: Sequence[float], discs: Sequence[Point]) -> list[Box]:
    """Greedy: each label goes where it covers least of what is there."""
    taken: list[Box] = [(x - _DISC, y - _DISC, x + _DISC, y + _DISC) for x, y in discs]
    # The ends of curves show direction, so they stay free as well.
    taken += [(x - 11, y - 11, x + 11, y + 11) for curve in curves for x, y in (curve.at(0.97), curve.at(0.03))]
    boxes = []
    for number, (curve, width) in enumerate(zip(curves, widths, strict=True)):
        others = [other.at(t / 12) for n, other in enumerate(curves) if n != number for t in range(1, 12)]

        def cost(t: float, curve: _Curve = curve, width: float = width, others: list[Point] = others) -> float:
            box = _label_box(curve, t, width)
            crossed = sum(box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in others)
            return sum(_overlap(box, other) for other in taken) + 12 * crossed + 4 * abs(t - 0.5)

        box = _label_box(curve, min(_PLACES, key=cost), width)
        boxes.append(box)
        taken.append(box)
    return boxes


def _arrow(curve: _Curve, tone: str) -> str:
    x, y = curve.end
    back = _towards(curve.end, curve.bend, 9)
    dx, dy = x - back[0], y - back[1]
    left = back[0] - dy * 0.5, back[1] + dx * 0.5
    right = back[0] + dy * 0.5, back[1] - dx * 0.5
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in ((x, y), left, right))
    return f'<polygon points="{points}" style="fill:{tone}"/>'


def _edge(edge: Edge, curve: _Curve, *, symmetric: bool, conflict: bool) -> str:
    tone = _tone(edge, conflict)
    (x1, y1), (bx, by) = curve.start, curve.bend
    x2, y2 = curve.end if symmetric else _towards(curve.end, curve.bend, 6)
    hover = f"{edge.source} {edge.relation} {edge.target}"
    path = (
        f'<path d="M{x1:.1f} {y1:.1f}Q{bx:.1f} {by:.1f} {x2:.1f} {y2:.1f}" style="stroke:{tone}"'
        f"{' class=' + chr(34) + 'hot' + chr(34) if conflict else ''}><title>{clean(hover)}</title></path>"
    )
    return path if symmetric else path + _arrow(curve, tone)


def _tone(edge: Edge, conflict: bool) -> str:
    return f"var(--{'contrast' if conflict else family(edge.relation)})"


_STYLE = (
    f".{_SCOPE} text{{font-family:{FONT};font-size:12.5px;fill:var(--ink)}}"
    f".{_SCOPE} path{{fill:none;stroke-width:1.5}}.{_SCOPE} .hot{{stroke-width:2.4}}"
    f".{_SCOPE} circle{{fill:var(--paper);stroke:var(--ink);stroke-width:1.6}}"
    f".{_SCOPE} .alone circle{{stroke:var(--soft);stroke-dasharray:3 3}}.{_SCOPE} .alone text{{fill:var(--soft)}}"
    f".{_SCOPE} .num{{text-anchor:middle;font-weight:600}}"
    f".{_SCOPE} .rel{{font-size:{_LABEL}px;text-anchor:middle;font-weight:500}}"
    f".{_SCOPE} .plate{{fill:var(--paper);fill-opacity:.92}}"
    f".{_SCOPE} .ttl{{font-size:15px;font-weight:600}}.{_SCOPE} .leg{{font-size:10.5px;fill:var(--soft)}}"
)


def graph_svg(graph: RhetoricalGraph, *, titles: Sequence[str] = (), title: str = "", legend: bool = True) -> str:
    """Returns a picture of a rhetorical graph as an SVG document that follows the reader's light or dark setting.

    Chunks stand on a circle, clockwise from the top; an arrow runs from source to target, a symmetric relation has
    none; relations of the contrast family are thick and red; a chunk that is related to nothing is dashed.

    Args:
        graph: Any graph.
        titles: Of the chunks in order, listed beside the circle; may be shorter than the graph.
        title: Above the picture.
        legend: Whether a line below explains the drawing.
    """
    # Neighbours on the circle need room for a label between them.
    radius = 30.0 if graph.size < 2 else max(90.0, 54.0 / math.sin(math.pi / graph.size))
    side = 46.0
    top = _MARGIN + (_TITLE if title else 0)
    reach_x = radius * _WIDE + side
    centre = _MARGIN + reach_x, top + _DISC + 16 + radius
    discs = _positions(graph.size, radius, centre)
    symmetric, conflicts = set(graph.symmetric or ()), set(graph.conflicts())
    pairs: set[frozenset[int]] = set()
    curves = [_curve(discs[e.source - 1], discs[e.target - 1], _bow(e, graph, pairs)) for e in graph.edges]
    widths = [text_width(edge.relation, _LABEL) for edge in graph.edges]
    boxes = _place_labels(curves, widths, discs)
    named = [(n, name) for n, name in enumerate(titles[: graph.size], 1) if name]
    list_x = centre[0] + reach_x + 12
    names = [f"{n}  {clip(name, _LIST_WIDTH, 12.5)}" for n, name in named]
    reach = max((text_width(name, 12.5) for name in names), default=0.0)
    width = max(
        list_x + reach if named else centre[0] + reach_x,
        text_width(title, 15, bold=True) + _MARGIN,
        470.0 if legend else 0.0,
        max((box[2] for box in boxes), default=0.0),
    )
    width += _MARGIN
    bottom = max(centre[1] + radius + _DISC + 14, top + _LIST_LINE * len(named))
    height = bottom + _MARGIN + (12 if legend else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_SCOPE}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{clean(title) or "Rhetorical graph"}">',
        f"<style>{style(_SCOPE)}{_STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="6" style="fill:var(--paper)"/>',
    ]
    if title:
        parts.append(f'<text x="{_MARGIN}" y="{_MARGIN + 12:.1f}" class="ttl">{clean(title)}</text>')
    for edge, curve in zip(graph.edges, curves, strict=True):
        parts.append(_edge(edge, curve, symmetric=edge.relation in symmetric, conflict=edge in conflicts))
    for edge, (x1, y1, x2, y2) in zip(graph.edges, boxes, strict=True):
        parts.append(
            f'<rect x="{x1:.1f}" y="{y1:.1f}" width="{x2 - x1:.1f}" height="{y2 - y1:.1f}" rx="4" class="plate"/>'
            f'<text x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2 + 3.7:.1f}" class="rel" '
            f'style="fill:{_tone(edge, edge in conflicts)}">{clean(edge.relation)}</text>'
        )
    alone = set(graph.unrelated())
    for number, (x, y) in enumerate(discs, 1):
        kind = ' class="alone"' if number in alone else ""
        parts.append(
            f'<g{kind}><circle cx="{x:.1f}" cy="{y:.1f}" r="{_DISC}"/>'
            f'<text x="{x:.1f}" y="{y + 4.4:.1f}" class="num">{number}</text></g>'
        )
    for place, name in enumerate(names):
        y = top + 12 + place * _LIST_LINE
        parts.append(f'<text x="{list_x:.1f}" y="{y:.1f}" xml:space="preserve">{clean(name)}</text>')
    if legend:
        words = "arrow: source to target &#160;·&#160; no arrow: both ways &#160;·&#160; "
        words += "thick red: conflict &#160;·&#160; dashed: unrelated"
        parts.append(f'<text x="{_MARGIN}" y="{height - 12:.1f}" class="leg">{words}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
