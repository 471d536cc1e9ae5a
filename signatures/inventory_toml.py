"""Reading an inventory from TOML, with errors a person can act on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from signatures.errors import DiscoError, nearest
from signatures.inventory import (
    CONTRAST,
    NUCLEARITIES,
    Inventory,
    Kind,
    Nuclearity,
    Relation,
    Repair,
    is_unrelated,
    normalise_label,
)

_TOP_KEYS = ("name", "kind", "repair", "relation")
_RELATION_KEYS = ("name", "definition", "nuclearity", "symmetric", "aliases", "short", "family")
_REPAIR_KEYS = ("within", "left", "between")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# The reply patterns of the Parser and the Grapher accept exactly these label shapes, so a server that constrains
# output can write every label.
_LABEL = {"intra": re.compile(r"[a-z][a-z-]{1,23}"), "inter": re.compile(r"[A-Z][A-Z_]{1,23}")}
_LABEL_SHAPE = {
    "intra": "2 to 24 lower-case letters and hyphens, such as `same-unit`",
    "inter": "2 to 24 upper-case letters and underscores, such as `LEADS_TO`",
}


def parse_inventory(text: str, where: str) -> Inventory:
    """Returns the inventory a TOML text describes.

    Args:
        text: TOML with `name`, `kind`, an optional `[repair]` table and one `[[relation]]` per label.
        where: File name for errors.

    Raises:
        DiscoError: `inventory/syntax` (with the line) or `inventory/invalid` (with the entry).
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DiscoError(
            "inventory/syntax", f"{where} is not valid TOML: {error}.", "Correct that line and try again."
        ) from error
    return _Reader(where).inventory(table)


