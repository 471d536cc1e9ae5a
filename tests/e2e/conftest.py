"""Real models, fetched when they are not here; their cache is the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from disco_dspy import embedded, models
from disco_dspy.backbones import Backbones
from disco_dspy.config import Config


@pytest.fixture(scope="session")
def small_model() -> Path:
    return models.pull("smollm2-135m")


@pytest.fixture
def small(small_model: Path) -> Iterator[Backbones]:
    backbones = Backbones.single("embedded-small", Config())
    yield backbones
    backbones.close()


@pytest.fixture(scope="session", autouse=True)
def no_server_left_over() -> Iterator[None]:
    yield
    embedded.stop_all()
