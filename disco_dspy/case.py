"""One question on its way through the program: what is known so far, and what each role is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy
from dspy.utils.usage_tracker import UsageTracker

from disco_dspy.corpus.types import Chunk
from disco_dspy.health import Health
from disco_dspy.passages import chunk_of
from disco_dspy.prompting.evidence import render_evidence
from disco_dspy.protocols import Retriever
from disco_dspy.settings import ProgramSettings
from disco_dspy.usage import RoleUsageTracker
from signatures.answer import Answer
from signatures.blueprint import Blueprint
from signatures.errors import DiscoError
from signatures.graph import RhetoricalGraph
from signatures.relations import Inventory
from signatures.tree import RSTTree

LONGEST_QUESTION = 20_000
"""Characters; also of `task`. What is longer belongs into the corpus."""


class CaseUsage(RoleUsageTracker):
    """Counts one question's tokens per role, and passes every count on to the caller's tracker, if there is one.

    Args:
        outer: Such as DSPy's `track_usage()`, which this one stands before.
    """

    def __init__(self, outer: UsageTracker | None) -> None:
        super().__init__()
        self._outer = outer

    def add_usage(self, lm: str, usage_entry: dict[str, Any]) -> None:
        """Adds one reply's tokens; see `RoleUsageTracker.add_usage`."""
        super().add_usage(lm, usage_entry)
        if self._outer is not None:
            self._outer.add_usage(lm, usage_entry)


class Case:
    """The state of one question.

    Args:
        question: The user's.
        task: Form the answer must have; may be empty.
        settings: Of the program.
        inventory: Of the trees.

    Raises:
        DiscoError: `question/empty` or `question/too-long`.
    """

    def __init__(self, question: str, task: str, settings: ProgramSettings, inventory: Inventory) -> None:
        self.question, self.task = _checked(question, task)
        self.settings, self.inventory = settings, inventory
        self.chunks: tuple[Chunk, ...] = ()
        self.trees: tuple[RSTTree | None, ...] = ()
        self.evidence = ""
        self.graph: RhetoricalGraph | None = None
        self.blueprint: Blueprint | None = None
        self.answer: Answer | None = None
        self.health: list[Health] = []
        self.usage = CaseUsage(dspy.settings.usage_tracker)
        self._graph_known = False

    # -- what came in ------------------------------------------------------------------------------------------

    def take_chunks(self, chunks: Sequence[Chunk]) -> None:
        """Takes the chunks, numbered from 1 in this order."""
        self.chunks = tuple(chunks)
        self.trees = (None,) * len(self.chunks)
        self._show()

    def take_trees(self, parsed: Sequence[dspy.Prediction]) -> None:
        """Takes the trees, one per chunk, and fixes the evidence block for all further calls."""
        self.trees = tuple(made.tree for made in parsed)
        self.health += [made.health for made in parsed]
        self._show()

    def take_graph(self, made: dspy.Prediction) -> None:
        """Takes the grapher's result."""
        self.graph = made.graph
        self._graph_known = made.health.status != "degraded"
        self.health.append(made.health)

    def take_plan(self, made: dspy.Prediction) -> None:
        """Takes the planner's result."""
        self.blueprint = made.blueprint
        self.health.append(made.health)

    def take_answer(self, made: dspy.Prediction) -> None:
        """Takes the generator's result."""
        self.answer = made.answer
        self.health.append(made.health)

    # -- what the roles are given ------------------------------------------------------------------------------

    def for_grapher(self) -> dict[str, Any]:
        """Returns the grapher's inputs."""
        return {"evidence": self.evidence, "size": len(self.chunks)}

    def for_planner(self) -> dict[str, Any]:
        """Returns the planner's inputs: everything, or what an ablation leaves it (see `ProgramSettings.plan`)."""
        common = {"question": self.question, "task": self.task}
        if self.settings.plan == "generic-before":
            return common
        if self.settings.plan == "generic-after":
            plain = render_evidence(self.chunks, (None,) * len(self.chunks), self.inventory, self.settings.cite)
            return {**common, "evidence": plain, "edu_counts": (0,) * len(self.chunks)}
        return {**common, **self._structure()}

    def for_generator(self) -> dict[str, Any]:
        """Returns the generator's inputs."""
        return {"question": self.question, "task": self.task, "blueprint": self.blueprint, **self._structure()}

    def _structure(self) -> dict[str, Any]:
        # A graph that could not be made is not shown as one that says "nothing is related".
        graph = self.graph if self._graph_known else None
        return {"evidence": self.evidence, "graph": graph, "edu_counts": self.edu_counts()}

    def edu_counts(self) -> tuple[int, ...]:
        """Returns how many EDUs of each chunk can be cited; 0 where none are numbered in the evidence."""
        shown = self.settings.cite == "edu"
        return tuple(len(tree.edus) if tree is not None and shown else 0 for tree in self.trees)

    def _show(self) -> None:
        self.evidence = render_evidence(self.chunks, self.trees, self.inventory, self.settings.cite)

    # -- what comes out ----------------------------------------------------------------------------------------

    def prediction(self) -> dspy.Prediction:
        """Returns the program's result; see `DiscoRAG.forward`."""
        if self.answer is None:
            raise RuntimeError("the case has no answer yet")
        return dspy.Prediction(
            answer=self.answer.text,
            response=self.answer,
            citations=self.answer.citations,
            chunks=self.chunks,
            trees=self.trees,
            graph=self.graph,
            blueprint=self.blueprint,
            evidence=self.evidence,
            health=self.health,
            usage=self.usage.by_role(),
        )


