"""Everything a user can get wrong ends in a code, a sentence, a remedy and an exit code, and loses nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from disco_dspy import traces
from tests.disco_dspy.cli.conftest import DIMENSION, Command, Run, play, write_config
from tests.disco_dspy.fake_server import FakeServer, failure

QUESTION = "Does the spray help children?"


def told(run: Run, error: str, code: int, *words: str) -> None:
    """The error shown, its exit code, and words that its sentence or remedy must have; never a traceback."""
    assert (run.error, run.code) == (error, code), run.err
    assert len(run.err.strip().splitlines()) >= 2, "an error has a sentence and a remedy"
    for word in words:
        assert word in run.err
    assert "Traceback" not in run.err
    assert not run.out


def test_usage(disco: Command) -> None:
    told(disco("aks", QUESTION), "usage/wrong", 2, "aks")
    told(disco("ask"), "usage/wrong", 2, "disco ask --help")
    told(disco("ask", QUESTION, "--k", "many"), "usage/wrong", 2)
    told(disco("ask", QUESTION, "--expain"), "usage/wrong", 2, "--explain")


def test_folders(disco: Command, project: Path) -> None:
    told(disco("index", "nowhere"), "corpus/missing", 3, "nowhere")
    (project / "empty").mkdir()
    told(disco("index", "empty"), "corpus/empty", 3)
    assert not (project / ".disco").exists(), "no index is made for a folder that cannot be read"


def test_files_that_cannot_be_read_do_not_stop_the_others(disco: Command, project: Path) -> None:
    (project / "corpus" / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 4)
    (project / "corpus" / "latin.txt").write_bytes("Gelée à la crème".encode("latin-1"))
    (project / "corpus" / "blank.md").write_text(" \n\n ", encoding="utf-8")
    made = disco("index", "corpus")
    assert made.code == 4
    assert "3 documents" in made.out
    for name in ("picture.txt", "latin.txt", "blank.md"):
        assert f"failed {name}" in made.out
    report = disco("index", "corpus", "--json")
    assert report.code == 4
    assert sorted(problem["source"] for problem in report.json["failed"]) == ["blank.md", "latin.txt", "picture.txt"]
    assert disco("ask", QUESTION).code == 0


def test_a_line_of_a_hundred_thousand_characters(disco: Command, project: Path) -> None:
    (project / "corpus" / "long.txt").write_text("word " * 20_000, encoding="utf-8")
    made = disco("index", "corpus", "--json")
    assert made.code == 0
    assert made.json["chunks"] > 50


def test_no_index(disco: Command) -> None:
    for command in (("status",), ("ask", QUESTION), ("show", "tree", "abc")):
        told(disco(*command), "index/missing", 3, "disco index")
    told(disco("show", "trace"), "trace/none", 3)


def test_another_embedder_or_other_settings(disco: Command, project: Path, server: FakeServer) -> None:
    disco("index", "corpus")
    told(disco("index", "corpus", "--chunk-size", "64"), "index/other-settings", 3)
    told(disco("index", "corpus", "--overlap", "300"), "settings/invalid", 3, "overlap")
    told(disco("index", "corpus", "--retrieval", "denes"), "settings/invalid", 3)
    told(disco("index", "corpus", "--preset", "papre"), "settings/preset", 3, "paper")
    config = (project / "disco.toml").read_text(encoding="utf-8")
    (project / "disco.toml").write_text(config.replace("openai/words", "openai/others"), encoding="utf-8")
    told(disco("ask", QUESTION), "index/other-embedder", 3)
    told(disco("index", "corpus"), "index/other-embedder", 3)
    (project / "disco.toml").write_text(config, encoding="utf-8")
    assert disco("ask", QUESTION).code == 0, "the index is as it was"


def test_unknown_names_come_with_the_nearest(disco: Command, project: Path, server: FakeServer) -> None:
    disco("index", "corpus")
    told(disco("ask", QUESTION, "--backbone", "lap"), "backbone/unknown", 3, "'lab'")
    told(disco("ask", QUESTION, "--plan", "ful"), "settings/invalid", 3, "plan", "'full'")
    told(disco("models", "pull", "smollm2"), "model/unknown", 3, "smollm2-135m")
    told(disco("show", "tree", "zzzz"), "index/no-chunk", 3)
    disco("ask", QUESTION)
    told(disco("show", "trace", "1999"), "trace/unknown", 3)
    write_config(project, server.api_base, extra="")
    config = (project / "disco.toml").read_text(encoding="utf-8")
    for broken, error, word in (
        (config + 'parsr = "lab"\n', "config/unknown-role", "'parser'"),
        (config + '\n[program]\ninventory = "refined19"\n', "inventory/unknown", "refined-19"),
        (config + "\n[program]\nkk = 3\n", "settings/invalid", "'k'"),
        (config.replace("api_base", "apibase"), "config/unknown-key", "api_base"),
        (config + "[[[", "config/syntax", "line"),
    ):
        (project / "disco.toml").write_text(broken, encoding="utf-8")
        told(disco("ask", QUESTION), error, 3, word)
    told(disco("ask", QUESTION, "--config", "other.toml"), "config/absent", 3, "disco init")


def test_neither_endpoint_nor_embedded_model(disco: Command, project: Path) -> None:
    disco("index", "corpus")
    (project / "disco.toml").write_text(
        (project / "disco.toml").read_text(encoding="utf-8").split("[backbones.lab]")[0], encoding="utf-8"
    )
    told(disco("ask", QUESTION), "backbone/none", 5, "disco models pull qwen2.5-coder-1.5b")
    (project / "disco.toml").unlink()
    told(disco("index", "corpus", "--index", "new"), "model/absent", 5, "disco models pull minilm")
    told(disco("models", "path", "embedded"), "model/absent", 5, "disco models pull")


def test_questions_and_k(disco: Command) -> None:
    disco("index", "corpus")
    told(disco("ask", "  "), "question/empty", 2)
    told(disco("ask", "why " * 12_500), "question/too-long", 2)
    assert len(disco("ask", QUESTION, "--k", "100", "--json").json["chunks"]) == 3
    told(disco("ask", QUESTION, "--k", "100000"), "settings/invalid", 3, "k")
    told(disco("ask", QUESTION, "--scope", "nowhere"), "scope/empty", 3)


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [(401, "Incorrect API key", "backbone/auth"), (404, "The model `tiny` does not exist", "backbone/model")],
)
def test_an_endpoint_that_refuses(disco: Command, server: FakeServer, status: int, message: str, error: str) -> None:
    disco("index", "corpus")
    server.answer = lambda body: failure(status, message) if "messages" in body else play(body)
    server.requests.clear()
    told(disco("ask", QUESTION), error, 5)
    asked = sum("messages" in seen.body for seen in server.requests)
    assert asked <= 8, "a refusal is not asked again and again"
    report = disco("doctor", "--call", "--json")
    assert report.code == 5
    assert error in [check["code"] for check in report.json["checks"]]
    server.answer = play
    assert disco("ask", QUESTION).code == 0


def test_a_key_that_is_not_set_and_a_server_that_is_not_there(
    disco: Command, project: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    disco("index", "corpus")
    write_config(project, server.api_base, key="NO_SUCH_KEY_SET")
    told(disco("ask", QUESTION), "backbone/no-key", 5, "NO_SUCH_KEY_SET")
    monkeypatch.setenv("NO_SUCH_KEY_SET", "secret-value")
    run = disco("ask", QUESTION, "--json")
    assert run.code == 0
    assert "secret-value" not in run.out + run.err
    write_config(project, server.api_base)
    config = (project / "disco.toml").read_text(encoding="utf-8")
    head, tail = config.split("[backbones.lab]")
    (project / "disco.toml").write_text(
        head + "[backbones.lab]" + tail.replace(server.api_base, "http://127.0.0.1:9/v1")
    )
    told(disco("ask", QUESTION), "backbone/unreachable", 5)


def test_a_role_that_fails_is_said_in_words(disco: Command, server: FakeServer) -> None:
    def without_graph(body):
        if "messages" in body and "`graph`" in str(body["messages"][-1]["content"])[-200:]:
            return failure(500, "overloaded")
        return play(body)

    disco("index", "corpus")
    server.answer = without_graph
    run = disco("ask", QUESTION)
    assert run.code == 0
    assert "This is the finding" in run.out
    assert "warning: grapher gave nothing usable" in run.err


def test_programs_that_are_refused(disco: Command, project: Path) -> None:
    from disco_dspy import artifact
    from disco_dspy.program import DiscoRAG

    disco("index", "corpus")
    artifact.save(DiscoRAG(), project / "good")
    assert disco("program", "verify", "good").code == 0
    assert disco("ask", QUESTION, "--program", "good", "--k", "2").code == 0
    shown = disco("program", "show", "good")
    assert "roles.parser" in shown.out
    changes = {
        "edited": lambda folder: _edit(folder / "program.json", lambda text: text.replace("chunk", "chump", 1)),
        "truncated": lambda folder: _edit(folder / "program.json", lambda text: text[: len(text) // 2]),
        "newer": lambda folder: _edit(
            folder / "manifest.json", lambda text: text.replace('"schema_version": 1', '"schema_version": 9')
        ),
        "halved": lambda folder: _edit(folder / "manifest.json", lambda text: text[: len(text) // 2]),
        "no-program": lambda folder: (folder / "program.json").unlink(),
    }
    for name, change in changes.items():
        shutil.copytree(project / "good", project / name)
        change(project / name)
        for command in (("program", "verify", name), ("program", "show", name), ("ask", QUESTION, "--program", name)):
            run = disco(*command)
            assert run.code == 6, (command, run.err)
            assert run.error.startswith("artifact/")
    told(disco("program", "verify", "nowhere"), "artifact/missing", 6)


def _edit(path: Path, change) -> None:
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    path.write_text(after, encoding="utf-8")


def test_damaged_traces(disco: Command, project: Path) -> None:
    disco("index", "corpus")
    disco("ask", QUESTION)
    folder = project / ".disco" / "index" / "traces"
    good = next(folder.glob("*.json"))
    text = good.read_text(encoding="utf-8")
    for broken in (
        text[:100],
        "[]",
        '{"version": 1}',
        text.replace('"edges"', '"eggs"'),
        text.replace('"rows"', '"rose"'),
    ):
        good.write_text(broken, encoding="utf-8")
        told(disco("show", "trace"), "trace/damaged", 3)
    good.write_text(json.dumps({**json.loads(text), "version": 2}), encoding="utf-8")
    told(disco("show", "trace"), "trace/version", 3)


def test_a_full_disk_does_not_cost_the_answer(disco: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    disco("index", "corpus")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(traces, "save", full)
    run = disco("ask", QUESTION)
    assert run.code == 0
    assert "This is the finding" in run.out
    assert "warning: the trace could not be stored: No space left on device" in run.err


@pytest.mark.parametrize(
    ("raised", "error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x"), "disk/full", 3),
        (PermissionError(errno.EACCES, "Permission denied", "x"), "disk/permission", 3),
        (KeyboardInterrupt(), "run/interrupted", 130),
        (RuntimeError("odd"), "internal/unexpected", 1),
    ],
)
def test_what_no_verb_foresaw(
    disco: Command, monkeypatch: pytest.MonkeyPatch, raised: BaseException, error: str, code: int
) -> None:
    def broken(*_: object) -> None:
        raise raised

    monkeypatch.setattr("disco_dspy.config.load_config", broken)
    told(disco("status"), error, code)
    failed = disco("status", "--json")
    assert json.loads(failed.err)["error"]["code"] == error
    if code == 1:
        assert "Traceback" in disco("--debug", "status").err


def test_a_readers_pipe_that_closes_is_no_error(start) -> None:
    process = start("status", "--help")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait(30)


def test_an_index_directory_that_cannot_be_written(disco: Command, project: Path) -> None:
    if os.geteuid() == 0:
        (project / "file").write_text("not a folder", encoding="utf-8")
        run = disco("index", "corpus", "--index", "file")
    else:
        (project / "locked").mkdir(mode=0o500)
        run = disco("index", "corpus", "--index", "locked/index")
    assert run.code == 3, run.err
    assert run.error
    assert run.error != "internal/unexpected"


def test_dimension_is_what_the_config_says(disco: Command, project: Path) -> None:
    text = (project / "disco.toml").read_text(encoding="utf-8")
    (project / "disco.toml").write_text(text.replace(f"dimension = {DIMENSION}", "dimension = 8"), encoding="utf-8")
    told(disco("index", "corpus"), "embedder/shape", 5)
