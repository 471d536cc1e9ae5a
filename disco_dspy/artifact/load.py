"""From an artifact to a program that answers."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dspy

from disco_dspy.artifact.check import read_artifact
from disco_dspy.artifact.fingerprints import backbone_record
from disco_dspy.artifact.manifest import Manifest
from disco_dspy.backbones import Backbones
from disco_dspy.config import Config, load_config
from disco_dspy.index import Index
from disco_dspy.program import DiscoRAG
from disco_dspy.protocols import Retriever
from disco_dspy.settings import ROLES


class OtherBackbone(UserWarning):
    """A role is played by another model than the one its prompts were tuned for."""


def load(
    path: str | Path,
    *,
    index: Index | str | Path | None = None,
    retriever: Retriever | None = None,
    backbones: Backbones | None = None,
    config: Config | None = None,
) -> DiscoRAG:
    """Loads a program that was saved.

    Everything in the artifact is checked first. Models are not part of it: they come from `backbones`, else from
    `config`, else from DSPy's current LM if one is configured, else from `disco.toml` (the embedded model when there
    is none).

    Args:
        path: The artifact's directory.
        index: An open index, or the directory of one.
        retriever: Anything else to search, instead of an index.
        backbones: Which model plays which role.
        config: Configuration to take backbones and embedder from.

    Returns:
        The program, ready to be called. A role played by another model than it was tuned for is warned about
        (`OtherBackbone`): it works, but its quality is not the measured one.

    Raises:
        DiscoError: `artifact/...` for an artifact that is refused, `index/...` for an index that cannot be opened.
    """
    checked = read_artifact(path)
    if backbones is None and (config is not None or dspy.settings.lm is None):
        config = config if config is not None else load_config()
        backbones = Backbones(config)
    if index is not None:
        retriever = index if isinstance(index, Index) else _open(Path(index), config)
    program = DiscoRAG(retriever, backbones=backbones, settings=checked.settings)
    program.load_state(checked.state)
    _warn_of_other_models(checked.manifest, program)
    return program


def _open(path: Path, config: Config | None) -> Index:
    from disco_dspy.embedders import load_embedder

    config = config if config is not None else load_config()
    embedder: Any = load_embedder(config.embedder, config)
    return Index.open(path, embedder)


def _warn_of_other_models(manifest: Manifest, program: DiscoRAG) -> None:
    if program.backbones is None:
        return
    for role in ROLES:
        saved, now = manifest.roles[role].backbone, backbone_record(program, role)
        if saved is not None and now is not None and saved.model != now.model:
            warnings.warn(
                f"The {role} was tuned for {saved.model!r} and is played by {now.model!r}; compile the program for "
                "that model to get the measured quality.",
                OtherBackbone,
                stacklevel=3,
            )
