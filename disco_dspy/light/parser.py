"""The light parser: text to EDUs to a labelled tree, without a language model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from disco_dspy.corpus.units import edu_starts, sentence_edus
from disco_dspy.light.analysis import Analysis
from disco_dspy.light.context import Encoder, find_encoder
from disco_dspy.light.model import Model
from disco_dspy.light.spans import Table
from disco_dspy.light.store import digest, load_arrays
from disco_dspy.light.syntax import SyntaxNet
from disco_dspy.light.tokens import tokenize
from disco_dspy.light.units import make_units
from signatures.decode_tree import decode_tree
from signatures.errors import DiscoError, nearest
from signatures.relations import load_inventory
from signatures.tree import Edu, Node, Nuclearity, RSTTree, edus_from_starts

Form = Literal["light", "rich"]
INVENTORY = "refined-19"
# Longer texts are parsed in blocks: the search is cubic, and no training chunk had more EDUs.
_BLOCK = 60
_LATIN = 0.7


class LightParser:
    """Segmenter and parser for English; other scripts get the sentence-first prior. Use `load`.

    Args:
        form: `light` needs numpy alone; `rich` also reads MiniLM through onnxruntime.
        net: Tagger and dependency parser.
        model: The trained models of that form.
        encoder: The sentence encoder of the rich form.
        weights: Digest of all weights.
    """

    def __init__(
        self, form: Form, net: SyntaxNet, model: Model | None, encoder: Encoder | None = None, weights: str = ""
    ) -> None:
        self.form: Form = form
        self.fingerprint = f"light-parser/{form}/{weights}"
        self._net, self._given, self._encoder = net, model, encoder
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> LightParser:
        return self

    @classmethod
    def load(cls, form: str = "light") -> LightParser:
        """Returns the parser with the weights that ship in the package.

        Args:
            form: `light`, the default because cross-validation finds `rich` no better with gold EDUs and 0.4 points
                better from raw text at 2.5 times the cost; `rich`; or `auto`: `rich` where its extra and the MiniLM
                model are at hand, else `light`. The result's `form` says which it is.

        Raises:
            DiscoError: `light/form` for another name; `extra/local` or `model/absent` where `rich` cannot be had.
        """
        parser = cls.frontend(form)
        return cls(
            parser.form, parser._net, Model(load_arrays(parser.form)), parser._encoder, digest("syntax", parser.form)
        )

    @classmethod
    def frontend(cls, form: str) -> LightParser:
        """Returns a parser that can only `analyse`: what training starts from. Arguments and errors as for `load`."""
        if form not in ("auto", "light", "rich"):
            raise DiscoError(
                "light/form", f"The light parser has no form {form!r}.", nearest(form, ("auto", "light", "rich"))
            )
        encoder = None
        if form != "light":
            encoder = find_encoder(required=form == "rich")
        return cls("rich" if encoder else "light", SyntaxNet(load_arrays("syntax")), None, encoder)

    def with_model(self, model: Model) -> LightParser:
        """Returns a parser of the same form with other trained models."""
        return LightParser(self.form, self._net, model, self._encoder, "given")

    @property
    def _model(self) -> Model:
        if self._given is None:
            raise ValueError("this parser has no trained models: use LightParser.load")
        return self._given

    def segment(self, text: str) -> tuple[Edu, ...]:
        """Returns EDUs that cover a text exactly; sentence starts are always EDU starts.

        Args:
            text: Any text.
        """
        if not _readable(text):
            return edus_from_starts(text, edu_starts(text))
        return self._segment(self.analyse(text))

    def parse(self, text: str, edus: Sequence[Edu] | None = None) -> RSTTree:
        """Returns a valid tree over the exact text.

        Args:
            text: A chunk; any text gives a tree.
            edus: As `edus_from_starts` gives them; None segments the text first.
        """
        if not _readable(text):
            edus = edus or edus_from_starts(text, edu_starts(text))
            return _prior(text, edus)
        a = self.analyse(text)
        edus = tuple(edus) if edus else self._segment(a)
        nodes = self._nodes(a, [edu.start for edu in edus])
        return RSTTree(text, edus, tuple(nodes), INVENTORY)

    def span_scores(self, text: str, edus: Sequence[Edu]) -> np.ndarray:
        """Returns P(EDUs i..j are a constituent), float64 [n, n], rows and columns 0-based; 1 on the diagonal.

        A prior for a decoder that counts votes of another parser for spans. For scripts the parser cannot read it is 1
        for the spans of the sentence-first tree and 0 elsewhere.

        Args:
            text: The text.
            edus: Its EDUs.
        """
        n = len(edus)
        if _readable(text) and n <= _BLOCK:
            return self._model.spans(self.table(self.analyse(text), [edu.start for edu in edus], self._model.ranks))
        found = np.eye(n)
        for node in self.parse(text, edus).nodes:
            found[node.first - 1, node.last - 1] = 1.0
        return found

    def analyse(self, text: str) -> Analysis:
        """Returns tokens and grammar of a text."""
        tokens = tokenize(text)
        with self._lock:
            syntax = self._net.analyse(tokens)
        return Analysis(text, tokens, syntax)

    def _segment(self, a: Analysis) -> tuple[Edu, ...]:
        starts = np.array(a.tokens.starts)[self._model.boundaries(a) > self._model.settings.cut]
        return edus_from_starts(a.text, [int(start) for start in starts])

    def table(self, a: Analysis, starts: list[int], ranks: dict[str, int]) -> Table:
        """Returns what spans and splits of EDUs are judged by.

        Args:
            a: The analysed text.
            starts: Offsets of the EDUs, the first 0.
            ranks: Rank of each frequent word.
        """
        vectors = None
        if self._encoder is not None:
            ends = [*starts[1:], len(a.text)]
            vectors = self._encoder.embed(
                [" ".join(a.text[start:end].split()) for start, end in zip(starts, ends, strict=True)]
            )
        return Table(make_units(a, starts, ranks, vectors))

    def _nodes(self, a: Analysis, starts: list[int]) -> list[Node]:
        if len(starts) < 2:
            return []
        if len(starts) > _BLOCK:
            return self._long(a, starts)
        table = self.table(a, starts, self._model.ranks)
        triples = self._model.tree(table)
        named = self._model.label(table, a, triples)
        return [_node(i, k, j, named[i, j]) for i, k, j in triples]

    def _long(self, a: Analysis, starts: list[int]) -> list[Node]:
        """Blocks of EDUs, cut where borders are highest, each parsed by itself and joined from the right."""
        table = make_units(a, starts, self._model.ranks)
        firsts, at = [0], 0
        while len(starts) - at > _BLOCK:
            at = max(range(at + _BLOCK // 2, at + _BLOCK + 1), key=lambda e: (table.level[e], e))
            firsts.append(at)
        nodes: list[Node] = []
        for first, stop in zip(firsts, [*firsts[1:], len(starts)], strict=True):
            if stop < len(starts):
                nodes.append(Node(first + 1, stop, len(starts), "NN", "joint"))
            begin, end = starts[first], starts[stop] if stop < len(starts) else len(a.text)
            block = self.analyse(a.text[begin:end])
            inner = self._nodes(block, [start - begin for start in starts[first:stop]])
            nodes += [Node(n.first + first, n.split + first, n.last + first, n.nuclearity, n.relation) for n in inner]
        return nodes


def _node(i: int, k: int, j: int, name: str) -> Node:
    kind, _, relation = name.partition(":")
    return Node(i + 1, k + 1, j + 1, cast(Nuclearity, kind), relation)


def _prior(text: str, edus: Sequence[Edu]) -> RSTTree:
    tree, _ = decode_tree(text, edus, [], load_inventory(INVENTORY), sentence_starts=sentence_edus(text, edus))
    return tree


def _readable(text: str) -> bool:
    """Whether the text has letters and most of them are Latin."""
    letters = [character for character in text if character.isalpha()]
    return bool(letters) and sum(character < "\u0250" for character in letters) >= _LATIN * len(letters)
