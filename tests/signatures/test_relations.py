"""Inventories: what ships is complete, labels are read leniently, bad files are refused with a remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signatures.errors import DiscoError
from signatures.grapher import EDGE_PATTERN
from signatures.parser import SPAN_PATTERN
from signatures.relations import CONTRAST, NUCLEARITIES, inventory_names, load_inventory, normalise_label

SHIPPED = inventory_names()


def test_shipped_inventories_have_the_sizes_their_names_promise() -> None:
    assert SHIPPED == ["inter-chunk", "paper-24", "refined-19"]
    assert inventory_names("inter") == ["inter-chunk"]
    assert len(load_inventory("refined-19").labels) == 19
    assert len(load_inventory("paper-24").labels) == 24
    assert len(load_inventory("inter-chunk").labels) == 14


@pytest.mark.parametrize("name", SHIPPED)
def test_every_label_fits_the_reply_pattern_and_one_prompt_line(name: str) -> None:
    inventory = load_inventory(name)
    pattern = SPAN_PATTERN if inventory.kind == "intra" else EDGE_PATTERN
    table = inventory.describe().splitlines()
    assert len(table) == len(inventory.relations)
    for relation, line in zip(inventory.relations, table, strict=True):
        if inventory.kind == "intra":
            assert relation.nuclearity and set(relation.nuclearity) <= set(NUCLEARITIES)
            assert all(re.search(pattern, f"1-12 {code} {relation.name}") for code in relation.nuclearity)
        else:
            assert relation.nuclearity == ()
            assert re.search(pattern, f"1>12 {relation.name}")
        assert f"{relation.name}: {relation.definition}" in line
        assert len(relation.definition) < 100 and relation.short and " " not in relation.short


def test_conflict_relations_are_marked_in_each_inventory() -> None:
    for name, expected in {
        "refined-19": {"contrast", "concession"},
        "paper-24": {"contrast", "concession", "antithesis"},
        "inter-chunk": {"CONTRADICTS", "CONTRASTS", "QUALIFIES"},
    }.items():
        relations = load_inventory(name).relations
        assert {relation.name for relation in relations if relation.family == CONTRAST} == expected
    symmetric = {relation.name for relation in load_inventory("inter-chunk").relations if relation.symmetric}
    assert symmetric == {"CONTRADICTS", "CONTRASTS", "PARALLELS", "RESTATES"}


@pytest.mark.parametrize(
    ("written", "nuclearity", "label"),
    [
        ("Elaboration", None, "elaboration"),
        ("  SAME_UNIT. ", None, "same-unit"),
        ("same unit", None, "same-unit"),
        ("elaboration-object-attribute-e", None, "elaboration"),
        ("Attribution-n", None, "attribution"),
        ("cause-and-effect", None, "cause"),
        ("Evidence:", None, "explanation"),
        ("TEMPORAL", "NN", "sequence"),
        ("TEMPORAL", "NS", "circumstance"),
        ("temporal", None, "circumstance"),
        ("让步", None, "concession"),
    ],
)
def test_labels_are_read_leniently(written: str, nuclearity: str | None, label: str) -> None:
    found = load_inventory("refined-19").find(written, nuclearity)
    assert found is not None and found.name == label


def test_what_is_no_label_is_not_guessed() -> None:
    inventory = load_inventory("refined-19")
    assert inventory.find("banana") is None
    assert inventory.find("") is None
    assert inventory.find_exact("cause-and-effect") is None


def test_gum_fine_labels_project_to_refined_19() -> None:
    inventory = load_inventory("refined-19")
    for fine, coarse in {
        "joint-sequence": "sequence",
        "joint-disjunction": "alternative",
        "adversative-antithesis": "contrast",
        "context-circumstance": "circumstance",
        "organization-heading": "organization",
        "purpose-attribute": "purpose",
        "topic-solutionhood": "topic-question",
    }.items():
        found = inventory.find_exact(fine)
        assert found is not None and found.name == coarse


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_finding_is_total_and_normalising_settles(text: str) -> None:
    inventory = load_inventory("refined-19")
    assert normalise_label(normalise_label(text)) == normalise_label(text)
    found = inventory.find(text)
    assert found is None or found in inventory.relations


def test_fingerprint_follows_content(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(LEGAL, encoding="utf-8")
    first = load_inventory(file)
    assert first.fingerprint() == load_inventory(str(file)).fingerprint()
    assert re.fullmatch(r"[0-9a-f]{64}", first.fingerprint())
    file.write_text(LEGAL.replace("applies the rule", "applies a rule"), encoding="utf-8")
    assert load_inventory(file).fingerprint() != first.fingerprint()


LEGAL = """
name = "legal"
kind = "intra"

