"""Reading an artifact: every check comes before anything of it reaches a module."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from disco_dspy.artifact.fingerprints import differences, inventory_record, layout_record
from disco_dspy.artifact.manifest import MANIFEST, PROGRAM, REPORT, SCHEMA_VERSION, FileRecord, Manifest
from disco_dspy.artifact.secrets import refuse_secrets
from disco_dspy.artifact.state import MAX_BYTES, Metadata, PredictState, demo_problem, predictor_names
from disco_dspy.program import DiscoRAG
from disco_dspy.settings import ROLES, ProgramSettings
from signatures.errors import DiscoError

Model = TypeVar("Model", bound=BaseModel)

AGAIN = (
    "Compile the program again with this version (python -m optimize.compile), or install the version it was made with."
)
UNHARMED = "Take an unchanged copy of the artifact, or save the program again."


def is_path(inventory: str) -> bool:
    """Returns whether the name of an inventory is the path of a file."""
    return inventory.endswith(".toml") or "/" in inventory or "\\" in inventory


def refused(code: str, sentence: str, remedy: str) -> DiscoError:
    """Returns the error for an artifact that is not loaded; the command line ends with 6."""
    return DiscoError(f"artifact/{code}", sentence, remedy, exit_code=6)


@dataclass(frozen=True)
class Checked:
    """An artifact that passed every check.

    Attributes:
        manifest: As written.
        state: For `DiscoRAG.load_state`.
        settings: The manifest's, with inventory files found.
    """

    manifest: Manifest
    state: dict[str, Any]
    settings: ProgramSettings


def verify(path: str | Path) -> Manifest:
    """Checks an artifact completely, without loading it and without any model.

    Args:
        path: Its directory.

    Returns:
        The manifest.

    Raises:
        DiscoError: `artifact/...`, naming the file or role, what is wrong, and what to do.
    """
    return read_artifact(path).manifest


def read_artifact(path: str | Path) -> Checked:
    """Reads and checks an artifact; see `verify`."""
    folder = Path(path)
    manifest = _manifest(folder)
    texts = {name: _file(folder, name, record) for name, record in manifest.files.items()}
    for required in (PROGRAM, REPORT):
        if required not in texts:
            raise refused("incomplete", f"{MANIFEST} does not list {required}.", UNHARMED)
    settings = _settings(folder, manifest)
    state = _json(PROGRAM, texts[PROGRAM])
    _check_code(manifest, settings)
    _check_state(state, manifest, settings)
    return Checked(manifest, state, settings)


def _manifest(folder: Path) -> Manifest:
    if not folder.is_dir():
        raise refused(
            "missing",
            f"There is no program artifact at {str(folder)!r}.",
            "Give the directory that holds manifest.json.",
        )
    text = _text(folder, MANIFEST)
    data = _json(MANIFEST, text)
    version = data.get("schema_version")
    if version != SCHEMA_VERSION:
        raise refused(
            "version", f"The artifact has schema version {version!r}; this version reads {SCHEMA_VERSION}.", AGAIN
        )
    return _validated(Manifest, data, MANIFEST)


def _text(folder: Path, name: str) -> str:
    file = folder / name
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise refused(
            "incomplete", f"The artifact's {name} cannot be read: {error.strerror or error}.", UNHARMED
        ) from error
    if len(raw) > MAX_BYTES:
        raise refused(
            "too-large", f"{name} has more than {MAX_BYTES:,} bytes.", "Save it with fewer or shorter demonstrations."
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused("not-text", f"{name} is not UTF-8 text (byte {error.start}).", UNHARMED) from error
    refuse_secrets(name, text)
    return text


def _file(folder: Path, name: str, record: FileRecord) -> str:
    if Path(name).name != name or name == MANIFEST:
        raise refused("value", f"{MANIFEST} lists a file {name!r} that cannot be part of an artifact.", UNHARMED)
    text = _text(folder, name)
    raw = text.encode("utf-8")
    if len(raw) < record.bytes:
        raise refused("truncated", f"{name} has {len(raw):,} of its {record.bytes:,} bytes.", UNHARMED)
    if hashlib.sha256(raw).hexdigest() != record.sha256:
        raise refused("changed", f"{name} is not the file that was saved: its checksum differs.", UNHARMED)
    return text


def _json(name: str, text: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise refused("value", f"{name} has a key twice.", UNHARMED)
        return made

    try:
        data = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise refused("not-json", f"{name} is not valid JSON{where}; it may be cut off.", UNHARMED) from error
    if not isinstance(data, dict):
        raise refused("not-json", f"{name} is not a JSON object.", UNHARMED)
    return data


def _validated(model: type[Model], data: Any, name: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise refused("unknown-key", f"{name} has the unknown key {place!r}.", UNHARMED) from error
        raise refused("value", f"{name}: {place}: {first['msg']}.", UNHARMED) from error


def _settings(folder: Path, manifest: Manifest) -> ProgramSettings:
    """The settings, with the artifact's own inventory files in place of their names; no other file is ever read."""
    own = {}
    for field in ("inventory", "graph_inventory"):
        name = getattr(manifest.settings, field)
        if name in manifest.files:
            own[field] = str(folder / name)
        elif is_path(name):
            raise refused("value", f"{MANIFEST}: settings.{field} names a file outside the artifact.", UNHARMED)
    return manifest.settings.model_copy(update=own)


