"""Trains the four models of a form on gold chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from disco_dspy.light.analysis import Analysis
from disco_dspy.light.boundaries import boundary_features
from disco_dspy.light.labels import LEAF, node_features, words_of
from disco_dspy.light.linear import pair_features
from disco_dspy.light.model import Settings
from disco_dspy.light.parser import LightParser
from disco_dspy.light.spans import Table
from optimize.light_parser.data import Chunk
from optimize.light_parser.grow import fit_linear, grow_forest

# Chosen by cross-validation over training documents; dev was never looked at for them.
TREES: dict[str, dict[str, Any]] = {
    "segment": {"rounds": 200, "learning_rate": 0.07, "num_leaves": 31, "min_data_in_leaf": 20, "feature_fraction": 0.4,
                "lambda_l2": 1.0, "max_depth": 9},
    "span": {"rounds": 150, "learning_rate": 0.08, "num_leaves": 31, "min_data_in_leaf": 30, "feature_fraction": 0.3,
             "lambda_l2": 1.0, "max_depth": 9},
    "split": {"rounds": 120, "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 30, "feature_fraction": 0.3,
              "lambda_l2": 1.0, "max_depth": 9},
    "label": {"rounds": 50, "learning_rate": 0.1, "num_leaves": 12, "min_data_in_leaf": 15, "feature_fraction": 0.3,
              "lambda_l2": 2.0, "max_depth": 7},
}  # fmt: skip
LINEAR = {"c": 0.1, "least": 4}
RANKED = 400


@dataclass(frozen=True)
class Prepared:
    """A chunk with its analysis and the table over its gold EDUs."""

    chunk: Chunk
    analysis: Analysis
    table: Table


def rank_words(analyses: Sequence[Analysis]) -> list[str]:
    """Returns the most frequent lower-case words, most frequent first."""
    counts = Counter(word for a in analyses for word in a.norms)
    return [
        word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:RANKED] if "\n" not in word
    ]


def prepare(
    parser: LightParser, chunks: Sequence[Chunk], analyses: Sequence[Analysis], ranked: Sequence[str]
) -> list[Prepared]:
    """Returns the chunks with their tables.

    Args:
        parser: A front end of the form to train.
        chunks: Gold chunks.
        analyses: Their analyses by that front end.
        ranked: Frequent words, as `rank_words` gives them.
    """
    ranks = {word: rank for rank, word in enumerate(ranked, 1)}
    return [Prepared(c, a, parser.table(a, c.starts, ranks)) for c, a in zip(chunks, analyses, strict=True)]


def gold_starts(chunk: Chunk, a: Analysis) -> np.ndarray:
    """Returns 0/1 for each token: does a gold EDU start at it?"""
    gold = {start for start, _ in chunk.edus}
    return np.array([start in gold for start in a.tokens.starts], dtype=np.int64)


def labelled(chunk: Chunk) -> list[tuple[tuple[int, int, int], str, tuple[str, str], tuple[int, int]]]:
    """Returns (node, class, classes of its parts, nuclei of its parts) of a gold tree, parts before wholes."""
    classes: dict[tuple[int, int], str] = {}
    nuclei: dict[tuple[int, int], int] = {}
    out = []
    for i, k, j, name in sorted(chunk.nodes, key=lambda node: node[2] - node[0]):
        sides = nuclei.get((i, k), i), nuclei.get((k + 1, j), k + 1)
        out.append(((i, k, j), name, (classes.get((i, k), LEAF), classes.get((k + 1, j), LEAF)), sides))
        classes[i, j] = name
        nuclei[i, j] = sides[1] if name.startswith("SN") else sides[0]
    return out


def _grow(part: str, x: np.ndarray, y: np.ndarray, classes: int = 1) -> dict[str, np.ndarray]:
    settings = dict(TREES[part])
    return {f"{part}.{name}": a for name, a in grow_forest(x, y, settings.pop("rounds"), classes, **settings).items()}


def train(
    trees: Sequence[Prepared], cuts: Sequence[Prepared], ranked: Sequence[str], settings: Settings, *, encoded: bool
) -> dict[str, np.ndarray]:
    """Returns all arrays of a weights file.

    Args:
        trees: Chunks that are whole constituents.
        cuts: Chunks as a retriever cuts them, of the same documents: for segmentation, and more spans that are whole.
        ranked: Frequent words, as `rank_words` gives them.
        settings: Numbers chosen beforehand.
        encoded: Whether the tables' vectors are a sentence encoder's (rich form), which labels are then learned from.
    """
    ranks = {word: rank for rank, word in enumerate(ranked, 1)}
    arrays: dict[str, np.ndarray] = {"ranks": _bytes(ranked)}
    arrays.update({f"settings.{name}": np.array(value) for name, value in asdict(settings).items()})

    rows, answers = [], []
    for p in cuts:
        inner = np.concatenate([[False], np.diff(p.analysis.sentence) == 0])  # sentence starts are given
        rows.append(boundary_features(p.analysis, ranks)[inner])
        answers.append(gold_starts(p.chunk, p.analysis)[inner])
    arrays.update(_grow("segment", np.concatenate(rows), np.concatenate(answers)))

    rows, answers, split_rows, split_answers = [], [], [], []
    for p in [*trees, *cuts]:
        table = p.table
        gold = {(i, j): k for i, k, j, _ in p.chunk.nodes}
        if not gold:
            continue
        i, j = (
            np.array(side)
            for side in zip(
                *(pair for pair in zip(*np.triu_indices(table.n, 1), strict=True) if pair not in p.chunk.cut),
                strict=True,
            )
        )
        rows.append(table.spans(i, j))
        answers.append(np.array([(a, b) in gold for a, b in zip(i, j, strict=True)], dtype=np.int64))
        triples = np.array([(a, k, b) for a, b in gold for k in range(a, b)])
        split_rows.append(table.splits(*triples.T))
        split_answers.append(np.array([gold[a, b] == k for a, k, b in triples.tolist()], dtype=np.int64))
    arrays.update(_grow("span", np.concatenate(rows), np.concatenate(answers)))
    arrays.update(_grow("split", np.concatenate(split_rows), np.concatenate(split_answers)))

    classes = sorted({name for p in trees for *_, name in p.chunk.nodes})
    number = {name: n for n, name in enumerate(classes)}
    names: list[list[str]] = []
    rows, answers, lefts, rights = [], [], [], []
    for p in trees:
        table, gold_nodes = p.table, labelled(p.chunk)
        names += [words_of(table, p.analysis, node, parts, sides) for node, _, parts, sides in gold_nodes]
        coded = [(number.get(left, -1), number.get(right, -1)) for _, _, (left, right), _ in gold_nodes]
        rows.append(node_features(table, [g[0] for g in gold_nodes], coded, [g[3] for g in gold_nodes]))
        answers.append(np.array([number[g[1]] for g in gold_nodes]))
        lefts.append(table.u.vectors[[g[3][0] for g in gold_nodes]])
        rights.append(table.u.vectors[[g[3][1] for g in gold_nodes]])
    y = np.concatenate(answers)
    arrays["classes"] = _bytes(classes)
    arrays.update(_grow("label", np.concatenate(rows), y, len(classes)))
    dense, basis = None, None
    if encoded:
        basis = main_directions(np.concatenate([p.table.u.vectors for p in trees]))
        dense = pair_features(np.concatenate(lefts), np.concatenate(rights), basis.astype(np.float32))
    linear = fit_linear(names, y, len(classes), LINEAR["c"], int(LINEAR["least"]), dense)
    if basis is not None:
        linear["basis"] = basis
    arrays.update({f"linear.{name}": a for name, a in linear.items()})
    return arrays


def main_directions(vectors: np.ndarray, kept: int = 64) -> np.ndarray:
    """Returns float16 [d, kept]: the directions in which vectors vary most, scaled so that all vary alike."""
    _, sizes, directions = np.linalg.svd(vectors, full_matrices=False)
    scaled = directions.T / (sizes / np.sqrt(len(vectors)))
    return (scaled[:, :kept] * 4 / np.sqrt(vectors.shape[1])).astype(np.float16)


def _bytes(lines: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(lines).encode("utf-8"), dtype=np.uint8)
