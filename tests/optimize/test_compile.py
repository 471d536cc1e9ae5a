"""Whole campaigns against a model behind HTTP: what they make, what they cost, what they refuse."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import dspy
import pytest
from filelock import FileLock

from disco_dspy import artifact
from disco_dspy.artifact.load import OtherBackbone
from disco_dspy.config import load_config
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ProgramSettings
from optimize import compile as command
from optimize import evaluate as measure
from optimize.campaign import Campaign
from optimize.spec import Spec
from tests.optimize.backend import TUNED, Backend
from tests.optimize.conftest import Compile

ROLES = ("parser", "grapher", "planner", "generator")


def start_state() -> dict[str, dict]:
    return json.loads(json.dumps(DiscoRAG(settings=ProgramSettings(k=3)).dump_state(json_mode=True)))


def test_bootstrap_gives_the_parser_demonstrations_and_nobody_else(compiled: Compile, model: Backend) -> None:
    done = compiled(max_calls=40)
    assert done.code == 0
    assert done.result["decision"] == "winner"
    assert done.result["figures"]["after"]["score"] == 1.0 > done.result["figures"]["before"]["score"]
    assert done.asked == done.result["calls"]["spent"] <= 40
    state, start = done.state(), start_state()
    demos = state["parser.predict"]["demos"]
    assert 1 <= len(demos) <= 3
    assert all(set(demo) <= {"augmented", "chunk", "tree"} for demo in demos)
    assert any("augmented" in demo for demo in demos)
    for role in ROLES[1:]:
        assert state[f"{role}.predict"] == start[f"{role}.predict"]
    manifest = artifact.verify(done.out)
    assert manifest.provenance.tuned == ["parser"]
    assert manifest.provenance.cost.calls == done.asked
    figures = {metric.name: metric for metric in manifest.provenance.metrics}
    assert figures["gum/score"].after is not None and figures["gum/score"].after.value == 1.0
    assert set(manifest.provenance.data) == {"gum/train.jsonl", "gum/dev.jsonl", "splits"}
    ledger = (Path(done.result["run"]) / "ledger.jsonl").read_text().splitlines()
    assert len(ledger) == done.asked
    assert {json.loads(line)["role"] for line in ledger} == {"preflight", "parser"}


def test_gepa_rewrites_instructions_and_nobody_elses(compiled: Compile) -> None:
    done = compiled(optimizer="gepa", max_calls=100)
    assert done.code == 0 and done.result["decision"] == "winner"
    assert done.asked == done.result["calls"]["spent"] <= 100
    state, start = done.state(), start_state()
    assert TUNED in state["parser.predict"]["signature"]["instructions"]
    assert state["parser.predict"]["demos"] == []
    for role in ROLES[1:]:
        assert state[f"{role}.predict"] == start[f"{role}.predict"]
    ledger = (Path(done.result["run"]) / "ledger.jsonl").read_text().splitlines()
    assert {json.loads(line)["role"] for line in ledger} == {"preflight", "parser", "reflection"}
    assert not (dspy.settings.callbacks or [])


def test_none_measures_the_start_program(compiled: Compile) -> None:
    done = compiled(optimizer="none", max_calls=12)
    assert done.code == 0 and done.result["decision"] == "start"
    assert done.result["figures"]["before"] == done.result["figures"]["after"]
    assert done.asked == done.result["calls"]["spent"] <= 12
    assert {k: v for k, v in done.state().items() if k != "metadata"} == {
        k: v for k, v in start_state().items() if k != "metadata"
    }


@pytest.mark.parametrize("optimizer", ["bootstrap", "gepa"])
def test_the_generator_of_a_whole_program(compiled: Compile, monkeypatch: pytest.MonkeyPatch, optimizer: str) -> None:
    if optimizer == "gepa":
        # A start program that is right by luck on all few validation items would leave nothing to choose by.
        monkeypatch.setattr("tests.optimize.backend.lucky", lambda text: False)
    done = compiled(benchmark="hotpotqa", roles="generator", optimizer=optimizer, max_calls=150, k=2)
    assert done.code == 0 and done.result["decision"] == "winner"
    assert done.asked == done.result["calls"]["spent"] <= 150
    state, start = done.state(), start_state()
    assert state["generator.predict"] != start["generator.predict"]
    for role in ROLES[:3]:
        assert state[f"{role}.predict"] == start[f"{role}.predict"]
    for demo in state["generator.predict"]["demos"]:
        assert len(demo.get("evidence", "")) <= 1600
    with warnings.catch_warnings(action="ignore", category=OtherBackbone):
        loaded = artifact.load(done.out)
    assert loaded.generator.predict.signature.instructions == state["generator.predict"]["signature"]["instructions"]


def test_the_same_command_again_makes_no_call_and_changes_no_byte(compiled: Compile) -> None:
    first = compiled()
    files, times = first.files(), {p.name: p.stat().st_mtime_ns for p in first.out.iterdir()}
    again = compiled()
    assert again.asked == 0
    assert again.result == first.result
    assert again.files() == files
    assert {p.name: p.stat().st_mtime_ns for p in first.out.iterdir()} == times
    elsewhere = compiled(out=first.out.parent / "copy")
    assert elsewhere.asked == 0 and elsewhere.files() == files


def test_a_different_anything_is_a_different_campaign(model: Backend, tmp_path: Path) -> None:
    config = load_config(model.config(tmp_path))
    other = config.backbones["fake"].model_copy(update={"temperature": 0.5})
    hotter = config.model_copy(update={"backbones": {**config.backbones, "fake": other}})
    base = Spec("hotpotqa", ("generator",), "gepa", "fake", 400)
    changes = [
        {},
        {"benchmark": "ramdocs"},
        {"roles": ("planner", "generator")},
        {"optimizer": "bootstrap"},
        {"max_calls": 401},
        {"reflection": "embedded"},
        {"seed": 1},
        {"limits": {"train": 9}},
        {"settings": ProgramSettings(k=3)},
    ]
    names = [Campaign(replace(base, **change), config, tmp_path).run_dir.path.name for change in changes]
    names.append(Campaign(base, hotter, tmp_path).run_dir.path.name)
    assert len(set(names)) == len(names)
    assert Campaign(base, config, tmp_path).run_dir.path.name == names[0]


def test_a_program_that_is_not_better_is_not_kept(compiled: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    # Lucky for all: nothing can be better than the start program.
    monkeypatch.setattr("tests.optimize.backend.lucky", lambda text: True)
    done = compiled()
    assert done.code == 0 and done.result["decision"] == "start"
    assert done.state()["parser.predict"]["demos"] == []
    assert artifact.verify(done.out).provenance.tuned == []
    assert "start program was kept" in (done.out / "report.md").read_text(encoding="utf-8")


def test_a_dry_run_makes_no_call_and_no_file(model: Backend, arguments, capsys, tmp_path: Path) -> None:
    assert command.main([*arguments(), "--dry-run"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["preflight"] + plan["before"] + plan["optimise"] + plan["after"] <= 30
    assert model.received == 0 and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "code", "exit_code", "hint"),
    [
        ({"benchmark": "hotpot"}, "benchmark/unknown", 2, "hotpotqa"),
        ({"optimizer": "gpea"}, "optimizer/unknown", 2, "gepa"),
        ({"roles": "parsr"}, "role/unknown", 2, "parser"),
        ({"roles": "generator"}, "role/not-measured", 2, "parser"),
        ({"roles": ","}, "role/none", 2, "parser"),
        ({"backbone": "fak"}, "backbone/unknown", None, "fake"),
        ({"reflection_backbone": "fakee", "optimizer": "gepa"}, "backbone/unknown", None, "fake"),
        ({"max_calls": 3}, "budget/too-small", 2, "--max-calls"),
        ({"items": "tran=3"}, "split/limits", 2, "train=20"),
    ],
)
def test_wrong_names_are_refused_before_any_call(
    compiled: Compile, options: dict, code: str, exit_code: int | None, hint: str
) -> None:
    done = compiled(**options)
    error = done.result["error"]
    assert error["code"] == code and hint in error["sentence"] + error["remedy"]
    assert done.code == (exit_code or done.result["exit_code"]) != 0
    assert done.asked == 0


def test_a_folder_of_other_things_is_not_overwritten(compiled: Compile, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.md").write_text("years of work", encoding="utf-8")
    done = compiled(out=out)
    assert done.code == 3 and done.result["error"]["code"] == "out/not-an-artifact" and done.asked == 0
    assert [p.name for p in out.iterdir()] == ["thesis.md"]


def test_two_processes_do_not_run_one_campaign(compiled: Compile) -> None:
    first = compiled(optimizer="none")
    with FileLock(Path(first.result["run"]) / ".lock"):
        second = compiled(optimizer="none")
    assert second.code == 7 and second.result["error"]["code"] == "campaign/busy"


def test_missing_data_says_where_it_comes_from(compiled: Compile, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISCO_DATA", str(tmp_path / "nowhere"))
    done = compiled()
    error = done.result["error"]
    assert done.code == 3 and error["code"] == "data/missing"
    assert "github.com/amir-zeldes/gum" in error["remedy"] and "CC BY" in error["remedy"]


@pytest.mark.parametrize(("status", "optimizer", "calls"), [(401, "bootstrap", 20), (500, "gepa", 70)])
def test_a_failing_backbone_stops_the_campaign_and_it_goes_on_later(
    compiled: Compile, model: Backend, status: int, optimizer: str, calls: int
) -> None:
    whole = compiled(optimizer=optimizer, max_calls=calls)

    def fail_after(number: int) -> bool:
        model.status = status if number > start + whole.asked // 2 else 200
        return False

    start = model.received
    model.on_request = fail_after
    runs = whole.out.parent / "runs2"
    broken = compiled(optimizer=optimizer, max_calls=calls, runs=runs)
    assert broken.code == 5 and broken.result["error"]["code"].startswith("backbone/")
    assert broken.asked <= whole.asked // 2 + 2
    model.on_request, model.status = (lambda number: False), 200
    resumed = compiled(optimizer=optimizer, max_calls=calls, runs=runs)
    assert resumed.code == 0
    assert resumed.asked == whole.asked - whole.asked // 2
    assert resumed.state() == whole.state()


def test_evaluate_measures_the_program_that_compile_made(
    compiled: Compile, model: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = compiled()

    def figures(program: str) -> dict:
        config = str(tmp_path / "disco.toml")
        words = ["--benchmark", "gum", "--split", "dev", "--program", program, "--backbone", "fake"]
        assert measure.main([*words, "--items", "8", "--config", config, "--cache", str(tmp_path / "c"), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    tuned, start = figures(str(done.out)), figures("none")
    assert tuned["figures"]["score"] == 1.0 > start["figures"]["score"]
    assert len(tuned["items"]) == 8 and tuned["complete"]
    received = model.received
    assert figures("none") == start and model.received == received
