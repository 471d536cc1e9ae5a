"""The picture of a tree: complete, well-formed, without collisions."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from disco_dspy import formats
from disco_dspy.formats.brackets import read_brackets
from disco_dspy.show.svg import tree_svg
from disco_dspy.show.svg_parts import clip, family, text_width, wrap
from signatures.relations import load_inventory
from signatures.tree import Node, RSTTree, edus_from_starts
from tests.disco_dspy.formats.trees import DATA, trees

SVG = "{http://www.w3.org/2000/svg}"


def parse(picture: str) -> ElementTree.Element:
    root = ElementTree.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    return root


def words(root: ElementTree.Element, kind: str) -> list[str]:
    found = [e for e in root.iter(f"{SVG}text") if kind in (e.get("class") or "").split()]
    return [" ".join("".join(span.itertext()) for span in list(e) or [e]) for e in found]


def test_every_edu_and_every_relation_is_in_the_picture() -> None:
    tree = read_brackets('(SN:attribution "He said" (NN:joint "it rains" "it & <pours>"))').tree
    root = parse(tree_svg(tree, title="Rain & shine"))
    assert words(root, "n") == ["it rains", "it & <pours>"] and words(root, "s") == ["He said"]
    assert [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "rel"] == ["attribution", "joint"]
    assert words(root, "ttl") == ["Rain & shine"]
    # The root EDU is the first nucleus of the joint.
    assert words(root, "top") == ["2"]


def test_the_arrow_points_at_the_nucleus() -> None:
    def tips(brackets: str) -> list[str]:
        paths = [e.get("d") or "" for e in parse(tree_svg(read_brackets(brackets).tree)).iter(f"{SVG}path")]
        return [path for path in paths if path.endswith("z")]

    (up,), (down,) = tips('(NS:cause "a" "b")'), tips('(SN:cause "a" "b")')
    assert float(re.split("[ l]", up)[1]) < float(re.split("[ l]", down)[1])
    assert "l-4.2 7.5" in up and "l-4.2 -7.5" in down
    assert tips('(NN:joint "a" "b")') == []


def test_labels_of_a_large_tree_have_a_line_of_their_own() -> None:
    tree = formats.read(DATA / "GUM_interview_gaming.rs4").tree
    root = parse(tree_svg(tree, flatten=False))
    labels = [float(e.get("y") or 0) for e in root.iter(f"{SVG}text") if e.get("class") == "rel"]
    lines = [float(e.get("y") or 0) for e in root.iter(f"{SVG}tspan")]
    assert len(labels) == len(tree.nodes) and len(set(labels)) == len(labels)
    assert min(abs(label - line) for label in labels for line in lines) > 9


def test_nothing_reaches_out_of_the_frame() -> None:
    tree = formats.read(DATA / "GUM_news_homeopathic.rs4").project(load_inventory("refined-19")).tree
    root = parse(tree_svg(tree, width=300))
    width, height = float(root.get("width") or 0), float(root.get("height") or 0)
    for span in root.iter(f"{SVG}tspan"):
        assert float(span.get("x") or 0) + text_width(span.text or "", 13, bold=True) <= width
        assert 0 < float(span.get("y") or 0) < height


def test_a_label_the_decoder_filled_in_has_a_star() -> None:
    text = "a b"
    tree = RSTTree(text, edus_from_starts(text, [2]), (Node(1, 1, 2, "NN", "joint", True),), "refined-19")
    picture = tree_svg(tree)
    assert "joint*" in picture and "filled in by the decoder" in picture
    assert "filled in" not in tree_svg(read_brackets('(NN:joint "a" "b")').tree)


def test_a_chain_is_one_node_unless_asked_otherwise() -> None:
    tree = read_brackets('(NN:joint "a" "b" "c")').tree
    assert tree_svg(tree).count('class="rel"') == 1
    assert tree_svg(tree, flatten=False).count('class="rel"') == 2


def test_a_single_edu_and_a_bare_picture() -> None:
    root = parse(tree_svg(read_brackets('"all there is"').tree, legend=False))
    assert words(root, "n") == ["all there is"] and words(root, "leg") == []


def test_a_long_chain_is_drawn_without_recursion() -> None:
    text = "w " * 1500
    nodes = tuple(Node(n, n, 1500, "NS", "elaboration") for n in range(1, 1500))
    tree = RSTTree(text, edus_from_starts(text, range(0, 3000, 2)), nodes, "refined-19")
    assert tree_svg(tree).count('class="rel"') == 1499


@settings(max_examples=60, deadline=None)
@given(trees())
def test_any_tree_is_drawn_as_xml(tree: RSTTree) -> None:
    root = parse(tree_svg(tree, title=tree.text))
    edus = [e for e in root.iter(f"{SVG}text") if e.get("class") in ("n", "s")]
    shown = "".join(text for edu in edus for text in edu.itertext())
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", tree.text)


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    text = "a\x00b\ud800"
    parse(tree_svg(RSTTree(text, edus_from_starts(text, []), (), "refined-19")))


@pytest.mark.parametrize(
    "text", ["a" * 500, "你好，世界。" * 60, "one two three " * 40, "https://example.org/" + "x/" * 200]
)
def test_wrapped_lines_fit_and_lose_nothing(text: str) -> None:
    lines = wrap(text, 200, 13)
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)
    assert all(text_width(line, 13) <= 200 * 1.1 for line in lines)
    assert clip(text, 200, 13).endswith("…")


@pytest.mark.parametrize(
    ("label", "expected"),
    [("CONTRADICTS", "contrast"), ("adversative-antithesis", "contrast"), ("causal-cause", "reason"),
     ("attribution-positive", "voice"), ("joint-list", "equal"), ("SUPPORTS", "reason"), ("anything", "detail")],
)  # fmt: skip
def test_families(label: str, expected: str) -> None:
    assert family(label) == expected
