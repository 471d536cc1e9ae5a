"""Opening, searching and reading an index."""

from __future__ import annotations

import copy
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from disco_dspy.index import Embedder, Index, IndexSettings, preset
from signatures.errors import DiscoError
from tests.disco_dspy.hash_embedder import HashEmbedder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for name, text in {
        "a/cats.txt": "Cats sleep most of the day.",
        "a/dogs.txt": "Dogs bark at night.",
        "ab/birds.txt": "Birds fly south in winter.",
        "A/upper.txt": "Upper case folder.",
        "[odd] name.txt": "A file with brackets in its name.",
        "zh.txt": "中国的首都是北京。上海是中国最大的城市。",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "qa.jsonl").write_text(
        '{"id": 1, "text": "Question one."}\n{"id": 2, "text": "Question two."}\n', "utf-8"
    )
    (folder / "qa.jsonl.txt").write_text("Not a record of the file beside it.", "utf-8")
    return folder


@pytest.fixture(scope="module")
def made(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "index"
    with Index.create(path, IndexSettings(), HashEmbedder()) as index:
        index.update(corpus)
    return path


def sources(index: Index, question: str = "the", scope: str | None = None) -> set[str]:
    return {hit.chunk.source for hit in index.search(question, 99, scope=scope)}


def test_hash_embedder_is_an_embedder() -> None:
    assert isinstance(HashEmbedder(), Embedder)


@pytest.mark.parametrize("way", ["dense", "bm25", "hybrid"])
def test_each_way_finds_the_obvious(made: Path, way: str) -> None:
    settings = IndexSettings.model_validate({"retrieval": way})
    with Index.open_or_create(made, settings, HashEmbedder()) as index:
        assert index.search("when do cats sleep?", 3)[0].chunk.source == "a/cats.txt"
        assert index.search("中国的首都" if way == "dense" else "首都", 3)[0].chunk.source == "zh.txt"
        scores = [hit.score for hit in index.search("birds in winter at night", 99)]
        assert scores == sorted(scores, reverse=True)
        assert index.search("birds in winter", 99) == index.search("birds in winter", 99)


def test_k_beyond_the_corpus_returns_all_once(made: Path) -> None:
    with Index.open_or_create(made, IndexSettings(retrieval="dense"), HashEmbedder()) as index:
        hits = index.search("anything", 10_000)
        assert len(hits) == len({hit.chunk.id for hit in hits}) == index.status().chunks == 9


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("a", {"a/cats.txt", "a/dogs.txt"}),
        ("a/", {"a/cats.txt", "a/dogs.txt"}),
        ("a/cats.txt", {"a/cats.txt"}),
        ("a*", {"a/cats.txt", "a/dogs.txt", "ab/birds.txt"}),
        ("*/*s.txt", {"a/cats.txt", "a/dogs.txt", "ab/birds.txt"}),
        ("qa.jsonl", {"qa.jsonl#1", "qa.jsonl#2"}),
        ("qa.jsonl#2", {"qa.jsonl#2"}),
        ("[odd] name.txt", {"[odd] name.txt"}),
        ("nowhere", set()),
    ],
)
@pytest.mark.parametrize("way", ["dense", "hybrid"])
def test_scope(made: Path, scope: str, expected: set[str], way: str) -> None:
    settings = IndexSettings.model_validate({"retrieval": way})
    with Index.open_or_create(made, settings, HashEmbedder()) as index:
        assert sources(index, scope=scope) == expected


def test_bm25_keeps_to_the_scope(made: Path) -> None:
    with Index.open_or_create(made, IndexSettings(retrieval="bm25"), HashEmbedder()) as index:
        assert sources(index, "cats dogs birds question", "a") == {"a/cats.txt", "a/dogs.txt"}
        assert sources(index, "winter", "a") == set()


@pytest.mark.parametrize("question", ["", "  \n", "\u3000"])
def test_empty_question(made: Path, question: str) -> None:
    with Index.open(made, HashEmbedder()) as index, pytest.raises(DiscoError, match="question/empty") as caught:
        index.search(question, 3)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("question", ["?!", "🙂", "zzqqxx", "\x00", "x" * 50_000, "\ud800"])
def test_odd_questions_still_get_an_answer(made: Path, question: str) -> None:
    with Index.open_or_create(made, IndexSettings(), HashEmbedder()) as index:
        assert len(index.search(question, 3)) == 3


def test_opened_without_embedder(made: Path) -> None:
    with Index.open_or_create(made, IndexSettings(), HashEmbedder()):
        pass
    with Index.open(made) as index:
        with pytest.raises(DiscoError, match="index/no-embedder"):
            index.search("cats", 1)
        with pytest.raises(DiscoError, match="index/no-embedder"):
            index.update(made)
        assert index.status().documents == 9
        index.settings = index.settings.model_copy(update={"retrieval": "bm25"})
        assert index.search("cats", 1)[0].chunk.source == "a/cats.txt"


@pytest.mark.parametrize("other", [HashEmbedder(32), HashEmbedder(64, "else")])
def test_another_embedder_is_refused(made: Path, other: HashEmbedder) -> None:
    with pytest.raises(DiscoError, match="index/other-embedder") as caught:
        Index.open(made, other)
    assert "'hash'" in caught.value.sentence and "64" in caught.value.sentence


