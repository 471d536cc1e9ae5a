"""Short-answer metrics: exact match and token F1 (SQuAD and HotpotQA), and recall of several gold answers (RAMDocs)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。、；：？！“”‘’（）《》")
# Scripts written without spaces: each character is a token, or F1 would be all or nothing.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


def normalise(text: str) -> str:
    """Lower-cases, deletes punctuation and the words a, an, the, and squeezes spaces (SQuAD's rule)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def tokens(text: str) -> list[str]:
    """Tokens of the normalised text: words, or single characters of Chinese and Japanese."""
    return _TOKEN.findall(normalise(text))


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 when the normalised answer equals a normalised gold answer."""
    return float(any(normalise(answer) == normalise(gold) for gold in golds))


def token_f1(answer: str, golds: Sequence[str]) -> float:
    """Best token F1 against any gold answer, in [0, 1].

    `yes`, `no` and `noanswer` score only when both sides say the same, as HotpotQA's scorer has it: a sentence that
    merely contains the word earns nothing.
    """
    return max((_f1(answer, gold) for gold in golds), default=0.0)


def _f1(answer: str, gold: str) -> float:
    closed = {"yes", "no", "noanswer"}
    left, right = normalise(answer), normalise(gold)
    if (left in closed or right in closed) and left != right:
        return 0.0
    have, want = tokens(answer), tokens(gold)
    if not have or not want:
        return float(have == want)
    shared = sum((Counter(have) & Counter(want)).values())
    return 2 * shared / (len(have) + len(want))


def contains(answer: str, gold: str) -> bool:
    """Whether the gold answer stands in the answer as a run of whole tokens (`16` does not stand in `2016`)."""
    have, want = tokens(answer), tokens(gold)
    width = len(want)
    return width > 0 and any(have[i : i + width] == want for i in range(len(have) - width + 1))


def share_contained(answer: str, golds: Sequence[str]) -> float:
    """Share of the gold answers that the answer contains, in [0, 1]; 0 when there are none."""
    return sum(contains(answer, gold) for gold in golds) / len(golds) if golds else 0.0
