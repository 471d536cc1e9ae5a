"""GUM: the parser against gold RST trees of chunk-sized passages, on their gold EDUs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import dspy

from disco_dspy.corpus.units import sentence_edus
from disco_dspy.prompting.evidence import render_edus
from optimize.benchmarks.base import Benchmark
from optimize.data import field, read_rows
from optimize.metrics.rst import LETTERS, Counts, FlatTree, advice, original_parseval, rst_parseval
from optimize.scores import Score
from optimize.splits import Splits, split
from signatures.decode_tree import encode_tree
from signatures.errors import DiscoError
from signatures.parser import ParserOutput
from signatures.tree import Edu, Node, RSTTree, edus_from_starts

if TYPE_CHECKING:
    from disco_dspy.program import DiscoRAG
    from disco_dspy.settings import ProgramSettings

FILES = ("train.jsonl", "dev.jsonl")
INVENTORY = "refined-19"


class GumParser(dspy.Module):
    """The program's parser role alone, over chunks with gold EDUs.

    The role keeps its name (`parser.predict`), so what an optimiser makes of it goes back into the program unchanged.

    Args:
        parser: The role.
        benchmark: Where the chunks are.
    """

    def __init__(self, parser: dspy.Module, benchmark: Gum) -> None:
        super().__init__()
        self.parser = parser
        self.benchmark = benchmark

    def forward(self, id: str) -> dspy.Prediction:
        """Parses the chunk of that id; `tree` is None when nothing usable came."""
        gold = self.benchmark.gold[id]
        return self.parser(text=gold.text, edus=gold.edus, sentences=sentence_edus(gold.text, gold.edus))


class Gum(Benchmark):
    """Original Parseval of the parser's trees on gold EDUs, labels of the 19-label refinement.

    The score is the mean of span F1 (S) and fully labelled F1 (F). S alone is cheap (a rule without any model
    reaches 0.62) and F alone is too sparse to climb: a small model gets few nodes wholly right. Their mean rewards
    structure and still wants labels. Figures of a split are micro-averaged: counts are pooled, then F1 is taken.
    """

    name: ClassVar[str] = "gum"
    roles: ClassVar[tuple[str, ...]] = ("parser",)
    metric: ClassVar[str] = (
        "gum-1: mean of S and F of original Parseval (Morey et al. 2017), gold EDUs, refined-19 labels, micro-averaged"
    )
    figures: ClassVar[tuple[str, ...]] = ("score", *LETTERS, *(f"rst_{letter}" for letter in LETTERS), "parsed")

    @cached_property
    def _read(self) -> dict[str, tuple[list[dict[str, Any]], str]]:
        return {name: read_rows(self.name, name) for name in FILES}

    @property
    def data(self) -> dict[str, str]:
        """SHA-256 of each data file read, by name."""
        return {f"{self.name}/{name}": self._read[name][1] for name in FILES}

    @cached_property
    def gold(self) -> dict[str, RSTTree]:
        """Gold trees by chunk id."""
        return {row["id"]: gold_tree(row) for rows, _ in self._read.values() for row in rows}

    def split(self, seed: int, limits: dict[str, int]) -> Splits:
        """Train and validation from GUM's train documents, held-out from its dev documents."""
        train, dev = ([dspy.Example(id=row["id"]).with_inputs("id") for row in self._read[name][0]] for name in FILES)
        return split(train, dev, seed, limits)

    def student(self, program: DiscoRAG) -> dspy.Module:
        """The program's parser alone.

        Raises:
            DiscoError: `benchmark/inventory` when the program parses with other labels than the gold has.
        """
        parser: Any = program.deepcopy().parser
        if parser.inventory.name != INVENTORY:
            raise DiscoError(
                "benchmark/inventory",
                f"The program parses with inventory {parser.inventory.name!r}; the gold trees have {INVENTORY!r}.",
                f"Set inventory = {INVENTORY!r} in the [program] table for this benchmark.",
            )
        return GumParser(parser, self)

    def calls(self, example: dspy.Example, settings: ProgramSettings, changed: Sequence[str] | None = None) -> float:
        """One request a chunk, none for a chunk of one EDU."""
        return float(len(self.gold[example.id].edus) > 1)

    def score(self, example: dspy.Example, prediction: dspy.Prediction, role: str | None = None) -> Score:
        """Judges one tree; a missing one finds nothing."""
        tree: RSTTree | None = prediction.tree
        gold, predicted = flat(self.gold[example.id]), flat(tree) if tree is not None else None
        counts, marcu = original_parseval(gold, predicted), rst_parseval(gold, predicted)
        sentences = [problem.sentence for problem in prediction.health.problems]
        return Score(
            (counts.f1("S") + counts.f1("F")) / 2,
            {**_parts("", counts), **_parts("rst_", marcu), "parsed": float(tree is not None)},
            " ".join([advice(gold, predicted), *sentences[:2]]).strip(),
        )

    def nothing(self, example: dspy.Example) -> dict[str, float]:
        """Gold counts against no tree."""
        gold = flat(self.gold[example.id])
        return {
            **_parts("", original_parseval(gold, None)),
            **_parts("rst_", rst_parseval(gold, None)),
            "parsed": 0.0,
        }

    def aggregate(self, scores: Sequence[Score]) -> dict[str, float]:
        """F1 of the pooled counts."""
        pooled = {prefix: sum((_counts(prefix, score) for score in scores), Counts()) for prefix in ("", "rst_")}
        figures = {f"{p}{letter}": pooled[p].f1(letter) if scores else 0.0 for p in pooled for letter in LETTERS}
        parsed = sum(score.parts["parsed"] for score in scores) / len(scores) if scores else 0.0
        return {"score": (figures["S"] + figures["F"]) / 2, **figures, "parsed": parsed}

    def headline(self, scores: Sequence[Score]) -> float:
        """As in `aggregate`, from the four sums it needs."""
        sums = {name: sum(score.parts[name] for score in scores) for name in ("gold", "pred", "S", "F")}
        total = sums["gold"] + sums["pred"]
        return (sums["S"] + sums["F"]) / total if total else float(bool(scores))

    def labelled(self, role: str, examples: Sequence[dspy.Example], student: dspy.Module) -> list[dspy.Example]:
        """Gold trees as demonstrations: small ones first enough to fit, but of a size that shows sentences joined."""
        if role != "parser":
            return []
        golds = [self.gold[example.id] for example in examples]
        # A tree of 6 to 12 EDUs shows joins inside sentences and between them and still costs under 400 tokens.
        golds.sort(key=lambda tree: (not 6 <= len(tree.edus) <= 12, abs(len(tree.edus) - 9)))
        return [
            dspy.Example(chunk=render_edus(tree.text, tree.edus), tree=ParserOutput(spans=encode_tree(tree)))
            for tree in golds[:8]
        ]


