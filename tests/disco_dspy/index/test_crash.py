"""SIGKILL at any moment of an update: the old state opens, and the next run completes without paying twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from disco_dspy.index import Index, IndexSettings
from signatures.errors import DiscoError
from tests.disco_dspy.hash_embedder import HashEmbedder

ROOT = Path(__file__).parents[3]
CHILD = """
import os, signal, sys, time
from pathlib import Path
import disco_dspy.index.update as update
import disco_dspy.index.catalogue as cat
from disco_dspy.index import Index, IndexSettings
from tests.disco_dspy.hash_embedder import HashEmbedder

where, index, corpus = sys.argv[1:]
die = lambda: os.kill(os.getpid(), signal.SIGKILL)

class Killer(HashEmbedder):
    batches = 0
    def embed_documents(self, texts):
        rows = super().embed_documents(texts)
        self.batches += 1
        if where == "hold" and self.batches == 1:
            print("holding", flush=True)
            time.sleep(60)
        if where == "embed" and self.batches == 3:
            die()
        return rows

def before(holder, name, when):
    inner = getattr(holder, name)
    calls = []
    def wrapped(*args, **kwargs):
        calls.append(1)
        if len(calls) == when:
            die()
        return inner(*args, **kwargs)
    setattr(holder, name, wrapped)

opened = Index.open(index, Killer())
if where == "write":
    before(Path, "replace", 1)      # vectors written, not yet named
if where == "named":
    before(update.Updater, "_commit", 1)  # vectors named, not committed
if where == "transaction":
    before(update.cat, "put_meta", 1)     # rows changed, transaction open
if where == "committed":
    before(update, "sweep", 2)      # committed, old generation still there
opened.update(corpus)
print("finished", flush=True)
"""


def child(where: str, index: Path, corpus: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, where, str(index), str(corpus)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def texts(index: Index) -> list[str]:
    return [chunk.text for chunk in index.chunks()]


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number in range(10):
        (corpus / f"{number}.txt").write_text(f"Old text number {number}.", "utf-8")
    with Index.create(tmp_path / "index", IndexSettings(embed_batch=2), HashEmbedder()) as index:
        index.update(corpus)
        index.put_tree("a" * 64, "p", {"kept": True}, {})
    for number in range(5, 15):
        (corpus / f"{number}.txt").write_text(f"New text number {number}.", "utf-8")
    (corpus / "0.txt").unlink()
    return tmp_path / "index", corpus


@pytest.mark.parametrize("where", ["embed", "write", "named", "transaction", "committed"])
def test_killed(place: tuple[Path, Path], where: str) -> None:
    path, corpus = place
    process = child(where, path, corpus)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors

    with Index.open(path, HashEmbedder()) as index:
        new = where == "committed"
        assert sum("New" in text for text in texts(index)) == (10 if new else 0)
        assert index.status().generation == (2 if new else 1)
        assert len(index.search("text number", 99)) == (14 if new else 10)
        assert len(list((path / "vectors").iterdir())) == 1, "what no commit points at is swept at opening"
        assert index.get_tree("a" * 64, "p") == {"kept": True}

    embedder = HashEmbedder()
    with Index.open(path, embedder) as index:
        report = index.update(corpus)
        assert sum("New" in text for text in texts(index)) == 10 and len(texts(index)) == 14
        # Two full batches of two were saved before the third died; later deaths lose no embedding at all.
        assert report.embedded == len(embedder.asked) == (6 if where == "embed" else 0)
        assert index.status().pending == 0
        assert {hit.chunk.text for hit in index.search("text number", 99)} == set(texts(index))


def test_two_processes(place: tuple[Path, Path]) -> None:
    path, corpus = place
    process = child("hold", path, corpus)
    try:
        assert process.stdout is not None and process.stdout.readline() == "holding\n"
        with Index.open(path, HashEmbedder()) as index:
            started = time.monotonic()
            with pytest.raises(DiscoError, match="index/busy") as caught:
                index.update(corpus)
            assert time.monotonic() - started < 5
            assert caught.value.exit_code == 7 and caught.value.retryable
            # Searching and storing trees go on meanwhile.
            assert len(index.search("text", 99)) == 10
            index.put_tree("b" * 64, "p", {}, {})
            process.kill()
            process.wait(timeout=30)
            # The system freed the dead process's lock.
            assert index.update(corpus).chunks == 14
    finally:
        process.kill()
        process.communicate(timeout=30)


def test_an_open_reader_follows_the_writer(place: tuple[Path, Path]) -> None:
    path, corpus = place
    with Index.open(path, HashEmbedder(), read_only=True) as reader:
        assert len(reader.search("text", 99)) == 10
        _, errors = (process := child("none", path, corpus)).communicate(timeout=60)
        assert process.returncode == 0, errors
        hits = reader.search("New text", 99)
        assert len(hits) == 14 and "New" in hits[0].chunk.text
        with pytest.raises(DiscoError, match="index/read-only"):
            reader.put_tree("c" * 64, "p", {}, {})
