"""The documentation is what the commands say of themselves, and is complete."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from disco_dspy.cli.docs import render
from disco_dspy.cli.main import app
from disco_dspy.config import parse_config

ROOT = Path(__file__).parents[3]


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, sub in getattr(command, "commands", {}).items():
        yield from commands(sub, f"{path} {name}")


ALL = dict(commands(typer.main.get_command(app), "disco"))
LEAVES = {path: command for path, command in ALL.items() if not hasattr(command, "commands")}


def test_the_page_is_what_help_says() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == render(), "run `make docs`"


@pytest.mark.parametrize("path", ALL)
def test_every_option_has_help_and_an_environment_variable(path: str) -> None:
    for parameter in ALL[path].params:
        if parameter.name == "help":
            continue
        assert parameter.help, f"{path}: {parameter.name} has no help"
        variables = [parameter.envvar] if isinstance(parameter.envvar, str) else parameter.envvar
        assert variables, f"{path}: {parameter.name} has no environment variable"
        assert all(name.startswith("DISCO_") for name in variables)


@pytest.mark.parametrize("path", LEAVES)
def test_every_verb_can_answer_in_json(path: str) -> None:
    assert "json_output" in {parameter.name for parameter in LEAVES[path].params}


def test_the_readme_names_only_commands_and_options_that_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8") + (ROOT / "data/demo/run.sh").read_text(encoding="utf-8")
    text = text.replace("\\\n", " ")
    said = set(re.findall(r"\bdisco ((?:init|index|ask|status|show|models|program|doctor)\b[^\n`|#]*)", text))
    assert len(said) > 6
    for line in said:
        verb, *rest = line.split()
        options = {option for each in ALL[f"disco {verb}"].params for option in each.opts} | _of_subcommands(verb)
        for word in (each.strip("\"'") for each in rest):
            if word.startswith("--"):
                assert word in options, f"disco {line}"


def _of_subcommands(verb: str) -> set[str]:
    subs = getattr(ALL[f"disco {verb}"], "commands", {})
    return {option for sub in subs.values() for each in sub.params for option in each.opts}


def test_the_examples_of_the_readme_are_valid() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (toml,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    config = parse_config(tomllib.loads(toml))
    assert (config.backbone_for("planner"), config.backbone_for("parser")) == ("lab", "embedded")
    (python,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in python.splitlines() if line.strip()]) == 3
    compile(python, "README.md", "exec")


def test_links_of_the_readme_lead_somewhere() -> None:
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page}: {target}"