[[relation]]
name = "rule"
definition = "applies the rule to the facts"
nuclearity = ["NS", "SN"]

[[relation]]
name = "list"
definition = "side by side"
nuclearity = ["NN"]
aliases = ["joint"]
"""


def test_a_users_table_works_without_a_repair_section(tmp_path: Path) -> None:
    file = tmp_path / "legal.toml"
    file.write_text(LEGAL, encoding="utf-8")
    inventory = load_inventory(file, "intra")
    assert inventory.labels == ("rule", "list")
    assert inventory.fallback(None, within_sentence=True)[1].name == "rule"
    assert inventory.fallback(None, within_sentence=False) == ("NN", inventory.relations[1])
    assert inventory.fallback("SN", within_sentence=True)[0] == "SN"
    assert inventory.relations[0].short == "rule"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('kind = "intra"', 'kind = "intra'), "line 3"),
        (('kind = "intra"', 'kind = "other"'), "unknown kind 'other'"),
        (('name = "legal"', ""), "'name' is missing"),
        (('name = "rule"', 'name = "Rule"'), "relation 1 ('Rule')"),
        (('name = "rule"', 'name = "unrelated"'), "leaving the pair out"),
        (('name = "rule"', 'name = "list"'), "listed twice"),
        (('name = "rule"', ""), "relation 1"),
        (('["NS", "SN"]', '["NS", "XX"]'), "unknown nuclearity 'XX'"),
        (('["NS", "SN"]', '["NS", "NS"]'), "listed twice"),
        (('["NS", "SN"]', '"NS"'), "list of texts"),
        (('nuclearity = ["NN"]\n', ""), "relation 2 ('list'): nuclearity is missing"),
        (("definition = ", "defnition = "), "Did you mean 'definition'"),
        (('definition = "side by side"', "definition = 3"), "relation 2 ('list'): 'definition' must be text"),
        (('aliases = ["joint"]', 'aliases = ["rule"]'), "already belongs to 'rule'"),
        (('aliases = ["joint"]', 'aliases = ["joint:XX"]'), "'joint:XX' cannot be read"),
        (('aliases = ["joint"]', 'family = "contrats"'), "Did you mean 'contrast'"),
        (('aliases = ["joint"]', "symmetric = 1"), "symmetric must be true or false"),
        (('kind = "intra"', 'kind = "intra"\n[repair]\nwithin = "NS roole"'), "names no relation"),
        (('kind = "intra"', 'kind = "intra"\n[repair]\nwithin = "NN rule"'), "does not allow 'NN'"),
        (('kind = "intra"', 'kind = "intra"\nrelation = []'), "line"),
        ((LEGAL, 'name = "x"\nkind = "inter"\n'), "no list of relations"),
    ],
)
def test_a_bad_table_is_refused_by_file_and_entry(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    assert change[0] in LEGAL
    file = tmp_path / "legal.toml"
    file.write_text(LEGAL.replace(change[0], change[1], 1), encoding="utf-8")
    with pytest.raises(DiscoError) as caught:
        load_inventory(file)
    assert caught.value.code in ("inventory/syntax", "inventory/invalid")
    assert str(file) in caught.value.sentence
    assert said in str(caught.value)
    assert caught.value.remedy.endswith(".") and caught.value.exit_code == 3


def test_unknown_names_and_unreadable_files_say_what_would_work(tmp_path: Path) -> None:
    with pytest.raises(DiscoError, match="Did you mean 'refined-19'") as unknown:
        load_inventory("refined-91")
    assert unknown.value.code == "inventory/unknown"
    with pytest.raises(DiscoError, match="cannot be read") as missing:
        load_inventory(tmp_path / "none.toml")
    assert missing.value.code == "inventory/unreadable"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"name = \xff\xfe")
    with pytest.raises(DiscoError, match="not UTF-8"):
        load_inventory(binary)
    with pytest.raises(DiscoError, match="inter-chunk") as kind:
        load_inventory("refined-19", "inter")
    assert kind.value.code == "inventory/kind"
