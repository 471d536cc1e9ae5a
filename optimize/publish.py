"""Puts a campaign's artifact where the user wants it, and touches nothing that is already so."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path

from signatures.errors import DiscoError

MANIFEST = "manifest.json"


def check_out(out: Path) -> None:
    """Refuses a place that is taken by something else, before any call is paid for.

    Raises:
        DiscoError: `out/not-an-artifact` when the folder holds other things.
    """
    if out.is_dir() and not (out / MANIFEST).is_file() and any(out.iterdir()):
        raise DiscoError(
            "out/not-an-artifact",
            f"{out} is a folder that holds something other than an artifact.",
            "Name another folder with --out.",
        )
    if out.exists() and not out.is_dir():
        raise DiscoError("out/not-an-artifact", f"{out} is a file.", "Name a folder with --out.")


def publish(source: Path, out: Path) -> bool:
    """Copies an artifact folder in one step.

    Args:
        source: The campaign's own copy.
        out: Where it goes; an older artifact there is replaced, an equal one is left as it is.

    Returns:
        Whether anything was written.

    Raises:
        DiscoError: `out/not-writable`.
    """
    if _same(source, out):
        return False
    fresh = out.with_name(f".{out.name}.new")
    stale = out.with_name(f".{out.name}.old")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for leftover in (fresh, stale):
            shutil.rmtree(leftover, ignore_errors=True)
        shutil.copytree(source, fresh)
        if out.exists():
            out.rename(stale)
        fresh.rename(out)
        shutil.rmtree(stale, ignore_errors=True)
    except OSError as error:
        raise DiscoError(
            "out/not-writable",
            f"The artifact cannot be written to {out} ({error.strerror or error}).",
            f"It is safe in {source}; name a folder you may write to with --out.",
        ) from error
    return True


def _same(source: Path, out: Path) -> bool:
    if not out.is_dir():
        return False
    names = sorted(path.name for path in source.iterdir())
    if names != sorted(path.name for path in out.iterdir()):
        return False
    return filecmp.cmpfiles(source, out, names, shallow=False)[0] == names
