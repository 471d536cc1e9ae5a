from __future__ import annotations

from pathlib import Path

import pytest

from disco_dspy.config import (
    BUILTIN_BACKBONES,
    Config,
    find_config,
    load_config,
    parse_config,
    write_default_config,
)
from signatures.errors import DiscoError

LAB = {"model": "org/model", "api_base": "http://127.0.0.1:9/v1"}


def refused(raw: dict) -> DiscoError:
    with pytest.raises(DiscoError) as caught:
        parse_config(raw, source=Path("disco.toml"))
    return caught.value


def test_without_a_file_the_embedded_model_plays_every_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISCO_CONFIG", raising=False)
    config = load_config()
    assert {config.backbone_for(role) for role in ("parser", "grapher", "planner", "generator")} == {"embedded"}
    assert config.path is None


def test_a_role_of_its_own_and_a_default() -> None:
    config = parse_config({"backbones": {"lab": LAB}, "roles": {"default": "lab", "parser": "embedded-small"}})
    assert (config.backbone_for("parser"), config.backbone_for("planner")) == ("embedded-small", "lab")


def test_a_user_may_replace_a_built_in_backbone_without_touching_the_next_config() -> None:
    changed = parse_config({"backbones": {"embedded": {"model": "smollm2-135m", "kind": "embedded"}}})
    assert changed.backbone("embedded").model == "smollm2-135m"
    assert Config().backbone("embedded") == BUILTIN_BACKBONES["embedded"]


@pytest.mark.parametrize(
    ("raw", "code", "said"),
    [
        ({"rolez": {}}, "config/unknown-key", "'roles'"),
        ({"backbones": {"a": {**LAB, "temprature": 1}}}, "config/unknown-key", "'temperature'"),
        ({"backbones": {"a": {**LAB, "capabilities": {"json": True}}}}, "config/unknown-key", "'json_schema'"),
        ({"embedding": {"dimensions": 3}}, "config/unknown-key", "'dimension'"),
        ({"backbones": {"a": {**LAB, "temperature": "hot"}}}, "config/value", "backbones.a.temperature"),
        ({"backbones": {"a": {**LAB, "max_tokens": 0}}}, "config/value", "backbones.a.max_tokens"),
        ({"backbones": {"a": {"api_base": "http://x/v1"}}}, "config/value", "backbones.a.model is missing"),
        ({"backbones": {"a": {**LAB, "kind": "cloud"}}}, "config/value", "backbones.a.kind"),
        ({"backbones": {"a": {**LAB, "api_base": "localhost"}}}, "config/value", "backbones.a.api_base"),
        ({"backbones": [1]}, "config/value", "backbones"),
        ({"backbones": {"a b": LAB}}, "config/value", "'a b'"),
        ({"roles": {"parsr": "embedded"}}, "config/unknown-role", "'parser'"),
        ({"roles": {"default": "embeded"}}, "backbone/unknown", "'embedded'"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_nearest_right_word(raw: dict, code: str, said: str) -> None:
    error = refused(raw)
    assert error.code == code
    assert said in str(error)
    assert error.exit_code == 3


@pytest.mark.parametrize(
    "table",
    [
        {**LAB, "api_key": "sk-very-secret"},
        {**LAB, "api_key_env": "sk-very-secret"},
        {**LAB, "api_base": "http://me:sk-very-secret@host/v1"},
        {**LAB, "api_base": "http://host/v1?key=sk-very-secret"},
        {**LAB, "headers": {"Authorization": "sk-very-secret"}},
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(table: dict) -> None:
    error = refused({"backbones": {"lab": table}})
    assert error.code == "config/secret"
    assert "very-secret" not in str(error)


def test_files_that_are_absent_broken_or_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[roles\n")
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    codes = []
    for name in ("none.toml", "a.toml", "b.toml"):
        with pytest.raises(DiscoError) as caught:
            load_config(tmp_path / name)
        codes.append(caught.value.code)
    assert codes == ["config/absent", "config/syntax", "config/unreadable"]


def test_the_nearest_file_upwards_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCO_CONFIG", raising=False)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "disco.toml").write_text('embedder = "litellm:x/y"\n')
    assert find_config(deep) == tmp_path / "disco.toml"
    (deep / "disco.toml").write_text("")
    assert find_config(deep) == deep / "disco.toml"
    monkeypatch.setenv("DISCO_CONFIG", str(tmp_path / "disco.toml"))
    assert load_config().embedder == "litellm:x/y"


def test_the_template_is_a_valid_config_and_is_never_written_over(tmp_path: Path) -> None:
    target = tmp_path / "disco.toml"
    write_default_config(target)
    assert load_config(target).roles == {"default": "embedded"}
    with pytest.raises(DiscoError, match="config/exists"):
        write_default_config(target)
    # The commented examples must be right as well.
    lines = target.read_text().splitlines()
    from_example = lines.index("# [backbones.lab]")
    to_roles = lines.index("[roles]")
    example = "\n".join(line.removeprefix("# ") if line != "#" else "" for line in lines[from_example:to_roles])
    target.write_text(example.replace("Any hosted model LiteLLM knows:", ""))
    config = load_config(target)
    assert config.backbone("lab").capabilities.json_schema is True
    assert config.backbone("hosted").api_key_env == "OPENAI_API_KEY"
