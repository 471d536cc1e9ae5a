"""`disco.toml`: named backbones, which role uses which, the embedder, index and program settings.

The file never holds a secret: a backbone names the environment variable that does.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from signatures.errors import DiscoError, nearest

CONFIG_NAME = "disco.toml"
CONFIG_ENV = "DISCO_CONFIG"
ROLES = ("parser", "grapher", "planner", "generator")
"""The four roles of the program."""

OTHER_ROLES = ("reflection", "judge")
"""Roles that only `optimize` plays: the model that rewrites instructions, and the one that grades."""

_SECRET_KEYS = {"api_key", "apikey", "key", "token", "password", "secret", "authorization", "headers"}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BACKBONE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Capabilities(_Strict):
    """What the server behind a backbone can do.

    Attributes:
        json_schema: It obeys `response_format: json_schema`. None asks DSPy's own tables, and takes true for
            an endpoint with an `api_base`.
        prefix_cache: It re-uses the computed prefix of an earlier prompt.
    """

    json_schema: StrictBool | None = None
    prefix_cache: StrictBool = True


class BackboneConfig(_Strict):
    """One language model and how to reach it.

    Attributes:
        model: For an endpoint with `api_base`, the name the server knows; without one, a LiteLLM name such as
            `openai/gpt-4o-mini`; for `kind = "embedded"`, a name from `disco models list`.
        kind: `endpoint` (HTTP) or `embedded` (started inside this process).
        api_base: Address of an OpenAI-compatible server, ending in `/v1`.
        api_key_env: Name of the environment variable that holds the key; never the key.
        temperature: Sampling temperature, 0 to 2.
        max_tokens: Longest reply in tokens.
        timeout: Seconds to wait for a reply, the model's thinking included.
        max_retries: How often DSPy asks again after a transport error, a 429 or a 5xx.
        context: Context window in tokens; only an embedded model is started with it.
        threads: CPU threads of an embedded model; None takes every core.
        capabilities: See `Capabilities`.
    """

    model: StrictStr = Field(min_length=1)
    kind: Literal["endpoint", "embedded"] = "endpoint"
    api_base: StrictStr | None = None
    api_key_env: StrictStr | None = None
    temperature: StrictFloat | StrictInt = Field(default=0.0, ge=0, le=2)
    max_tokens: StrictInt = Field(default=1024, ge=1)
    timeout: StrictFloat | StrictInt = Field(default=120, gt=0)
    max_retries: StrictInt = Field(default=3, ge=0, le=20)
    context: StrictInt = Field(default=8192, ge=512)
    threads: StrictInt | None = Field(default=None, ge=1)
    capabilities: Capabilities = Capabilities()


class EmbeddingConfig(_Strict):
    """How to reach an embedding model named `litellm:<model>`; MiniLM needs none of it.

    Attributes:
        api_base: Address of an OpenAI-compatible server.
        api_key_env: Name of the environment variable that holds the key.
        dimension: Length of a vector; asked from the server when not given.
        batch_size: Texts per request.
        timeout: Seconds to wait for one request.
        query_prefix: Text put before a question, for models that were trained with one.
        document_prefix: Text put before a chunk.
    """

    api_base: StrictStr | None = None
    api_key_env: StrictStr | None = None
    dimension: StrictInt | None = Field(default=None, ge=1)
    batch_size: StrictInt = Field(default=64, ge=1)
    timeout: StrictFloat | StrictInt = Field(default=120, gt=0)
    query_prefix: StrictStr = ""
    document_prefix: StrictStr = ""


BUILTIN_BACKBONES: Mapping[str, BackboneConfig] = {
    # A reply waits for its turn on the one slot, so the timeout covers a queue of long prompts on a slow machine.
    "embedded": BackboneConfig(
        model="qwen2.5-coder-1.5b",
        kind="embedded",
        timeout=3600,
        max_retries=1,
        capabilities=Capabilities(json_schema=True),
    ),
    "embedded-small": BackboneConfig(
        model="smollm2-135m",
        kind="embedded",
        timeout=1800,
        max_retries=1,
        capabilities=Capabilities(json_schema=True),
    ),
}
"""Backbones that exist without a config file."""

DEFAULT_BACKBONE = "embedded"


class Config(_Strict):
    """Everything `disco.toml` says.

    Attributes:
        backbones: Backbones by name, the built-in ones included.
        roles: Backbone name by role; `default` serves the roles not named.
        embedder: `minilm`, or `litellm:<model>`.
        embedding: How to reach a LiteLLM embedder.
        index: Settings of the index, validated by `disco_dspy.index`.
        program: Settings of the program, validated by `disco_dspy.settings`.
        path: The file this came from; None for the defaults.
    """

    backbones: dict[str, BackboneConfig] = Field(default_factory=dict)
    roles: dict[str, StrictStr] = Field(default_factory=dict)
    embedder: StrictStr = "minilm"
    embedding: EmbeddingConfig = EmbeddingConfig()
    index: dict[str, Any] = Field(default_factory=dict)
    program: dict[str, Any] = Field(default_factory=dict)
    path: Path | None = Field(default=None, exclude=True)

    def model_post_init(self, _context: Any, /) -> None:
        """Adds the built-in backbones below the user's own, and checks names."""
        self.backbones.update({name: b for name, b in BUILTIN_BACKBONES.items() if name not in self.backbones})
        _check_names(self)

    def backbone(self, name: str) -> BackboneConfig:
        """Returns a backbone by name.

        Raises:
            DiscoError: `backbone/unknown`, with the nearest known name.
        """
        if name not in self.backbones:
            raise DiscoError("backbone/unknown", f"There is no backbone named {name!r}.", nearest(name, self.backbones))
        return self.backbones[name]

    def backbone_for(self, role: str) -> str:
        """Returns the name of the backbone that plays a role."""
        return self.roles.get(role) or self.roles.get("default") or DEFAULT_BACKBONE


