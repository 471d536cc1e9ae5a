"""Immutable generations of chunk vectors: a FAISS index a file, ids are chunk numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np

from disco_dspy.index.disk import sync_folder
from signatures.errors import DiscoError


def generation_file(folder: Path, generation: int) -> Path:
    """Returns the vector file of a generation.

    Args:
        folder: The index.
        generation: From 1.
    """
    return folder / "vectors" / f"{generation:06d}.faiss"


class Vectors:
    """Exact inner-product search over unit vectors, addressed by integer ids.

    Args:
        dimension: Length of a vector.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, numbers: Sequence[int], vectors: np.ndarray) -> None:
        """Adds rows.

        Args:
            numbers: Ids, each new (FAISS itself would accept a second row under an old id).
            vectors: float32 `[len(numbers), dimension]`.
        """
        if not len(numbers):
            return
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        if rows.shape != (len(numbers), self.dimension):
            raise ValueError(f"vectors have shape {rows.shape}, not {(len(numbers), self.dimension)}")
        self._index.add_with_ids(rows, np.asarray(numbers, dtype=np.int64))  # pyright: ignore[reportCallIssue]

    def rows(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns the stored vectors, float32 `[len(numbers), dimension]`; every number must exist.

        Args:
            numbers: Ids.
        """
        if not len(numbers):
            return np.zeros((0, self.dimension), dtype=np.float32)
        return self._index.reconstruct_batch(np.asarray(numbers, dtype=np.int64))

    def numbers(self) -> list[int]:
        """Returns the ids in the order they were added."""
        return [int(number) for number in faiss.vector_to_array(self._index.id_map)]

    def search(self, query: np.ndarray, k: int, among: Sequence[int] | None = None) -> list[tuple[int, float]]:
        """Returns at most `k` `(number, cosine)` pairs, best first, ties by number.

        Args:
            query: float32 `[dimension]`.
            k: Most results; more than there are is fine.
            among: Only these ids, if given.
        """
        size = len(self) if among is None else len(among)
        if not min(k, size):
            return []
        row = np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
        if row.shape[1] != self.dimension:
            raise ValueError(f"the query has {row.shape[1]} dimensions, the vectors {self.dimension}")
        options = None
        if among is not None:
            selector = faiss.IDSelectorBatch(np.asarray(among, dtype=np.int64))
            options = faiss.SearchParameters(sel=selector)  # pyright: ignore[reportCallIssue]
        # One more than asked for would not settle ties at the border either; FAISS is deterministic there.
        scores, numbers = self._index.search(row, min(k, len(self)), params=options)  # pyright: ignore[reportCallIssue]
        found = [(int(n), float(s)) for n, s in zip(numbers[0], scores[0], strict=True) if n != -1]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def write(self, path: Path) -> int:
        """Writes the generation durably (temporary file, fsync, rename, fsync of the folder) and returns its bytes.

        Args:
            path: The final name; must not exist yet.
        """
        temporary = path.with_name(path.name + ".tmp")
        try:
            with temporary.open("wb") as stream:
                writer = faiss.PyCallbackIOWriter(stream.write)  # pyright: ignore[reportAttributeAccessIssue]
                faiss.write_index(self._index, writer)
                del writer  # flushes FAISS's own buffer
                stream.flush()
                os.fsync(stream.fileno())
                size = stream.tell()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
        return size

    @classmethod
    def read(cls, path: Path, dimension: int, size: int) -> Vectors:
        """Reads a generation.

        Args:
            path: The file.
            dimension: What the catalogue says.
            size: Bytes, as the catalogue says; a torn file is found by it.

        Raises:
            DiscoError: `index/damaged` if the file is missing or not what was written.
        """
        remedy = "Run `disco index` on the corpus again; it repairs the index."
        try:
            actual = path.stat().st_size
        except FileNotFoundError as error:
            raise DiscoError("index/damaged", f"The vector file {str(path)!r} is missing.", remedy) from error
        if actual != size:
            raise DiscoError("index/damaged", f"The vector file {str(path)!r} has {actual} of {size} bytes.", remedy)
        vectors = cls(dimension)
        try:
            vectors._index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise DiscoError("index/damaged", f"The vector file {str(path)!r} cannot be read.", remedy) from error
        if vectors._index.d != dimension:
            raise DiscoError("index/damaged", f"The vector file {str(path)!r} has another dimension.", remedy)
        return vectors
