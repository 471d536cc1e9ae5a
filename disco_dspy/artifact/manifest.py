"""The manifest: everything about a program that DSPy's own state file leaves out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from disco_dspy.settings import ProgramSettings

SCHEMA_VERSION = 1
"""Of the three files together; a change that old code cannot read raises it."""

MANIFEST, PROGRAM, REPORT = "manifest.json", "program.json", "report.md"

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Score(_Strict):
    """A measured value.

    Attributes:
        value: Mean over the items; metrics are in [0, 1] unless their name says otherwise.
        low: Lower end of the 95 % confidence interval.
        high: Upper end.
        items: Held-out items measured.
    """

    value: float
    low: float | None = None
    high: float | None = None
    items: int = Field(ge=0)


class Metric(_Strict):
    """One metric before and after tuning.

    Attributes:
        name: Such as `parser/span-f1`.
        before: Of the program as it was given.
        after: Of the program in the artifact.
    """

    name: str = Field(min_length=1)
    before: Score | None = None
    after: Score | None = None


class Cost(_Strict):
    """What making the program took.

    Attributes:
        calls: Real calls to a model.
        prompt_tokens: As the servers counted.
        completion_tokens: As the servers counted.
        seconds: Wall time.
        money: In US dollars; none when the price is not known.
    """

    calls: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    money: float | None = None


class Provenance(_Strict):
    """How the program came about; written by whoever made it.

    Attributes:
        benchmark: Name of the benchmark; empty for a program that was not tuned.
        optimizer: Name of the optimizer.
        optimizer_settings: Its settings, as text.
        tuned: Roles that were tuned.
        metrics: Before and after, on held-out items.
        data: Name of each data file or split, and its sha256.
        cost: What it took.
        seed: Of splits and optimizer.
        campaign: Content hash of the run.
    """

    benchmark: str = ""
    optimizer: str = "none"
    optimizer_settings: dict[str, str] = Field(default_factory=dict)
    tuned: list[str] = Field(default_factory=list)
    metrics: list[Metric] = Field(default_factory=list)
    data: dict[str, Digest] = Field(default_factory=dict)
    cost: Cost = Cost()
    seed: int | None = None
    campaign: str = ""


class BackboneRecord(_Strict):
    """The model a role was tuned for. No address and no key, so an artifact can be handed on.

    Attributes:
        backbone: Its name in the configuration of then.
        kind: `embedded`, `endpoint` or `given`.
        model: Model name.
        json_schema: Whether replies were held to the schema.
        temperature: Default of the backbone.
        max_tokens: Default of the backbone.
    """

    backbone: str
    kind: str
    model: str
    json_schema: bool
    temperature: float | None = None
    max_tokens: int | None = None


class SignatureRecord(_Strict):
    """What a role's code must still be like for the tuned texts to fit.

    Attributes:
        inputs: Names of the inputs, in order.
        output: Name of the output.
        descriptions: Digest of the fields' prefixes and descriptions before tuning.
        instructions: Digest of the instructions before tuning (the signature's docstring).
        reply: Digest of the output's JSON schema.
    """

    inputs: list[str]
    output: str
    descriptions: Digest
    instructions: Digest
    reply: Digest


class InventoryRecord(_Strict):
    """A relation inventory: its name and the digest of its table."""

    name: str
    sha256: Digest


class RoleRecord(_Strict):
    """One role.

    Attributes:
        signature: See `SignatureRecord`.
        inventory: Of parser and grapher.
        backbone: None when the program was saved without one.
        demos: Number of demonstrations.
    """

    signature: SignatureRecord
    inventory: InventoryRecord | None = None
    backbone: BackboneRecord | None = None
    demos: int = Field(ge=0)


class LayoutRecord(_Strict):
    """The prompt layout, which DSPy's state does not name.

    Attributes:
        version: See `disco_dspy.prompting.texts`.
        shared_system: Digest of the system text of grapher, planner and generator.
    """

    version: str
    shared_system: Digest


class FileRecord(_Strict):
    """A file of the artifact."""

    sha256: Digest
    bytes: int = Field(ge=0)


class Manifest(_Strict):
    """`manifest.json`.

    Attributes:
        schema_version: See `SCHEMA_VERSION`.
        created: UTC, ISO 8601, seconds.
        program: Name of the program class.
        layout: See `LayoutRecord`.
        settings: The program's switches.
        roles: By role name.
        provenance: See `Provenance`.
        versions: Of Python and the packages that shape prompts.
        files: Every other file of the artifact.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    created: str
    program: Literal["DiscoRAG"] = "DiscoRAG"
    layout: LayoutRecord
    settings: ProgramSettings
    roles: dict[Literal["parser", "grapher", "planner", "generator"], RoleRecord]
    provenance: Provenance = Provenance()
    versions: dict[str, str]
    files: dict[str, FileRecord]
