"""What the models know of a text before any tree: tokens and their grammar."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from disco_dspy.light.syntax import Syntax, SyntaxNet
from disco_dspy.light.tokens import Tokens, norm, tokenize

# Order matters a little: trees cut these numbers, so like stands beside like.
TAGS = (
    "''", "``", ",", ":", ".", "-LRB-", "-RRB-", "HYPH", "NFP", "SYM", "$", "CD", "LS", "DT", "PDT", "PRP$", "POS",
    "JJ", "JJR", "JJS", "NN", "NNS", "NNP", "NNPS", "PRP", "EX", "FW", "ADD", "AFX", "XX", "_SP", "UH", "RB", "RBR",
    "RBS", "RP", "CC", "IN", "TO", "WDT", "WP", "WP$", "WRB", "MD", "VBD", "VBP", "VBZ", "VB", "VBN", "VBG",
)  # fmt: skip
LABELS = (
    "ROOT", "parataxis", "ccomp", "conj", "advcl", "relcl", "acl", "appos", "pcomp", "xcomp", "csubj", "csubjpass",
    "prep", "agent", "npadvmod", "advmod", "mark", "cc", "preconj", "punct", "nsubj", "nsubjpass", "expl",
    "dobj", "dative", "attr", "acomp", "oprd", "pobj", "intj", "meta", "dep", "aux", "auxpass", "neg", "det", "predet",
    "poss", "case", "compound", "amod", "nummod", "nmod", "quantmod", "prt",
)  # fmt: skip
_TAG = {name: number for number, name in enumerate(TAGS)}
_LABEL = {name: number for number, name in enumerate(LABELS)}


@dataclass(frozen=True)
class Analysis:
    """A text, its tokens and their grammar as arrays over tokens.

    Args:
        text: The exact text.
        tokens: Its tokens.
        syntax: Tags, heads and labels.
    """

    text: str
    tokens: Tokens
    syntax: Syntax

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def norms(self) -> list[str]:
        """Lower-case normalised words."""
        return [norm(word) for word in self.tokens.words]

    @cached_property
    def tags(self) -> np.ndarray:
        """Numbers in `TAGS`."""
        return np.array([_TAG.get(tag, len(TAGS)) for tag in self.syntax.tags], dtype=np.int64)

    @cached_property
    def labels(self) -> np.ndarray:
        """Numbers in `LABELS`."""
        return np.array([_LABEL.get(label, len(LABELS)) for label in self.syntax.labels], dtype=np.int64)

    @cached_property
    def heads(self) -> np.ndarray:
        """Token number of each token's head; its own for roots."""
        return np.array(self.syntax.heads, dtype=np.int64)

    @cached_property
    def sentence(self) -> np.ndarray:
        """Sentence number of each token."""
        return np.array(self.tokens.sentence, dtype=np.int64)

    @cached_property
    def line(self) -> np.ndarray:
        """Line number of each token."""
        return np.array(self.tokens.line, dtype=np.int64)

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last token of the subtree under each token."""
        heads = self.syntax.heads
        left, right = list(range(len(heads))), list(range(len(heads)))
        for token in range(len(heads)):
            up, steps = token, 0
            while heads[up] != up and steps < 200:
                up, steps = heads[up], steps + 1
                if token < left[up]:
                    left[up] = token
                if token > right[up]:
                    right[up] = token
        return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def analyse(text: str, net: SyntaxNet) -> Analysis:
    """Returns the analysis of a text."""
    tokens = tokenize(text)
    return Analysis(text, tokens, net.analyse(tokens))
