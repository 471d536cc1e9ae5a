"""The trained models of one form, and what they say about an analysed text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from disco_dspy.light.analysis import Analysis
from disco_dspy.light.boundaries import boundary_features
from disco_dspy.light.forest import Forest
from disco_dspy.light.labels import LEAF, node_features, words_of
from disco_dspy.light.linear import Linear
from disco_dspy.light.search import Triple, best_tree
from disco_dspy.light.spans import Table


@dataclass(frozen=True)
class Settings:
    """Numbers chosen by cross-validation over training documents.

    Args:
        cut: An EDU starts where the segmenter's probability is above this.
        split_weight: How much split scores count against span scores in the search.
        span_floor: Spans below this probability get no split scores (for speed).
        unscored: Negative log probability of any split of such a span.
        linear_share: Share of the linear model in the label probabilities, 0 to 1.
    """

    cut: float = 0.38
    split_weight: float = 0.4
    span_floor: float = 0.03
    unscored: float = 2.0
    linear_share: float = 0.5


class Model:
    """Segmenter, span, split and label models.

    Args:
        arrays: All arrays of a weights file, as `part.name`.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        def part(name: str) -> dict[str, np.ndarray]:
            return {key[len(name) + 1 :]: value for key, value in arrays.items() if key.startswith(name + ".")}

        self.ranks = {word: rank for rank, word in enumerate(_lines(arrays["ranks"]), 1)}
        self.classes = _lines(arrays["classes"])
        self.settings = Settings(**{key: float(value) for key, value in part("settings").items()})
        self._class = {name: number for number, name in enumerate(self.classes)}
        self._segment = Forest(part("segment"))
        self._span = Forest(part("span"))
        self._split = Forest(part("split"))
        self._label = Forest(part("label"))
        self._linear = Linear(part("linear"))
        self._kinds = {
            kind: [n for n, name in enumerate(self.classes) if name[:2] == kind] for kind in ("NS", "SN", "NN")
        }

    def boundaries(self, a: Analysis) -> np.ndarray:
        """Returns P(an EDU starts at the token), float64 [tokens]; 1 at sentence starts."""
        if not len(a):
            return np.zeros(0)
        found = self._segment.probability(boundary_features(a, self.ranks))
        found[0] = 1.0
        found[1:][np.diff(a.sentence) != 0] = 1.0
        return found

    def spans(self, table: Table) -> np.ndarray:
        """Returns P(EDUs i..j are a constituent), float64 [n, n]: 0 below the diagonal, 1 for the whole and on it."""
        n = table.n
        found = np.eye(n)
        i, j = np.triu_indices(n, 1)
        if len(i):
            found[i, j] = self._span.probability(table.spans(i, j))
        found[0, n - 1] = 1.0
        return found

    def splits(self, table: Table, spans: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
        """Returns log P(parted after k) for the spans that are likely enough."""
        likely = [(int(i), int(j)) for i, j in np.argwhere(spans > self.settings.span_floor) if i < j]
        if not likely:
            return {}
        pairs = np.array(likely)
        widths = pairs[:, 1] - pairs[:, 0]
        ends = np.cumsum(widths)
        k = np.arange(int(ends[-1])) - np.repeat(ends - widths - pairs[:, 0], widths)
        raw = self._split.raw(table.splits(np.repeat(pairs[:, 0], widths), k, np.repeat(pairs[:, 1], widths)))[:, 0]
        out: dict[tuple[int, int], np.ndarray] = {}
        for pair, block in zip(likely, np.split(raw, ends[:-1]), strict=True):
            block = block - block.max()
            out[pair] = block - np.log(np.exp(block).sum())
        return out

    def tree(self, table: Table) -> list[Triple]:
        """Returns the best unlabelled tree, nodes 0-based in pre-order."""
        spans = self.spans(table)
        return best_tree(spans, self.splits(table, spans), self.settings.split_weight, self.settings.unscored)

    def label(self, table: Table, a: Analysis, nodes: Sequence[Triple]) -> dict[tuple[int, int], str]:
        """Returns the class ("NS:cause") of each node by its span, bottom-up: parts are labelled before wholes."""
        named: dict[tuple[int, int], str] = {}
        nucleus: dict[tuple[int, int], int] = {}
        todo = list(nodes)
        while todo:
            ready = [n for n in todo if all(f == t or (f, t) in named for f, t in ((n[0], n[1]), (n[1] + 1, n[2])))]
            parts = [(named.get((i, k), LEAF), named.get((k + 1, j), LEAF)) for i, k, j in ready]
            nuclei = [(nucleus.get((i, k), i), nucleus.get((k + 1, j), k + 1)) for i, k, j in ready]
            for (i, _, j), p, sides in zip(
                ready, self.probabilities(table, a, ready, parts, nuclei), nuclei, strict=True
            ):
                # Nuclearity first, by summed probability, then the best relation that has it.
                kind = max(self._kinds, key=lambda name: p[self._kinds[name]].sum())
                best = max(self._kinds[kind], key=lambda number: p[number])
                named[i, j] = self.classes[best]
                nucleus[i, j] = sides[1] if kind == "SN" else sides[0]
            done = set(ready)
            todo = [n for n in todo if n not in done]
        return named

    def probabilities(
        self,
        table: Table,
        a: Analysis,
        nodes: Sequence[Triple],
        parts: Sequence[tuple[str, str]],
        nuclei: Sequence[tuple[int, int]],
    ) -> np.ndarray:
        """Returns class probabilities of nodes whose parts are labelled, float64 [nodes, classes]."""
        names = [words_of(table, a, n, p, h) for n, p, h in zip(nodes, parts, nuclei, strict=True)]
        numbers = [(self._class.get(left, -1), self._class.get(right, -1)) for left, right in parts]
        share = self.settings.linear_share
        forest = self._label.softmax(node_features(table, nodes, numbers, nuclei))
        left, right = (table.u.vectors[[pair[side] for pair in nuclei]] for side in range(2))
        return share * self._linear.softmax(names, left, right) + (1 - share) * forest


def _lines(array: np.ndarray) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")