def _fresh(settings: ProgramSettings) -> DiscoRAG:
    try:
        return DiscoRAG(settings=settings)
    except DiscoError as error:
        raise refused(
            "inventory-changed", f"The program's relation inventory is not usable: {error.sentence}", AGAIN
        ) from error


def _check_code(manifest: Manifest, settings: ProgramSettings) -> None:
    """Whether the code still is what the program was tuned with."""
    missing = [role for role in ROLES if role not in manifest.roles]
    if missing:
        raise refused("roles", f"{MANIFEST} says nothing about the {missing[0]}.", UNHARMED)
    layout = layout_record(settings)
    if manifest.layout != layout:
        was, now = manifest.layout.version, layout.version
        what = f"version {was}, this one {now}" if was != now else f"another system text under the same version {now}"
        raise refused("layout", f"The program was tuned with another prompt layout ({what}).", AGAIN)
    fresh = _fresh(settings)
    for role in ROLES:
        saved, now = manifest.roles[role], getattr(fresh, role)
        changed = differences(saved, now)
        if changed:
            raise refused(
                "role-changed",
                f"The {role} is not what the program was tuned with; what differs: {'; '.join(changed)}.",
                AGAIN,
            )
        inventory = inventory_record(now)
        if inventory != saved.inventory:
            was = saved.inventory.name if saved.inventory else "none"
            now_name = inventory.name if inventory else "none"
            what = f"was {was!r} and is {now_name!r}" if was != now_name else f"{was!r} has another table"
            raise refused("inventory-changed", f"The relation inventory of the {role} differs: it {what}.", AGAIN)


def _check_state(state: dict[str, Any], manifest: Manifest, settings: ProgramSettings) -> None:
    fresh = _fresh(settings)
    wanted = {*predictor_names(), "metadata"}
    for name in sorted(wanted - set(state)):
        raise refused("incomplete", f"{PROGRAM} has no {name!r}.", UNHARMED)
    for name in sorted(set(state) - wanted):
        raise refused("unknown-key", f"{PROGRAM} has the unknown key {name!r}.", UNHARMED)
    _validated(Metadata, state["metadata"], f"{PROGRAM}: metadata")
    for role in ROLES:
        data, where = state[f"{role}.predict"], f"{PROGRAM}: {role}.predict"
        if isinstance(data, dict) and data.get("lm") is not None:
            raise refused(
                "lm-state",
                f"{where} brings its own language model, which can carry addresses, keys and code.",
                "Save the program again with this project's save; the backbone belongs into disco.toml.",
            )
        checked = _validated(PredictState, data, where)
        signature = getattr(fresh, role).predict.signature
        if len(checked.signature.fields) != len(signature.fields):
            raise refused(
                "value",
                f"{where} has texts for {len(checked.signature.fields)} fields, not {len(signature.fields)}.",
                UNHARMED,
            )
        if len(checked.demos) != manifest.roles[role].demos:
            raise refused(
                "value",
                f"{where} has {len(checked.demos)} demonstrations; {MANIFEST} says {manifest.roles[role].demos}.",
                UNHARMED,
            )
        for number, demo in enumerate(checked.demos, 1):
            problem = demo_problem(demo, signature)
            if problem:
                raise refused("demo", f"{where}: demonstration {number} {problem}.", AGAIN)
