"""Contextual vectors of tokens from the MiniLM sentence encoder, one pass over the text (the richer form's extra)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from disco_dspy.light.tokens import Tokens
from signatures.errors import DiscoError

_WIDTH = 256  # the encoder was trained on that many pieces
_SHARED = 64  # pieces two neighbouring windows have in common


def find_encoder(*, required: bool) -> Encoder | None:
    """Returns the encoder if its extra is installed and its model was pulled.

    Args:
        required: Whether to raise where it is not.

    Raises:
        DiscoError: `extra/local` or `model/absent`, if required.
    """
    if find_spec("onnxruntime") is None or find_spec("tokenizers") is None:
        if not required:
            return None
        raise DiscoError(
            "extra/local",
            "The rich light parser reads MiniLM through onnxruntime, which is not installed.",
            'Run `pip install "disco-dspy[local]"`, or use the form "light".',
            exit_code=5,
        )
    from disco_dspy.models import path

    try:
        return Encoder(path("minilm"))
    except DiscoError:
        if required:
            raise
        return None


class Encoder:
    """MiniLM in int8 through onnxruntime.

    Args:
        model: The ONNX file.
        threads: CPU threads.

    Raises:
        ImportError: If onnxruntime or tokenizers is not installed.
    """

    def __init__(self, model: Path, threads: int = 1) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        file = resources.files("disco_dspy").joinpath("data", "minilm-tokenizer.json")
        self._tokenizer: Any = Tokenizer.from_str(file.read_text("utf-8"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def states(self, text: str, tokens: Tokens) -> np.ndarray:
        """Returns float32 [tokens, 384]: the mean of the states of each token's word pieces, zero where it has none.

        Args:
            text: The text the tokens are of.
            tokens: Its tokens.
        """
        pieces = self._tokenizer.encode(text, add_special_tokens=False)
        states = self._run(pieces.ids)
        out = np.zeros((len(tokens), states.shape[1] if len(states) else 384), dtype=np.float32)
        count = np.zeros(len(tokens), dtype=np.float32)
        at = 0
        for row, (start, end) in enumerate(pieces.offsets):
            while at < len(tokens) and tokens.ends[at] <= start:
                at += 1
            token = at
            while token < len(tokens) and tokens.starts[token] < end:
                out[token] += states[row]
                count[token] += 1
                token += 1
        return out / np.maximum(count, 1)[:, None]

    def _run(self, ids: Sequence[int]) -> np.ndarray:
        first, last = 101, 102  # [CLS] and [SEP]
        blocks: list[np.ndarray] = []
        done = 0
        while done < len(ids):
            begin = max(done - _SHARED, 0)
            window = list(ids[begin : begin + _WIDTH - 2])
            row = np.array([[first, *window, last]], dtype=np.int64)
            feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
            (states,) = self._session.run(["last_hidden_state"], feeds)
            blocks.append(states[0, 1 + done - begin : 1 + len(window)])
            done = begin + len(window)
        return np.concatenate(blocks) if blocks else np.zeros((0, 384), dtype=np.float32)
