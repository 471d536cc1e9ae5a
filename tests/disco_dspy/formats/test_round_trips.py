"""What is written is read back, for gold files and for any tree."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from disco_dspy import formats
from disco_dspy.formats.brackets import read_brackets, write_brackets
from disco_dspy.formats.dis import read_dis, write_dis
from disco_dspy.formats.rs3_read import read_rs3
from disco_dspy.formats.rs3_write import write_rs3, write_rs4
from disco_dspy.formats.rsd import read_rsd
from disco_dspy.formats.rsd_write import write_rsd
from signatures.relations import load_inventory
from signatures.tree import RSTTree, check_tree
from tests.disco_dspy.formats.trees import DATA, NAMES, trees

READABLE = [name for name, item in formats.FORMATS.items() if item.read]


def gold(name: str) -> formats.RSTDocument:
    return formats.read(DATA / f"{name}.rs4")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("format", READABLE)
def test_gold_trees_survive_every_format(name: str, format: str) -> None:
    document = gold(name)
    again = formats.loads(formats.dumps(document, format), format, name)
    assert again.tree == document.tree
    assert formats.dumps(again, format) == formats.dumps(document, format)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("format", ["rs4", "json"])
def test_nothing_of_an_rs4_is_lost(name: str, format: str) -> None:
    document = gold(name)
    assert document.signals and document.signal_types and document.relations
    assert formats.loads(formats.dumps(document, format), format, name) == document


def test_secondary_edges_point_at_the_units_of_the_file() -> None:
    edges = {(e.source, e.target, e.relation) for e in gold("GUM_news_homeopathic").secondary}
    assert len(edges) == 3
    document = gold("GUM_interview_gaming")
    # <secedge id="8-9" ...> names two segments; the signal of a secondary edge stays on it.
    both = [signal for signal in document.signals if len(signal.on) == 2]
    assert both and {signal.on for signal in both} <= {(e.source, e.target) for e in document.secondary}


@pytest.mark.parametrize("name", NAMES)
def test_rsd_of_the_corpus_gives_the_tree_the_edges_and_the_signals_of_the_rs4(name: str) -> None:
    document, other = gold(name), formats.read(DATA / f"{name}.rsd")
    assert other.tree == document.tree
    assert set(other.secondary) == set(document.secondary)
    assert set(other.signals) == set(document.signals)
    assert other.kept == document.kept


@pytest.mark.parametrize("name", NAMES)
def test_rsd_is_written_as_the_corpus_writes_it(name: str) -> None:
    ours = [line.split("\t") for line in write_rsd(gold(name)).splitlines()]
    theirs = [line.split("\t") for line in (DATA / f"{name}.rsd").read_text().splitlines() if line]
    for column in (0, 1, 2, 6, 7):
        assert [row[column] for row in ours] == [row[column] for row in theirs]


@pytest.mark.parametrize("name", NAMES[:2])
def test_dis_is_read_and_written_as_the_corpus_writes_it(name: str) -> None:
    given = (DATA / f"{name}.dis").read_text()
    document = read_dis(given, name)
    assert document.tree == gold(name).tree
    assert write_dis(document).split() == given.split()


def test_the_tokenised_tree_is_placed_onto_the_untokenised_text() -> None:
    plain = formats.read(DATA / "GUM_interview_gaming.json")
    placed = gold("GUM_interview_gaming").onto(plain.text)
    assert placed.tree == plain.tree
    assert placed.text != gold("GUM_interview_gaming").text
    assert placed.signals


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_projected_and_the_original_ones_kept(name: str) -> None:
    document, inventory = gold(name), load_inventory("refined-19")
    projected = document.project(inventory)
    check_tree(projected.tree, inventory)
    assert projected.labels == tuple(node.relation for node in document.tree.nodes)
    assert [node.nuclearity for node in projected.tree.nodes] == [node.nuclearity for node in document.tree.nodes]
    assert formats.loads(formats.dumps(projected, "json"), "json") == projected


def shape(tree: RSTTree) -> tuple:
    return tree.nodes, [tree.edu_text(n) for n in range(1, len(tree.edus) + 1)]


@settings(max_examples=100, deadline=None)
@given(trees())
def test_any_tree_survives_xml(tree: RSTTree) -> None:
    for text in (write_rs3(tree), write_rs3(tree, flatten=False), write_rs4(tree)):
        back = read_rs3(text)
        assert shape(back.tree) == shape(tree)
        assert replace(back.onto(tree.text).tree, inventory=tree.inventory) == tree
        assert shape(read_rs3(text.encode()).tree) == shape(tree)


@settings(max_examples=100, deadline=None)
@given(trees())
def test_any_tree_survives_rsd_brackets_and_json(tree: RSTTree) -> None:
    assert shape(read_rsd(write_rsd(tree)).tree) == shape(tree)
    assert formats.loads(formats.dumps(tree, "json"), "json").tree == tree
    texts = [tree.edu_text(n) for n in range(1, len(tree.edus) + 1)]
    for flatten in (False, True):
        assert shape(read_brackets(write_brackets(tree, texts=True, flatten=flatten)).tree) == shape(tree)
        assert shape(read_brackets(write_brackets(tree, flatten=flatten), texts).tree) == shape(tree)


@settings(max_examples=100, deadline=None)
@given(trees())
def test_any_tree_survives_dis_but_for_white_space_before_its_closing_mark(tree: RSTTree) -> None:
    for flatten in (False, True):
        back = read_dis(write_dis(tree, flatten=flatten))
        assert back.tree.nodes == tree.nodes
        assert replace(back.onto(tree.text).tree, inventory=tree.inventory) == tree


def test_files_are_written_whole_and_read_by_their_ending(tmp_path: Path) -> None:
    document = gold("GUM_news_worship")
    for format, ending in (("rs4", "rs4"), ("json", "JSON"), ("mermaid", "mmd"), ("dot", "gv"), ("svg", "svg")):
        path = tmp_path / f"x.{ending}"
        formats.write(document, path)
        assert path.read_text(encoding="utf-8") == formats.dumps(document, format)
    assert formats.read(tmp_path / "x.rs4") == replace(document, name="x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.JSON", "x.gv", "x.mmd", "x.rs4", "x.svg"]
