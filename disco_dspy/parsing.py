"""Trees for chunks: stored ones first, each text parsed once, a few at a time."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

import dspy

from disco_dspy.corpus.types import Chunk
from disco_dspy.health import Health, Problem
from disco_dspy.prompting.texts import LAYOUT_VERSION
from disco_dspy.protocols import TreeStore
from disco_dspy.roles.base import join_traces
from disco_dspy.roles.parser import ParserRole
from signatures.errors import DiscoError
from signatures.tree import RSTTree, check_tree

Item = TypeVar("Item")
Made = TypeVar("Made")

# After one of these a backbone will not answer for the next chunk either, and each try takes its retries' time.
_HOPELESS = frozenset(
    {f"backbone/{what}" for what in ("auth", "no-key", "model", "billing", "config", "unreachable", "error")}
)


class ChunkParsing:
    """One question's parsing: looks a chunk up, else parses it and stores the tree.

    Args:
        parser: The role.
        store: Where trees are kept; none keeps nothing.
        threads: Chunks parsed at once.
    """

    def __init__(self, parser: ParserRole, store: TreeStore | None, threads: int = 1) -> None:
        self.parser = parser
        self.store = store
        self.threads = threads
        self.fingerprint = parser_fingerprint(parser) if store is not None else ""
        self._broken = threading.Event()

    def all(self, chunks: Sequence[Chunk]) -> list[dspy.Prediction]:
        """Returns one prediction (`tree`, `health`) per chunk, in order."""
        unique = list({chunk.text_sha256: chunk for chunk in chunks}.values())
        made = in_threads(self.one, unique, self.threads)
        return self._in_order(chunks, unique, made)

    async def aall(self, chunks: Sequence[Chunk]) -> list[dspy.Prediction]:
        """As `all`, awaiting the model."""
        unique = list({chunk.text_sha256: chunk for chunk in chunks}.values())
        slots = asyncio.Semaphore(self.threads)

        async def one(chunk: Chunk) -> tuple[dspy.Prediction, list[Any]]:
            async with slots:
                with dspy.context(trace=[]):
                    return await self.aone(chunk), dspy.settings.trace

        tasks = [asyncio.create_task(one(chunk)) for chunk in unique]
        try:
            made = await asyncio.gather(*tasks)
        finally:
            # After an error the others would go on paying for an answer nobody gets.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        join_traces([trace for _, trace in made])
        return self._in_order(chunks, unique, [prediction for prediction, _ in made])

    def one(self, chunk: Chunk) -> dspy.Prediction:
        """Returns the tree of one chunk."""
        found = self._stored(chunk)
        if found is not None:
            return found
        return self._keep(chunk, self._skipped() or self.parser(text=chunk.text))

    async def aone(self, chunk: Chunk) -> dspy.Prediction:
        """As `one`, awaiting the model."""
        found = self._stored(chunk)
        if found is not None:
            return found
        return self._keep(chunk, self._skipped() or await self.parser.acall(text=chunk.text))

    def _in_order(
        self, chunks: Sequence[Chunk], unique: Sequence[Chunk], made: Sequence[dspy.Prediction]
    ) -> list[dspy.Prediction]:
        by_text = {chunk.text_sha256: prediction for chunk, prediction in zip(unique, made, strict=True)}
        return [
            dspy.Prediction(
                tree=by_text[chunk.text_sha256].tree, health=by_text[chunk.text_sha256].health.about(chunk.id)
            )
            for chunk in chunks
        ]

    def _stored(self, chunk: Chunk) -> dspy.Prediction | None:
        data = self.store.get_tree(chunk.text_sha256, self.fingerprint) if self.store is not None else None
        if self.store is None or data is None:
            return None
        try:
            tree = RSTTree.from_dict(data, chunk.text)
            check_tree(tree, self.parser.inventory)
        except ValueError:
            # Written by another version or damaged: parsing again is right, and its result replaces it.
            return None
        health = self.store.tree_health(chunk.text_sha256, self.fingerprint)
        was = Health.from_dict(health) if health else Health(self.parser.role)
        return dspy.Prediction(tree=tree, health=Health(was.role, was.status, 0, was.problems))

    def _keep(self, chunk: Chunk, made: dspy.Prediction) -> dspy.Prediction:
        health: Health = made.health
        if health.status == "degraded":
            if _HOPELESS & set(health.codes()):
                self._broken.set()
            return made
        if self.store is None or not health.attempts:
            return made
        try:
            tree = made.tree.to_dict(with_text=False)
            self.store.put_tree(chunk.text_sha256, self.fingerprint, tree, health.to_dict())
        except DiscoError as error:
            # The answer does not need it; the next question parses again.
            problems = (*health.problems, Problem("tree/not-stored", f"{error.sentence} {error.remedy}"))
            worse = "flawed" if health.status in {"ok", "repaired"} else health.status
            return dspy.Prediction(tree=made.tree, health=Health(health.role, worse, health.attempts, problems))
        return made

    def _skipped(self) -> dspy.Prediction | None:
        if not self._broken.is_set():
            return None
        problem = Problem("parser/skipped", "Not asked, since the parser's backbone failed for another chunk.")
        return dspy.Prediction(tree=None, health=Health(self.parser.role, "degraded", 0, (problem,)))


def parser_fingerprint(parser: ParserRole) -> str:
    """Returns a hash of everything that shapes a parse: prompt, demonstrations, inventory, model, decoding.

    Args:
        parser: The role as it would be asked.
    """
    state = parser.predict.dump_state()
    lm = parser.lm()
    decoding = {name: lm.kwargs.get(name) for name in ("temperature", "max_tokens", "max_completion_tokens", "top_p")}
    facts = {
        "layout": LAYOUT_VERSION,
        "signature": state["signature"],
        "demos": state["demos"],
        "inventory": parser.inventory.fingerprint(),
        "backbone": parser.backbones.fingerprint(parser.role) if parser.backbones is not None else lm.model,
        "decoding": decoding,
        "settings": parser.settings.model_dump(),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()


def in_threads(call: Callable[[Item], Made], items: Sequence[Item], threads: int) -> list[Made]:
    """Returns `call(item)` for each item, in order, at most `threads` at once.

    Threads see DSPy's settings of the caller (a plain pool would lose them), and what they trace is joined to the
    caller's trace in the order of the items, so that optimizers see the same trace every time. The first error is
    raised once running calls have ended (Ctrl-C at once); those not begun are not begun.

    Args:
        call: Thread-safe.
        items: Its arguments.
        threads: At least 1; 1 stays in this thread.
    """
    if threads == 1 or len(items) < 2:
        return [call(item) for item in items]

    def traced(item: Item) -> tuple[Made, list[Any]]:
        with dspy.context(trace=[]):
            return call(item), dspy.settings.trace

    pool = ThreadPoolExecutor(min(threads, len(items)), thread_name_prefix="disco-parse")
    wait = True
    try:
        futures = [pool.submit(copy_context().run, traced, item) for item in items]
        made = [future.result() for future in futures]
    except KeyboardInterrupt:
        # A call may run for minutes; whoever pressed Ctrl-C should not have to wait for it.
        wait = False
        raise
    finally:
        pool.shutdown(wait=wait, cancel_futures=True)
    join_traces([trace for _, trace in made])
    return [value for value, _ in made]
