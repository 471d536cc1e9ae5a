"""The call ledger: one line for every real call to a model, never rewritten.

A reply from the cache is no call and has no line. Lines are flushed to the disk before the reply is used, so a
killed process cannot forget what it spent.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from signatures.errors import DiscoError


@dataclass(frozen=True)
class LedgerEntry:
    """One real call.

    Attributes:
        role: Role on whose behalf it was made; `other` when none is known.
        backbone: Name of the backbone.
        model: Model string, endpoint hash included.
        prompt_tokens: As the server counted; None when it did not say.
        completion_tokens: As the server counted; None when it did not say.
        cached_prompt_tokens: Prompt tokens the server did not compute again; None when it did not say.
        seconds: Wall time of the call.
        finish_reason: `stop`, `length`, ...; None when the call failed.
        error: Error code of a failed call; None when it succeeded.
        at: Unix time at the end of the call, seconds.
    """

    role: str
    backbone: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_prompt_tokens: int | None
    seconds: float
    finish_reason: str | None
    error: str | None
    at: float


_FIELDS = frozenset(f.name for f in fields(LedgerEntry))


class Ledger:
    """An append-only list of real calls, in a file or in memory. Safe to use from threads.

    Args:
        path: JSONL file, created with its folder when absent, read when present; None keeps the ledger in memory.

    Raises:
        DiscoError: `ledger/broken` when an existing file holds a line that is no entry.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._entries: list[LedgerEntry] = []
        self._torn = False
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._entries, self._torn = _read(path)

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, entry: LedgerEntry) -> None:
        """Adds a call and, with a file, waits until it is on the disk.

        Raises:
            DiscoError: `ledger/write` when it cannot be written; the call is still counted in memory.
        """
        with self._lock:
            self._entries.append(entry)
            if self.path is None:
                return
            line = json.dumps(asdict(entry), ensure_ascii=False).encode() + b"\n"
            try:
                # O_APPEND: two processes may share the file; a short line is written in one piece.
                handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                try:
                    os.write(handle, b"\n" + line if self._torn else line)
                    os.fsync(handle)
                finally:
                    os.close(handle)
            except OSError as exc:
                raise DiscoError(
                    "ledger/write",
                    f"The call ledger {self.path} cannot be written: {exc.strerror}.",
                    "Free disk space or correct the permissions, then run the same command again.",
                ) from exc
            self._torn = False

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Returns every call so far, oldest first."""
        with self._lock:
            return tuple(self._entries)

    def totals(self) -> dict[str, dict[str, float]]:
        """Returns `{role: {calls, failed, prompt_tokens, completion_tokens, cached_prompt_tokens, seconds}}`.

        A count the server did not give adds nothing.
        """
        return _totals(self.entries())


def _totals(entries: Iterable[LedgerEntry]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for entry in entries:
        row = table.setdefault(
            entry.role,
            {
                "calls": 0,
                "failed": 0,
                "prompt_tokens": 0,
                "completion_tokens": 0,
                "cached_prompt_tokens": 0,
                "seconds": 0.0,
            },
        )
        row["calls"] += 1
        row["failed"] += entry.error is not None
        row["prompt_tokens"] += entry.prompt_tokens or 0
        row["completion_tokens"] += entry.completion_tokens or 0
        row["cached_prompt_tokens"] += entry.cached_prompt_tokens or 0
        row["seconds"] += entry.seconds
    return table


def _read(path: Path) -> tuple[list[LedgerEntry], bool]:
    """Reads a ledger; a last line without its end was cut by a kill and is left out."""
    if not path.exists():
        return [], False
    data = path.read_bytes()
    whole, _, rest = data.rpartition(b"\n")
    entries: list[LedgerEntry] = []
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            entries.append(LedgerEntry(**{key: raw.get(key) for key in _FIELDS}))
        except (ValueError, AttributeError) as exc:
            if _is_torn(line):
                continue
            raise DiscoError(
                "ledger/broken",
                f"Line {number} of the call ledger {path} is not an entry.",
                "The file was edited or damaged; restore it or start a new run.",
            ) from exc
    return entries, bool(rest)


def _is_torn(line: bytes) -> bool:
    # A cut line that a later append has ended starts like an entry and does not close.
    return line.startswith(b'{"role"') and not line.rstrip().endswith(b"}")
