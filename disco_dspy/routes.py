"""Inner engines: how a request reaches the model of one backbone."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dspy.clients.engines.litellm_engine import AsyncLiteLLMEngine, LiteLLMEngine
from dspy.clients.engines.lm15_engine import AsyncLM15Engine, LM15Engine, timeouts_for
from dspy.lm15 import (
    AccessPolicy,
    LM15Error,
    OpenAIChatCompat,
    ProviderDefinition,
    Request,
    Response,
    RouterConfig,
)

from disco_dspy.config import BackboneConfig
from signatures.errors import DiscoError


def model_string(backbone: BackboneConfig) -> str:
    """Returns the model name DSPy works with: `disco-<hash of model and endpoint>/<model>`.

    DSPy's cache key leaves the endpoint out, so two servers with one model name would share replies; the hash
    keeps them apart. It is stable across processes and machines.
    """
    return f"disco-{endpoint_hash(backbone)}/{backbone.model}"


def endpoint_hash(backbone: BackboneConfig) -> str:
    """Returns eight hex digits over what decides which model answers."""
    facts: dict[str, Any] = {"kind": backbone.kind, "model": backbone.model, "api_base": backbone.api_base}
    if backbone.kind == "embedded":
        from disco_dspy.models import registered

        entry = registered(backbone.model)
        facts |= {"sha256": entry.sha256, "context": backbone.context}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]


def read_key(name: str, backbone: BackboneConfig) -> str | None:
    """Returns the key of a backbone from its environment variable; None when it needs none.

    Raises:
        DiscoError: `backbone/no-key` when the variable is not set or empty.
    """
    if backbone.api_key_env is None:
        return None
    key = os.environ.get(backbone.api_key_env, "").strip()
    if not key:
        raise DiscoError(
            "backbone/no-key",
            f"Backbone {name!r} needs a key, and the environment variable {backbone.api_key_env} is not set.",
            f"Set it (export {backbone.api_key_env}=...), or name another variable in api_key_env.",
            exit_code=5,
        )
    return key


def engine_factory(name: str, backbone: BackboneConfig, *, asynchronous: bool) -> Callable[[], Any]:
    """Returns a function that makes the inner engine of a backbone; nothing is opened before it is called.

    Args:
        name: Backbone name, for messages.
        backbone: Its settings.
        asynchronous: Make the asynchronous engine.
    """
    if backbone.kind == "embedded":
        return lambda: _embedded(backbone, asynchronous)
    if backbone.api_base is not None:
        address = backbone.api_base
        return lambda: _declared(backbone, address, read_key(name, backbone), asynchronous)
    return lambda: _hosted(backbone, read_key(name, backbone), asynchronous)


def obeys_schema(backbone: BackboneConfig) -> bool:
    """Tells whether a strict JSON schema may be sent to a backbone.

    What the config declares counts; else an address of its own is taken to obey (vLLM, SGLang, llama.cpp, Ollama,
    LM Studio do), and a hosted model is looked up in DSPy's tables.
    """
    declared = backbone.capabilities.json_schema
    if declared is not None:
        return declared
    if backbone.kind == "embedded" or backbone.api_base is not None:
        return True
    import dspy

    return bool(dspy.LM(backbone.model).supports_response_schema)


def _declared(backbone: BackboneConfig, address: str, key: str | None, asynchronous: bool) -> Any:
    """An engine for one OpenAI-compatible server that nobody else in the process can see."""
    provider = model_string(backbone).partition("/")[0]
    definition = ProviderDefinition.chat(
        AccessPolicy(provider=provider, env_keys=(), base_url=address),
        # These three are what self-hosted servers understand; DSPy's default for an unknown model sends no schema.
        compat=OpenAIChatCompat(instruction_role="system", max_tokens_field="max_tokens", json_schema="send"),
        placeholder_key="none",
    )
    config = RouterConfig(
        env={},
        api_keys={provider: key} if key else None,
        providers=(definition,),
        timeouts=timeouts_for(backbone.timeout),
    )
    return AsyncLM15Engine(config) if asynchronous else LM15Engine(config)


def _embedded(backbone: BackboneConfig, asynchronous: bool) -> Any:
    from disco_dspy.embedded import start

    server = start(backbone.model, context=backbone.context, threads=backbone.threads)
    return _declared(backbone, f"{server.address}/v1", None, asynchronous)


def _hosted(backbone: BackboneConfig, key: str | None, asynchronous: bool) -> Any:
    """A model by its LiteLLM name: DSPy's native engine when it knows the provider, LiteLLM otherwise."""
    api_keys = None
    native: Any = LM15Engine(RouterConfig(env={}))
    prefix = backbone.model.partition("/")[0].upper()
    gateway = any(os.environ.get(f"{prefix}_{suffix}") for suffix in ("API_BASE", "BASE_URL"))
    try:
        resolution = None if gateway else native.resolve(backbone.model)
    except LM15Error:
        # Not a provider the native engine knows: LiteLLM's table is far longer.
        resolution = None
    if resolution is None:
        options: dict[str, Any] = {"wire_model": backbone.model, "timeout": backbone.timeout}
        if key:
            options["api_key"] = key
        return AsyncLiteLLMEngine(**options) if asynchronous else LiteLLMEngine(**options)
    if key:
        api_keys = {resolution.provider: key}
    config = RouterConfig(api_keys=api_keys, timeouts=timeouts_for(backbone.timeout))
    inner = AsyncLM15Engine(config) if asynchronous else LM15Engine(config)
    return _AsyncRenamed(inner, backbone.model) if asynchronous else _Renamed(inner, backbone.model)


class _Renamed:
    """Gives the inner engine the provider's own model name instead of ours."""

    def __init__(self, inner: Any, model: str) -> None:
        self.inner, self.model = inner, model

    def complete(self, request: Request) -> Response:
        return self.inner.complete(replace(request, model=self.model))

    def stream(self, request: Request) -> Any:
        return self.inner.stream(replace(request, model=self.model))

    def close(self) -> None:
        self.inner.close()


class _AsyncRenamed(_Renamed):
    async def complete(self, request: Request) -> Response:
        return await self.inner.complete(replace(request, model=self.model))

    async def aclose(self) -> None:
        await self.inner.aclose()
