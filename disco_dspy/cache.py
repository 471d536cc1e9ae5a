"""DSPy's response cache, one folder per backbone and endpoint.

DSPy has one cache for the process, keyed without the endpoint. This one looks at the model string, which names the
endpoint (`routes.model_string`), and keeps each in a folder of its own: replies never cross, and deleting one
backbone's folder forgets that backbone alone.

Only commands and campaigns install it. The library leaves a user's own cache alone.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dspy
from dspy.clients.cache import Cache

from disco_dspy.models import cache_dir

logger = logging.getLogger(__name__)

SIZE_LIMIT = 8 << 30
"""Bytes on disk per backbone before the least recently stored replies go."""


class RoutedCache(Cache):
    """A DSPy cache that routes each request to the folder of its model string.

    Args:
        folder: Parent of the backbones' folders.
    """

    def __init__(self, folder: Path) -> None:
        # No store of its own: the parent class only lends its key function and its type.
        super().__init__(enable_disk_cache=False, enable_memory_cache=False, disk_cache_dir=None)
        self.folder = folder
        self._routes: dict[str, Cache] = {}
        self._routes_lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        with self._routes_lock:
            routes = list(self._routes.values())
        return any(key in route for route in routes)

    def get(self, request: dict[str, Any], ignored_args_for_cache_key: list[str] | None = None) -> Any:
        """Returns the stored reply to a request, or None."""
        return self._route(request).get(request, ignored_args_for_cache_key)

    def put(
        self,
        request: dict[str, Any],
        value: Any,
        ignored_args_for_cache_key: list[str] | None = None,
        enable_memory_cache: bool = True,
    ) -> None:
        """Stores a reply; a full disk is reported in the log, and the reply is still used."""
        route = self._route(request)
        route.put(request, value, ignored_args_for_cache_key, enable_memory_cache)
        # DSPy's put swallows every failure; a campaign that cannot resume should hear of it.
        if not self._stored(route, request, ignored_args_for_cache_key):
            logger.warning("A reply could not be stored in %s; the same call would be made again.", self.folder)

    def reset_memory_cache(self) -> None:
        """Forgets what is in memory; the disk keeps it."""
        with self._routes_lock:
            for route in self._routes.values():
                route.reset_memory_cache()

    def close(self) -> None:
        """Closes the folders' databases."""
        with self._routes_lock:
            for route in self._routes.values():
                route.disk_cache.close()  # type: ignore[union-attr]
            self._routes.clear()

    def _stored(self, route: Cache, request: dict[str, Any], ignored: list[str] | None) -> bool:
        return route.cache_key(request, ignored) in route.disk_cache

    def _route(self, request: dict[str, Any]) -> Cache:
        name = folder_name(_model_of(request))
        with self._routes_lock:
            if name not in self._routes:
                self._routes[name] = Cache(
                    enable_disk_cache=True,
                    enable_memory_cache=True,
                    disk_cache_dir=str(self.folder / name),
                    disk_size_limit_bytes=SIZE_LIMIT,
                    memory_max_entries=10_000,
                    restrict_pickle=True,
                )
            return self._routes[name]


def folder_name(model: str) -> str:
    """Returns the folder of a model string: `disco-1a2b3c4d/org/name` gives `disco-1a2b3c4d-org-name`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:80] or "other"


def configure_lm_cache(folder: Path | None = None) -> RoutedCache:
    """Makes a routed cache DSPy's cache for this process, and returns it.

    Args:
        folder: Where replies are kept, created when absent; None takes `lm` in the user's cache folder.
    """
    folder = folder if folder is not None else cache_dir() / "lm"
    folder.mkdir(parents=True, exist_ok=True)
    cache = RoutedCache(folder)
    _install(cache)
    return cache


@contextmanager
def lm_cache(folder: Path | None = None) -> Iterator[RoutedCache]:
    """Like `configure_lm_cache`, for a while: DSPy's earlier cache is back afterwards."""
    # Not `dspy.cache`: reading it would build the user's cache when nothing has used it yet.
    before = vars(dspy).get("cache")
    cache = configure_lm_cache(folder)
    try:
        yield cache
    finally:
        _install(before)
        cache.close()


def _install(cache: Cache | None) -> None:
    # The lock DSPy's own configure_cache takes: a concurrent first read would put the default cache back.
    with dspy._cache_lock:
        if cache is not None:
            dspy.cache = cache  # pyright: ignore[reportAttributeAccessIssue]
        elif "cache" in vars(dspy):
            del dspy.cache  # pyright: ignore[reportAttributeAccessIssue]


def _model_of(request: dict[str, Any]) -> str:
    # An explicit lm15 request is nested; an ordinary call has the model at the top.
    model = request.get("model")
    if model is None and isinstance(request.get("request"), dict):
        model = request["request"].get("model")
    return str(model) if model else "other"