class _Reader:
    """Checks one file; every failure names the file and the entry."""

    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, entry: str, problem: str, remedy: str) -> NoReturn:
        raise DiscoError("inventory/invalid", f"{self.where}, {entry}: {problem}.", remedy)

    def keys(self, table: Mapping[str, Any], known: tuple[str, ...], entry: str) -> None:
        for key in table:
            if key not in known:
                self.fail(entry, f"unknown key {key!r}", nearest(key, known))

    def text(self, table: Mapping[str, Any], key: str, entry: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if value is None:
            self.fail(entry, f"the key {key!r} is missing", f'Add a line such as {key} = "...".')
        if not isinstance(value, str) or (default is None and not value.strip()):
            self.fail(entry, f"{key!r} must be text, not {value!r}", "Write it between quotes.")
        return " ".join(value.split())

    def texts(self, table: Mapping[str, Any], key: str, entry: str) -> list[str]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(entry, f"{key!r} must be a list of texts, not {value!r}", f'Write {key} = ["...", "..."].')
        return value

    def inventory(self, table: Mapping[str, Any]) -> Inventory:
        self.keys(table, _TOP_KEYS, "top of the file")
        name = self.text(table, "name", "top of the file")
        if not _NAME.fullmatch(name):
            self.fail("name", f"{name!r} is not a plain name", "Use letters, digits, dots, hyphens and underscores.")
        kind = self.text(table, "kind", "top of the file")
        if kind not in ("intra", "inter"):
            self.fail("kind", f"unknown kind {kind!r}", "Use intra (trees) or inter (graph of chunks).")
        entries = table.get("relation")
        if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
            self.fail("relation", "there is no list of relations", "Write one [[relation]] table for each label.")
        relations = tuple(self.relation(entry, n, cast(Kind, kind)) for n, entry in enumerate(entries, 1))
        self.spellings(relations)
        repair = self.repair(table.get("repair", {}), relations) if kind == "intra" else None
        if kind == "inter" and "repair" in table:
            self.fail("[repair]", "a graph has no nodes to repair", "Remove the [repair] table.")
        return Inventory(name, cast(Kind, kind), relations, repair)

    def relation(self, table: Mapping[str, Any], number: int, kind: Kind) -> Relation:
        entry = f"relation {number}"
        name = self.text(table, "name", entry)
        entry = f"relation {number} ({name!r})"
        self.keys(table, _RELATION_KEYS, entry)
        if not _LABEL[kind].fullmatch(name):
            self.fail(entry, "this label cannot be written in a reply", f"Use {_LABEL_SHAPE[kind]}.")
        if is_unrelated(name):
            self.fail(entry, "no relation is said by leaving the pair out", "Remove this entry.")
        nuclearity = self.texts(table, "nuclearity", entry)
        for value in nuclearity:
            if value not in NUCLEARITIES:
                self.fail(entry, f"unknown nuclearity {value!r}", "Use NS, SN and NN, the default first.")
        if len(set(nuclearity)) != len(nuclearity):
            self.fail(entry, "a nuclearity is listed twice", "List each once, the default first.")
        if bool(nuclearity) != (kind == "intra"):
            problem = "nuclearity is missing" if kind == "intra" else "relations between chunks have no nuclearity"
            self.fail(entry, problem, 'Write nuclearity = ["NS"].' if kind == "intra" else "Remove that line.")
        symmetric = table.get("symmetric", False)
        if not isinstance(symmetric, bool):
            self.fail(entry, f"symmetric must be true or false, not {symmetric!r}", "Write symmetric = true.")
        family = self.text(table, "family", entry, "")
        if family not in ("", CONTRAST):
            self.fail(entry, f"unknown family {family!r}", nearest(family, [CONTRAST]))
        return Relation(
            name=name,
            definition=self.text(table, "definition", entry),
            nuclearity=cast(tuple[Nuclearity, ...], tuple(nuclearity)),
            symmetric=symmetric,
            aliases=tuple(self.alias(alias, entry, kind) for alias in self.texts(table, "aliases", entry)),
            short=self.text(table, "short", entry, "") or name.lower().replace("_", "-"),
            family=family,
        )

    def alias(self, alias: str, entry: str, kind: Kind) -> str:
        spelling, _, suffix = alias.partition(":")
        allowed = (*NUCLEARITIES, "") if kind == "intra" else ("reversed", "")
        if not normalise_label(spelling) or suffix not in allowed:
            self.fail(
                entry,
                f"the alias {alias!r} cannot be read",
                f"Write a word, or a word with one of the endings {', '.join(f':{a}' for a in allowed if a)}.",
            )
        if is_unrelated(spelling):
            self.fail(entry, f"the alias {alias!r} means no relation", "Remove it.")
        return alias

    def spellings(self, relations: tuple[Relation, ...]) -> None:
        """Every spelling must mean one thing."""
        owner: dict[str, str] = {}
        for relation in relations:
            for spelling in (relation.name, *relation.aliases):
                word, _, suffix = spelling.partition(":")
                # `x` and `x:reversed` are one spelling with two readings; `x` and `x:NN` are a rule and its exception.
                key = normalise_label(word) + (f":{suffix}" if suffix in NUCLEARITIES else "")
                if owner.setdefault(key, relation.name) != relation.name:
                    self.fail(
                        f"relation {relation.name!r}",
                        f"the spelling {spelling!r} already belongs to {owner[key]!r}",
                        "Keep it in one of the two.",
                    )
        names = [normalise_label(relation.name) for relation in relations]
        for name in names:
            if names.count(name) > 1:
                self.fail(f"relation {name!r}", "this label is listed twice", "Keep one of the two.")

    def repair(self, table: Any, relations: tuple[Relation, ...]) -> Repair:
        """The labels of nodes without one; what is not given is the first relation that allows the nuclearity."""
        if not isinstance(table, dict):
            self.fail("[repair]", "this must be a table", 'Write [repair] and below it within = "NS label".')
        self.keys(table, _REPAIR_KEYS, "[repair]")
        pairs: dict[str, tuple[Nuclearity, str]] = {}
        for key, nuclearity in zip(_REPAIR_KEYS, NUCLEARITIES, strict=True):
            if key not in table:
                fits = next((r for r in relations if nuclearity in r.nuclearity), None)
                pairs[key] = (nuclearity, fits.name) if fits else (relations[0].nuclearity[0], relations[0].name)
                continue
            value, _, label = self.text(table, key, "[repair]").partition(" ")
            found = next((r for r in relations if r.name == label), None)
            if found is None:
                self.fail(
                    "[repair]", f"{key} names no relation of this file", nearest(label, [r.name for r in relations])
                )
            if value not in found.nuclearity:
                self.fail("[repair]", f"{label!r} does not allow {value!r}", f"Use {' or '.join(found.nuclearity)}.")
            pairs[key] = (cast(Nuclearity, value), label)
        return Repair(**pairs)
