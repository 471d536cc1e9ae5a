from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import dspy
import pytest
from pydantic import BaseModel

from disco_dspy.backbones import Backbones
from disco_dspy.cache import configure_lm_cache, folder_name, lm_cache
from disco_dspy.config import parse_config
from tests.disco_dspy.fake_server import chat_reply, fake_server


def two_servers_config(first: str, second: str):
    table = {name: {"model": "same/model", "api_base": base} for name, base in (("one", first), ("two", second))}
    return parse_config({"backbones": table})


class Reply(BaseModel):
    x: str


def test_two_servers_with_one_model_name_never_share_a_reply(tmp_path: Path) -> None:
    with (
        fake_server(lambda body: chat_reply("from one")) as first,
        fake_server(lambda body: chat_reply("from two")) as second,
        lm_cache(tmp_path / "lm"),
    ):
        config = two_servers_config(first.api_base, second.api_base)
        for _ in range(2):
            assert Backbones.single("one", config).lm("parser")("hello") == ["from one"]
            assert Backbones.single("two", config).lm("parser")("hello") == ["from two"]
    assert (len(first.requests), len(second.requests)) == (1, 1)
    folders = sorted(path.name for path in (tmp_path / "lm").iterdir())
    assert len(folders) == 2
    assert all(name.endswith("-same-model") for name in folders)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_replay_from_the_disk_makes_no_call(tmp_path: Path, asynchronous: bool) -> None:
    with fake_server(lambda body: chat_reply('{"x": "y"}')) as server:
        config = two_servers_config(server.api_base, server.api_base)
        seen = []
        for _ in range(2):  # the second round stands for a new process: another cache object, nothing in memory
            with lm_cache(tmp_path / "lm"):
                backbones = Backbones.single("one", config)
                lm = backbones.lm("parser")
                call = lm.acall("q", response_format=Reply) if asynchronous else None
                seen.append(asyncio.run(call) if call is not None else lm("q", response_format=Reply))
    assert seen == [['{"x": "y"}']] * 2
    assert len(server.requests) == 1
    assert len(backbones.ledger) == 0


def test_another_rollout_is_another_call_and_is_kept_too(tmp_path: Path) -> None:
    with fake_server() as server, lm_cache(tmp_path / "lm"):
        lm = Backbones.single("one", two_servers_config(server.api_base, server.api_base)).lm("parser")
        for _ in range(2):
            lm("q")
            lm("q", rollout_id=1, temperature=0.7)
            lm("q", rollout_id=2, temperature=0.7)
    assert len(server.requests) == 3
    assert all("rollout_id" not in seen.body for seen in server.requests)


def test_failures_are_not_kept(tmp_path: Path) -> None:
    with fake_server(lambda body: (500, {"error": {"message": "boom"}})) as server, lm_cache(tmp_path / "lm"):
        config = parse_config({"backbones": {"one": {"model": "m", "api_base": server.api_base, "max_retries": 0}}})
        lm = Backbones.single("one", config).lm("parser")
        with pytest.raises(dspy.LMError):
            lm("q")
        server.answer = lambda body: chat_reply("better")
        assert lm("q") == ["better"]


def test_the_users_cache_is_back_afterwards(tmp_path: Path) -> None:
    before = dspy.cache
    with lm_cache(tmp_path / "lm") as routed:
        assert dspy.cache is routed
    assert dspy.cache is before
    assert configure_lm_cache(tmp_path / "other") is dspy.cache


def test_a_reply_that_cannot_be_stored_is_used_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import diskcache

    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(diskcache.FanoutCache, "set", full)
    with fake_server() as server, lm_cache(tmp_path / "lm"), caplog.at_level(logging.WARNING):
        lm = Backbones.single("one", two_servers_config(server.api_base, server.api_base)).lm("parser")
        assert lm("q") == ["ok"]
    assert "could not be stored" in caplog.text


def test_what_is_on_the_disk_cannot_run_code(tmp_path: Path) -> None:
    """A cache folder may be copied from elsewhere: an entry that is no plain reply is dropped, not unpickled."""
    import diskcache

    with lm_cache(tmp_path / "lm") as cache:
        request = {"model": "disco-0/x", "messages": [{"role": "user", "content": "q"}]}
        cache.put(request, {"plain": True})
        key = cache.cache_key(request)
    marker = tmp_path / "ran"
    with diskcache.FanoutCache(str(tmp_path / "lm" / folder_name("disco-0/x")), shards=16) as disk:
        assert disk.get(key) == {"plain": True}
        disk.set(key, _Touch(marker))
    with lm_cache(tmp_path / "lm") as cache:
        assert cache.get(request) is None
    assert not marker.exists()


class _Touch:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize(
    ("model", "name"),
    [("disco-1a/org/m:v1", "disco-1a-org-m-v1"), ("../../etc", "etc"), ("", "other"), ("x" * 300, "x" * 80)],
)
def test_folder_names_stay_inside(model: str, name: str) -> None:
    assert folder_name(model) == name