def find_config(start: Path | None = None) -> Path | None:
    """Finds `disco.toml`: the environment variable, then upwards from a folder, then the user's config folder.

    Args:
        start: Folder to begin in; the current one when None.
    """
    named = os.environ.get(CONFIG_ENV)
    if named:
        return Path(named)
    here = (start or Path.cwd()).resolve()
    candidates = [folder / CONFIG_NAME for folder in (here, *here.parents)]
    candidates.append(Path(platformdirs.user_config_dir("disco-dspy", appauthor=False)) / CONFIG_NAME)
    return next((c for c in candidates if c.is_file()), None)


def load_config(path: Path | str | None = None) -> Config:
    """Reads and checks a config file.

    Args:
        path: The file; None looks for one (`find_config`) and takes the defaults when there is none.

    Raises:
        DiscoError: `config/absent`, `config/syntax`, `config/secret`, `config/unknown-key`, `config/value`,
            `config/unknown-role` or `backbone/unknown`; each names the place in the file.
    """
    found = Path(path) if path is not None else find_config()
    if found is None:
        return Config()
    try:
        text = found.read_text(encoding="utf-8")
    except FileNotFoundError as exc:
        raise DiscoError(
            "config/absent", f"There is no file {found}.", "Run `disco init` to write one, or name another file."
        ) from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise DiscoError(
            "config/unreadable", f"{found} cannot be read: {exc}.", "Check its permissions; it is UTF-8 text."
        ) from exc
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise DiscoError("config/syntax", f"{found} is not valid TOML: {exc}.", "Correct that line.") from exc
    return parse_config(raw, source=found)


def parse_config(raw: Mapping[str, Any], *, source: Path | None = None) -> Config:
    """Builds a config from parsed TOML.

    Args:
        raw: The tables of the file.
        source: The file, for messages.

    Raises:
        DiscoError: As `load_config`.
    """
    where = str(source) if source else "the configuration"
    _refuse_secrets(raw, where, ())
    try:
        return Config(**{**raw, "path": source})
    except ValidationError as exc:
        raise _explain(exc, where) from exc


def write_default_config(path: Path) -> None:
    """Writes a commented starting `disco.toml`.

    Raises:
        DiscoError: `config/exists` when the file is already there; it is never overwritten.
    """
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(_TEMPLATE)
    except FileExistsError as exc:
        raise DiscoError("config/exists", f"{path} already exists.", "Edit it, or choose another place.") from exc


def _check_names(config: Config) -> None:
    for name, backbone in config.backbones.items():
        if not _BACKBONE_NAME.fullmatch(name):
            raise DiscoError(
                "config/value",
                f"{name!r} cannot name a backbone.",
                "Use letters, digits, dots, dashes and underscores.",
            )
        _check_addresses(f"backbones.{name}", backbone.api_base, backbone.api_key_env)
    _check_addresses("embedding", config.embedding.api_base, config.embedding.api_key_env)
    known = ("default", *ROLES, *OTHER_ROLES)
    for role, backbone in config.roles.items():
        if role not in known:
            raise DiscoError("config/unknown-role", f"There is no role named {role!r}.", nearest(role, known))
        config.backbone(backbone)


