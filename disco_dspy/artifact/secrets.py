"""Keeps keys and addresses out of artifacts: looked for before writing and before reading."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from disco_dspy.backbones import Backbones
from signatures.errors import DiscoError

# Spellings of keys of common providers, and JSON keys under which secrets travel.
_TOKENS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}|\bBearer\s+[A-Za-z0-9._~+/-]{12,}|\bhf_[A-Za-z0-9]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_KEYS = re.compile(
    r'"(?:api[_-]?key|x-api-key|authorization|(?:extra_)?headers|azure_ad_token|access_token|auth_token|password'
    r'|passwd|client_secret)"\s*:\s*(?!null|""|\{\}|\[\])',
    re.IGNORECASE,
)


def refuse_secrets(name: str, text: str, backbones: Backbones | None = None) -> None:
    """Raises if a file's text holds something that looks like a secret, or one this machine knows.

    Args:
        name: The file's name, for the message.
        text: Its text.
        backbones: Their keys and addresses are looked for too.

    Raises:
        DiscoError: `artifact/secret`; the secret itself is not repeated.
    """
    known = _known(backbones) if backbones is not None else {}
    found = next((what for secret, what in known.items() if secret in text), None)
    if found is None and (match := _TOKENS.search(text)):
        found = f"something that looks like a key (it begins {match[0][:6]!r})"
    if found is None and (match := _KEYS.search(text)):
        found = f"the field {match[0].split(':')[0].strip()}"
    if found is not None:
        raise DiscoError(
            "artifact/secret",
            f"{name} holds {found}, and an artifact must hold no secret and no address.",
            "Remove it from the instructions or demonstrations it stands in, and save the program again; if it is a "
            "real key, replace the key.",
            exit_code=6,
        )


def _known(backbones: Backbones) -> dict[str, str]:
    known: dict[str, str] = {}
    for name, backbone in backbones.config.backbones.items():
        key = os.environ.get(backbone.api_key_env) if backbone.api_key_env else None
        if key and len(key) >= 6:
            known[key] = f"the key of backbone {name!r}"
        if backbone.api_base:
            known[backbone.api_base.rstrip("/")] = f"the address of backbone {name!r}"
            place = urlsplit(backbone.api_base).netloc
            if len(place) >= 6:
                known[place] = f"the address of backbone {name!r}"
    return known
