"""Gold trees that ship (GUM), as this project's structures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from signatures.tree import Node, RSTTree, edus_from_starts

DEV = Path(__file__).resolve().parent.parent / "data" / "gum" / "dev.jsonl"


@cache
def gold_trees() -> tuple[RSTTree, ...]:
    """Every tree of the shipped dev chunks; inventory `refined-19`."""
    trees = []
    for line in DEV.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        edus = edus_from_starts(row["text"], [start for start, _ in row["edus"]])
        nodes = tuple(Node(*node) for node in row["tree"])
        trees.append(RSTTree(row["text"], edus, nodes, "refined-19"))
    return tuple(trees)
