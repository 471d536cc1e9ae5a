"""Writing an artifact: all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from disco_dspy.artifact.check import is_path, read_artifact
from disco_dspy.artifact.fingerprints import layout_record, role_records
from disco_dspy.artifact.manifest import MANIFEST, PROGRAM, REPORT, FileRecord, Manifest, Provenance
from disco_dspy.artifact.secrets import refuse_secrets
from disco_dspy.artifact.state import dump_state
from disco_dspy.program import DiscoRAG
from signatures.errors import DiscoError

_PACKAGES = ("disco-dspy", "dspy", "pydantic")


def save(
    program: DiscoRAG,
    path: str | Path,
    provenance: Provenance | None = None,
    report: str | None = None,
    *,
    created: str | None = None,
) -> Manifest:
    """Writes a program as an artifact; an artifact that is already there is replaced in one step.

    The program is not changed; roles frozen for an optimizer are saved like the others, models pinned to it are not.

    Args:
        program: Tuned or not.
        path: Directory to make.
        provenance: How it came about.
        report: Text of `report.md`; a short one is written if none is given.
        created: ISO time to record instead of now, so that the same run gives the same bytes.

    Returns:
        The manifest written.

    Raises:
        DiscoError: `artifact/secret`; `artifact/in-the-way` if the path holds something else; `artifact/unwritable`.
    """
    target = Path(path)
    settings, inventories = _portable(program)
    files = {PROGRAM: _json(dump_state(program)), **inventories}
    manifest = Manifest(
        created=created or datetime.now(UTC).isoformat(timespec="seconds"),
        layout=layout_record(program.settings),
        settings=settings,
        roles=role_records(program),  # pyright: ignore[reportArgumentType] - keys are the four role names
        provenance=provenance or Provenance(),
        versions=_versions(),
        files={},
    )
    files[REPORT] = report if report is not None else _report(manifest)
    records = {name: _record(text) for name, text in sorted(files.items())}
    manifest = manifest.model_copy(update={"files": records})
    files[MANIFEST] = _json(manifest.model_dump(mode="json"))
    for name, text in files.items():
        refuse_secrets(name, text, program.backbones)
    _write(target, files)
    return manifest


def _portable(program: DiscoRAG) -> tuple[Any, dict[str, str]]:
    """The settings without paths of this machine: a user's own inventory becomes a file of the artifact."""
    changed, files = {}, {}
    for field, name in (("inventory", "inventory-trees.toml"), ("graph_inventory", "inventory-graph.toml")):
        given = getattr(program.settings, field)
        if is_path(given):
            files[name] = Path(given).read_text(encoding="utf-8-sig")
            changed[field] = name
    return program.settings.model_copy(update=changed), files


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _record(text: str) -> FileRecord:
    raw = text.encode("utf-8")
    return FileRecord(sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw))


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _report(manifest: Manifest) -> str:
    made = manifest.provenance
    lines = ["# Program", "", f"Made {manifest.created}, optimizer {made.optimizer}."]
    lines += [f"- {role}: {record.demos} demonstrations" for role, record in manifest.roles.items()]
    return "\n".join(lines) + "\n"


def _write(target: Path, files: Mapping[str, str]) -> None:
    if target.exists() and not ((target / MANIFEST).is_file() or (target.is_dir() and not any(target.iterdir()))):
        raise DiscoError(
            "artifact/in-the-way",
            f"{str(target)!r} holds something that is no program artifact.",
            "Choose another directory; nothing was written.",
        )
    fresh, old = (target.parent / f".{target.name}.{what}-{os.getpid()}" for what in ("new", "old"))
    try:
        fresh.mkdir(parents=True)
        for name, text in files.items():
            with (fresh / name).open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
        read_artifact(fresh)  # what cannot be loaded is not left behind as a program
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    except OSError as error:
        if old.exists() and not target.exists():
            old.rename(target)
        raise DiscoError(
            "artifact/unwritable",
            f"The artifact cannot be written to {str(target)!r}: {error.strerror or error}.",
            "Check the disk and the permissions; what was there before is still there.",
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
