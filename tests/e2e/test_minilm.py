"""The real MiniLM: shapes, order, and that near texts are near."""

from __future__ import annotations

import numpy as np
import pytest

from disco_dspy import models
from disco_dspy.embedders import MiniLM

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    models.pull("minilm")
    return MiniLM()


def test_near_texts_are_near(minilm: MiniLM) -> None:
    texts = ["The drug lowers blood pressure.", "The river floods in spring.", "降低血压的药物"]
    found = minilm.embed_documents(texts)
    assert found.shape == (3, 384)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    scores = found @ minilm.embed_query("Does this medicine reduce hypertension?")
    assert scores[0] > 0.5 > scores[1]


def test_a_vector_does_not_depend_on_its_company_or_order(minilm: MiniLM) -> None:
    texts = ["short", "a much longer text about cats and dogs " * 20, "middle length text", ""]
    together = MiniLM(batch_size=3).embed_documents(texts)
    alone = np.stack([minilm.embed_query(text) for text in texts])
    assert np.allclose(together, alone, atol=1e-3)
    assert np.allclose(minilm.embed_documents(texts[::-1])[::-1], alone, atol=1e-5)


def test_what_lies_beyond_256_word_pieces_does_not_count(minilm: MiniLM) -> None:
    start = "rain " * 300
    a, b = minilm.embed_documents([start + "in Paris", start + "quantum theory"])
    assert np.array_equal(a, b)