def _check_addresses(where: str, api_base: str | None, api_key_env: str | None) -> None:
    # The values are not repeated in the messages: they may hold the very secret the user must move.
    if api_key_env is not None and not _ENV_NAME.fullmatch(api_key_env):
        raise DiscoError(
            "config/secret",
            f"{where}.api_key_env does not look like the name of an environment variable.",
            'Put the key into an environment variable and write its name, such as api_key_env = "LAB_API_KEY".',
        )
    if api_base is None:
        return
    try:
        parts = urlsplit(api_base)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise DiscoError(
            "config/value",
            f"{where}.api_base is not an http(s) address.",
            'Write it as api_base = "http://127.0.0.1:8000/v1".',
        )
    if parts.username or parts.password or parts.query:
        raise DiscoError(
            "config/secret",
            f"{where}.api_base holds a user, password or query.",
            "Take them out of the address; put the key into an environment variable and name it in api_key_env.",
        )


def _refuse_secrets(raw: Any, where: str, trail: tuple[str, ...]) -> None:
    if not isinstance(raw, Mapping):
        return
    for key, value in raw.items():
        if str(key).lower() in _SECRET_KEYS and trail[:1] in {("backbones",), ("embedding",)}:
            raise DiscoError(
                "config/secret",
                f"{where}: {'.'.join((*trail, str(key)))} would store a secret in the file.",
                "Put it into an environment variable and write that variable's name as api_key_env.",
            )
        _refuse_secrets(value, where, (*trail, str(key)))


def _explain(exc: ValidationError, where: str) -> DiscoError:
    """Turns the first validation error into a place, what is wrong, and what would be right."""
    first = exc.errors(include_url=False)[0]
    # Union branches add their type to the trail ("float", "int"); they are no part of the file.
    trail = [str(part) for part in first["loc"] if str(part) not in {"float", "int", "constrained-float"}]
    place = ".".join(trail)
    if first["type"] == "extra_forbidden":
        known = _known_keys(trail[:-1])
        return DiscoError("config/unknown-key", f"{where}: there is no setting {place}.", nearest(trail[-1], known))
    if first["type"] == "missing":
        return DiscoError("config/value", f"{where}: {place} is missing.", f"Add {trail[-1]} to that table.")
    given = type(first.get("input")).__name__
    message = first["msg"][:1].lower() + first["msg"][1:]
    return DiscoError("config/value", f"{where}: {place}: {message} (given: {given}).", "Correct that value.")


def _known_keys(trail: list[str]) -> list[str]:
    if trail[:1] == ["backbones"]:
        model: type[BaseModel] = Capabilities if trail[2:3] == ["capabilities"] else BackboneConfig
    elif trail[:1] == ["embedding"]:
        model = EmbeddingConfig
    else:
        model = Config
    return [name for name in model.model_fields if name != "path"]


_TEMPLATE = """\
# disco-dspy. Every setting has a default; a missing file means "all defaults".
# Keys are never written here: api_key_env names the environment variable that holds one.

embedder = "minilm"            # runs on this machine; or "litellm:<embedding model>"

# Built in: "embedded" (Qwen2.5-Coder-1.5B, `disco models pull qwen2.5-coder-1.5b`)
#           "embedded-small" (SmolLM2-135M, for smoke tests only)
#
# Any OpenAI-compatible server:
# [backbones.lab]
# model = "meta-llama/Llama-3.3-70B-Instruct"   # the name the server knows
# api_base = "http://127.0.0.1:8000/v1"
# api_key_env = "LAB_API_KEY"                   # leave out when the server needs none
# temperature = 0.0
# max_tokens = 1024
# timeout = 120                                 # seconds
# [backbones.lab.capabilities]
# json_schema = true                            # it obeys response_format json_schema
# prefix_cache = true                           # it re-uses computed prompt prefixes
#
# Any hosted model LiteLLM knows:
# [backbones.hosted]
# model = "openai/gpt-4o-mini"
# api_key_env = "OPENAI_API_KEY"

[roles]
default = "embedded"           # also: parser, grapher, planner, generator, reflection, judge
"""
