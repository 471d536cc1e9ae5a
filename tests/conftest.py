"""Every test runs alone: own caches, default DSPy settings, no network beyond this machine."""

from __future__ import annotations

import copy
import ipaddress
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Before DSPy is imported: it reads these once.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["DSPY_CACHEDIR"] = tempfile.mkdtemp(prefix="disco-test-dspy-")

import dspy
import pytest
from dspy.dsp.utils.settings import DEFAULT_CONFIG
from hypothesis import settings as hypothesis_settings

from tests.scripted import ScriptedLM, scripted_lm

# Seeded, so that a red run can be repeated; no deadline, since the machines that run this are small.
hypothesis_settings.register_profile("disco", deadline=None, derandomize=True, database=None)
hypothesis_settings.load_profile("disco")

# A shell without job control starts what it puts in the background with Ctrl-C ignored, and children inherit that; the
# tests that press Ctrl-C need processes that hear it, wherever the suite itself was started.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _uses_real_model(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("e2e", "slow"))


def _local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = str(address[0])
    if host in {"localhost", ""}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def isolated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Caches and user folders in a temporary place, DSPy as after import, no connection off this machine."""
    home = tmp_path / "home"
    if not _uses_real_model(request.node):
        monkeypatch.setenv("DISCO_CACHE", str(home / "disco"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))

        connect = socket.socket.connect

        def local_connect(self: socket.socket, address: Any) -> None:
            if not _local(address):
                raise AssertionError(f"A test tried to reach {address!r}; tests run without a network.")
            connect(self, address)

        monkeypatch.setattr(socket.socket, "connect", local_connect)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("DSPY_CACHEDIR", str(home / "dspy"))
    dspy.configure_cache(
        enable_disk_cache=False, enable_memory_cache=True, memory_max_entries=1000, disk_cache_dir=str(home / "dspy")
    )
    dspy.configure(**copy.deepcopy(DEFAULT_CONFIG))
    yield
    dspy.configure(**copy.deepcopy(DEFAULT_CONFIG))


@pytest.fixture
def lm() -> ScriptedLM:
    """A scripted model with plausible replies; change them through `lm.script`."""
    return scripted_lm()
