"""Where the weights lie: plain arrays in compressed files inside the package, never pickled."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import numpy as np


def load_arrays(name: str) -> dict[str, np.ndarray]:
    """Returns the arrays of a shipped file.

    Args:
        name: `syntax`, `light` or `rich`.
    """
    folder = resources.files("disco_dspy").joinpath("light", "weights")
    with resources.as_file(folder.joinpath(f"{name}.npz")) as file, np.load(file, allow_pickle=False) as found:
        return {key: found[key] for key in found.files}


def save_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays; the same arrays give the same bytes.

    Args:
        file: Ends in `.npz`.
        arrays: By name.
    """
    np.savez_compressed(file, allow_pickle=False, **dict(arrays))


def digest(*names: str) -> str:
    """Returns the first 16 hex digits of the SHA-256 over shipped files."""
    total = hashlib.sha256()
    folder = resources.files("disco_dspy").joinpath("light", "weights")
    for name in names:
        total.update(folder.joinpath(f"{name}.npz").read_bytes())
    return total.hexdigest()[:16]
