"""The default backbone, Qwen2.5-Coder-1.5B: loads, obeys, and reads a fact off a page."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, Field

from disco_dspy import embedded, models
from disco_dspy.backbones import Backbones
from disco_dspy.config import Config

pytestmark = pytest.mark.slow


class Answer(BaseModel):
    year: str = Field(json_schema_extra={"pattern": "^[0-9]{4}$"})


def test_the_default_model_answers_from_a_passage() -> None:
    models.pull("qwen2.5-coder-1.5b")
    with Backbones(Config()) as backbones:
        assert backbones.preflight().json_schema == "obeyed"
        prompt = (
            "The bridge was planned in 1871 and opened in 1883.\n\nIn which year was the bridge opened? Reply in JSON."
        )
        (text,) = backbones.lm("generator")(prompt, response_format=Answer, max_tokens=20, cache=False)
    embedded.stop_all()
    assert json.loads(text) == {"year": "1883"}