def find_chunks(
    question: str, retriever: Retriever | None, k: int, scope: str | None, given: Sequence[Chunk | str] | None
) -> list[Chunk]:
    """Returns the chunks a question is answered from, in the order they are shown.

    Found chunks are shown in reading order, not by score: the same chunks then give the same evidence block. Given
    chunks keep their order.

    Args:
        question: The user's.
        retriever: Where to search.
        k: Most chunks to find.
        scope: Part of the corpus.
        given: Chunks or plain texts to use instead of searching.

    Raises:
        DiscoError: `index/none`, `index/empty` or `scope/empty`.
    """
    if given is not None:
        made = [
            chunk if isinstance(chunk, Chunk) else chunk_of(chunk, f"given/{at:05d}") for at, chunk in enumerate(given)
        ]
        chunks = list({chunk.id: chunk for chunk in made if chunk.text.strip()}.values())
        if not chunks:
            raise DiscoError("index/empty", "None of the given chunks holds text.", "Give at least one.")
        return chunks
    if retriever is None:
        raise DiscoError("index/none", "The program has nothing to search.", "Pass an index, or the chunks themselves.")
    chunks = [hit.chunk for hit in retriever.search(question, k, scope=scope)]
    if chunks:
        return sorted(chunks, key=lambda chunk: (*chunk.sort_key, chunk.id))
    if scope is not None:
        raise DiscoError("scope/empty", f"No document matches the scope {scope!r}.", "Widen it, or leave it out.")
    raise DiscoError("index/empty", "The index holds no chunk.", "Index a folder with text: `disco index FOLDER`.")


def _checked(question: str, task: str) -> tuple[str, str]:
    if not isinstance(question, str) or not question.strip():
        raise DiscoError("question/empty", "The question is empty.", "Ask something.", exit_code=2)
    for what, text in (("question", question), ("task", task)):
        if len(text) > LONGEST_QUESTION:
            raise DiscoError(
                f"{what}/too-long",
                f"The {what} has {len(text):,} characters; {LONGEST_QUESTION:,} are the most.",
                "Put long material into the corpus and ask about it.",
                exit_code=2,
            )
    return question.strip(), task.strip()
