"""Inner engines: how a request reaches the model of one backbone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from dspy.clients.engines.litellm_engine import AsyncLiteLLMEngine, LiteLLMEngine
from dspy.clients.engines.lm15_engine import AsyncLM15Engine, LM15Engine, timeouts_for
from dspy.lm15 import (
    AccessPolicy,
    ContextLengthError,
    InvalidRequestError,
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
        return lambda: _AsyncEmbedded(backbone) if asynchronous else _Embedded(backbone)
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
    _reach_loopback(address)
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
    return _AsyncServer(AsyncLM15Engine(config)) if asynchronous else _Server(LM15Engine(config))


def _reach_loopback(address: str) -> None:
    """Keeps a proxy set in the environment away from this machine's own servers, which it could not reach."""
    host = urlsplit(address).hostname or ""
    if host not in {"127.0.0.1", "localhost", "::1"} or not getproxies():
        return
    for name in ("no_proxy", "NO_PROXY"):
        listed = [each.strip() for each in os.environ.get(name, "").split(",") if each.strip()]
        if host not in listed and "*" not in listed:
            os.environ[name] = ",".join([*listed, host])


class _Server:
    """Says "the prompt is too long" in DSPy's own terms, which it only knows for OpenAI's wording."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def complete(self, request: Request) -> Response:
        try:
            return self.inner.complete(request)
        except InvalidRequestError as exc:
            raise _context_error(exc) from exc

    def stream(self, request: Request) -> Any:
        return self.inner.stream(request)

    def close(self) -> None:
        self.inner.close()


class _AsyncServer(_Server):
    async def complete(self, request: Request) -> Response:
        try:
            return await self.inner.complete(request)
        except InvalidRequestError as exc:
            raise _context_error(exc) from exc

    async def aclose(self) -> None:
        await self.inner.aclose()


# llama.cpp, vLLM, SGLang and Ollama each word it their own way; none sends OpenAI's code.
_TOO_LONG = re.compile(
    r"context (size|length|window)|maximum (context|model) length|max_model_len|longer than the model", re.I
)


def _context_error(exc: InvalidRequestError) -> InvalidRequestError:
    if isinstance(exc, ContextLengthError) or not _TOO_LONG.search(exc.message):
        return exc
    return ContextLengthError(exc.message, provider=exc.provider, status=exc.status, request_id=exc.request_id)


class _Embedded:
    """The embedded server, started at the first call and again when someone stopped it in between."""

    def __init__(self, backbone: BackboneConfig) -> None:
        self.backbone = backbone
        self._lock = threading.Lock()
        self._address = ""
        self._inner: Any = None

    def _ready(self, asynchronous: bool) -> Any:
        from disco_dspy.embedded import start

        server = start(self.backbone.model, context=self.backbone.context, threads=self.backbone.threads)
        with self._lock:
            if server.address != self._address:
                self._address = server.address
                self._inner = _declared(self.backbone, f"{server.address}/v1", server.key, asynchronous)
            return self._inner

    def complete(self, request: Request) -> Response:
        return self._ready(False).complete(request)

    def stream(self, request: Request) -> Any:
        return self._ready(False).stream(request)

    def close(self) -> None:
        with self._lock:
            inner, self._inner, self._address = self._inner, None, ""
        if inner is not None:
            inner.close()


class _AsyncEmbedded(_Embedded):
    async def complete(self, request: Request) -> Response:
        return await (await asyncio.to_thread(self._ready, True)).complete(request)

    async def stream(self, request: Request) -> Any:
        inner = await asyncio.to_thread(self._ready, True)
        async for event in inner.stream(request):
            yield event

    async def aclose(self) -> None:
        with self._lock:
            inner, self._inner, self._address = self._inner, None, ""
        if inner is not None:
            await inner.aclose()


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
