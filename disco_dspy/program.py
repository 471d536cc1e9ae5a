"""Disco-RAG: retrieve, parse, relate, plan, generate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from disco_dspy.backbones import Backbones
from disco_dspy.case import Case, find_chunks
from disco_dspy.corpus.types import Chunk
from disco_dspy.parsing import ChunkParsing
from disco_dspy.prompting.adapters import EvidenceFirst
from disco_dspy.prompting.texts import system_text
from disco_dspy.protocols import Retriever, TreeStore
from disco_dspy.roles import GeneratorRole, GrapherRole, ParserRole, PlannerRole
from disco_dspy.settings import ProgramSettings
from signatures.relations import load_inventory


class DiscoRAG(dspy.Module):
    """Answers a question from retrieved text with the text's argument structure in view (arXiv 2601.04377).

    Four roles of frozen models: the parser reads each chunk once and writes its RST tree; the grapher relates the
    chunks; the planner makes a blueprint; the generator writes the answer. Each is a module with one predictor
    (`program.parser.predict`, ...), so any DSPy optimizer can tune one or all.

    Args:
        retriever: An `Index`, `Passages`, or anything with their `search`; none if chunks are given with the question.
        trees: Where trees are kept; the retriever itself if it can.
        backbones: Which model plays which role; none uses DSPy's current LM for all.
        settings: The switches.

    Raises:
        DiscoError: `inventory/...` for an inventory that is not there.
    """

    def __init__(
        self,
        retriever: Retriever | None = None,
        *,
        trees: TreeStore | None = None,
        backbones: Backbones | None = None,
        settings: ProgramSettings | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings if settings is not None else ProgramSettings()
        self.backbones = backbones
        self._shared = _Shared(retriever, trees)
        self.inventory = load_inventory(self.settings.inventory, "intra")
        relations = load_inventory(self.settings.graph_inventory, "inter")
        layout = EvidenceFirst(system_text(trees=self.settings.trees, cite=self.settings.cite))
        role = self.settings.role
        self.parser = ParserRole(self.inventory, role("parser"), backbones)
        self.grapher = GrapherRole(relations, layout, role("grapher"), backbones)
        self.planner = PlannerRole(self.settings.plan, layout, role("planner"), backbones)
        self.generator = GeneratorRole(layout, role("generator"), backbones)

    def forward(
        self,
        question: str,
        task: str = "",
        scope: str | None = None,
        chunks: Sequence[Chunk | str] | None = None,
    ) -> dspy.Prediction:
        """Answers a question.

        Args:
            question: At most 20,000 characters.
            task: The form the answer must have, such as a benchmark's instruction.
            scope: Only documents whose source is this, lies below it or matches it as a glob.
            chunks: Chunks or texts to answer from, instead of a search.

        Returns:
            A prediction with `answer` (text with marks such as `[3.2]`), `response` (`signatures.answer.Answer`),
            `citations`, `chunks` (numbered from 1), `trees` (one per chunk, none where there is none), `graph`,
            `blueprint`, `evidence` (as the models saw it), `health` (one record per role call, see
            `disco_dspy.health`) and `usage` (tokens and calls per role).

        Raises:
            DiscoError: A bad question, nothing to search, or a generator that gives no answer. Failures of the other
                roles are no errors: the answer does without, and `health` says so.
        """
        case, plan = self._case(question, task), self.settings.plan
        with dspy.context(usage_tracker=case.usage):
            if plan == "generic-before":
                case.take_plan(self.planner(**case.for_planner()))
            case.take_chunks(self._find(case, scope, chunks))
            if self.settings.trees:
                case.take_trees(self._parsing().all(case.chunks))
            if self.settings.graph:
                case.take_graph(self.grapher(**case.for_grapher()))
            if plan in ("full", "generic-after"):
                case.take_plan(self.planner(**case.for_planner()))
            case.take_answer(self.generator(**case.for_generator()))
        return case.prediction()

    async def aforward(
        self,
        question: str,
        task: str = "",
        scope: str | None = None,
        chunks: Sequence[Chunk | str] | None = None,
    ) -> dspy.Prediction:
        """As `forward`, awaiting the models. The search itself runs in place: it is short."""
        case, plan = self._case(question, task), self.settings.plan
        with dspy.context(usage_tracker=case.usage):
            if plan == "generic-before":
                case.take_plan(await self.planner.acall(**case.for_planner()))
            case.take_chunks(self._find(case, scope, chunks))
            if self.settings.trees:
                case.take_trees(await self._parsing().aall(case.chunks))
            if self.settings.graph:
                case.take_graph(await self.grapher.acall(**case.for_grapher()))
            if plan in ("full", "generic-after"):
                case.take_plan(await self.planner.acall(**case.for_planner()))
            case.take_answer(await self.generator.acall(**case.for_generator()))
        return case.prediction()

    @property
    def retriever(self) -> Retriever | None:
        """Where questions are searched; may be set."""
        return self._shared.retriever

    @retriever.setter
    def retriever(self, retriever: Retriever | None) -> None:
        old = self._shared
        # A store that was given apart from the retriever stays.
        self._shared = _Shared(retriever, None if old.trees is old.retriever else old.trees)

    @property
    def trees(self) -> TreeStore | None:
        """Where trees are kept."""
        return self._shared.trees

    def parse_chunk(self, chunk: Chunk) -> dspy.Prediction:
        """Returns the stored tree of a chunk, or parses and stores it: `tree` and `health`.

        Args:
            chunk: Of the index or any other.
        """
        return self._parsing().all([chunk])[0]

    def _case(self, question: str, task: str) -> Case:
        return Case(question, task, self.settings, self.inventory)

    def _find(self, case: Case, scope: str | None, given: Sequence[Chunk | str] | None) -> list[Chunk]:
        return find_chunks(case.question, self.retriever, self.settings.k, scope, given)

    def _parsing(self) -> ChunkParsing:
        threads = self.settings.parse_threads
        if self.backbones is not None and self.backbones.describe("parser")["kind"] == "embedded":
            threads = 1  # one slot: more would only wait, and the order of calls would change what it has cached
        return ChunkParsing(self.parser, self.trees, threads)


class _Shared:
    """What a copy of the program shares with the original: optimizers deep-copy programs, never an index."""

    def __init__(self, retriever: Retriever | None, trees: TreeStore | None) -> None:
        self.retriever = retriever
        self.trees = trees if trees is not None else (retriever if isinstance(retriever, TreeStore) else None)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Shared:
        return self
