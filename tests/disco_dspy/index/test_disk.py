"""A full or failing disk: a clear error, nothing lost, and the next run completes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from sqlalchemy import event

from disco_dspy.index import Index, IndexSettings
from disco_dspy.index import vectors as vectors_module
from signatures.errors import DiscoError
from tests.disco_dspy.hash_embedder import HashEmbedder


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.txt").write_text("First text.", "utf-8")
    with Index.create(tmp_path / "index", IndexSettings(), HashEmbedder()) as index:
        index.update(corpus)
    (corpus / "b.txt").write_text("\n\n".join(f"Second text number {n}. " * 70 for n in range(60)), "utf-8")
    return tmp_path / "index", corpus


def assert_old_then_completes(path: Path, corpus: Path) -> None:
    assert len(list((path / "vectors").iterdir())) == 1
    with Index.open(path, HashEmbedder()) as index:
        assert [hit.chunk.source for hit in index.search("text", 99)] == ["a.txt"]
        assert index.update(corpus).added == ("b.txt",)
        assert {hit.chunk.source for hit in index.search("second text", 9999)} == {"a.txt", "b.txt"}


def test_full_while_vectors_are_written(place: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path, corpus = place

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Index.open(path, HashEmbedder()) as index:
        with monkeypatch.context() as patch:
            patch.setattr(vectors_module.os, "fsync", full)
            with pytest.raises(DiscoError, match="index/disk-full") as caught:
                index.update(corpus)
        assert caught.value.retryable
    assert_old_then_completes(path, corpus)


def test_full_while_faiss_writes(place: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error crosses FAISS's C++ and still arrives as a full disk."""
    path, corpus = place
    real_open = Path.open

    def full_open(self: Path, *args, **kwargs):
        stream = real_open(self, *args, **kwargs)
        if not self.name.endswith(".faiss.tmp"):
            return stream

        class Full:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                stream.close()

            def write(self, data: bytes) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return Full()

    with Index.open(path, HashEmbedder()) as index, monkeypatch.context() as patch:
        patch.setattr(Path, "open", full_open)
        with pytest.raises(DiscoError, match="index/disk-full"):
            index.update(corpus)
    assert_old_then_completes(path, corpus)


def test_full_while_sqlite_writes(place: tuple[Path, Path]) -> None:
    """SQLite's own limit gives its real error for a full disk."""
    path, corpus = place
    with Index.open(path, HashEmbedder()) as index:
        engine = index._catalogue._engine
        engine.dispose()

        @event.listens_for(engine, "connect")
        def limit(connection, record) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages + 1}")

        with pytest.raises(DiscoError, match="index/disk-full"):
            index.update(corpus)
    assert_old_then_completes(path, corpus)


@pytest.mark.parametrize("share", [0.0, 0.5, "last byte"])
def test_torn_vector_file_is_named_and_repaired(place: tuple[Path, Path], share: float | str) -> None:
    path, corpus = place
    file = next((path / "vectors").iterdir())
    whole = file.read_bytes()
    file.write_bytes(whole[: -1 if isinstance(share, str) else int(len(whole) * share)])
    (corpus / "b.txt").unlink()
    with Index.open(path, HashEmbedder()) as index:
        with pytest.raises(DiscoError, match="index/damaged"):
            index.search("text", 1)
        report = index.update(corpus)  # nothing in the folder has changed, yet the index is repaired
        assert report.embedded == 1 and report.unchanged == 1
        assert [hit.chunk.source for hit in index.search("text", 9)] == ["a.txt"]


def test_lost_vector_file_is_repaired(place: tuple[Path, Path]) -> None:
    path, corpus = place
    next((path / "vectors").iterdir()).unlink()
    with Index.open(path, HashEmbedder()) as index:
        with pytest.raises(DiscoError, match="index/damaged"):
            index.search("text", 1)
        assert index.update(corpus).added == ("b.txt",)
        assert len(index.search("text", 999)) == index.status().chunks


def test_catalogue_that_is_no_database(place: tuple[Path, Path]) -> None:
    path, _ = place
    (path / "catalogue.sqlite").write_bytes(b"not a database at all, just some bytes" * 200)
    with pytest.raises(DiscoError, match="index/damaged"):
        Index.open(path, HashEmbedder())


def test_interrupt_while_embedding_keeps_what_was_embedded(place: tuple[Path, Path]) -> None:
    path, corpus = place

    def interrupt(progress) -> None:
        if progress.stage == "embed" and progress.done > 0:
            raise KeyboardInterrupt

    with Index.open_or_create(path, IndexSettings(embed_batch=4), HashEmbedder()) as index:
        with pytest.raises(KeyboardInterrupt):
            index.update(corpus, progress=interrupt)
        assert index.status().pending == 4
    embedder = HashEmbedder()
    with Index.open(path, embedder) as index:
        report = index.update(corpus)
        assert report.embedded == len(embedder.asked) > 0
        assert index.status().pending == 0
