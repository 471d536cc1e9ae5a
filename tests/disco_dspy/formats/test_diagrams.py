"""Mermaid and DOT."""

import re

from disco_dspy import formats
from disco_dspy.formats.brackets import read_brackets
from disco_dspy.formats.diagrams import graph_dot, graph_mermaid, tree_dot, tree_mermaid
from signatures.graph import Edge, RhetoricalGraph
from tests.disco_dspy.formats.trees import DATA

TREE = read_brackets('(SN:attribution "He \\"said\\" <b>" (NN:joint "a # b" "c\\\\d" "`e` & f"))')
GRAPH = RhetoricalGraph(3, (Edge(1, 2, "CONTRADICTS"), Edge(3, 1, "SUPPORTS")), "inter-chunk")


def test_mermaid_of_a_tree() -> None:
    assert tree_mermaid(TREE) == (
        "flowchart TD\n"
        '    n1_4(["attribution"])\n'
        '    e1["1: He #quot;said#quot; #lt;b#gt;"]\n'
        '    n2_4(["joint"])\n'
        '    e2["2: a #35; b"]\n'
        '    e3["3: c#92;d"]\n'
        '    e4["4: #96;e#96; #amp; f"]\n'
        "    n1_4 -.->|S| e1\n"
        "    n1_4 ==>|N| n2_4\n"
        "    n2_4 ==>|N| e2\n"
        "    n2_4 ==>|N| e3\n"
        "    n2_4 ==>|N| e4\n"
    )
    assert "n3_4" in tree_mermaid(TREE, flatten=False)


def test_dot_of_a_tree() -> None:
    dot = tree_dot(TREE)
    assert 'e1 [label="1: He \\"said\\" <b>"];' in dot
    assert 'e3 [label="3: c\\\\d"];' in dot
    assert "n1_4 -> e1 [style=dashed];" in dot and "n1_4 -> n2_4 [style=bold];" in dot
    assert dot.count("{") == dot.count("}") == 1


def test_diagrams_link_every_unit_of_a_large_tree_once() -> None:
    document = formats.read(DATA / "GUM_interview_gaming.rs4")
    for text in (tree_mermaid(document), tree_dot(document)):
        ends = re.findall(r"(?:> |\| )((?:e|n)[\d_]+)", text)
        assert len(ends) == len(set(ends))
        assert {end for end in ends if end[0] == "e"} == {f"e{n}" for n in range(1, 86)}


def test_diagrams_of_a_graph() -> None:
    mermaid, dot = graph_mermaid(GRAPH, ["Rain"]), graph_dot(GRAPH, ["Rain"])
    assert 'c1["1: Rain"]' in mermaid and 'c2["2"]' in mermaid
    assert 'c1 ---|"CONTRADICTS"| c2' in mermaid and 'c3 -->|"SUPPORTS"| c1' in mermaid
    assert 'c1 -> c2 [label="CONTRADICTS", dir=none];' in dot and 'c3 -> c1 [label="SUPPORTS"];' in dot
