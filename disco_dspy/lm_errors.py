"""What a failed call means to a person: DSPy's LM errors as code, sentence and remedy."""

from __future__ import annotations

import re

from dspy.utils import exceptions as dspy_errors

from signatures.errors import DiscoError

_MODEL_MISSING = re.compile(r"model\b.*(not found|does not exist|unknown|not exist|not available|no such)", re.I | re.S)
_BEARER = re.compile(r"(sk-|Bearer\s+)\S+", re.I)


def explain_lm_error(exc: BaseException, backbone: str) -> DiscoError:
    """Returns the error a person should see for a failed call.

    Args:
        exc: What DSPy or an engine raised.
        backbone: Name of the backbone that was called.

    Returns:
        The `DiscoError` behind `exc` when there is one, else one with a code `backbone/auth`, `model`, `context`,
        `request`, `rate-limit`, `billing`, `server`, `timeout`, `unreachable`, `no-key` or `error`.
    """
    ours = _ours(exc)
    if ours is not None:
        return ours
    _, code, sentence, remedy, retryable = next((row for row in _TABLE if isinstance(exc, row[0])), _UNEXPECTED)
    if code == "backbone/request" and _names_missing_model(exc):
        code, sentence, remedy = _MODEL[1:4]
    detail = _detail(exc)
    return DiscoError(
        code,
        f"Backbone {backbone!r} {sentence}{f' ({detail})' if detail else ''}.",
        remedy,
        retryable=retryable,
        exit_code=5,
    )


def _ours(exc: BaseException | None) -> DiscoError | None:
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        if isinstance(exc, DiscoError):
            return exc
        seen.add(id(exc))
        exc = exc.__cause__
    return None


def _names_missing_model(exc: BaseException) -> bool:
    return getattr(exc, "status", None) == 404 or bool(_MODEL_MISSING.search(getattr(exc, "message", "")))


def _detail(exc: BaseException) -> str:
    """The server's own words on one line, short, and without anything that looks like a key."""
    text = getattr(exc, "message", None) or str(exc) or type(exc).__name__
    text = _BEARER.sub("[key]", " ".join(str(text).split()))
    text = text if len(text) <= 200 else text[:199] + "…"
    status = getattr(exc, "status", None)
    return f"HTTP {status}: {text}".rstrip(". ") if status else text.rstrip(". ")


_Row = tuple[tuple[type[BaseException], ...], str, str, str, bool]

_MODEL: _Row = (
    (dspy_errors.LMUnsupportedModelError,),
    "backbone/model",
    "does not know the model it was asked for",
    "Write the model's name as the server lists it (GET <api_base>/models) into disco.toml.",
    False,
)
_UNEXPECTED: _Row = (
    (Exception,),
    "backbone/error",
    "failed in an unexpected way",
    "Run `disco doctor`; if it stays, report it with the text above.",
    False,
)
_TABLE: tuple[_Row, ...] = (
    _MODEL,
    (
        (dspy_errors.LMAuthError,),
        "backbone/auth",
        "refused the key",
        "Check the environment variable named by api_key_env in disco.toml, and that the key may use this model.",
        False,
    ),
    (
        (dspy_errors.LMNotConfiguredError,),
        "backbone/no-key",
        "has no key",
        "Name the environment variable that holds it as api_key_env in disco.toml, and set it.",
        False,
    ),
    (
        (dspy_errors.ContextWindowExceededError,),
        "backbone/context",
        "cannot take a prompt this long",
        "Use fewer or smaller chunks (k, chunk_size), fewer demonstrations, or a backbone with a longer context.",
        False,
    ),
    (
        (dspy_errors.LMInvalidRequestError, dspy_errors.LMUnsupportedFeatureError),
        "backbone/request",
        "refused the request",
        "If it does not know response_format, set capabilities.json_schema = false for this backbone.",
        False,
    ),
    (
        (dspy_errors.LMBillingError,),
        "backbone/billing",
        "has no credit left",
        "Add credit with the provider or use another backbone.",
        False,
    ),
    (
        (dspy_errors.LMRateLimitError,),
        "backbone/rate-limit",
        "is rate-limited",
        "Wait and run the same command again; finished calls are not repeated.",
        True,
    ),
    (
        (dspy_errors.LMTimeoutError,),
        "backbone/timeout",
        "did not answer in time",
        "Raise timeout in disco.toml or run the same command again.",
        True,
    ),
    (
        (dspy_errors.LMTransportError,),
        "backbone/unreachable",
        "cannot be reached, or stopped answering",
        "Check api_base and that the server runs; raise timeout when the model is slow.",
        True,
    ),
    (
        (dspy_errors.LMServerError, dspy_errors.LMProviderError),
        "backbone/server",
        "failed on its side",
        "Run the same command again; finished calls are not repeated.",
        True,
    ),
    (
        (dspy_errors.LMConfigurationError,),
        "backbone/config",
        "is not set up for this call",
        "Check its entry in disco.toml.",
        False,
    ),
)
