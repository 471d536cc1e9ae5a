"""The answer: text with citation marks that all point at something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from signatures.evidence import Evidence
from signatures.reading import printable

_REF = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
_NAMED = rf"(?:(?:chunk|edu|doc|document|source|passage|evidence|ref)s?[ .:#]*)?{_REF}"
# [3], [3.2], [1, 3.2], [1-3], [chunk 3]; Chinese brackets too. Only square brackets: "(2019)" is not a citation.
_MARK = re.compile(rf"[\[【]\s*{_NAMED}(?:\s*(?:[,;，；、–-]|\band\b|&)\s*{_NAMED})*\s*[\]】]", re.IGNORECASE)
_ITEM = re.compile(rf"({_REF})(\s*[–-]\s*(?={_REF}))?")
_PLAIN_MARK = re.compile(rf"\[{_REF}\]")
_LABEL = re.compile(r"\s*(?:\*\*|__|#+\s*)?(?:final answer|answer|答案|回答)(?:\*\*|__)?\s*[:：]\s*(?:\*\*|__)?", re.I)
_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_WIDEST_RANGE = 20


@dataclass(frozen=True)
class Citation:
    """A mark in the text of an answer.

    Args:
        start: Offset of its opening bracket.
        end: Offset after its closing bracket.
        evidence: What it points at; it exists.
    """

    start: int
    end: int
    evidence: Evidence


@dataclass(frozen=True)
class Answer:
    """An answer with its citations.

    Args:
        text: With marks such as `[3]` and `[3.2]`.
        citations: In order of place.
    """

    text: str
    citations: tuple[Citation, ...] = ()

    @property
    def plain(self) -> str:
        """The text without marks and without the spaces before them."""
        parts, at = [], 0
        for citation in self.citations:
            parts.append(self.text[at : citation.start].rstrip(" "))
            at = citation.end
        return "".join([*parts, self.text[at:]]).strip()


@dataclass(frozen=True)
class AnswerHealth:
    """What became of the marks of an answer.

    Args:
        removed: Marks that pointed at nothing, such as `[9]`, in order.
        cited: Citations kept.
    """

    removed: tuple[str, ...] = ()
    cited: int = 0


def decode_answer(text: str, edu_counts: Sequence[int]) -> tuple[Answer, AnswerHealth]:
    """Returns the answer that a reply holds, and the marks that had to go.

    Total. Control characters, a fence around the whole reply and a leading `Answer:` are stripped; `[1, 3.2]`,
    `[1-3]` and `[chunk 3]` become `[1][3.2]`, `[1][2][3]` and `[3]`; marks that point at nothing are removed with the
    spaces before them.

    Args:
        text: The reply.
        edu_counts: Number of EDUs of each chunk; 0 for a chunk that was not cut, cited only as a whole.
    """
    removed: list[str] = []
    text = printable(text)
    # Taking a mark out can bring another together ("[[9]3]"), so this goes on until nothing changes; every round
    # but the last removes or rewrites something and none brings back what an earlier one took.
    while True:
        cleaned = _MARK.sub(lambda match: _rewrite(match[0], edu_counts, removed), _unwrap(text))
        *parts, tail = cleaned.split("\x00")
        cleaned = "".join([*(part.rstrip(" ") for part in parts), tail])
        if cleaned == text:
            break
        text = cleaned
    citations = tuple(
        Citation(match.start(), match.end(), _evidence(match[0][1:-1])) for match in _PLAIN_MARK.finditer(text)
    )
    return Answer(text, citations), AnswerHealth(tuple(removed), len(citations))


def _unwrap(text: str) -> str:
    text = text.strip()
    fenced = _FENCE.fullmatch(text)
    if fenced and "```" not in fenced[1]:
        text = fenced[1].strip()
    label = _LABEL.match(text)
    return text[label.end() :].strip() if label else text


def _evidence(reference: str) -> Evidence:
    chunk, _, edu = reference.partition(".")
    return Evidence(int(chunk), int(edu) if edu else None)


def _rewrite(mark: str, edu_counts: Sequence[int], removed: list[str]) -> str:
    """One bracket as a row of marks; NUL stands for "nothing left here"."""
    items = [(_evidence(match[1]), match[2] is not None) for match in _ITEM.finditer(mark)]
    wanted: dict[Evidence, None] = {}
    for (evidence, opens_range), following in zip(items, [*items[1:], None], strict=True):
        wanted[evidence] = None
        if opens_range and following:
            wanted.update(dict.fromkeys(_between(evidence, following[0])))
    good = [evidence for evidence in wanted if evidence.exists(edu_counts)]
    removed += [f"[{evidence}]" for evidence in wanted if not evidence.exists(edu_counts)]
    return "".join(f"[{evidence}]" for evidence in good) or "\x00"


def _between(first: Evidence, last: Evidence) -> list[Evidence]:
    """What a range leaves out: 1-4 names 2 and 3, and 2.1-2.3 names 2.2."""
    if first.edu is None and last.edu is None and 0 < last.chunk - first.chunk <= _WIDEST_RANGE:
        return [Evidence(chunk) for chunk in range(first.chunk + 1, last.chunk)]
    if first.edu and last.edu and first.chunk == last.chunk and 0 < last.edu - first.edu <= _WIDEST_RANGE:
        return [Evidence(first.chunk, edu) for edu in range(first.edu + 1, last.edu)]
    return []
