"""Model files on this machine: checked once by digest, known afterwards by a stamp."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from disco_dspy.models.registry import Model, model_names, models_dir, registered
from signatures.errors import DiscoError

_BLOCK = 1 << 22


@dataclass(frozen=True)
class ModelStatus:
    """A registered model and whether it is here.

    Attributes:
        model: The registry entry.
        path: Where its file is, or would be.
        present: The file is here and its digest was checked.
        partial: Bytes of an unfinished download.
    """

    model: Model
    path: Path
    present: bool
    partial: int


def path(name: str) -> Path:
    """Returns the file of a model, its digest checked.

    Raises:
        DiscoError: `model/unknown`; `model/absent` when it was never fetched; `model/damaged` when its bytes are
            not the registered ones.
    """
    model = registered(name)
    file = models_dir() / model.file
    if not file.is_file():
        raise DiscoError(
            "model/absent",
            f"The model {name!r} ({model.title}, {model.size / 1e6:.0f} MB) is not on this machine.",
            f"Run `disco models pull {name}`.",
            exit_code=5,
        )
    if not verified(model, file):
        raise DiscoError(
            "model/damaged",
            f"The file of model {name!r} does not have the registered digest.",
            f"Run `disco models pull {name}` to fetch it again.",
            exit_code=5,
        )
    return file


def list_models() -> tuple[ModelStatus, ...]:
    """Returns every registered model with its state; reads no file contents."""
    rows: list[ModelStatus] = []
    for name in model_names():
        model = registered(name)
        file = models_dir() / model.file
        staged = partial_file(model)
        rows.append(
            ModelStatus(
                model=model,
                path=file,
                present=file.is_file() and _stamp_matches(model, file),
                partial=staged.stat().st_size if staged.is_file() else 0,
            )
        )
    return tuple(rows)


def verified(model: Model, file: Path) -> bool:
    """Tells whether a file has the registered digest; reads it only when its stamp does not answer."""
    if _stamp_matches(model, file):
        return True
    if file.stat().st_size != model.size or digest(file) != model.sha256:
        return False
    write_stamp(model, file)
    return True


def digest(file: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """Returns the sha256 of a file in hex."""
    found = hashlib.sha256()
    with file.open("rb") as source:
        while block := source.read(_BLOCK):
            found.update(block)
            if on_bytes is not None:
                on_bytes(len(block))
    return found.hexdigest()


def write_stamp(model: Model, file: Path) -> None:
    """Notes that a file's digest was checked, so that the next start need not read a gigabyte."""
    stat = file.stat()
    stamp = _stamp_file(file)
    staged = stamp.with_suffix(f".{os.getpid()}.tmp")
    facts = {"sha256": model.sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    staged.write_text(json.dumps(facts), encoding="utf-8")
    staged.replace(stamp)


def partial_file(model: Model) -> Path:
    """Returns the file that an unfinished download grows."""
    return models_dir() / f"{model.file}.partial"


def _stamp_file(file: Path) -> Path:
    return file.with_name(file.name + ".ok.json")


def _stamp_matches(model: Model, file: Path) -> bool:
    try:
        facts = json.loads(_stamp_file(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # No stamp, or one cut short: the digest decides.
        return False
    stat = file.stat()
    return facts == {"sha256": model.sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
