from __future__ import annotations

import copy
import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from disco_dspy.ledger import Ledger, LedgerEntry
from signatures.errors import DiscoError


def entry(role: str = "parser", tokens: int | None = 10, error: str | None = None) -> LedgerEntry:
    return LedgerEntry(role, "lab", "m", tokens, 2, None, 0.5, None if error else "stop", error, 1.0)


def test_a_file_ledger_is_the_same_after_reading_it_again(tmp_path: Path) -> None:
    path = tmp_path / "run" / "ledger.jsonl"
    ledger = Ledger(path)
    ledger.append(entry())
    ledger.append(entry("planner", None, "rate_limit"))
    again = Ledger(path)
    assert again.entries() == ledger.entries()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [asdict(e) for e in ledger.entries()]
    assert again.totals()["planner"] == {
        "calls": 1,
        "failed": 1,
        "prompt_tokens": 0,
        "completion_tokens": 2,
        "cached_prompt_tokens": 0,
        "seconds": 0.5,
    }


@pytest.mark.parametrize("cut", [1, 5, 30, 90])
def test_a_line_cut_by_a_kill_is_left_out_and_the_next_ones_are_kept(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    for _ in range(3):
        ledger.append(entry())
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    again = Ledger(path)
    # A cut of one byte takes only the line's end; the entry itself is not trusted without it.
    assert len(again) == 2
    again.append(entry("grapher"))
    again.append(entry("planner"))
    roles = [e.role for e in Ledger(path).entries()]
    assert roles[-2:] == ["grapher", "planner"]
    assert len(roles) in {4, 5}


def test_an_edited_ledger_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    Ledger(path).append(entry())
    with path.open("a") as out:
        out.write("hello\n")
    with pytest.raises(DiscoError, match="Line 2") as caught:
        Ledger(path)
    assert caught.value.code == "ledger/broken"


def test_a_full_disk_is_an_error_and_the_call_still_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")

    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiscoError, match="No space left") as caught:
        ledger.append(entry())
    assert caught.value.code == "ledger/write"
    assert len(ledger) == 1


def test_copies_write_to_the_same_ledger() -> None:
    ledger = Ledger()
    copy.deepcopy(ledger).append(entry())
    assert len(ledger) == 1
