"""Every artifact that must not be loaded, each with its own message and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

import disco_dspy
from disco_dspy.artifact import save, verify
from disco_dspy.artifact.manifest import MANIFEST, PROGRAM, REPORT
from disco_dspy.artifact.state import MAX_BYTES
from disco_dspy.backbones import Backbones
from disco_dspy.roles import planner as planner_module
from signatures.errors import DiscoError
from signatures.planner import Planner
from tests.disco_dspy.artifact.test_save_load import reseal, tuned
from tests.scripted import scripted_lm


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    save(tuned(), tmp_path / "a")
    return tmp_path / "a"


def refusal(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> DiscoError:
    """The error, which must come before anything reaches a module, from `verify` and `load` alike."""

    def loaded(*_: object, **__: object) -> None:
        raise AssertionError("load_state was reached")

    monkeypatch.setattr(dspy.Module, "load_state", loaded)
    monkeypatch.setattr(dspy.Predict, "load_state", loaded)
    with pytest.raises(DiscoError) as first:
        verify(artifact)
    with pytest.raises(DiscoError) as second:
        disco_dspy.load(artifact, backbones=Backbones.from_lm(scripted_lm()))
    assert str(first.value) == str(second.value)
    assert first.value.exit_code == 6
    assert len(first.value.remedy) > 20
    return first.value


def set_at(*path: Any, to: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        del data[path[-1]]

    return change


# -- the files ------------------------------------------------------------------------------------------------------


def test_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(tmp_path / "nowhere", monkeypatch).code == "artifact/missing"


@pytest.mark.parametrize("name", [MANIFEST, PROGRAM, REPORT])
def test_a_file_is_missing(artifact: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (artifact / name).unlink()
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/incomplete" and name in error.sentence


@pytest.mark.parametrize("name", [PROGRAM, REPORT])
def test_tampered(artifact: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    raw = bytearray((artifact / name).read_bytes())
    raw[-3] ^= 1
    (artifact / name).write_bytes(raw)
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/changed" and name in error.sentence


@pytest.mark.parametrize("name", [PROGRAM, REPORT])
def test_truncated(artifact: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    raw = (artifact / name).read_bytes()
    (artifact / name).write_bytes(raw[: len(raw) // 2])
    error = refusal(artifact, monkeypatch)
    assert error.code in {"artifact/truncated", "artifact/not-text"} and name in error.sentence


def test_truncated_manifest(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = (artifact / MANIFEST).read_bytes()
    (artifact / MANIFEST).write_bytes(raw[: len(raw) // 2])
    assert refusal(artifact, monkeypatch).code == "artifact/not-json"


def test_oversized(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (artifact / PROGRAM).write_bytes(b" " * (MAX_BYTES + 1))
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/too-large" and PROGRAM in error.sentence


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", b"[]", b"null", b"{" * 100_000, b'{"schema_version": 1, "schema_version": 1}', b""]
)
def test_no_manifest_at_all(artifact: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    (artifact / MANIFEST).write_bytes(raw)
    assert refusal(artifact, monkeypatch).code in {"artifact/not-text", "artifact/not-json", "artifact/value"}


# -- the manifest ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_schema_version(artifact: Path, monkeypatch: pytest.MonkeyPatch, version: Any) -> None:
    reseal(artifact, MANIFEST, set_at("schema_version", to=version))
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/version" and repr(version) in error.sentence


@pytest.mark.parametrize(
    "change",
    [
        set_at("extra", to=1),
        set_at("settings", "extra", to=1),
        set_at("roles", "parser", "extra", to=1),
        set_at("roles", "parser", "signature", "extra", to=1),
        set_at("provenance", "cost", "extra", to=1),
    ],
)
def test_unknown_keys(artifact: Path, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    reseal(artifact, MANIFEST, change)
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/unknown-key" and "extra" in error.sentence


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (drop("roles", "planner"), "artifact/roles"),
        (set_at("roles", "critic", to={}), "artifact/value"),
        (drop("files", PROGRAM), "artifact/incomplete"),
        (set_at("files", "../../evil", to={"sha256": "0" * 64, "bytes": 1}), "artifact/value"),
        (set_at("settings", "k", to=-1), "artifact/value"),
        (set_at("settings", "inventory", to="/etc/passwd.toml"), "artifact/value"),
        (set_at("settings", "inventory", to="refined-91"), "artifact/inventory-changed"),
        (set_at("roles", "parser", "demos", to=9), "artifact/value"),
    ],
)
def test_wrong_values(artifact: Path, monkeypatch: pytest.MonkeyPatch, change: Any, code: str) -> None:
    reseal(artifact, MANIFEST, change)
    assert refusal(artifact, monkeypatch).code == code


# -- the code it was tuned with -------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["parser", "grapher", "planner", "generator"])
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("instructions", "0" * 64, "docstring"),
        ("descriptions", "0" * 64, "descriptions of its fields"),
        ("reply", "0" * 64, "form of its reply"),
        ("inputs", ["evidence", "query"], "its fields were evidence, query, "),
    ],
)
def test_a_changed_signature_names_role_and_part(
    artifact: Path, monkeypatch: pytest.MonkeyPatch, role: str, key: str, value: Any, words: str
) -> None:
    reseal(artifact, MANIFEST, set_at("roles", role, "signature", key, to=value))
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/role-changed"
    assert f"The {role} " in error.sentence and words in error.sentence
    assert "Compile the program again" in error.remedy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: Planner.with_instructions("Plan differently."), "docstring"),
        (
            lambda: Planner.append("mood", dspy.InputField(), str),
            "its fields were evidence, graph, task, question, plan",
        ),
        (
            lambda: Planner.with_updated_fields("question", desc="other"),  # pyright: ignore[reportArgumentType]
            "descriptions",
        ),
    ],
)
def test_changed_code_is_noticed(artifact: Path, monkeypatch: pytest.MonkeyPatch, change: Any, words: str) -> None:
    monkeypatch.setattr(planner_module, "Planner", change())
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/role-changed" and "The planner " in error.sentence and words in error.sentence


def test_a_changed_inventory_names_role_and_inventory(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reseal(artifact, MANIFEST, set_at("roles", "grapher", "inventory", "sha256", to="0" * 64))
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/inventory-changed"
    assert "grapher" in error.sentence and "'inter-chunk' has another table" in error.sentence


@pytest.mark.parametrize("key", ["version", "shared_system"])
def test_a_changed_layout(artifact: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    reseal(artifact, MANIFEST, set_at("layout", key, to="0" * 64))
    assert refusal(artifact, monkeypatch).code == "artifact/layout"


# -- the state ------------------------------------------------------------------------------------------------------

LM = {"model": "openai/x", "headers": {"X": "y"}, "api_base": "http://elsewhere/v1"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (set_at("parser.predict", "lm", to={"model": "openai/x", "api_base": "http://x/v1"}), "artifact/lm-state"),
        (set_at("parser.predict", "lm", to=LM), "artifact/secret"),
        (set_at("parser.predict", "lm", to={"api_key": "abc"}), "artifact/secret"),
        (set_at("parser.predict", "forward", to="x"), "artifact/unknown-key"),
        (set_at("parser.predict", "config", to={}), "artifact/unknown-key"),
        (set_at("parser.predict", "signature", "extra", to=1), "artifact/unknown-key"),
        (set_at("critic.predict", to={}), "artifact/unknown-key"),
        (set_at("metadata", "extra", to=1), "artifact/unknown-key"),
        (drop("parser.predict"), "artifact/incomplete"),
        (drop("metadata"), "artifact/incomplete"),
        (drop("parser.predict", "signature"), "artifact/value"),
        (set_at("parser.predict", to=[]), "artifact/value"),
        (set_at("parser.predict", "traces", to=[1]), "artifact/value"),
        (set_at("parser.predict", "signature", "instructions", to=""), "artifact/value"),
        (set_at("parser.predict", "signature", "instructions", to="x" * 50_000), "artifact/value"),
        (set_at("parser.predict", "signature", "fields", to=[]), "artifact/value"),
        (set_at("parser.predict", "demos", to=[{"chunk": "x"}] * 100), "artifact/value"),
        (set_at("parser.predict", "demos", 0, "evil", to="x"), "artifact/demo"),
        (set_at("parser.predict", "demos", 0, "chunk", to=["x"]), "artifact/demo"),
        (set_at("parser.predict", "demos", 0, "tree", to={"none": 1}), "artifact/demo"),
    ],
)
def test_wrong_states(artifact: Path, monkeypatch: pytest.MonkeyPatch, change: Any, code: str) -> None:
    reseal(artifact, PROGRAM, change)
    error = refusal(artifact, monkeypatch)
    assert error.code == code
    assert PROGRAM in error.sentence


def test_a_secret_in_headers_is_not_repeated(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = {"model": "openai/x", "headers": {"Authorization": "Bearer abcdefghijklmnopqrst"}}
    reseal(artifact, PROGRAM, set_at("planner.predict", "lm", to=lm))
    error = refusal(artifact, monkeypatch)
    assert error.code == "artifact/secret" and "abcdefgh" not in str(error)


def test_a_pickle_is_never_opened(artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (artifact / PROGRAM).write_bytes(b"\x80\x04\x95\x00\x00\x00\x00")
    assert refusal(artifact, monkeypatch).code in {"artifact/not-text", "artifact/truncated"}


def test_the_unchanged_artifact_passes(artifact: Path) -> None:
    assert verify(artifact).schema_version == 1
    assert json.loads((artifact / MANIFEST).read_text(encoding="utf-8"))["schema_version"] == 1
