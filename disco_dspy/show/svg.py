"""A tree as one SVG picture, without dependencies.

EDUs stand below each other as lines of text, the tree grows from the left. Every node has its own gap between two
EDUs, so its label is written there and never meets another one, however deep the tree is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from disco_dspy.formats.chains import Chains
from disco_dspy.formats.document import Span
from disco_dspy.show.svg_parts import FONT, clean, family, style, text_width, wrap
from signatures.tree import Node, RSTTree

_SCOPE = "disco-rst"
_MARGIN = 16.0
_STEP = 17.0
_SIZE = 13.0
_LABEL = 10.5
_LINE = 17.0
_GAP = 17.0
_TITLE = 30.0
_LEGEND = 26.0
# Fonts differ in width; the estimate is for common ones.
_SLACK = 1.06


@dataclass
class _Bar:
    """A node as it is drawn: a vertical bar with a branch to each part."""

    node: Node
    parts: list[Span]
    depth: int

    @property
    def unit(self) -> Span:
        return self.node.first, self.node.last

    @property
    def gap(self) -> int:
        """Number of the EDU above the gap that is this node's own."""
        return self.parts[(len(self.parts) - 1) // 2][1]

    def nucleus(self, place: int) -> bool:
        return self.node.nuclearity == "NN" or self.node.nuclearity[place] == "N"


@dataclass
class _Layout:
    tree: RSTTree
    width: float
    flatten: bool
    top: float
    bars: list[_Bar] = field(default_factory=list)
    roles: dict[Span, bool] = field(default_factory=dict)
    lines: list[list[str]] = field(default_factory=list)
    # Top edge of each EDU's text, and one more for the bottom.
    tops: list[float] = field(default_factory=list)
    text_x: float = 0.0

    def __post_init__(self) -> None:
        self._place_bars()
        self._place_text()

    def _place_bars(self) -> None:
        chains = Chains(self.tree, flatten=self.flatten)
        waiting: list[tuple[Span, int]] = [((1, len(self.tree.edus)), 0)]
        while waiting:
            unit, depth = waiting.pop()
            node = chains.node(unit)
            if node is None:
                continue
            halves = [(node.first, node.split), (node.split + 1, node.last)]
            bar = _Bar(node, chains.parts(node) if node.nuclearity == "NN" else halves, depth)
            self.bars.append(bar)
            for place, part in enumerate(bar.parts):
                self.roles[part] = bar.nucleus(place)
                waiting.append((part, depth + 1))

    def _place_text(self) -> None:
        deepest = max((bar.depth for bar in self.bars), default=-1)
        longest = max((text_width(bar.node.relation, _LABEL) for bar in self.bars if bar.depth == deepest), default=0)
        number = text_width(str(len(self.tree.edus)), _LABEL) + 14
        tree_end = _MARGIN + (deepest + 1) * _STEP
        self.text_x = tree_end + max(number, min(longest, 70.0)) + 12 if self.bars else _MARGIN + number + 8
        at = self.top
        for edu in self.tree.edus:
            bold = self.bold(edu.index)
            lines = wrap(self.tree.edu_text(edu.index), self.width, _SIZE, bold=bold)
            self.lines.append(lines)
            self.tops.append(at)
            at += len(lines) * _LINE + _GAP
        self.tops.append(at)

    def bold(self, number: int) -> bool:
        return self.roles.get((number, number), True)

    def x(self, bar: _Bar) -> float:
        return _MARGIN + bar.depth * _STEP

    def row(self, number: int) -> float:
        """Middle of an EDU's text."""
        return self.tops[number - 1] + len(self.lines[number - 1]) * _LINE / 2

    def gap(self, number: int) -> float:
        """Middle of the gap below an EDU."""
        return self.tops[number] - _GAP / 2 - 0.5


def _branches(layout: _Layout, anchors: dict[Span, float]) -> list[str]:
    out = []
    for bar in layout.bars:
        x, tone = layout.x(bar), f"var(--{family(bar.node.relation)})"
        ys = [anchors[part] for part in bar.parts]
        out.append(f'<path d="M{x:.1f} {ys[0]:.1f}V{ys[-1]:.1f}" stroke="{tone}"/>')
        for place, part in enumerate(bar.parts):
            leaf = part[0] == part[1]
            end = layout.text_x - 12 - text_width(str(part[0]), _LABEL) if leaf else x + _STEP
            kind = "nuc" if bar.nucleus(place) else "sat"
            out.append(f'<path d="M{x:.1f} {ys[place]:.1f}H{end:.1f}" stroke="{tone}" class="{kind}"/>')
        if bar.node.nuclearity != "NN":
            # The arrow lies on the bar and points at the nucleus.
            tip = ys[0] if bar.node.nuclearity == "NS" else ys[1]
            back = 7.5 if bar.node.nuclearity == "NS" else -7.5
            out.append(f'<path d="M{x:.1f} {tip:.1f}l-4.2 {back}h8.4z" class="tip" style="fill:{tone}"/>')
    return out


def _labels(layout: _Layout) -> list[str]:
    out = []
    for bar in layout.bars:
        node = bar.node
        mark = "*" if node.repaired else ""
        hover = f"{node.relation} {node.nuclearity} {node.first}-{node.last}{' (repaired)' if mark else ''}"
        out.append(
            f'<text x="{layout.x(bar) + 5:.1f}" y="{layout.gap(bar.gap) + 3.6:.1f}" class="rel" '
            f'style="fill:var(--{family(node.relation)})">{clean(node.relation)}{mark}<title>{clean(hover)}</title></text>'
        )
    return out


def _texts(layout: _Layout) -> list[str]:
    out = []
    root = next(number for number, head in enumerate(layout.tree.heads(), 1) if head[0] == 0)
    for edu in layout.tree.edus:
        number, y = edu.index, layout.tops[edu.index - 1] + _LINE - 4.5
        marked = ' class="num top"' if number == root else ' class="num"'
        out.append(f'<text x="{layout.text_x - 8:.1f}" y="{layout.row(number) + 3.8:.1f}"{marked}>{number}</text>')
        weight = "n" if layout.bold(number) else "s"
        spans = "".join(
            f'<tspan x="{layout.text_x:.1f}" y="{y + line * _LINE:.1f}">{clean(text)}</tspan>'
            for line, text in enumerate(layout.lines[number - 1])
        )
        out.append(f'<text class="{weight}">{spans}</text>')
    return out


def _legend(y: float, *, repaired: bool) -> str:
    words = "bold, thick line: nucleus &#160;·&#160; thin, dashed line: satellite &#160;·&#160; "
    words += "the arrow points at the nucleus"
    if repaired:
        words += " &#160;·&#160; * filled in by the decoder"
    return f'<text x="{_MARGIN}" y="{y:.1f}" class="leg">{words}</text>'


_STYLE = (
    f".{_SCOPE} text{{font-family:{FONT};font-size:{_SIZE}px;fill:var(--ink)}}"
    f".{_SCOPE} .n{{font-weight:600}}.{_SCOPE} .s{{font-weight:400;fill-opacity:.82}}"
    f".{_SCOPE} path{{fill:none;stroke-width:1.7}}.{_SCOPE} .nuc{{stroke-width:2.4}}"
    f".{_SCOPE} .sat{{stroke-width:1.2;stroke-dasharray:4 3}}"
    f".{_SCOPE} .rel{{font-size:{_LABEL}px;font-weight:500}}"
    f".{_SCOPE} .tip{{stroke:none}}"
    f".{_SCOPE} .num{{font-size:{_LABEL}px;fill:var(--soft);text-anchor:end}}"
    f".{_SCOPE} .top{{fill:var(--ink);font-weight:700}}"
    f".{_SCOPE} .ttl{{font-size:15px;font-weight:600}}.{_SCOPE} .leg{{font-size:10.5px;fill:var(--soft)}}"
)


def tree_svg(tree: RSTTree, *, title: str = "", width: float = 620.0, flatten: bool = True, legend: bool = True) -> str:
    """Returns a picture of a tree as an SVG document that follows the reader's light or dark setting.

    Nuclei are bold and hang on thick lines, satellites on dashed ones; an arrow on the bar points at the nucleus;
    the colour is the family of the relation; the bold number is the most important EDU; a label that the decoder
    filled in has a star.

    Args:
        tree: A valid tree.
        title: Above the picture.
        width: Of the text column, in pixels; longer EDUs wrap.
        flatten: Whether a chain of one multinuclear relation is drawn as one node.
        legend: Whether a line below explains the drawing.
    """
    layout = _Layout(tree, width, flatten, _MARGIN + (_TITLE if title else 0))
    anchors = {(n, n): layout.row(n) for n in range(1, len(tree.edus) + 1)}
    anchors |= {bar.unit: layout.gap(bar.gap) for bar in layout.bars}
    needed = max(
        (text_width(line, _SIZE, bold=layout.bold(n)) for n, lines in enumerate(layout.lines, 1) for line in lines),
        default=0.0,
    )
    heading = text_width(title, 15, bold=True) + _MARGIN
    total = max(layout.text_x + needed * _SLACK, heading, 470.0 if legend else 0.0) + _MARGIN
    bottom = layout.tops[-1] - _GAP + _MARGIN
    height = bottom + (_LEGEND - 6 if legend else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{_SCOPE}" width="{total:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {total:.0f} {height:.0f}" role="img" aria-label="{clean(title) or "RST tree"}">',
        f"<style>{style(_SCOPE)}{_STYLE}</style>",
        f'<rect width="{total:.0f}" height="{height:.0f}" rx="6" fill="var(--paper)"/>',
    ]
    if title:
        parts.append(f'<text x="{_MARGIN}" y="{_MARGIN + 12:.1f}" class="ttl">{clean(title)}</text>')
    parts += [*_branches(layout, anchors), *_labels(layout), *_texts(layout)]
    if legend:
        parts.append(_legend(bottom + 8, repaired=any(node.repaired for node in tree.nodes)))
    return "\n".join([*parts, "</svg>"]) + "\n"
