"""The shipped weights against gold chunks that no model was trained on: a floor that a broken feature falls below."""

from disco_dspy.light.parser import LightParser
from optimize.light_parser.data import Chunk
from optimize.light_parser.evaluate import evaluate
from optimize.light_parser.measure import boundary_f1, f1
from tests.gold import gold_trees


def test_shipped_weights_reach_their_figures_on_gold() -> None:
    chunks = []
    for tree in gold_trees()[::3]:
        edus = [(edu.start, edu.start + len(tree.text[edu.start : edu.end].rstrip())) for edu in tree.edus]
        nodes = tuple((n.first - 1, n.split - 1, n.last - 1, f"{n.nuclearity}:{n.relation}") for n in tree.nodes)
        chunks.append(Chunk("gum", "any", tree.text, tuple(edus), nodes))
    report = evaluate(LightParser.load("light"), chunks)
    given, raw = f1(report.given), f1(report.raw)
    assert given["S"] > 68 and given["N"] > 48 and given["R"] > 34
    assert raw["S"] > 56 and raw["N"] > 36
    assert boundary_f1(report.starts)["F1"] > 85
