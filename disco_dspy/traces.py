"""Traces: everything one answer was made of, as a JSON file beside the index."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from disco_dspy.corpus.types import Chunk
from signatures.answer import Answer, decode_answer
from signatures.blueprint import Blueprint
from signatures.errors import DiscoError, nearest
from signatures.graph import RhetoricalGraph
from signatures.tree import RSTTree

FOLDER = "traces"
VERSION = 1


@dataclass(frozen=True)
class Trace:
    """One question, its answer, and what every role contributed.

    Attributes:
        id: Time and four random hex digits; sorts by time.
        created: ISO 8601, UTC.
        question: As asked.
        task: The answer format asked for; may be empty.
        answer: Text with its valid citations.
        chunks: The evidence in the order of its numbers.
        trees: One a chunk, None where there is none; empty when trees were switched off.
        graph: None when it was switched off.
        blueprint: None when it was switched off or skipped.
        health: One record a role call: role, status, and what was repaired, lost or degraded.
        usage: Calls and tokens by role.
        seconds: Wall time.
        settings: The program's settings.
        program: Path of the compiled program; None for the plain one.
        backbones: What played each role; no address, no secret.
    """

    id: str
    created: str
    question: str
    task: str
    answer: Answer
    chunks: tuple[Chunk, ...]
    trees: tuple[RSTTree | None, ...] = ()
    graph: RhetoricalGraph | None = None
    blueprint: Blueprint | None = None
    health: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    program: str | None = None
    backbones: Mapping[str, Any] = field(default_factory=dict)

    @property
    def edu_counts(self) -> list[int]:
        """Number of EDUs of each chunk; 0 without a tree."""
        trees = [*self.trees, *[None] * (len(self.chunks) - len(self.trees))]
        return [len(tree.edus) if tree else 0 for tree in trees]

    def to_dict(self) -> dict[str, Any]:
        """Returns the trace as JSON values."""
        return {
            "version": VERSION,
            "id": self.id,
            "created": self.created,
            "question": self.question,
            "task": self.task,
            "answer": self.answer.text,
            "citations": [str(citation.evidence) for citation in self.answer.citations],
            "chunks": [asdict(chunk) for chunk in self.chunks],
            "trees": [tree.to_dict() if tree else None for tree in self.trees],
            "graph": self.graph.to_dict() if self.graph else None,
            "blueprint": self.blueprint.to_dict() if self.blueprint else None,
            "health": [dict(record) for record in self.health],
            "usage": dict(self.usage),
            "seconds": self.seconds,
            "settings": dict(self.settings),
            "program": self.program,
            "backbones": dict(self.backbones),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trace:
        """Rebuilds a trace.

        Raises:
            DiscoError: `trace/version` for a trace of another layout, `trace/damaged` for one that is not whole.
        """
        if data.get("version") != VERSION:
            raise DiscoError(
                "trace/version", f"This trace has layout {data.get('version')!r}, not {VERSION}.", "Ask again."
            )
        try:
            trees = tuple(RSTTree.from_dict(tree) if tree else None for tree in data["trees"])
            chunks = tuple(Chunk(**chunk) for chunk in data["chunks"])
            counts = [len(tree.edus) if tree else 0 for tree in trees] or [0] * len(chunks)
            return cls(
                id=data["id"],
                created=data["created"],
                question=data["question"],
                task=data["task"],
                answer=decode_answer(data["answer"], counts)[0],
                chunks=chunks,
                trees=trees,
                graph=RhetoricalGraph.from_dict(data["graph"]) if data["graph"] else None,
                blueprint=Blueprint.from_dict(data["blueprint"]) if data["blueprint"] else None,
                health=tuple(data["health"]),
                usage=data["usage"],
                seconds=data["seconds"],
                settings=data["settings"],
                program=data["program"],
                backbones=data["backbones"],
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DiscoError(
                "trace/damaged", f"This trace is not whole: {type(error).__name__}: {error}.", "Ask again."
            ) from error


def new_id(now: datetime | None = None) -> tuple[str, str]:
    """Returns a fresh trace id and its creation time.

    Args:
        now: For tests; the present when None.
    """
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}", moment.isoformat(timespec="seconds")


def save(index: Path, trace: Trace) -> Path:
    """Writes a trace under the index directory, whole or not at all.

    Args:
        index: Directory of the index.
        trace: What to write.
    """
    folder = index / FOLDER
    folder.mkdir(exist_ok=True)
    path = folder / f"{trace.id}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps(trace.to_dict(), ensure_ascii=False), encoding="utf-8", errors="backslashreplace")
    return part.replace(path)


def names(index: Path) -> Sequence[str]:
    """Returns the ids of the stored traces, oldest first."""
    return sorted(path.stem for path in (index / FOLDER).glob("*.json"))


def load(index: Path, name: str = "last") -> Trace:
    """Reads a stored trace.

    Args:
        index: Directory of the index.
        name: An id, the beginning of exactly one, or `last`.

    Raises:
        DiscoError: `trace/none`, `trace/unknown` (with the nearest id), `trace/damaged` or `trace/version`.
    """
    known = names(index)
    if not known:
        raise DiscoError("trace/none", f"There is no trace in {index}.", "Ask a question first: `disco ask QUESTION`.")
    if name == "last":
        found = [known[-1]]
    else:
        found = [name] if name in known else [each for each in known if each.startswith(name)]
    if len(found) != 1:
        what = "fits several traces" if found else "fits no trace"
        raise DiscoError("trace/unknown", f"{name!r} {what}.", nearest(name, (found or known)[-10:]))
    path = index / FOLDER / f"{found[0]}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DiscoError("trace/damaged", f"{path} cannot be read: {error}.", "Ask again.") from error
    if not isinstance(data, dict):
        raise DiscoError("trace/damaged", f"{path} holds no trace.", "Ask again.")
    return Trace.from_dict(data)
