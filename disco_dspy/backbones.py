"""Backbones: which language model plays which role."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

import dspy
from dspy.utils.exceptions import LMConfigurationError

from disco_dspy.config import ROLES, BackboneConfig, Config, load_config
from disco_dspy.engines import AsyncMeteredEngine, Guard, MeteredEngine
from disco_dspy.ledger import Ledger
from disco_dspy.lm_errors import explain_lm_error
from disco_dspy.preflight import PreflightReport, preflight
from disco_dspy.routes import endpoint_hash, engine_factory, model_string, obeys_schema, read_key
from signatures.errors import DiscoError

__all__ = ["Backbones", "Guard", "Ledger", "PreflightReport", "explain_lm_error"]

GIVEN = "given"
"""Name of the backbone when the user hands over an LM of their own."""


class Backbones:
    """Hands each role its language model. Safe to use from threads.

    Nothing is opened, started or read from the environment before the first real call.

    Args:
        config: Backbones and roles; None reads `disco.toml`.
        ledger: Where real calls are written; None keeps them in memory.
        guard: Asked before each real call.

    Raises:
        DiscoError: `backbone/unknown` when a role names a backbone that does not exist.
    """

    def __init__(
        self, config: Config | None = None, *, ledger: Ledger | None = None, guard: Guard | None = None
    ) -> None:
        self.config = config if config is not None else load_config()
        self.ledger = ledger if ledger is not None else Ledger()
        self.guard = guard
        self._fixed: dspy.LM | None = None
        self._lms: dict[str, dspy.LM] = {}
        self._engines: list[MeteredEngine] = []
        self._async_engines: list[AsyncMeteredEngine] = []
        self._lock = threading.RLock()

    @classmethod
    def single(
        cls,
        name: str,
        config: Config | None = None,
        *,
        ledger: Ledger | None = None,
        guard: Guard | None = None,
    ) -> Backbones:
        """Returns backbones where one plays every role.

        Raises:
            DiscoError: `backbone/unknown`.
        """
        base = config if config is not None else load_config()
        base.backbone(name)
        return cls(base.model_copy(update={"roles": {"default": name}}), ledger=ledger, guard=guard)

    @classmethod
    def from_lm(cls, lm: dspy.LM) -> Backbones:
        """Returns backbones where the given LM plays every role; its calls are not on the ledger."""
        made = cls(Config())
        made._fixed = lm
        return made

    @classmethod
    def from_engine(
        cls,
        engine: Any,
        async_engine: Any = None,
        *,
        model: str = "given",
        ledger: Ledger | None = None,
        guard: Guard | None = None,
        **lm_options: Any,
    ) -> Backbones:
        """Returns backbones where a DSPy engine of your own plays every role, metered like the others.

        Args:
            engine: Object with `complete(Request) -> Response`.
            async_engine: Its asynchronous counterpart.
            model: Model name; part of DSPy's cache key, so two engines need two names.
            ledger: As `Backbones`.
            guard: As `Backbones`.
            **lm_options: For `dspy.LM`, such as `temperature` or `cache`.
        """
        made = cls(Config(), ledger=ledger, guard=guard)
        made._fixed = made._metered(GIVEN, f"disco-given/{model}", lambda: engine, async_engine, lm_options)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Backbones:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("Backbones are never pickled; make them again from disco.toml.")

    def lm(self, role: str) -> dspy.LM:
        """Returns the LM of a role; roles on one backbone share it.

        Args:
            role: `parser`, `grapher`, `planner`, `generator`, `reflection` or `judge`.
        """
        return self._fixed if self._fixed is not None else self.named(self.name_for(role))

    def named(self, name: str) -> dspy.LM:
        """Returns the LM of a backbone.

        Raises:
            DiscoError: `backbone/unknown`, or `backbone/decoding` when the model forbids its settings.
        """
        if self._fixed is not None and name == GIVEN:
            return self._fixed
        backbone = self.config.backbone(name)
        with self._lock:
            if name not in self._lms:
                self._lms[name] = self._build(name, backbone)
            return self._lms[name]

    def name_for(self, role: str) -> str:
        """Returns the backbone name of a role; `given` for an LM handed over by the user."""
        return GIVEN if self._fixed is not None else self.config.backbone_for(role)

    def decoding(self, role: str) -> dict[str, Any]:
        """Returns a role's default decoding, `{temperature, max_tokens}`."""
        kwargs = self.lm(role).kwargs
        limit = kwargs.get("max_tokens") or kwargs.get("max_completion_tokens")
        return {"temperature": kwargs.get("temperature"), "max_tokens": limit}

    def describe(self, role: str) -> dict[str, Any]:
        """Returns what an artifact may record about a role's backbone: no address, no secret.

        Returns:
            `{backbone, kind, model, capabilities: {json_schema, prefix_cache}, decoding, fingerprint}`.
        """
        name = self.name_for(role)
        common = {"backbone": name, "decoding": self.decoding(role), "fingerprint": self.fingerprint(role)}
        if self._fixed is not None:
            schema = bool(self._fixed.supports_response_schema)
            capabilities = {"json_schema": schema, "prefix_cache": False}
            return {**common, "kind": GIVEN, "model": self._fixed.model, "capabilities": capabilities}
        backbone = self.config.backbone(name)
        capabilities = {"json_schema": obeys_schema(backbone), "prefix_cache": backbone.capabilities.prefix_cache}
        return {**common, "kind": backbone.kind, "model": backbone.model, "capabilities": capabilities}

    def fingerprint(self, role: str) -> str:
        """Returns a hash of the model that answers for a role: model, endpoint, capabilities; not the name."""
        if self._fixed is not None:
            facts: dict[str, Any] = {"model": self._fixed.model, "given": True}
        else:
            backbone = self.config.backbone(self.name_for(role))
            facts = {
                "model": backbone.model,
                "endpoint": endpoint_hash(backbone),
                "capabilities": backbone.capabilities.model_dump(),
            }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def preflight(self, name: str | None = None) -> PreflightReport:
        """Makes one tiny real call to a backbone.

        Args:
            name: Backbone; None takes the default one.

        Raises:
            DiscoError: `backbone/unknown`, `backbone/no-key`, `backbone/no-model`, `backbone/auth`,
                `backbone/model`, `backbone/unreachable`, ...
        """
        chosen = name if name is not None else self.name_for("default")
        lm = self.named(chosen)
        if chosen != GIVEN:
            read_key(chosen, self.config.backbone(chosen))
        return preflight(lm, chosen)

    def used(self) -> tuple[str, ...]:
        """Returns the names of the backbones that play the program's roles, each once."""
        return tuple(dict.fromkeys(self.name_for(role) for role in ROLES))

    def close(self) -> None:
        """Closes connections; embedded servers of this process go on until it ends or `embedded.stop_all`."""
        for engine in self._engines:
            engine.close()

    async def aclose(self) -> None:
        """Closes the connections of this event loop, and the synchronous ones."""
        for engine in self._async_engines:
            await engine.aclose()
        self.close()

    def __enter__(self) -> Backbones:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _build(self, name: str, backbone: BackboneConfig) -> dspy.LM:
        options = {
            "temperature": float(backbone.temperature),
            "max_tokens": backbone.max_tokens,
            "num_retries": backbone.max_retries,
        }
        factory = engine_factory(name, backbone, asynchronous=False)
        async_factory = engine_factory(name, backbone, asynchronous=True)
        schema = _Once(backbone)
        sync = MeteredEngine(factory, backbone=name, ledger=self.ledger, guard=self.guard, json_schema=schema)
        asyn = AsyncMeteredEngine(
            async_factory, backbone=name, ledger=self.ledger, guard=self.guard, json_schema=schema
        )
        return self._wrap(model_string(backbone), sync, asyn, options, name)

    def _metered(self, name: str, model: str, factory: Any, async_engine: Any, options: dict[str, Any]) -> dspy.LM:
        sync = MeteredEngine(factory, backbone=name, ledger=self.ledger, guard=self.guard)
        asyn = None
        if async_engine is not None:
            asyn = AsyncMeteredEngine(lambda: async_engine, backbone=name, ledger=self.ledger, guard=self.guard)
        return self._wrap(model, sync, asyn, options, name)

    def _wrap(
        self,
        model: str,
        sync: MeteredEngine,
        asyn: AsyncMeteredEngine | None,
        options: dict[str, Any],
        name: str,
    ) -> dspy.LM:
        try:
            lm = dspy.LM(model, engine=sync, async_engine=asyn, **options)
        except LMConfigurationError as exc:
            raise DiscoError(
                "backbone/decoding",
                f"Backbone {name!r} is a reasoning model that forbids its decoding settings.",
                "Set temperature = 1.0 and max_tokens = 16000 or more for it in disco.toml.",
                exit_code=3,
            ) from exc
        self._engines.append(sync)
        if asyn is not None:
            self._async_engines.append(asyn)
        return lm


class _Once:
    """Asks once whether a backbone obeys a schema: DSPy reads it at every call, and a lookup may import LiteLLM."""

    def __init__(self, backbone: BackboneConfig) -> None:
        self._backbone = backbone
        self._answer: bool | None = None

    def __call__(self) -> bool:
        if self._answer is None:
            self._answer = obeys_schema(self._backbone)
        return self._answer
