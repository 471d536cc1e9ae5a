from __future__ import annotations

import copy

import pytest

from disco_dspy.passages import Passages, chunk_of
from disco_dspy.protocols import Retriever
from signatures.errors import DiscoError
from tests.embedding import HashEmbedder

TEXTS = ["red apples", ("Sky", "blue sky"), "green grass"]


def test_given_order_is_the_ranking() -> None:
    hits = Passages.of(TEXTS).search("blue", 2)
    assert [hit.chunk.text for hit in hits] == ["red apples", "blue sky"]
    assert hits[0].score > hits[1].score
    assert isinstance(Passages.of(TEXTS), Retriever)


def test_an_embedder_ranks() -> None:
    passages = Passages.of(TEXTS, HashEmbedder())
    assert passages.search("blue sky", 1)[0].chunk.title == "Sky"
    assert len(passages.search("blue", 99)) == 3


def test_scopes() -> None:
    passages = Passages.of({"q1": ["a", "b"], "q10": ["c"]}, HashEmbedder())
    assert {hit.chunk.text for hit in passages.search("x", 9, scope="q1")} == {"a", "b"}
    assert {hit.chunk.text for hit in passages.search("x", 9, scope="q1*")} == {"a", "b", "c"}
    assert passages.search("x", 9, scope="other") == []


def test_many_texts_keep_their_order_when_sorted() -> None:
    chunks = Passages.of([str(number) for number in range(200)]).chunks
    assert sorted(chunks, key=lambda chunk: chunk.sort_key) == list(chunks)
    assert len({chunk.id for chunk in chunks}) == 200


def test_a_copy_is_the_same_object() -> None:
    passages = Passages([chunk_of("a", "a")])
    assert copy.deepcopy(passages) is passages


def test_an_empty_question() -> None:
    with pytest.raises(DiscoError, match="question/empty"):
        Passages.of(TEXTS).search(" ", 1)