def test_settings_that_shape_chunks_are_kept_others_may_change(made: Path) -> None:
    with pytest.raises(DiscoError, match="chunk_size 256 \\(wanted 128\\)"):
        Index.open_or_create(made, IndexSettings(chunk_size=128), HashEmbedder())
    with Index.open_or_create(made, IndexSettings(top_k=3), HashEmbedder()) as index:
        assert len(index.search("the")) == 3
    with Index.open(made, HashEmbedder()) as index:
        assert index.settings.top_k == 3


def test_missing_and_existing(tmp_path: Path, made: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(DiscoError, match="index/missing"):
            Index.open(path, HashEmbedder())
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(DiscoError, match="index/exists"):
        Index.create(made, IndexSettings(), HashEmbedder())


def test_half_made_index_is_none(tmp_path: Path) -> None:
    """A process killed while creating leaves a catalogue without tables; that is no index, and creating works."""
    sqlite3.connect(tmp_path / "catalogue.sqlite").execute("PRAGMA journal_mode=WAL").fetchone()
    assert not Index.exists(tmp_path)
    with Index.open_or_create(tmp_path, IndexSettings(), HashEmbedder()) as index:
        assert index.status().documents == 0 and index.search("anything", 5) == []


def test_newer_catalogue_is_refused(tmp_path: Path) -> None:
    Index.create(tmp_path, IndexSettings(), HashEmbedder()).close()
    with sqlite3.connect(tmp_path / "catalogue.sqlite") as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'version'")
    connection.close()
    with pytest.raises(DiscoError, match="index/newer"):
        Index.open(tmp_path, HashEmbedder())


def test_reading(made: Path, corpus: Path) -> None:
    with Index.open(made, HashEmbedder(), read_only=True) as index:
        for info in index.documents():
            if "#" not in info.source:
                text = (corpus / info.source).read_text("utf-8")
                assert index.document(info.source).text == text and info.characters == len(text)
            for chunk in index.chunks(info.id):
                assert index.chunk(chunk.id) == index.chunk(chunk.id[:12]) == chunk
        keys = [chunk.sort_key for chunk in index.chunks()]
        assert keys == sorted(keys)
        with pytest.raises(DiscoError, match="index/no-chunk"):
            index.chunk("nothing")
        with pytest.raises(DiscoError, match="index/no-document"):
            index.document("nothing")


def test_read_only_file_system(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Index.open(made, HashEmbedder(), read_only=True) as index:
        assert index.search("cats sleep", 1)[0].chunk.source == "a/cats.txt"
        assert "immutable" in str(index._catalogue._engine.url)
        with pytest.raises(DiscoError, match="index/read-only"):
            index.update(made)


def test_documents_with_overlap_are_put_together_again(tmp_path: Path) -> None:
    text = "One sentence here. Another one there. " * 50
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "a.txt").write_text(text, "utf-8")
    with Index.create(tmp_path / "i", IndexSettings(chunk_size=40, overlap=12), HashEmbedder()) as index:
        index.update(tmp_path / "c")
        assert len(index.chunks()) > 10 and index.document("a.txt").text == text


def test_trees(tmp_path: Path) -> None:
    with Index.create(tmp_path, IndexSettings(), HashEmbedder()) as index:
        assert index.get_tree("a", "p") is None and index.tree_health("a", "p") is None
        index.put_tree("a", "p", {"rows": [[1, 1, 2, "NS", "cause"]], "text": "因为 \ud800"}, {"status": "ok"})
        index.put_tree("a", "q", {"rows": []}, {})
        index.put_tree("a", "p", {"rows": [[1, 1, 2, "SN", "cause"]]}, {"status": "repaired"})
    with Index.open(tmp_path) as index:
        assert index.get_tree("a", "p") == {"rows": [[1, 1, 2, "SN", "cause"]]}
        assert index.tree_health("a", "p") == {"status": "repaired"}
        assert index.status().trees == 2


def test_threads_share_an_index(made: Path) -> None:
    with Index.open_or_create(made, IndexSettings(), HashEmbedder()) as index, ThreadPoolExecutor(8) as pool:
        alone = index.search("cats sleep", 5)

        def work(number: int) -> bool:
            index.put_tree(f"t{number}", "p", {"n": number}, {})
            return index.search("cats sleep", 5) == alone and index.get_tree(f"t{number}", "p") == {"n": number}

        assert all(pool.map(work, range(40)))


def test_copies_are_the_same_index(made: Path) -> None:
    with Index.open(made, HashEmbedder()) as index:
        assert copy.deepcopy(index) is index and copy.copy(index) is index


def test_presets() -> None:
    paper = preset("paper")
    assert (paper.chunk_size, paper.overlap, paper.sentence_aware, paper.retrieval, paper.top_k) == (
        256,
        0,
        False,
        "dense",
        10,
    )
    with pytest.raises(DiscoError, match="Did you mean 'paper'"):
        preset("papers")
    with pytest.raises(ValueError, match="overlap"):
        IndexSettings(chunk_size=10, overlap=10)
