"""Gold chunks of the GUM corpus as the light parser's training needs them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from signatures.errors import DiscoError
from signatures.relations import load_inventory

TRAIN = ("train", "train_more")
LICENCES = {"academic": "CC BY 4.0", "court": "CC BY 4.0", "news": "CC BY 2.5", "interview": "CC BY 2.5",
            "bio": "CC BY-SA 3.0", "voyage": "CC BY-SA 3.0"}  # fmt: skip


@dataclass(frozen=True)
class Chunk:
    """A gold chunk.

    Args:
        document: Name of its document; folds are made of whole documents.
        genre: Genre of the document.
        text: The exact text.
        edus: Start and end offset of each EDU; white space between them belongs to none.
        nodes: (i, k, j, class), 0-based, class such as "NS:elaboration"; only those wholly inside the chunk.
        cut: (i, j) of nodes that a chunk border cut: neither constituents nor none.
    """

    document: str
    genre: str
    text: str
    edus: tuple[tuple[int, int], ...]
    nodes: tuple[tuple[int, int, int, str], ...]
    cut: frozenset[tuple[int, int]] = frozenset()

    @property
    def starts(self) -> list[int]:
        """Offsets where EDUs start; the first is 0 whatever the gold says."""
        return [0, *(start for start, _ in self.edus[1:])]


def read_chunks(root: Path, splits: Sequence[str], kind: str) -> list[Chunk]:
    """Returns the chunks of some splits, in file order.

    Args:
        root: The folder with `train/`, `train_more/` and `dev/`.
        splits: Folder names.
        kind: `maximal` (whole constituents, with trees) or `greedy` (as a retriever cuts).

    Raises:
        DiscoError: `data/missing` if a file is not there.
    """
    inventory = load_inventory("refined-19")
    chunks: list[Chunk] = []
    for split in splits:
        path = root / split / f"chunks_{kind}.jsonl"
        if not path.is_file():
            raise DiscoError(
                "data/missing",
                f"There is no file {path}.",
                "Give the folder of the GUM chunks with --data or DISCO_GUM.",
            )
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            nodes, cut = [], set()
            for i, k, j, nuclearity, label, *whole in row["tree"]:
                if whole and not whole[0]:
                    cut.add((i - 1, j - 1))
                    continue
                relation = inventory.find(label)
                if relation is None:
                    raise DiscoError("data/label", f"{path} has the unknown label {label!r}.", "Use GUM's labels.")
                nodes.append((i - 1, k - 1, j - 1, f"{nuclearity}:{relation.name}"))
            edus = tuple((int(start), int(end)) for start, end in row["edus"])
            chunks.append(Chunk(row["doc"], row["genre"], row["text"], edus, tuple(nodes), frozenset(cut)))
    return chunks


def folds(documents: Sequence[str], count: int) -> dict[str, int]:
    """Returns the fold of each document: whole documents, genres spread evenly, the same every time."""
    names = sorted(set(documents), key=lambda name: (name.split("_")[1] if "_" in name else "", name))
    return {name: number % count for number, name in enumerate(names)}
