"""A language model served inside this process: llama.cpp's own HTTP server, on loopback, on a free port.

Settings that touch results are fixed here: one slot, prompt cache on, no host cache of old prompts. At temperature 0
the text of a reply can still depend on what the slot held before, so equal runs make their calls in equal order.
"""

from __future__ import annotations

import atexit
import importlib
import os
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from disco_dspy.models import path, registered
from signatures.errors import DiscoError


@dataclass
class EmbeddedServer:
    """A running server.

    Attributes:
        model: Model name.
        address: Base address without a path, `http://127.0.0.1:<port>`.
        context: Context window, tokens.
        threads: CPU threads.
        key: Random key the server wants: other users and web pages of this machine can reach loopback too.
    """

    model: str
    address: str
    context: int
    threads: int
    key: str = field(repr=False)
    _handle: Any = field(repr=False)

    def stop(self) -> None:
        """Stops the server and frees the model's memory; harmless when it is stopped."""
        # llama.cpp's server ends when its last handle is dropped.
        self._handle = None
        with _lock:
            for key, server in list(_running.items()):
                if server is self:
                    del _running[key]


_START_TIMEOUT = 120.0
"""Seconds for the first answer of a server whose model is loaded."""

_running: dict[tuple[str, int, int], EmbeddedServer] = {}
_lock = threading.RLock()


def start(model: str, *, context: int = 8192, threads: int | None = None) -> EmbeddedServer:
    """Returns the server of a model, starting it when this process has none.

    Args:
        model: Registered model name with format `gguf`.
        context: Context window, tokens; the prompt and the reply must fit.
        threads: CPU threads; None takes every core.

    Raises:
        DiscoError: `extra/local` when the runtime is not installed; `model/absent` when the file is not here;
            `backbone/embedded` when the model cannot be loaded.
    """
    count = threads or os.cpu_count() or 1
    key = (model, context, count)
    with _lock:
        if key not in _running:
            _running[key] = _start(model, context, count)
        return _running[key]


def running() -> tuple[EmbeddedServer, ...]:
    """Returns the servers of this process."""
    with _lock:
        return tuple(_running.values())


def stop_all() -> None:
    """Stops every server of this process; also runs at its end."""
    for server in running():
        server.stop()


# A forked child must not think it owns the parent's server threads.
os.register_at_fork(after_in_child=_running.clear)
atexit.register(stop_all)


def _start(model: str, context: int, threads: int) -> EmbeddedServer:
    if registered(model).format != "gguf":
        raise DiscoError(
            "model/kind", f"The model {model!r} is no language model.", "Choose one with format gguf.", exit_code=3
        )
    # Before the import: spinning OpenMP threads on busy cores cost most of the speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        # By name: the extension module has no type information, and the extra may not be installed.
        runtime: Any = importlib.import_module("xllamacpp")
    except ImportError as exc:
        raise DiscoError(
            "extra/local",
            "The runtime for embedded models is not installed.",
            'Run `pip install "disco-dspy[local]"`, or name an endpoint in disco.toml.',
            exit_code=5,
        ) from exc
    file = path(model)
    key = secrets.token_urlsafe(24)
    try:
        handle = runtime.Server(_params(runtime, file, context, threads, key))
    except (RuntimeError, ValueError) as exc:
        raise _not_started(model, str(exc)) from exc
    server = EmbeddedServer(model, str(handle.listening_address), context, threads, key, handle)
    _wait(server)
    return server


def _wait(server: EmbeddedServer) -> None:
    """Waits until the server's main loop has answered once.

    The address is known a moment before the loop runs. A server stopped in that moment never ends, and its process
    hangs with it; the list of slots comes from the loop itself.
    """
    try:
        reply = httpx.get(
            f"{server.address}/slots",
            headers={"Authorization": f"Bearer {server.key}"},
            timeout=_START_TIMEOUT,
            trust_env=False,
        )
    except httpx.HTTPError as exc:
        raise _not_started(server.model, f"it does not answer ({type(exc).__name__})") from exc
    if reply.status_code != 200:
        raise _not_started(server.model, f"it answers HTTP {reply.status_code}")


def _not_started(model: str, reason: str) -> DiscoError:
    return DiscoError(
        "backbone/embedded",
        f"The model {model!r} could not be started: {reason.rstrip('.')}.",
        "Check the free memory, or lower context for this backbone in disco.toml.",
        exit_code=5,
    )


def _params(runtime: Any, file: Path, context: int, threads: int, key: str) -> Any:
    params = runtime.CommonParams()
    params.model.path = str(file)
    params.n_ctx = context
    params.n_parallel = 1
    params.port = 0
    params.cache_prompt = True
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    params.ui = False
    params.api_keys = [key]
    return params
