"""Digests of what a tuned program depends on in the code, role by role."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from disco_dspy.artifact.manifest import (
    BackboneRecord,
    InventoryRecord,
    LayoutRecord,
    RoleRecord,
    SignatureRecord,
)
from disco_dspy.program import DiscoRAG
from disco_dspy.prompting.shape import output_of, wire_schema
from disco_dspy.prompting.texts import LAYOUT_VERSION, system_text
from disco_dspy.roles import Role
from disco_dspy.settings import ROLES, ProgramSettings


def digest(value: Any) -> str:
    """Returns the sha256 of plain data, in canonical JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def signature_record(role: Role) -> SignatureRecord:
    """Returns the digests of a role's signature; of the untuned one, pass a role of a fresh program."""
    signature = role.predict.signature
    name, model = output_of(signature)
    state = signature.dump_state()
    return SignatureRecord(
        inputs=list(signature.input_fields),
        output=name,
        descriptions=digest(state["fields"]),
        instructions=digest(signature.instructions),
        reply=digest(wire_schema(model)),
    )


def inventory_record(role: Role) -> InventoryRecord | None:
    """Returns name and digest of a role's inventory, if it has one."""
    inventory = getattr(role, "inventory", None)
    return None if inventory is None else InventoryRecord(name=inventory.name, sha256=inventory.fingerprint())


def backbone_record(program: DiscoRAG, role: str) -> BackboneRecord | None:
    """Returns which model plays a role, without address and key."""
    if program.backbones is None:
        return None
    facts = program.backbones.describe(role)
    return BackboneRecord(
        backbone=facts["backbone"],
        kind=facts["kind"],
        model=facts["model"],
        json_schema=facts["capabilities"]["json_schema"],
        temperature=facts["decoding"]["temperature"],
        max_tokens=facts["decoding"]["max_tokens"],
    )


def layout_record(settings: ProgramSettings) -> LayoutRecord:
    """Returns the prompt layout that a program with these settings has."""
    return LayoutRecord(
        version=LAYOUT_VERSION, shared_system=digest(system_text(trees=settings.trees, cite=settings.cite))
    )


def role_records(program: DiscoRAG) -> dict[str, RoleRecord]:
    """Returns the records of a program that may be tuned; signatures are those of a fresh one."""
    fresh = DiscoRAG(settings=program.settings)
    return {
        name: RoleRecord(
            signature=signature_record(getattr(fresh, name)),
            inventory=inventory_record(getattr(program, name)),
            backbone=backbone_record(program, name),
            demos=len(getattr(program, name).predict.demos),
        )
        for name in ROLES
    }


def differences(saved: RoleRecord, role: Role) -> list[str]:
    """Returns what differs between a saved role and the code's, in words; empty when nothing does.

    Args:
        saved: From the manifest.
        role: Of a fresh program with the saved settings.
    """
    now, then = signature_record(role), saved.signature
    found = []
    if (now.inputs, now.output) != (then.inputs, then.output):
        was, is_now = ", ".join([*then.inputs, then.output]), ", ".join([*now.inputs, now.output])
        found.append(f"its fields were {was} and are {is_now}")
    elif now.descriptions != then.descriptions:
        found.append("the descriptions of its fields")
    if now.instructions != then.instructions:
        found.append("its instructions before tuning (the docstring)")
    if now.reply != then.reply:
        found.append("the form of its reply")
    return found
