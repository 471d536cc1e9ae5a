"""Files to documents; a bad file is reported and the rest is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from disco_dspy.corpus.html import html_to_text
from disco_dspy.corpus.loaders import load_folder
from disco_dspy.corpus.types import Chunk, Document, FileProblem
from disco_dspy.index.settings import IndexSettings
from signatures.errors import DiscoError


def load(folder: Path, **changes) -> tuple[dict[str, Document], dict[str, FileProblem]]:
    items = list(load_folder(folder, IndexSettings(**changes)))
    found = {item.source: item for item in items if isinstance(item, Document)}
    problems = {item.source: item for item in items if isinstance(item, FileProblem)}
    assert len(found) + len(problems) == len(items)
    return found, problems


def test_every_kind(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.TXT").write_bytes("one\r\ntwo é 中".encode())
    (tmp_path / "b.md").write_text("intro\n\n## The title ##\n\ntext", "utf-8")
    (tmp_path / "c.html").write_text("<title>A  page</title><p>First <b>part</b>.</p><p>Second.</p>", "utf-8")
    (tmp_path / "d.jsonl").write_text(
        '{"id": "x", "title": " T ", "text": "body \\u2028 one"}\n\n{"text": "two"}\n{"id": "x", "text": "three"}',
        "utf-8",
    )
    (tmp_path / ".hidden.txt").write_text("no", "utf-8")
    (tmp_path / "pic.png").write_bytes(b"\x89PNG")
    found, problems = load(tmp_path)
    assert list(found) == ["b.md", "c.html", "d.jsonl#x", "d.jsonl#3", "d.jsonl#x@4", "sub/a.TXT"]
    assert found["sub/a.TXT"].text == "one\r\ntwo é 中" and found["sub/a.TXT"].title == "a"
    assert found["b.md"].title == "The title"
    assert (found["c.html"].title, found["c.html"].text) == ("A page", "First part.\n\nSecond.")
    assert (found["d.jsonl#x"].title, found["d.jsonl#x"].text) == ("T", "body \u2028 one")
    assert [p.severity for p in problems.values()] == ["skipped"] and list(problems) == ["pic.png"]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "corpus/blank"),
        (b" \n\t\xe3\x80\x80", "corpus/blank"),
        (b"\xef\xbb\xbf", "corpus/blank"),
        (b"abc\x00def", "corpus/binary"),
        (b"caf\xe9 au lait", "corpus/encoding"),
        ("中文".encode("gbk"), "corpus/encoding"),
        (b"\xff\xfeabc", "corpus/encoding"),
    ],
)
def test_bad_files_are_named_and_the_rest_is_read(tmp_path: Path, raw: bytes, code: str) -> None:
    (tmp_path / "bad.txt").write_bytes(raw)
    (tmp_path / "good.txt").write_text("fine", "utf-8")
    found, problems = load(tmp_path)
    assert list(found) == ["good.txt"]
    assert problems["bad.txt"].code == code and problems["bad.txt"].sentence.startswith("bad.txt ")


def test_byte_order_marks_and_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffmarked 中".encode())
    (tmp_path / "b.txt").write_bytes("wide 中".encode("utf-16"))
    assert {d.text for d in load(tmp_path)[0].values()} == {"marked 中", "wide 中"}
    (tmp_path / "c.txt").write_bytes("中文".encode("gbk"))
    assert load(tmp_path, encoding="gb18030")[0]["c.txt"].text == "中文"
    with pytest.raises(DiscoError, match="corpus/encoding"):
        load(tmp_path, encoding="utf-99")


def test_bad_rows(tmp_path: Path) -> None:
    rows = ['{"text": "ok"}', "{broken", "[1]", '{"body": "x"}', '{"text": 5}', '{"text": "  "}', '{"text": "\\ud800"}']
    (tmp_path / "r.jsonl").write_text("\n".join(rows) + "\n" + "[" * 100_000, "utf-8")
    found, problems = load(tmp_path)
    assert list(found) == ["r.jsonl#1"]
    assert [p.code for p in problems.values()] == [
        "corpus/json",
        "corpus/row",
        "corpus/row",
        "corpus/row",
        "corpus/blank",
        "corpus/encoding",
        "corpus/json",
    ]
    assert "body" in problems["r.jsonl#4"].sentence and "text_field" in problems["r.jsonl#4"].sentence
    assert load(tmp_path, text_field="body")[0]["r.jsonl#4"].text == "x"


def test_links_may_loop_or_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_text("x", "utf-8")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "dead.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    found, problems = load(tmp_path)
    assert list(found) == ["a/x.txt"]
    assert {p.code for p in problems.values()} == {"corpus/unreadable"} and set(problems) == {"dead.txt", "self.txt"}


@pytest.mark.skipif(not hasattr(os, "mkfifo") or os.name != "posix", reason="needs named pipes")
def test_pipes_do_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "a.txt").write_text("x", "utf-8")
    assert load(tmp_path)[1]["pipe.txt"].code == "corpus/unreadable"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_forbidden_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    (tmp_path / "b.txt").write_text("x", "utf-8")
    (tmp_path / "a.txt").chmod(0)
    assert load(tmp_path)[1]["a.txt"].code == "corpus/unreadable"


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(DiscoError, match="corpus/missing"):
        load(tmp_path / "nowhere")
    with pytest.raises(DiscoError, match="corpus/empty"):
        load(tmp_path)
    (tmp_path / "x.pdf").write_bytes(b"%PDF")
    with pytest.raises(DiscoError, match="corpus/empty"):
        load(tmp_path)


def test_one_file_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", "utf-8")
    (tmp_path / "b.txt").write_text("x", "utf-8")
    assert list(load(tmp_path / "a.txt")[0]) == ["a.txt"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>Head</h1>text<script>x()</script><style>p{}</style>", "Head\n\ntext"),
        ("<ul><li>one</li><li>two</li></ul>", "one\n\ntwo"),
        ("a<br>b &amp; c&nbsp;d", "a\nb & c\xa0d"),
        ("<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>", "1 | 2\n\n3"),
        ("<p>broken <b>markup<p>goes <i>on", "broken markup\n\ngoes on"),
        ("<!-- no --><nav>menu</nav>", ""),
        ("<div>" * 5000 + "deep" + "</div>" * 5000, "deep"),
    ],
)
def test_html(html: str, text: str) -> None:
    assert html_to_text(html)[1] == text


def test_ids_are_stable_and_apart() -> None:
    document = Document.make("a.txt", "same same")
    twin = Document.make("b.txt", "same same")
    first, second = Chunk.make(document, 0, 0, 5), Chunk.make(document, 1, 5, 9)
    assert document.title == "a.txt" and document.sha256 == twin.sha256 and document.id != twin.id
    assert (first.text, second.text, first.sort_key) == ("same ", "same", ("a.txt", 0))
    assert first == Chunk.make(Document.make("a.txt", "same same"), 0, 0, 5)
    assert Chunk.make(twin, 0, 0, 5).id != first.id and Chunk.make(twin, 0, 0, 5).text_sha256 == first.text_sha256
