"""Disco-RAG: retrieval-augmented generation that reads how texts argue.

import disco_dspy

rag = disco_dspy.load("programs/mine", index="my-index")
print(rag("Does vitamin D prevent influenza?").answer)
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# DSPy's price look-up fetches a table from the network on first use; the packaged copy is enough. Must be set
# before DSPy is imported, and leaves a user's own choice alone.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

if TYPE_CHECKING:
    from disco_dspy.artifact import load
    from disco_dspy.backbones import Backbones
    from disco_dspy.config import Config
    from disco_dspy.index import Index
    from disco_dspy.program import DiscoRAG
    from disco_dspy.settings import ProgramSettings
    from signatures.errors import DiscoError

__all__ = ["Backbones", "Config", "DiscoError", "DiscoRAG", "Index", "ProgramSettings", "load"]

# Imported on first use: the package itself loads in milliseconds, DSPy in more than a second.
_HOMES = {
    "Backbones": "disco_dspy.backbones",
    "Config": "disco_dspy.config",
    "DiscoError": "signatures.errors",
    "DiscoRAG": "disco_dspy.program",
    "Index": "disco_dspy.index",
    "ProgramSettings": "disco_dspy.settings",
    "load": "disco_dspy.artifact",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
