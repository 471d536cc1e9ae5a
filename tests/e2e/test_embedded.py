"""The embedded server with SmolLM2-135M: it runs, obeys a schema, repeats itself, stops. Never quality."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import dspy
import httpx
import pytest
from pydantic import BaseModel, Field

from disco_dspy import embedded
from disco_dspy.backbones import Backbones
from disco_dspy.lm_errors import explain_lm_error
from signatures.errors import DiscoError

pytestmark = pytest.mark.e2e

SPAN = "^[1-9]-[1-9] (NS|SN|NN) (cause|contrast|list)$"


class Spans(BaseModel):
    spans: list[str] = Field(max_length=4, json_schema_extra={"items": {"type": "string", "pattern": SPAN}})


def test_it_starts_once_answers_and_is_metered(small: Backbones) -> None:
    report = small.preflight()
    assert report.json_schema == "obeyed"
    lm = small.lm("generator")
    lm("Say hello.", max_tokens=5, cache=False)
    asyncio.run(lm.acall("Say hello.", max_tokens=5, cache=False))
    assert len(embedded.running()) == 1
    entries = small.ledger.entries()
    assert [entry.role for entry in entries] == ["preflight", "other", "other"]
    assert all((entry.prompt_tokens or 0) > 0 and (entry.completion_tokens or 0) > 0 for entry in entries)


def test_the_pattern_of_a_list_item_is_enforced(small: Backbones) -> None:
    (text,) = small.lm("parser")("Tell me a long story about rain.", response_format=Spans, max_tokens=200, cache=False)
    spans = json.loads(text)["spans"]
    assert len(spans) <= 4
    assert all(re.fullmatch(SPAN, span) for span in spans)


def test_temperature_zero_repeats_itself(small: Backbones) -> None:
    lm = small.lm("generator")
    lm("Another prompt, so that the slot is not fresh.", max_tokens=5, cache=False)
    texts = {lm("Write one sentence about a river.", max_tokens=24, cache=False)[0] for _ in range(3)}
    assert len(texts) == 1


def test_a_shared_beginning_is_computed_once(small: Backbones) -> None:
    lm = small.lm("generator")
    evidence = " ".join(f"Fact {i}: the river is {i} miles long." for i in range(25))
    for question in ("Which is longest?", "Which is shortest?"):
        lm(f"{evidence}\n\n{question}", max_tokens=4, cache=False)
    first, second = small.ledger.entries()
    assert (second.cached_prompt_tokens or 0) > 0.9 * (first.prompt_tokens or 0)


def test_a_prompt_longer_than_the_context_is_explained(small: Backbones) -> None:
    with pytest.raises(dspy.ContextWindowExceededError) as caught:
        small.lm("generator")("rain " * 9000, max_tokens=4, cache=False)
    assert explain_lm_error(caught.value, "embedded-small").code == "backbone/context"


def test_a_stopped_server_is_gone_and_comes_back_when_it_is_needed(small: Backbones) -> None:
    lm = small.lm("generator")
    lm("Hello.", max_tokens=3, cache=False)
    (server,) = embedded.running()
    embedded.stop_all()
    assert embedded.running() == ()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/health", timeout=5)
    lm("Hello.", max_tokens=3, cache=False)
    assert len(embedded.running()) == 1


def test_the_process_ends_with_its_server(small_model: Path) -> None:
    script = (
        "from disco_dspy import embedded; import os\n"
        "server = embedded.start('smollm2-135m', context=1024)\n"
        "print(server.address, os.environ['OMP_WAIT_POLICY'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    address, policy = done.stdout.split()
    assert policy == "passive"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/health", timeout=5)


def test_other_programs_on_this_machine_cannot_use_it(small: Backbones) -> None:
    small.lm("generator")("Hello.", max_tokens=3, cache=False)
    (server,) = embedded.running()
    body = {"messages": [{"role": "user", "content": "Hello."}], "max_tokens": 2}
    assert httpx.post(f"{server.address}/v1/chat/completions", json=body, timeout=20).status_code == 401
    assert server.address.startswith("http://127.0.0.1:")
    assert server.key not in repr(server)


def test_a_damaged_model_file_is_an_error_not_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 1000)
    monkeypatch.setattr("disco_dspy.embedded.server.path", lambda name: broken)
    with pytest.raises(DiscoError) as caught:
        embedded.start("smollm2-135m", context=1111)
    assert caught.value.code == "backbone/embedded"
