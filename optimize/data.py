"""Finds and reads the data that ships, or a bigger set of the same layout.

Plain JSON Lines read by the standard library: the slices are under a megabyte, every line keeps its own licence and
provenance beside it, and nothing may be fetched or cached behind the reader's back, so a data-set library would only
cost import time here.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from signatures.errors import DiscoError

# What to say when a file is missing: where it comes from and what it may be used for.
SOURCES = {
    "gum": ("https://github.com/amir-zeldes/gum (V11.1.0)", "CC BY 4.0 annotations; texts CC BY / CC BY-SA"),
    "hotpotqa": ("https://github.com/hotpotqa/hotpot", "CC BY-SA 4.0"),
    "ramdocs": ("https://github.com/HanNight/RAMDocs", "MIT"),
}


def data_root() -> Path:
    """The folder of benchmark data: `DISCO_DATA` when set, else `data/` beside `optimize`, else `./data`."""
    named = os.environ.get("DISCO_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parent.parent / "data"
    return beside if beside.is_dir() else Path("data")


def read_rows(folder: str, name: str) -> tuple[list[dict[str, Any]], str]:
    """Reads one JSON Lines file of a benchmark.

    Args:
        folder: Benchmark folder below the data root, such as `gum`.
        name: File name, such as `train.jsonl`.

    Returns:
        The rows in file order, and the SHA-256 of the file's bytes in hex.

    Raises:
        DiscoError: `data/missing` when the file is not there, `data/broken` when a line is no JSON object.
    """
    path = data_root() / folder / name
    try:
        raw = path.read_bytes()
    except OSError as error:
        origin, licence = SOURCES.get(folder, ("its own distributor", "unknown here"))
        raise DiscoError(
            "data/missing",
            f"The benchmark file {path} cannot be read ({error.strerror or error}).",
            f"Work from a clone of the repository, or set DISCO_DATA to a folder that holds {folder}/{name}. "
            f"It comes from {origin} ({licence}); data/README.md has the layout.",
        ) from error
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(raw.decode("utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DiscoError(
                "data/broken", f"Line {number} of {path} is not JSON: {error}.", "Restore the file from its source."
            ) from error
        if not isinstance(row, dict):
            raise DiscoError(
                "data/broken", f"Line {number} of {path} is not an object.", "Restore the file from its source."
            )
        rows.append(row)
    return rows, hashlib.sha256(raw).hexdigest()


def field(row: dict[str, Any], name: str, folder: str) -> Any:
    """A required field of a row.

    Raises:
        DiscoError: `data/broken`, naming row and field, when it is absent.
    """
    if name not in row:
        raise DiscoError(
            "data/broken",
            f"Item {row.get('id', '?')} of {folder} has no field {name!r}.",
            "data/README.md has the layout; restore the file or convert yours to it.",
        )
    return row[name]
