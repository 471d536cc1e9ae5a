"""What is at work during one question, told to the progress display."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dspy.utils.callback import BaseCallback

from disco_dspy.cli.progress import Steps
from disco_dspy.index.index import Index
from disco_dspy.roles.base import Role

if TYPE_CHECKING:
    from disco_dspy.protocols import Hit

_VERBS = {"parser": "parse", "grapher": "relate", "planner": "plan", "generator": "write"}


class Watch(BaseCallback):
    """Stands between a program and its index, and beside its roles.

    It is the program's retriever and tree store, so it knows how many chunks there are and which need no parsing; as a
    DSPy callback it hears each role begin and end.

    Args:
        index: What answers.
        steps: What is told.
    """

    def __init__(self, index: Index, steps: Steps) -> None:
        self._index = index
        self._steps = steps
        self._lock = threading.Lock()
        self._parsed = 0
        self._chunks: int | None = None
        self._calls: dict[str, str] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        return self

    def search(self, question: str, k: int, *, scope: str | None = None) -> Sequence[Hit]:
        """As `Index.search`."""
        self._steps.update("retrieve")
        hits = self._index.search(question, k, scope=scope)
        self._chunks = len({hit.chunk.text_sha256 for hit in hits})
        return hits

    def get_tree(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        """As `Index.get_tree`."""
        found = self._index.get_tree(text_sha256, fingerprint)
        if found is not None:
            self._one_parsed()
        return found

    def tree_health(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        """As `Index.tree_health`."""
        return self._index.tree_health(text_sha256, fingerprint)

    def put_tree(self, text_sha256: str, fingerprint: str, tree: dict[str, Any], health: dict[str, Any]) -> None:
        """As `Index.put_tree`."""
        self._index.put_tree(text_sha256, fingerprint, tree, health)

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Tells which role begins."""
        if not isinstance(instance, Role):
            return
        with self._lock:
            self._calls[call_id] = instance.role
        if instance.role == "parser":
            self._steps.update("parse", self._parsed, self._chunks)
        else:
            self._steps.update(_VERBS.get(instance.role, instance.role))

    def on_module_end(self, call_id: str, outputs: Any | None, exception: Exception | None = None) -> None:
        """Counts a chunk that was parsed."""
        with self._lock:
            role = self._calls.pop(call_id, "")
        if role == "parser":
            self._one_parsed()

    def _one_parsed(self) -> None:
        with self._lock:
            self._parsed += 1
            done = self._parsed
        self._steps.update("parse", done, self._chunks)
