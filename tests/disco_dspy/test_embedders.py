from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from disco_dspy.config import Config, EmbeddingConfig, parse_config
from disco_dspy.embedders import Embedder, LiteLLMEmbedder, MiniLM, load_embedder, unit
from signatures.errors import DiscoError
from tests.disco_dspy.fake_server import FakeServer, fake_server

KEY = "sk-embed-0123456789"


def vectors(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Text number i of a batch gets a vector that its length decides; the order of the reply is reversed."""
    rows = [{"object": "embedding", "index": i, "embedding": [len(t), 3.0, 4.0]} for i, t in enumerate(body["input"])]
    return 200, {"object": "list", "model": "m", "data": rows[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def embedder_for(server: FakeServer, **settings: Any) -> LiteLLMEmbedder:
    return LiteLLMEmbedder("openai/embed", EmbeddingConfig(api_base=server.api_base, **settings))


def test_batches_prefixes_order_and_unit_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBED_KEY", KEY)
    with fake_server(vectors) as server:
        embedder = embedder_for(
            server, batch_size=2, query_prefix="q: ", document_prefix="d: ", api_key_env="EMBED_KEY"
        )
        found = embedder.embed_documents(["a", "bbbb", "cc"])
        query = embedder.embed_query("why")
        assert embedder.dimension == 3
    assert [seen.body["input"] for seen in server.requests] == [["d: a", "d: bbbb"], ["d: cc"], ["q: why"]]
    assert found.dtype == np.float32
    assert found.shape == (3, 3)
    assert query.shape == (3,)
    expected = np.array([[4, 3, 4], [7, 3, 4], [5, 3, 4]], dtype=np.float32)
    assert np.allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True))
    assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {KEY}"}
    assert server.requests[0].body["model"] == "embed"
    assert KEY not in repr(vars(embedder))


def test_the_dimension_is_asked_once_and_only_when_it_is_not_declared() -> None:
    with fake_server(vectors) as server:
        assert embedder_for(server, dimension=3).dimension == 3
        assert server.requests == []
        asked = embedder_for(server)
        assert (asked.dimension, asked.dimension) == (3, 3)
        assert asked.embed_documents([]).shape == (0, 3)
    assert len(server.requests) == 1


def test_replies_that_do_not_fit_are_refused() -> None:
    def one_vector(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = vectors(body)
        return status, {**reply, "data": reply["data"][:1]}

    with fake_server(one_vector) as server:
        with pytest.raises(DiscoError, match="1 vectors for 2 texts"):
            embedder_for(server).embed_documents(["a", "b"])
        with pytest.raises(DiscoError, match="not 5") as caught:
            embedder_for(server, dimension=5).embed_query("a")
    assert caught.value.code == "embedder/shape"


def test_a_refused_key_and_a_missing_one_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBED_KEY", KEY)
    with fake_server(lambda body: (401, {"error": {"message": f"bad key {KEY}"}})) as server:
        with pytest.raises(DiscoError, match="AuthenticationError") as caught:
            embedder_for(server, api_key_env="EMBED_KEY").embed_query("a")
        assert (caught.value.code, caught.value.retryable) == ("embedder/failed", False)
        assert KEY not in str(caught.value)
        monkeypatch.delenv("EMBED_KEY")
        with pytest.raises(DiscoError, match="EMBED_KEY") as caught:
            embedder_for(server, api_key_env="EMBED_KEY").embed_query("a")
        assert caught.value.code == "embedder/no-key"
    assert len(server.requests) == 1


def test_fingerprints_follow_what_changes_vectors() -> None:
    a = LiteLLMEmbedder("openai/a")
    others = [
        LiteLLMEmbedder("openai/b"),
        LiteLLMEmbedder("openai/a", EmbeddingConfig(api_base="http://127.0.0.1:1/v1")),
        LiteLLMEmbedder("openai/a", EmbeddingConfig(query_prefix="q: ")),
        MiniLM(),
    ]
    assert a.fingerprint == LiteLLMEmbedder("openai/a", EmbeddingConfig(batch_size=7, api_key_env="X")).fingerprint
    assert len({a.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_embedders_by_name() -> None:
    config = parse_config({"embedder": "litellm:openai/x", "embedding": {"dimension": 7}})
    made = load_embedder(config.embedder, config)
    assert (made.name, made.dimension) == ("litellm:openai/x", 7)
    for each in (made, load_embedder("minilm", Config())):
        assert isinstance(each, Embedder)
        assert copy.deepcopy(each) is each
    for wrong in ("minlm", "litellm:", "openai/x", ""):
        with pytest.raises(DiscoError, match="Known names") as caught:
            load_embedder(wrong)
        assert caught.value.code == "embedder/unknown"


def test_minilm_without_its_model_says_how_to_get_it() -> None:
    with pytest.raises(DiscoError, match="disco models pull minilm") as caught:
        MiniLM().embed_query("a")
    assert caught.value.code == "model/absent"
    assert MiniLM().embed_documents([]).shape == (0, 384)


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3), min_size=1, max_size=5))
def test_unit_rows_have_length_one_or_zero(rows: list[list[float]]) -> None:
    made = unit(rows)
    lengths = np.linalg.norm(made, axis=1)
    given_lengths = np.linalg.norm(np.asarray(rows, dtype=np.float32), axis=1)
    assert np.allclose(lengths[given_lengths > 1e-3], 1, atol=1e-4)
    assert np.all(lengths[given_lengths == 0] == 0)
    assert np.all(np.isfinite(made))
