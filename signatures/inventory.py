"""A relation inventory: the closed set of labels that may stand in a tree or in a graph."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

Nuclearity = Literal["NS", "SN", "NN"]
Kind = Literal["intra", "inter"]

NUCLEARITIES: tuple[Nuclearity, ...] = ("NS", "SN", "NN")
UNRELATED = "UNRELATED"
CONTRAST = "contrast"
"""The family of relations between texts that disagree, differ or limit each other."""

# Spellings of "no relation" that models use; an edge that says so is an edge that is not there.
_NO_RELATION = frozenset({"unrelated", "none", "no-relation", "not-related", "no-link", "independent", "neutral"})
# RST-DT writes embedded units and the side that carries the relation as suffixes.
_SUFFIX = re.compile(r"-[ens]$")


def normalise_label(label: str) -> str:
    """Returns the form in which labels are compared: lower case, words joined by single hyphens.

    Args:
        label: Any text; surrounding punctuation, spaces and underscores do not matter.
    """
    folded = unicodedata.normalize("NFKC", label).casefold()
    return re.sub(r"[\W_]+", "-", folded).strip("-")


def is_unrelated(label: str) -> bool:
    """Returns whether a label says that there is no relation."""
    return normalise_label(label) in _NO_RELATION


@dataclass(frozen=True)
class Relation:
    """One label.

    Args:
        name: What is written on the wire: lower case with hyphens in trees, upper case with underscores in graphs.
        definition: One short line for the prompt.
        nuclearity: Allowed values, the default first; empty for relations between chunks.
        symmetric: Whether the order of the two ends does not matter (relations between chunks).
        aliases: Other spellings that are read as this label. A suffix limits or turns one: `temporal:NN` counts only
            for nuclearity NN, `supported-by:reversed` swaps source and target.
        short: One word for outlines, ideally one token.
        family: `contrast` for relations that need reconciling, else empty.
    """

    name: str
    definition: str
    nuclearity: tuple[Nuclearity, ...] = ()
    symmetric: bool = False
    aliases: tuple[str, ...] = ()
    short: str = ""
    family: str = ""


@dataclass(frozen=True)
class Repair:
    """What a node gets when the model gave it no usable label: (nuclearity, relation) pairs.

    Args:
        within: Inside a sentence, and for NS without a label.
        left: For SN without a label.
        between: Between sentences, and for NN without a label.
    """

    within: tuple[Nuclearity, str]
    left: tuple[Nuclearity, str]
    between: tuple[Nuclearity, str]


@dataclass(frozen=True)
class Inventory:
    """A closed set of relations, `intra` for trees or `inter` for graphs of chunks.

    Args:
        name: What trees and graphs carry to say which inventory they were made with.
        kind: `intra` or `inter`.
        relations: In the order of the prompt table.
        repair: Labels for nodes without one; only for `intra`.
    """

    name: str
    kind: Kind
    relations: tuple[Relation, ...]
    repair: Repair | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(relation.name for relation in self.relations)

    @cached_property
    def _spellings(self) -> dict[str, tuple[Relation, str]]:
        """Normalised spelling (with `:SUFFIX` where the alias has one) to relation and suffix."""
        table: dict[str, tuple[Relation, str]] = {}
        for relation in self.relations:
            table[normalise_label(relation.name)] = (relation, "")
        for relation in self.relations:
            for alias in relation.aliases:
                spelling, _, suffix = alias.partition(":")
                key = normalise_label(spelling)
                table.setdefault(f"{key}:{suffix}" if suffix in NUCLEARITIES else key, (relation, suffix))
        return table

    def _look_up(self, label: str, nuclearity: str | None) -> tuple[Relation, str] | None:
        key = normalise_label(label)
        tries = [key, _SUFFIX.sub("", key), key.partition("-")[0]]
        for spelling in tries:
            found = self._spellings.get(f"{spelling}:{nuclearity}") or self._spellings.get(spelling)
            if found:
                return found
        return None

    def find(self, label: str, nuclearity: str | None = None) -> Relation | None:
        """Returns the relation a label means, or None.

        Lenient: case, spaces, underscores and hyphens, surrounding punctuation, aliases, RST-DT suffixes, and a known
        word followed by more words (`cause-effect` is `cause`).

        Args:
            label: What the model or a file wrote.
            nuclearity: Tells apart aliases that mean different relations in NS, SN and NN.
        """
        found = self._look_up(label, nuclearity)
        return found[0] if found else None

    def find_exact(self, spelling: str, nuclearity: str | None = None) -> Relation | None:
        """Returns the relation with this name or alias, or None; as `find`, without guessing from parts of it."""
        key = normalise_label(spelling)
        found = self._spellings.get(f"{key}:{nuclearity}") or self._spellings.get(key)
        return found[0] if found else None

    def reads_reversed(self, label: str) -> bool:
        """Returns whether a label names its relation from the other end (`supported by`)."""
        found = self._look_up(label, None)
        return bool(found and found[1] == "reversed")

    def fallback(self, nuclearity: str | None, *, within_sentence: bool) -> tuple[Nuclearity, Relation]:
        """Returns nuclearity and relation for a node that has no usable label.

        Args:
            nuclearity: What the model said, if anything.
            within_sentence: Whether the node lies inside one sentence.

        Raises:
            ValueError: For an inventory of kind `inter`, which has no nodes.
        """
        if self.repair is None:
            raise ValueError(f"inventory {self.name!r} is for graphs and has no labels for tree nodes")
        by_nuclearity = {"NS": self.repair.within, "SN": self.repair.left, "NN": self.repair.between}
        unasked = self.repair.within if within_sentence else self.repair.between
        value, label = by_nuclearity.get(nuclearity or "", unasked)
        return value, next(relation for relation in self.relations if relation.name == label)

    def fingerprint(self) -> str:
        """Returns the sha256 hex digest of everything in the inventory that can change a prompt or a decoding."""
        canonical = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def describe(self) -> str:
        """Returns the table for the prompt, one `label: definition` a line.

        Tree labels are led by the nuclearity they allow, in the order the reply writes them (`NS elaboration: ...`);
        symmetric graph labels say so.
        """
        lines = []
        for relation in self.relations:
            lead = f"{'/'.join(relation.nuclearity)} " if relation.nuclearity else ""
            both = " (either order)" if relation.symmetric else ""
            lines.append(f"{lead}{relation.name}: {relation.definition}{both}")
        return "\n".join(lines)
