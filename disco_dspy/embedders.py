"""Embedders: texts to unit vectors. Two methods make one; the rest says who it is."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Sequence
from importlib import resources
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from disco_dspy.config import Config, EmbeddingConfig
from disco_dspy.models import path, registered
from signatures.errors import DiscoError, nearest

Vectors = NDArray[np.float32]

MINILM_DIMENSION = 384
MINILM_TOKENS = 256
"""MiniLM was trained on 256 word pieces; the paper's chunk is as long."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    Attributes:
        name: As written in `disco.toml`.
        dimension: Length of a vector.
        fingerprint: Changes whenever the vectors would; an index refuses another one.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def dimension(self) -> int: ...  # noqa: D102

    @property
    def fingerprint(self) -> str: ...  # noqa: D102

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, float32, shape [len(texts), dimension]."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Returns one unit vector, float32, shape [dimension]."""
        ...


def load_embedder(spec: str, config: Config | None = None) -> Embedder:
    """Returns an embedder by its name in `disco.toml`; loads nothing yet.

    Args:
        spec: `minilm`, or `litellm:<model>` such as `litellm:openai/text-embedding-3-small`.
        config: Source of the `[embedding]` table.

    Raises:
        DiscoError: `embedder/unknown`.
    """
    if spec == "minilm":
        return MiniLM()
    kind, separator, model = spec.partition(":")
    if kind == "litellm" and separator and model:
        return LiteLLMEmbedder(model, config.embedding if config else None)
    raise DiscoError(
        "embedder/unknown", f"There is no embedder named {spec!r}.", nearest(spec, ["minilm", "litellm:<model>"])
    )


