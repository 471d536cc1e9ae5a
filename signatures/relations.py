"""The inventories that ship, and loading one by name or from a user's TOML file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from signatures.errors import DiscoError, nearest
from signatures.inventory import (
    CONTRAST,
    NUCLEARITIES,
    UNRELATED,
    Inventory,
    Kind,
    Nuclearity,
    Relation,
    Repair,
    is_unrelated,
    normalise_label,
)
from signatures.inventory_toml import parse_inventory

__all__ = [
    "CONTRAST",
    "NUCLEARITIES",
    "UNRELATED",
    "Inventory",
    "Kind",
    "Nuclearity",
    "Relation",
    "Repair",
    "inventory_names",
    "is_unrelated",
    "load_inventory",
    "normalise_label",
]


def inventory_names(kind: Kind | None = None) -> list[str]:
    """Returns the names of the inventories that ship, sorted.

    Args:
        kind: Only those for trees (`intra`) or for graphs (`inter`).
    """
    folder = resources.files("signatures") / "inventories"
    names = sorted(item.name.removesuffix(".toml") for item in folder.iterdir() if item.name.endswith(".toml"))
    return [name for name in names if kind is None or _shipped(name).kind == kind]


@cache
def _shipped(name: str) -> Inventory:
    file = resources.files("signatures") / "inventories" / f"{name}.toml"
    return parse_inventory(file.read_text(encoding="utf-8"), f"{name}.toml")


def load_inventory(name_or_path: str | Path, kind: Kind | None = None) -> Inventory:
    """Returns an inventory.

    Args:
        name_or_path: A shipped name (`refined-19`, `paper-24`, `inter-chunk`) or the path of a TOML file; text that
            ends in `.toml` or holds a slash is a path.
        kind: What it is needed for; another kind is an error.

    Raises:
        DiscoError: `inventory/unknown`, `inventory/unreadable`, `inventory/syntax`, `inventory/invalid` or
            `inventory/kind`.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in inventory_names():
        inventory = _shipped(text)
    elif isinstance(name_or_path, Path) or text.endswith(".toml") or "/" in text or "\\" in text:
        inventory = _from_file(Path(name_or_path))
    else:
        raise DiscoError(
            "inventory/unknown",
            f"There is no relation inventory named {text!r}.",
            f"{nearest(text, inventory_names(kind))} Your own table is given as a path that ends in .toml.",
        )
    if kind is not None and inventory.kind != kind:
        use = {"intra": "trees inside a chunk", "inter": "the graph between chunks"}
        raise DiscoError(
            "inventory/kind",
            f"The inventory {inventory.name!r} is for {use[inventory.kind]}, but one for {use[kind]} is needed.",
            f'Use one of: {", ".join(inventory_names(kind))}, or a TOML file with kind = "{kind}".',
        )
    return inventory


def _from_file(path: Path) -> Inventory:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DiscoError(
            "inventory/unreadable",
            f"{path} is not UTF-8 text (byte {error.start}).",
            "Save the file as UTF-8.",
        ) from error
    except OSError as error:
        raise DiscoError(
            "inventory/unreadable",
            f"The inventory file {path} cannot be read: {error.strerror or error}.",
            f"Check the path, or use one of: {', '.join(inventory_names())}.",
        ) from error
    return parse_inventory(text, str(path))
