"""The main path through the command: index, ask, look at what was behind the answer."""

from __future__ import annotations

import json
from pathlib import Path

from tests.disco_dspy.cli.conftest import Command
from tests.disco_dspy.fake_server import FakeServer

QUESTION = "Does the spray help children?"


def test_index_ask_show(disco: Command, project: Path) -> None:
    made = disco("index", "corpus")
    assert made.code == 0, made.err
    assert "3 documents, 3 chunks (3 added; 3 texts embedded)" in made.out

    asked = disco("ask", QUESTION, "--explain")
    assert asked.code == 0, asked.err
    for part in (
        "This is the finding [1]",
        "Sources",
        "Blueprint",
        "Rhetorical graph",
        "Trees",
        "elaboration",
        "Usage",
    ):
        assert part in asked.out, part
    for verb in ("retrieve", "parse 3/3", "relate", "plan", "write"):
        assert verb in asked.err, verb

    trace = disco("show", "trace", "--json").json
    assert trace["question"] == QUESTION
    assert trace["citations"] == ["1"]
    assert len(trace["chunks"]) == len(trace["trees"]) == 3
    assert trace["usage"]["parser"]["calls"] == 3
    again = disco("show", "trace", "last")
    assert again.out.strip() == asked.out.strip()
    assert "ELABORATES" in disco("show", "graph").out
    assert "state the finding" in disco("show", "plan", trace["id"][:12]).out

    tree = disco("show", "tree", trace["chunks"][0]["id"][:8])
    assert tree.code == 0, tree.err
    assert "elaboration NS" in tree.out

    status = disco("status", "--documents", "--json").json
    assert status["index"]["trees"] == 3
    assert status["index"]["traces"] == 1
    assert status["roles"]["planner"] == {"backbone": "lab", "model": "tiny", "kind": "endpoint"}
    assert [document["source"] for document in status["documents"]] == ["bronchiolitis.md", "drains.txt", "malacia.md"]
    assert "bronchiolitis.md" in disco("status", "--documents").out


def test_nothing_is_asked_or_embedded_twice(disco: Command, server: FakeServer) -> None:
    disco("index", "corpus")
    first = disco("ask", QUESTION)
    calls = len(server.requests)
    second = disco("ask", QUESTION)
    assert second.out == first.out
    # Only the question is embedded again.
    assert len(server.requests) - calls <= 1
    again = disco("index", "corpus")
    assert "nothing changed" in again.out or "3 unchanged" in again.out
    assert "0 texts embedded" in again.out


def test_json_is_the_only_thing_on_stdout(disco: Command) -> None:
    assert disco("index", "corpus", "--json").json["chunks"] == 3
    assert disco("ask", QUESTION, "--json").json["answer"].startswith("This is the finding")
    for command in (("status",), ("models", "list"), ("doctor",), ("show", "graph"), ("show", "plan")):
        json.loads(disco(*command, "--json").out)


def test_switches_leave_parts_out(disco: Command, server: FakeServer) -> None:
    disco("index", "corpus")
    server.requests.clear()
    trace = disco("ask", QUESTION, "--no-trees", "--no-graph", "--plan", "none", "--k", "2", "--json").json
    assert len(trace["chunks"]) == 2
    assert trace["trees"] == [None, None]
    assert trace["graph"] is None
    assert trace["blueprint"] is None
    assert sum("messages" in seen.body for seen in server.requests) == 1
    assert disco("show", "graph").error == "graph/none"
    assert disco("show", "plan").error == "blueprint/none"


def test_parse_ahead_stores_the_trees_that_asking_uses(disco: Command, server: FakeServer) -> None:
    made = disco("index", "corpus", "--parse")
    assert made.code == 0, made.err
    assert "0 stored before, 3 parsed, 0 failed" in made.out
    trace = disco("ask", QUESTION, "--json").json
    assert "parser" not in trace["usage"]
    assert "3 stored before, 0 parsed, 0 failed" in disco("index", "corpus", "--parse").out


def test_the_question_may_come_from_stdin(disco: Command, monkeypatch) -> None:
    import io

    disco("index", "corpus")
    monkeypatch.setattr("sys.stdin", io.StringIO(QUESTION + "\n"))
    assert disco("ask", "-", "--json").json["question"] == QUESTION


def test_an_index_follows_its_folder(disco: Command, project: Path) -> None:
    disco("index", "corpus")
    (project / "corpus" / "drains.txt").rename(project / "corpus" / "tubes.txt")
    (project / "corpus" / "malacia.md").unlink()
    (project / "corpus" / "new.txt").write_text("A new finding.", encoding="utf-8")
    report = disco("index", "corpus", "--json").json
    assert (report["added"], report["renamed"], report["removed"]) == (
        ["new.txt"],
        [["drains.txt", "tubes.txt"]],
        ["malacia.md"],
    )


def test_doctor_is_content_with_a_working_project(disco: Command) -> None:
    disco("index", "corpus")
    report = disco("doctor", "--call", "--json").json
    assert report["healthy"], [check for check in report["checks"] if check["status"] == "fail"]
    assert any(check["name"] == "call to lab" for check in report["checks"])
