from __future__ import annotations

import re
from pathlib import Path

import pytest

from disco_dspy import models
from disco_dspy.config import BUILTIN_BACKBONES
from signatures.errors import DiscoError


@pytest.mark.parametrize("name", models.model_names())
def test_every_entry_is_complete(name: str) -> None:
    model = models.registered(name)
    digests = [model.sha256, *(part.sha256 for part in model.parts)]
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in digests)
    assert len(set(digests)) == len(digests)
    assert sum(part.bytes for part in model.parts) == model.size
    assert model.license == "Apache-2.0"
    assert Path(model.file).name == model.file


def test_parts_are_in_the_order_of_their_numbers() -> None:
    numbers = [int(part.package.rpartition("part")[2]) for part in models.registered("qwen2.5-coder-1.5b").parts]
    assert numbers == list(range(1, 23))


def test_built_in_backbones_name_registered_language_models() -> None:
    assert {models.registered(b.model).format for b in BUILTIN_BACKBONES.values()} == {"gguf"}


def test_an_unknown_model_gets_the_nearest_name() -> None:
    with pytest.raises(DiscoError, match=r"Did you mean 'smollm2-135m'\?") as caught:
        models.pull("smollm2")
    assert caught.value.code == "model/unknown"


def test_an_absent_model_says_what_to_run() -> None:
    with pytest.raises(DiscoError, match="disco models pull minilm") as caught:
        models.path("minilm")
    assert caught.value.code == "model/absent"


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISCO_CACHE", str(tmp_path))
    assert models.models_dir() == tmp_path / "models"
    monkeypatch.delenv("DISCO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert "disco-dspy" in str(models.cache_dir())
