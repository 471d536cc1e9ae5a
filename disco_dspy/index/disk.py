"""Turns a full disk or a failing one into an error people can act on, and makes file writes durable."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from signatures.errors import DiscoError

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Maps storage failures inside the block to DiscoErrors.

    Args:
        folder: The index, named in the message.

    Raises:
        DiscoError: `index/disk-full`, `index/busy` (a database lock), `index/damaged`, or `index/disk` for others.
    """
    where = str(folder)
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _disk_full(where) from error
        raise DiscoError(
            "index/disk",
            f"The index in {where!r} cannot be written or read: {error.strerror or error}.",
            "Check the folder's permissions and the disk.",
        ) from error
    except DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise _disk_full(where) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DiscoError(
                "index/busy",
                f"The catalogue in {where!r} is locked by another process.",
                "Try again in a moment.",
                retryable=True,
                exit_code=7,
            ) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DiscoError(
                "index/damaged",
                f"The catalogue in {where!r} is damaged: {error.orig}.",
                "Delete the folder and run `disco index` again.",
            ) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM):
            raise DiscoError(
                "index/disk",
                f"The catalogue in {where!r} cannot be written or read: {error.orig}.",
                "Check the folder's permissions and the disk.",
            ) from error
        raise


def _disk_full(where: str) -> DiscoError:
    return DiscoError(
        "index/disk-full",
        f"The disk is full; the index in {where!r} is unchanged.",
        "Free some space and run the same command again; embeddings already saved are reused.",
        retryable=True,
    )


def sync_folder(folder: Path) -> None:
    """Makes a folder's entries (new and renamed files) durable where the system allows it.

    Args:
        folder: The folder.
    """
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def folder_bytes(folder: Path) -> int:
    """Returns the bytes of all files below a folder; files that vanish meanwhile count as none.

    Args:
        folder: The folder.
    """
    total = 0
    for file in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if file.is_file():
                total += file.stat().st_size
    return total
