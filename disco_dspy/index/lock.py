"""One writer at a time, across processes; the system frees the lock when its holder dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from signatures.errors import DiscoError


@contextmanager
def write_lock(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Holds the index's write lock.

    Args:
        folder: The index.
        wait: Seconds to wait for another writer; 0 fails at once.

    Raises:
        DiscoError: `index/busy` (exit code 7, retryable) while another process or thread writes.
    """
    lock = FileLock(str(folder / "write.lock"), timeout=wait, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise DiscoError(
            "index/busy",
            f"Another process is writing to the index in {str(folder)!r}.",
            "Wait until it has finished, or stop it; searching is possible meanwhile.",
            retryable=True,
            exit_code=7,
        ) from error
    try:
        yield
    finally:
        lock.release()
