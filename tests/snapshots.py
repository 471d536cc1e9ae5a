"""Exact texts kept in files; `DISCO_UPDATE_SNAPSHOTS=1` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "disco_dspy" / "snapshots"
UPDATE = "DISCO_UPDATE_SNAPSHOTS"


def check_snapshot(name: str, text: str) -> None:
    """Fails unless the file holds exactly this text, byte for byte.

    Args:
        name: File name below `tests/disco_dspy/snapshots`.
        text: What the code made.
    """
    file = FOLDER / name
    if os.environ.get(UPDATE) == "1":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
    assert file.is_file(), f"there is no snapshot {name}; set {UPDATE}=1 to write it"
    assert text.encode("utf-8") == file.read_bytes(), (
        f"{name} changed; if that is meant, set {UPDATE}=1 and look at the diff"
    )
