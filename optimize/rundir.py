"""The folder of one campaign: its name says what was run, its files let the same command go on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from signatures.errors import DiscoError

STATE = "campaign.json"


def digest(identity: Mapping[str, Any]) -> str:
    """SHA-256 in hex of plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class RunDir:
    """One campaign's folder: `campaign.json`, `ledger.jsonl`, `lm-cache/`, `artifact/`, `optimizer.log`.

    Args:
        root: Folder of all campaigns.
        identity: Everything that shapes the result; any difference is another folder.
    """

    def __init__(self, root: Path, identity: Mapping[str, Any]) -> None:
        self.identity = dict(identity)
        self.digest = digest(identity)
        self.path = root / self.digest[:16]

    @property
    def ledger(self) -> Path:
        """Real calls, one a line."""
        return self.path / "ledger.jsonl"

    @property
    def cache(self) -> Path:
        """Replies of the models; the campaign's real checkpoint."""
        return self.path / "lm-cache"

    @property
    def artifact(self) -> Path:
        """The campaign's own copy of what it made."""
        return self.path / "artifact"

    @property
    def log(self) -> Path:
        """What the optimisers print."""
        return self.path / "optimizer.log"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps a second process out.

        Raises:
            DiscoError: `campaign/busy` (exit code 7) when one is running the same campaign.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiscoError(
                "campaign/folder",
                f"The run folder {self.path} cannot be made ({error.strerror or error}).",
                "Name a folder you may write to with --runs.",
            ) from error
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise DiscoError(
                "campaign/busy",
                f"Another process is running this very campaign in {self.path}.",
                "Wait for it to end, then run the same command: it will find the result.",
                retryable=True,
                exit_code=7,
            ) from error
        try:
            yield
        finally:
            lock.release()

    def read(self) -> dict[str, Any]:
        """The recorded state; empty when there is none.

        Raises:
            DiscoError: `campaign/broken` when the file is unreadable or belongs to another campaign.
        """
        path = self.path / STATE
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._broken(f"cannot be read ({error})") from error
        if not isinstance(state, dict) or state.get("digest") != self.digest:
            raise self._broken("belongs to another campaign")
        return state

    def write(self, state: Mapping[str, Any]) -> None:
        """Replaces the recorded state in one step, on the disk before it returns."""
        write_json(self.path / STATE, {"digest": self.digest, "identity": self.identity, **state})

    def _broken(self, what: str) -> DiscoError:
        return DiscoError(
            "campaign/broken",
            f"The campaign record {self.path / STATE} {what}.",
            f"Delete {self.path} to start over; its calls will be made again.",
        )


def write_json(path: Path, data: Any) -> None:
    """Writes JSON so that a reader sees the old file or the new one, never half of either."""
    temporary = path.with_suffix(path.suffix + ".new")
    with temporary.open("w", encoding="utf-8") as out:
        json.dump(data, out, ensure_ascii=False, indent=2, sort_keys=True)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(path)


def started_at() -> str:
    """The time to put into a new campaign: UTC to the second, or `SOURCE_DATE_EPOCH` for reproducible builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")