class MiniLM:
    """all-MiniLM-L6-v2 in int8 on the CPU: 384 numbers, texts cut at 256 word pieces.

    Args:
        batch_size: Texts computed together. Measured on 48 long chunks and 2 cores: 5.6 CPU seconds and 0.31 GB with
            1, 7.1 s and 0.51 GB with 4, 7.5 s and 0.79 GB with 8; the vectors are the same.
        threads: CPU threads; None takes every core.
    """

    name = "minilm"
    dimension = MINILM_DIMENSION

    def __init__(self, batch_size: int = 1, threads: int | None = None) -> None:
        self.batch_size = batch_size
        self.threads = threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._session: Any = None
        self._tokenizer: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> MiniLM:
        return self

    @property
    def fingerprint(self) -> str:
        """A hash over the weights' digest, the tokenizer and the cut."""
        facts = {"weights": registered("minilm").sha256, "tokenizer": _tokenizer_digest(), "cut": MINILM_TOKENS}
        return _hash(facts)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, float32, shape [len(texts), 384], in the order of the texts.

        Raises:
            DiscoError: `extra/local` without the runtime; `model/absent` when the model was never pulled.
        """
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return found
        session, tokenizer = self._load()
        encodings = tokenizer.encode_batch(list(texts))
        # Like lengths together: a batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            found[rows] = _run(session, [encodings[i] for i in rows])
        return found

    def embed_query(self, text: str) -> Vectors:
        """Returns one unit vector, float32, shape [384]. Raises as `embed_documents`."""
        return self.embed_documents([text])[0]

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._session is None:
                os.environ.setdefault("OMP_WAIT_POLICY", "passive")
                try:
                    import onnxruntime
                except ImportError as exc:
                    raise DiscoError(
                        "extra/local",
                        "The runtime for the MiniLM embedder is not installed.",
                        'Run `pip install "disco-dspy[local]"`, or name a litellm: embedder in disco.toml.',
                        exit_code=5,
                    ) from exc
                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = self.threads
                options.inter_op_num_threads = 1
                # Idle threads sleep instead of spinning: the language model may want the cores.
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
                # Memory is given back between batches instead of kept at the largest one's size.
                options.enable_cpu_mem_arena = False
                self._session = onnxruntime.InferenceSession(
                    str(path("minilm")), options, providers=["CPUExecutionProvider"]
                )
                self._tokenizer = _tokenizer()
            return self._session, self._tokenizer


def _run(session: Any, encodings: Sequence[Any]) -> Vectors:
    width = max(len(e.ids) for e in encodings)
    shape = (len(encodings), width)
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros(shape, dtype=np.int64)}
    (states,) = session.run(["last_hidden_state"], feeds)
    weights = mask[:, :, None].astype(np.float32)
    pooled = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return unit(pooled)


def unit(vectors: Any) -> Vectors:
    """Returns the rows scaled to length 1, float32; a zero row stays zero."""
    rows = np.asarray(vectors, dtype=np.float32)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def _tokenizer_bytes() -> bytes:
    return resources.files("disco_dspy").joinpath("data", "minilm-tokenizer.json").read_bytes()


def _tokenizer_digest() -> str:
    return hashlib.sha256(_tokenizer_bytes()).hexdigest()


def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(_tokenizer_bytes().decode("utf-8"))
    tokenizer.enable_truncation(MINILM_TOKENS)
    # The file pads every text to one length; batches here are padded to their own longest.
    tokenizer.no_padding()
    return tokenizer


class LiteLLMEmbedder:
    """Any embedding model LiteLLM can call, in batches.

    Args:
        model: LiteLLM name; `openai/<model>` with an `api_base` for any OpenAI-compatible server.
        settings: Address, key variable, batch size, prefixes.
    """

    def __init__(self, model: str, settings: EmbeddingConfig | None = None) -> None:
        self.model = model
        self.settings = settings or EmbeddingConfig()
        self._dimension = self.settings.dimension
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> LiteLLMEmbedder:
        return self

    @property
    def name(self) -> str:
        """`litellm:<model>`."""
        return f"litellm:{self.model}"

    @property
    def dimension(self) -> int:
        """Length of a vector; asked from the server once when the config does not say."""
        with self._lock:
            if self._dimension is None:
                self._dimension = len(self._call(["dimension"])[0])
            return self._dimension

    @property
    def fingerprint(self) -> str:
        """A hash over model, address and prefixes."""
        s = self.settings
        return _hash(
            {"model": self.model, "api_base": s.api_base, "query": s.query_prefix, "document": s.document_prefix}
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, float32, shape [len(texts), dimension], in the order of the texts.

        Raises:
            DiscoError: `embedder/no-key`, `embedder/failed`, or `embedder/shape` when the reply does not fit.
        """
        prefix = self.settings.document_prefix
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        size = self.settings.batch_size
        rows: list[list[float]] = []
        for start in range(0, len(texts), size):
            rows += self._call([prefix + text for text in texts[start : start + size]])
        return self._vectors(rows)

    def embed_query(self, text: str) -> Vectors:
        """Returns one unit vector, float32, shape [dimension]. Raises as `embed_documents`."""
        return self._vectors(self._call([self.settings.query_prefix + text]))[0]

    def _vectors(self, rows: list[list[float]]) -> Vectors:
        with self._lock:
            self._dimension = self._dimension or len(rows[0])
        if any(len(row) != self._dimension for row in rows):
            raise DiscoError(
                "embedder/shape",
                f"Embedder {self.name!r} gave vectors of {len(rows[0])} numbers, not {self._dimension}.",
                "Correct dimension under [embedding] in disco.toml.",
                exit_code=5,
            )
        return unit(rows)

    def _call(self, texts: list[str]) -> list[list[float]]:
        import litellm

        options: dict[str, Any] = {"timeout": self.settings.timeout, "num_retries": 2}
        if self.settings.api_base:
            options["api_base"] = self.settings.api_base
        if key := self._key():
            options["api_key"] = key
        elif self.settings.api_base:
            # The OpenAI client insists on a key; a server of one's own takes any.
            options["api_key"] = "none"
        try:
            reply: Any = litellm.embedding(model=self.model, input=texts, **options)
        except litellm.exceptions.APIError as exc:
            raise self._failed(exc, retryable=True) from exc
        except Exception as exc:
            # LiteLLM's errors share no base class but OpenAI's and the built-in one.
            if not type(exc).__module__.startswith(("litellm", "openai", "httpx")):
                raise
            raise self._failed(exc, retryable=type(exc).__name__ in _TRANSIENT) from exc
        data = sorted(reply["data"], key=lambda row: row["index"])
        rows = [list(row["embedding"]) for row in data]
        if len(rows) != len(texts):
            raise DiscoError(
                "embedder/shape",
                f"Embedder {self.name!r} gave {len(rows)} vectors for {len(texts)} texts.",
                "Lower batch_size under [embedding] in disco.toml.",
                exit_code=5,
            )
        return rows

    def _key(self) -> str | None:
        variable = self.settings.api_key_env
        if variable is None:
            return None
        key = os.environ.get(variable, "").strip()
        if not key:
            raise DiscoError(
                "embedder/no-key",
                f"Embedder {self.name!r} needs a key, and the environment variable {variable} is not set.",
                f"Set it (export {variable}=...), or name another variable in api_key_env.",
                exit_code=5,
            )
        return key

    def _failed(self, exc: Exception, *, retryable: bool) -> DiscoError:
        # The class alone: a server's own words may repeat the key.
        return DiscoError(
            "embedder/failed",
            f"Embedder {self.name!r} failed ({type(exc).__name__}).",
            "Check model, api_base and api_key_env under [embedding] in disco.toml, and that the server runs.",
            retryable=retryable,
            exit_code=5,
        )


_TRANSIENT = {"APIConnectionError", "RateLimitError", "Timeout", "InternalServerError", "ServiceUnavailableError"}


def _hash(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
