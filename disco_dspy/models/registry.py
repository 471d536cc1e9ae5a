"""The models disco-dspy knows: names, digests, licences, where their bytes can be had."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import platformdirs

from signatures.errors import DiscoError, nearest

CACHE_ENV = "DISCO_CACHE"


@dataclass(frozen=True)
class HubFile:
    """A file in a model hub's repository."""

    repo: str
    file: str


@dataclass(frozen=True)
class Part:
    """A package whose archive holds a slice of a model.

    Attributes:
        package: Package name.
        version: Exact version.
        member: Path of the slice inside the archive.
        bytes: Size of the slice.
        sha256: Digest of the archive.
    """

    package: str
    version: str
    member: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Model:
    """One model file.

    Attributes:
        name: What users write.
        title: Model and quantisation.
        purpose: What it is for here.
        format: `gguf` (language model) or `onnx` (embedder).
        file: File name in the cache.
        size: Bytes.
        sha256: Digest of the file.
        license: SPDX name of the model's licence.
        hub: Where a hub has it; None when no hub file has these bytes.
        parts: Packages whose slices, joined in order, are the file.
    """

    name: str
    title: str
    purpose: str
    format: Literal["gguf", "onnx"]
    file: str
    size: int
    sha256: str
    license: str
    hub: HubFile | None
    parts: tuple[Part, ...]


@cache
def _table() -> dict[str, Model]:
    raw = tomllib.loads(resources.files("disco_dspy.models").joinpath("registry.toml").read_text(encoding="utf-8"))
    return {
        name: Model(
            name=name,
            hub=HubFile(**row.pop("hub")) if "hub" in row else None,
            parts=tuple(Part(**part) for part in row.pop("parts", ())),
            **row,
        )
        for name, row in raw.items()
    }


def registered(name: str) -> Model:
    """Returns a model by name.

    Raises:
        DiscoError: `model/unknown`, with the nearest known name.
    """
    table = _table()
    if name not in table:
        raise DiscoError("model/unknown", f"There is no model named {name!r}.", nearest(name, table))
    return table[name]


def model_names() -> tuple[str, ...]:
    """Returns the names of all registered models."""
    return tuple(_table())


def cache_dir() -> Path:
    """Returns the folder for downloaded files: the environment variable `DISCO_CACHE`, or the user's cache folder."""
    named = os.environ.get(CACHE_ENV)
    return Path(named) if named else Path(platformdirs.user_cache_dir("disco-dspy", appauthor=False))


def models_dir() -> Path:
    """Returns the folder that holds model files."""
    return cache_dir() / "models"
