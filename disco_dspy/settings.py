"""What a program does beside its prompts: how much it reads, which parts run, how each role decodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from signatures.errors import DiscoError, nearest

ROLES = ("parser", "grapher", "planner", "generator")
PlanMode = Literal["full", "generic-after", "generic-before", "none"]
Cite = Literal["edu", "chunk"]


class RoleSettings(BaseModel):
    """How one role asks its model.

    Attributes:
        temperature: Of the first attempt; none leaves it to the backbone (reasoning models forbid 0).
        max_tokens: Longest reply; none lets the role work it out from its input, within the backbone's own limit.
        retries: Further attempts after a reply that cannot be used, each with the failure quoted.
        retry_temperature: Of those attempts where the first one had 0, or a deterministic model repeats itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    retries: int = Field(default=1, ge=0, le=5)
    retry_temperature: float = Field(default=0.7, gt=0, le=2)


class ProgramSettings(BaseModel):
    """The switches of `DiscoRAG`; saved with an artifact.

    Attributes:
        k: Chunks retrieved for a question.
        inventory: Relations inside a chunk: a shipped name or the path of a TOML file.
        graph_inventory: Relations between chunks, likewise.
        trees: Show each chunk as the outline of its RST tree. Off: plain text (the paper's "without RST trees").
        graph: Relate the chunks. Off: no graph (the paper's "without rhetorical graph").
        plan: `full`: the blueprint, from question, trees and graph. `none`: no planner call (the paper's "without
            planning"). Two ablations plan without structure: `generic-after` reads question and plain text of the
            chunks (the paper's "retrieve, then plan"), `generic-before` reads the question alone, before any
            evidence (the paper's "plan, then retrieve"; the search itself still uses the question, since how the
            paper's plan entered its search is not known).
        cite: What answers cite: `edu` shows EDU numbers (`3.2`) in the evidence, `chunk` saves those tokens.
        parse_threads: Chunks parsed at once; 1 where the parser's backbone runs in this process.
        roles: Decoding per role; a role left out has the defaults.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = Field(default=10, ge=1, le=200)
    inventory: str = "refined-19"
    graph_inventory: str = "inter-chunk"
    trees: bool = True
    graph: bool = True
    plan: PlanMode = "full"
    cite: Cite = "edu"
    parse_threads: int = Field(default=4, ge=1, le=64)
    roles: dict[str, RoleSettings] = Field(default_factory=dict)

    @field_validator("roles")
    @classmethod
    def _known_roles(cls, roles: dict[str, RoleSettings]) -> dict[str, RoleSettings]:
        for name in roles:
            if name not in ROLES:
                raise ValueError(f"there is no role {name!r}. {nearest(name, ROLES)}")
        return roles

    def role(self, name: str) -> RoleSettings:
        """Returns the settings of one of the four roles."""
        return self.roles.get(name, RoleSettings())

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> ProgramSettings:
        """Returns settings from a table of a configuration file.

        Raises:
            DiscoError: `settings/invalid`, naming the first wrong key.
        """
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            if first["type"] == "extra_forbidden":
                known = ProgramSettings.model_fields if len(first["loc"]) == 1 else RoleSettings.model_fields
                remedy = nearest(str(first["loc"][-1]), known)
            else:
                remedy = f"Correct {key!r} in the [program] table."
            raise DiscoError(
                "settings/invalid", f"The program setting {key!r} cannot be used: {first['msg']}.", remedy
            ) from error