def gold_tree(row: dict[str, Any]) -> RSTTree:
    """The gold tree of a data row, EDUs contiguous (white space between two belongs to the first).

    Raises:
        DiscoError: `data/broken` when offsets and rows do not form a tree.
    """
    text = field(row, "text", "gum")
    edus: tuple[Edu, ...] = edus_from_starts(text, [start for start, _ in field(row, "edus", "gum")])
    nodes = tuple(Node(i, k, j, nuclearity, relation) for i, k, j, nuclearity, relation in field(row, "tree", "gum"))
    if len(edus) != len(row["edus"]) or len(nodes) != len(edus) - 1:
        raise DiscoError(
            "data/broken",
            f"Item {row['id']} of gum has {len(row['edus'])} EDUs and {len(nodes)} nodes, which is no binary tree.",
            "Restore the file from its source (data/README.md).",
        )
    return RSTTree(text, edus, nodes, INVENTORY)


def flat(tree: RSTTree) -> FlatTree:
    """A tree as the scorer reads it."""
    return FlatTree(
        tuple((edu.start, edu.end) for edu in tree.edus),
        tuple((node.first, node.split, node.last, node.nuclearity, node.relation) for node in tree.nodes),
    )


def _parts(prefix: str, counts: Counts) -> dict[str, float]:
    return {f"{prefix}{name}": float(getattr(counts, name)) for name in ("gold", "pred", *LETTERS)}


def _counts(prefix: str, score: Score) -> Counts:
    return Counts(*(int(score.parts[f"{prefix}{name}"]) for name in ("gold", "pred", *LETTERS)))
