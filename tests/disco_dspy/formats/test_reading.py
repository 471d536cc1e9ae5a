"""Files as other tools write them, and broken ones."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disco_dspy import formats
from disco_dspy.formats.brackets import read_brackets
from disco_dspy.formats.dis import read_dis, write_dis
from disco_dspy.formats.rs3_read import read_rs3
from disco_dspy.formats.rs3_write import write_rs3
from disco_dspy.formats.rsd import read_rsd
from signatures.errors import DiscoError
from signatures.relations import load_inventory
from signatures.tree import RSTTree, check_shape
from tests.disco_dspy.formats.trees import DATA

HEADER = """<rst><header><relations>
<rel name="elaboration" type="rst"/><rel name="list" type="multinuc"/><rel name="same-unit" type="multinuc"/>
<rel name="contrast" type="rst"/><rel name="contrast" type="multinuc"/></relations></header><body>
"""
END = "</body></rst>"


def rows(document: formats.RSTDocument) -> list[tuple]:
    return [(n.first, n.split, n.last, n.nuclearity, n.relation) for n in document.tree.nodes]


def fails(code: str, read, *args: object) -> DiscoError:
    with pytest.raises(DiscoError) as caught:
        read(*args)
    assert caught.value.code == code
    assert caught.value.exit_code == 3
    return caught.value


def test_ids_say_nothing_about_the_order_of_the_text() -> None:
    document = read_rs3(
        HEADER + '<segment id="30" parent="7" relname="span">first</segment>'
        '<segment id="4" parent="30" relname="elaboration">second</segment>'
        '<group id="7" type="span"/>' + END
    )
    assert document.text == "first second"
    assert rows(document) == [(1, 1, 2, "NS", "elaboration")]


def test_groups_may_stand_before_segments() -> None:
    document = read_rs3(
        HEADER + '<group id="9" type="multinuc"/><segment id="2" parent="9" relname="list">b</segment>'
        '<segment id="1" parent="9" relname="list">a</segment>' + END
    )
    assert document.text == "b a"


def test_a_single_edu_is_a_tree_in_every_format() -> None:
    document = read_rs3(HEADER + '<segment id="1">All &lt;of&gt; it &amp; more.</segment>' + END)
    assert document.text == "All <of> it & more." and not document.tree.nodes
    for name, item in formats.FORMATS.items():
        text = formats.dumps(document, name)
        if item.read:
            assert formats.loads(text, name).tree == document.tree


def test_many_nuclei_are_binarised_to_the_right_and_flattened_again() -> None:
    parts = "".join(f'<segment id="{n}" parent="9" relname="list">e{n}</segment>' for n in range(1, 5))
    document = read_rs3(HEADER + parts + '<group id="9" type="multinuc"/>' + END)
    assert rows(document) == [(1, 1, 4, "NN", "list"), (2, 2, 4, "NN", "list"), (3, 3, 4, "NN", "list")]
    assert write_rs3(document).count("<group") == 1
    assert write_rs3(document, flatten=False).count("<group") == 3
    assert write_dis(document, flatten=True).count("(rel2par list)") == 4


def test_a_nested_node_of_the_same_relation_stays_nested() -> None:
    text = (
        HEADER + '<segment id="1" parent="8" relname="list">a</segment><segment id="2" parent="9" relname="list">b'
        '</segment><segment id="3" parent="9" relname="list">c</segment><group id="8" type="multinuc"/>'
        '<group id="9" type="multinuc" parent="8" relname="list"/>' + END
    )
    document = read_rs3(text)
    assert document.kept == ((2, 3),)
    assert write_rs3(document).count("<group") == 2
    assert read_rs3(write_rs3(document)).kept == ((2, 3),)


def test_same_unit_with_a_satellite_inside() -> None:
    document = read_rs3(
        HEADER + '<segment id="1" parent="8" relname="span">The man</segment>'
        '<segment id="2" parent="1" relname="elaboration">who came</segment>'
        '<segment id="3" parent="9" relname="same-unit">left.</segment>'
        '<group id="8" type="span" parent="9" relname="same-unit"/><group id="9" type="multinuc"/>' + END
    )
    assert rows(document) == [(1, 2, 3, "NN", "same-unit"), (1, 1, 2, "NS", "elaboration")]


def test_several_satellites_of_one_nucleus_attach_left_first_from_the_nearest() -> None:
    parts = "".join(
        f'<segment id="{n}" parent="3" relname="elaboration">e{n}</segment>'
        if n != 3
        else '<segment id="3">n</segment>'
        for n in range(1, 6)
    )
    assert rows(read_rs3(HEADER + parts + END)) == [
        (1, 4, 5, "NS", "elaboration"),
        (1, 3, 4, "NS", "elaboration"),
        (1, 1, 3, "SN", "elaboration"),
        (2, 2, 3, "SN", "elaboration"),
    ]


def test_a_satellite_with_the_label_of_the_nuclei_stays_a_satellite() -> None:
    document = read_brackets('(NS:contrast (NN:contrast "a" "b") "c")')
    assert rows(read_rs3(write_rs3(document))) == rows(document)


def test_a_label_of_both_kinds_is_a_nucleus_in_twos_and_a_satellite_alone() -> None:
    document = read_rs3(
        HEADER + '<segment id="1" parent="9" relname="list">a</segment><segment id="2" parent="9" relname="list">b'
        '</segment><segment id="3" parent="9" relname="contrast">c</segment><group id="9" type="multinuc"/>' + END
    )
    assert rows(document) == [(1, 2, 3, "NS", "contrast"), (1, 1, 2, "NN", "list")]


@pytest.mark.parametrize(
    "document_type",
    [
        '<!DOCTYPE rst SYSTEM "http://example.org/rst.dtd">',
        '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    ],
)
def test_document_types_are_refused(document_type: str) -> None:
    text = '<?xml version="1.0"?>\n' + document_type + '\n<rst><body><segment id="1">&b;</segment></body></rst>'
    error = fails("format/dtd", read_rs3, text, "bad.rs3")
    assert "bad.rs3, line 2" in error.sentence


def test_truncated_xml_names_the_line() -> None:
    text = (DATA / "GUM_news_worship.rs4").read_text()
    lines = text.count("\n", 0, len(text) // 2) + 1
    error = fails("format/xml", read_rs3, text[: len(text) // 2], "half.rs4")
    assert f"half.rs4, line {lines}" in error.sentence


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('<segment id="1">a</segment><segment id="2">b</segment>', "format/roots"),
        ('<segment id="1" parent="2" relname="elaboration">a</segment>'
         '<segment id="2" parent="1" relname="elaboration">b</segment>', "format/cycle"),
        ('<segment id="1">a</segment><segment id="1" parent="1" relname="elaboration">b</segment>', "format/id"),
        ('<segment id="1">a</segment><segment id="2" parent="5" relname="elaboration">b</segment>', "format/parent"),
        ('<segment id="1">a</segment><segment id="2" parent="1" relname="elaboration"> </segment>', "format/empty-edu"),
        ('<segment id="1">a</segment><segment id="2" parent="1">b</segment>', "format/relation"),
        ('<segment id="1">a</segment><group id="2" type="span" parent="1" relname="elaboration"/>', "format/group"),
        ('<segment id="1">a</segment><segment id="2" parent="4" relname="elaboration">b</segment>'
         '<segment id="3" parent="1" relname="elaboration">c</segment>'
         '<segment id="4" parent="1" relname="elaboration">d</segment>', "format/crossing"),
        ("", "format/empty"),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_said(body: str, code: str) -> None:
    fails(code, read_rs3, HEADER + body + END)


def test_encodings_that_the_file_declares_are_read_and_others_are_named() -> None:
    text = '<?xml version="1.0" encoding="iso-8859-1"?><rst><body><segment id="1">é</segment></body></rst>'
    assert read_rs3(text.encode("iso-8859-1")).text == "é"
    fails("format/xml", read_rs3, text.replace("iso-8859-1", "no-such").encode())
    fails("format/xml", read_rs3, '<rst><body><segment id="1">é</segment></body></rst>'.encode("iso-8859-1"))
    fails("format/encoding", formats.loads, "é".encode("iso-8859-1"), "dis")


def test_rst_dt_files_are_read() -> None:
    document = read_dis(
        "( Root (span 1 3)\n  ( Satellite (leaf 1) (rel2par attribution) (text _!He said (loudly)<P>_!) )\n"
        "  ( Nucleus (leaf 2) (rel2par span) (text _!it is_!) ) //TT_ERR\n"
        "  ( Satellite (leaf 3) (rel2par Condition) (text _!if so._!) )\n)\n"
    )
    assert rows(document) == [(1, 2, 3, "NS", "Condition"), (1, 1, 2, "SN", "attribution")]
    assert document.tree.edu_text(1) == "He said (loudly)<P>"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("( Root (span 1 2)\n( Nucleus (leaf 1) (rel2par span) (text _!a_!) )\n", "format/brackets", 3),
        ("( Root (leaf 1) (text _!a_!) ) )", "format/brackets", 1),
        ("( Root (span 1 2)\n(Nucleus (leaf 2) (rel2par span) (text _!a_!))\n"
         "(Satellite (leaf 1) (rel2par x) (text _!b_!)))", "format/id", 2),
        ("( Root (span 1 3)\n(Nucleus (leaf 1) (rel2par span) (text _!a_!))\n"
         "(Satellite (leaf 2) (rel2par x) (text _!b_!)))", "format/span", 1),
        ("( Root (span 1 2)\n(Satellite (leaf 1) (rel2par y) (text _!a_!))\n"
         "(Satellite (leaf 2) (rel2par x) (text _!b_!)))", "format/group", 1),
        ("", "format/brackets", 1),
    ],
)  # fmt: skip
def test_broken_dis_names_the_line(text: str, code: str, line: int) -> None:
    assert f"x.dis, line {line}:" in fails(code, read_dis, text, "x.dis").sentence


def test_rsd_without_depths_is_refused_where_the_tree_is_open() -> None:
    cells = "\t_\t_\t_\t_\t"
    two = f"1\ta{cells}2\tx_r\t_\t_\n2\tb{cells}0\tROOT\t_\t_\n"
    assert rows(read_rsd(two)) == [(1, 1, 2, "SN", "x")]
    assert "line 1" in fails("format/no-depth", read_rsd, two + f"3\tc{cells}2\tx_r\t_\t_\n", "x.rsd").sentence


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1\ta\t0\n", "format/columns"),
        ("2\ta\t0\t_\t_\t_\t0\tROOT\t_\t_\n", "format/id"),
        ("1\ta\t0\t_\t_\t_\t1\tx_r\t_\t_\n", "format/roots"),
        ("1\ta\t0\t_\t_\t_\t0\tROOT\t_\t_\n2\tb\t0\t_\t_\t_\t3\tx_r\t_\t_\n3\tc\t0\t_\t_\t_\t2\tx_r\t_\t_\n",
         "format/cycle"),
        ("1\ta\t0\t_\t_\t_\t0\tROOT\t9:x:0:0:_\t_\n", "format/secondary"),
        ("1\ta\t0\t_\t_\t_\t0\tROOT\t_\tnonsense\n", "format/signal"),
        ("", "format/empty"),
    ],
)  # fmt: skip
def test_broken_rsd_is_said(text: str, code: str) -> None:
    fails(code, read_rsd, text, "x.rsd")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(NS:x 1 2)", "format/no-text"),
        ('(NS:x "a" "b"', "format/brackets"),
        ('(NS:x "a" "b" "c")', "format/brackets"),
        ('(XX:x "a" "b")', "format/brackets"),
        ('"a" "b"', "format/brackets"),
        ('(NS:x "a" " ")', "format/empty-edu"),
        ("", "format/brackets"),
    ],
)
def test_broken_brackets_are_said(text: str, code: str) -> None:
    fails(code, read_brackets, text)


def test_brackets_take_their_texts_from_outside() -> None:
    document = read_brackets("(NN:joint 1 2 (NS:elaboration 3 4))", ["a", "b", "c", "d"])
    assert rows(document)[:2] == [(1, 1, 4, "NN", "joint"), (2, 2, 4, "NN", "joint")]
    fails("format/id", read_brackets, "(NN:joint 1 2)", ["a", "b", "c"])
    fails("format/id", read_brackets, "(NN:joint 2 1)", ["a", "b"])


def test_broken_json_is_said() -> None:
    assert "line 2" in fails("format/json", formats.loads, '{"text":\n', "json").sentence
    fails("format/json", formats.loads, "[]", "json")
    fails("format/json", formats.loads, "[" * 100_000, "json")
    fails("format/tree", formats.loads, '{"text": "a b", "inventory": "x", "starts": [0, 2], "rows": []}', "json")


def test_json_of_a_plain_tree_is_read() -> None:
    tree = read_brackets('(NS:elaboration "a" "b")').tree
    assert formats.as_document(RSTTree.from_dict(formats.RSTDocument(tree).to_dict())).tree == tree


def test_unknown_formats_and_labels_get_a_hint() -> None:
    with pytest.raises(DiscoError, match="Did you mean 'mermaid'") as caught:
        formats.dumps(read_brackets('"a"'), "mermaidd")
    assert caught.value.exit_code == 2
    with pytest.raises(DiscoError, match="only written"):
        formats.loads("digraph {}", "dot")
    document = read_brackets('(NS:zyx "a" "b")')
    fails("format/label", document.project, load_inventory("refined-19"))
    fails("format/other-text", document.onto, "a c")
    fails("format/other-text", document.onto, "a b c")
    fails("format/unreadable", formats.read, "no-such.rs3")


FILES = {
    "rs4": (DATA / "GUM_news_worship.rs4").read_bytes(),
    "rsd": (DATA / "GUM_news_worship.rsd").read_bytes(),
    "dis": formats.dumps(formats.read(DATA / "GUM_news_worship.rs4"), "dis").encode(),
    "json": formats.dumps(formats.read(DATA / "GUM_news_worship.rs4"), "json").encode(),
    "brackets": formats.dumps(formats.read(DATA / "GUM_news_worship.rs4"), "brackets").encode(),
}


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_any_damage_gives_a_tree_or_an_error_for_people(format: str, data: st.DataObject) -> None:
    file = FILES[format]
    start = data.draw(st.integers(0, len(file)))
    length = data.draw(st.sampled_from([0, 1, 2, 9, 200, len(file)]))
    put = data.draw(st.binary(max_size=4) | st.sampled_from([b"<group", b"(", b")", b"0", b"13", b"\t", b"\n", b'"']))
    damaged = file[:start] + put + file[start + length :]
    try:
        document = formats.loads(damaged, format, "damaged")
    except DiscoError as error:
        assert error.code.startswith("format/") and re.fullmatch(r".+\.", error.sentence, re.DOTALL) and error.remedy
    else:
        check_shape(document.tree)
        formats.dumps(document, format)
