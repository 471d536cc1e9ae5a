"""Running the program on a scripted model, and a tree store in memory."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import dspy

from disco_dspy.program import DiscoRAG
from signatures.errors import DiscoError
from tests.scripted import ScriptedLM

TEXTS = [
    "Vitamin D lowered influenza in winter, although only in adults with low levels.",
    "Large trials found no effect. Researchers said that the dose was small because funding was cut.",
    "Oily fish is a source of vitamin D.",
]
QUESTION = "Does vitamin D prevent influenza?"


class Store:
    """A tree store in memory that counts."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {}
        self.refuse = False
        self.lock = threading.Lock()

    def get_tree(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        row = self.rows.get((text_sha256, fingerprint))
        return row[0] if row else None

    def tree_health(self, text_sha256: str, fingerprint: str) -> dict[str, Any] | None:
        row = self.rows.get((text_sha256, fingerprint))
        return row[1] if row else None

    def put_tree(self, text_sha256: str, fingerprint: str, tree: dict[str, Any], health: dict[str, Any]) -> None:
        if self.refuse:
            raise DiscoError("index/read-only", "The index was opened read-only.", "Open it without read_only.")
        with self.lock:
            self.rows[text_sha256, fingerprint] = (tree, health)


def run(lm: ScriptedLM, program: DiscoRAG | None = None, asynchronous: bool = False, **inputs: Any) -> dspy.Prediction:
    program = program or DiscoRAG()
    given = {"question": QUESTION, **inputs}
    if program.retriever is None:
        given.setdefault("chunks", TEXTS)
    with dspy.context(lm=lm):
        return asyncio.run(program.acall(**given)) if asynchronous else program(**given)
