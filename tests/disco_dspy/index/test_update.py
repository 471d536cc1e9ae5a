"""An index equals its folder after every update."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from disco_dspy.index import Index, IndexSettings, ProgressEvent
from disco_dspy.index.lexical import searchable
from signatures.errors import DiscoError
from tests.disco_dspy.hash_embedder import HashEmbedder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    (folder / "deep").mkdir(parents=True)
    (folder / "cats.txt").write_text("Cats sleep most of the day. " * 60, "utf-8")
    (folder / "deep" / "dogs.md").write_text("# Dogs\n\nDogs bark at night.", "utf-8")
    (folder / "facts.jsonl").write_text(
        '{"id": "bj", "title": "北京", "text": "中国的首都是北京。"}\n{"text": "Paris is in France."}\n', "utf-8"
    )
    return folder


def contents(index: Index) -> dict[str, str]:
    return {info.source: index.document(info.source).text for info in index.documents()}


def assert_consistent(index: Index, embedder: HashEmbedder) -> None:
    """Every chunk is found by its own text, and its vector is what embedding it now would give."""
    with index._catalogue.read() as connection:
        vectors = index._searcher._current_vectors(connection)
    chunks = index.chunks()
    assert len(vectors) == len(chunks) == index.status().chunks
    for chunk in chunks:
        best = vectors.search(embedder.embed_query(searchable(chunk.title, chunk.source, chunk.text)), 1)
        assert best[0][1] == pytest.approx(1.0, abs=1e-5)


def test_first_update_then_nothing_to_do(tmp_path: Path, corpus: Path) -> None:
    embedder = HashEmbedder()
    with Index.create(tmp_path / "index", IndexSettings(), embedder) as index:
        report = index.update(corpus)
        assert report.added == ("cats.txt", "deep/dogs.md", "facts.jsonl#bj", "facts.jsonl#2")
        assert report.generation == 1 and report.documents == 4 and report.chunks == index.status().chunks
        paid = len(embedder.asked)
        again = index.update(corpus)
        assert again.unchanged == 4 and again.embedded == 0 and again.generation == 1 and len(embedder.asked) == paid
        assert_consistent(index, embedder)


def test_changed_renamed_removed(tmp_path: Path, corpus: Path) -> None:
    embedder = HashEmbedder()
    with Index.create(tmp_path / "index", IndexSettings(embed_title=False), embedder) as index:
        index.update(corpus)
        index.put_tree("t" * 64, "parser", {"tree": 1}, {"status": "ok"})
        (corpus / "cats.txt").rename(corpus / "felines.txt")
        (corpus / "deep" / "dogs.md").write_text("# Dogs\n\nDogs also swim.", "utf-8")
        (corpus / "facts.jsonl").unlink()
        paid = len(embedder.asked)
        report = index.update(corpus)
        assert report.renamed == (("cats.txt", "felines.txt"),)
        assert report.changed == ("deep/dogs.md",)
        assert report.removed == ("facts.jsonl#2", "facts.jsonl#bj")
        assert (report.added, report.unchanged, report.embedded) == ((), 0, 1)
        assert len(embedder.asked) == paid + 1
        assert contents(index) == {
            "felines.txt": "Cats sleep most of the day. " * 60,
            "deep/dogs.md": "# Dogs\n\nDogs also swim.",
        }
        assert index.get_tree("t" * 64, "parser") == {"tree": 1}
        assert len(list((tmp_path / "index" / "vectors").iterdir())) == 1
        embedder_check = HashEmbedder()
        with index._catalogue.read() as connection:
            vectors = index._searcher._current_vectors(connection)
        assert vectors.search(embedder_check.embed_query("# Dogs\n\nDogs also swim."), 1)[0][1] == pytest.approx(
            1, abs=1e-5
        )


def test_rename_that_changes_a_title_still_counts_as_rename(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "a.txt").write_text("Some text.", "utf-8")
    with Index.create(tmp_path / "i", IndexSettings(), HashEmbedder()) as index:
        index.update(folder)
        (folder / "a.txt").rename(folder / "b.txt")
        assert index.update(folder).renamed == (("a.txt", "b.txt"),)
        assert index.chunks("b.txt")[0].title == "b" and not index.chunks("a.txt")


def test_identical_texts_are_embedded_once_and_all_found(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "rows.jsonl").write_text('{"title": "T", "text": "Same words."}\n' * 7, "utf-8")
    embedder = HashEmbedder()
    with Index.create(tmp_path / "i", IndexSettings(), embedder) as index:
        report = index.update(folder)
        assert (report.chunks, report.embedded, len(embedder.asked)) == (7, 1, 1)
        hits = index.search("same words", 50)
        assert len(hits) == 7 and len({hit.chunk.id for hit in hits}) == 7


@pytest.mark.parametrize("name", ["gone.txt", "gone"])
def test_missing_folder_changes_nothing(tmp_path: Path, corpus: Path, name: str) -> None:
    with Index.create(tmp_path / "i", IndexSettings(), HashEmbedder()) as index:
        index.update(corpus)
        before = contents(index)
        with pytest.raises(DiscoError, match="corpus/missing"):
            index.update(tmp_path / name)
        assert contents(index) == before


def test_emptied_folder_and_unusable_files_change_nothing(tmp_path: Path, corpus: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with Index.create(tmp_path / "i", IndexSettings(), HashEmbedder()) as index:
        index.update(corpus)
        before = contents(index)
        with pytest.raises(DiscoError, match="corpus/empty"):
            index.update(empty)
        (empty / "x.txt").write_bytes(b"\x00\x01\x02")
        with pytest.raises(DiscoError, match="corpus/nothing-readable"):
            index.update(empty)
        assert contents(index) == before


def test_a_file_that_cannot_be_read_now_keeps_its_old_text(tmp_path: Path, corpus: Path) -> None:
    with Index.create(tmp_path / "i", IndexSettings(), HashEmbedder()) as index:
        index.update(corpus)
        before = contents(index)
        (corpus / "facts.jsonl").unlink()
        (corpus / "facts.jsonl").symlink_to(corpus / "nowhere")
        report = index.update(corpus)
        assert report.kept == ("facts.jsonl#2", "facts.jsonl#bj") and report.removed == ()
        assert [problem.code for problem in report.failed] == ["corpus/unreadable"]
        assert contents(index) == before and report.documents == 4


def test_a_folder_that_cannot_be_listed_now_keeps_its_documents(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.scandir

    def refuse(path):
        if str(path).endswith("deep"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    with Index.create(tmp_path / "i", IndexSettings(), HashEmbedder()) as index:
        index.update(corpus)
        before = contents(index)
        monkeypatch.setattr(os, "scandir", refuse)
        report = index.update(corpus)
        assert report.kept == ("deep/dogs.md",) and report.removed == ()
        assert [(problem.source, problem.code) for problem in report.failed] == [("deep", "corpus/unreadable")]
        assert contents(index) == before


def test_the_index_may_lie_inside_the_corpus(tmp_path: Path, corpus: Path) -> None:
    with Index.create(corpus / "store", IndexSettings(), HashEmbedder()) as index:
        (corpus / "store" / "notes.txt").write_text("not part of the corpus", "utf-8")
        assert not any("store" in source for source in index.update(corpus).added)


def test_progress_counts_to_the_end(tmp_path: Path, corpus: Path) -> None:
    events: list[ProgressEvent] = []
    with Index.create(tmp_path / "i", IndexSettings(embed_batch=2), HashEmbedder()) as index:
        index.update(corpus, progress=events.append)
    embeds = [event for event in events if event.stage == "embed"]
    assert embeds[0].done == 0 and embeds[-1].done == embeds[-1].total and len(embeds) > 2
    assert [event.stage for event in events if event.stage == "write"] == ["write", "write"]
    assert sum(event.stage == "read" for event in events) == 4


def test_bad_vectors_are_refused(tmp_path: Path, corpus: Path) -> None:
    class Broken(HashEmbedder):
        def embed_documents(self, texts: list[str]) -> np.ndarray:
            return np.full((len(texts), self.dimension), np.nan)

    with Index.create(tmp_path / "i", IndexSettings(), Broken()) as index:
        with pytest.raises(DiscoError, match="index/bad-vectors"):
            index.update(corpus)
        assert index.status().generation == 0 and index.status().chunks == 0


_texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(lambda text: bool(text.strip()))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), _texts, min_size=1, max_size=6), min_size=1, max_size=4))
def test_any_sequence_of_folders(tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, str]]) -> None:
    """After each update the index holds exactly the folder's texts, whatever came before, and every vector is right."""
    place = tmp_path_factory.mktemp("states")
    folder = place / "corpus"
    embedder = HashEmbedder()
    with Index.create(place / "i", IndexSettings(embed_title=False), embedder) as index:
        for state in states:
            if folder.exists():
                for file in folder.iterdir():
                    file.unlink()
            folder.mkdir(exist_ok=True)
            for name, text in state.items():
                (folder / f"{name}.txt").write_bytes(text.encode("utf-8"))
            usable = {
                f"{n}.txt": t.removeprefix("\ufeff")
                for n, t in state.items()
                if "\x00" not in t and t.removeprefix("\ufeff").strip()
            }
            if not usable:
                with pytest.raises(DiscoError):
                    index.update(folder)
                return
            index.update(folder)
            assert contents(index) == usable
            with index._catalogue.read() as connection:
                vectors = index._searcher._current_vectors(connection)
            for chunk in index.chunks():
                row = embedder.embed_query(chunk.text.strip())
                if row.any():
                    assert vectors.search(row, 1)[0][1] == pytest.approx(1.0, abs=1e-5)
