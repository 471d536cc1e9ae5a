"""The picture of a rhetorical graph."""

import math
from xml.etree import ElementTree

import pytest

from disco_dspy.show.svg_graph import graph_svg
from signatures.graph import Edge, RhetoricalGraph

SVG = "{http://www.w3.org/2000/svg}"
EDGES = (
    Edge(1, 2, "CONTRADICTS"), Edge(2, 3, "SUPPORTS"), Edge(3, 2, "ELABORATES"), Edge(4, 1, "CAUSES"),
    Edge(5, 2, "QUALIFIES"), Edge(6, 7, "PRECEDES"), Edge(7, 1, "BACKGROUNDS"),
)  # fmt: skip


def parse(graph: RhetoricalGraph, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring(graph_svg(graph, **options))  # type: ignore[arg-type]


def test_chunks_edges_and_arrows_are_counted() -> None:
    root = parse(RhetoricalGraph(8, EDGES, "inter-chunk"), titles=["Rain & sun", "", "x" * 200], title="T")
    assert len(list(root.iter(f"{SVG}circle"))) == 8
    assert len(list(root.iter(f"{SVG}path"))) == 7
    # CONTRADICTS is symmetric, so it has no arrow.
    assert len(list(root.iter(f"{SVG}polygon"))) == 6
    hot = [e for e in root.iter(f"{SVG}path") if e.get("class") == "hot"]
    assert [e[0].text for e in hot] == ["1 CONTRADICTS 2", "5 QUALIFIES 2"]
    alone = [e for e in root.iter(f"{SVG}g") if e.get("class") == "alone"]
    assert [e[1].text for e in alone] == ["8"]
    texts = [e.text or "" for e in root.iter(f"{SVG}text")]
    assert any(text.endswith("Rain & sun") for text in texts) and any(text.endswith("…") for text in texts)


def test_labels_do_not_cover_each_other_or_the_chunks() -> None:
    root = parse(RhetoricalGraph(8, EDGES, "inter-chunk"))
    boxes = [
        tuple(float(e.get(key) or 0) for key in ("x", "y", "width", "height"))
        for e in root.iter(f"{SVG}rect")
        if e.get("class") == "plate"
    ]
    discs = [(float(e.get("cx") or 0), float(e.get("cy") or 0)) for e in root.iter(f"{SVG}circle")]
    assert len(boxes) == 7
    for n, (x, y, w, h) in enumerate(boxes):
        assert all(x + w <= a or a + c <= x or y + h <= b or b + d <= y for a, b, c, d in boxes[n + 1 :])
        assert all(math.hypot(cx - x - w / 2, cy - y - h / 2) > 15 for cx, cy in discs)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 40])
def test_any_size_stays_in_its_frame(size: int) -> None:
    edges = (Edge(1, 2, "SUPPORTS"), Edge(2, 1, "CAUSES")) if size > 1 else ()
    root = parse(RhetoricalGraph(size, edges, "inter-chunk"))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for disc in root.iter(f"{SVG}circle"):
        assert 15 < float(disc.get("cx") or 0) < width - 15
        assert 15 < float(disc.get("cy") or 0) < height - 15
