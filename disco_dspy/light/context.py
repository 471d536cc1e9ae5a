"""Vectors of EDUs from the MiniLM sentence encoder (the richer form's extra)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from signatures.errors import DiscoError

_WIDTH = 128
_BATCH = 8
_FIRST, _LAST = 101, 102  # [CLS] and [SEP] of its vocabulary


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

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Returns unit vectors, float32 [texts, 384]; long texts are cut at 126 word pieces.

        Args:
            texts: EDUs, each on one line, each read by itself: vectors in context were no better.
        """
        out = np.zeros((len(texts), 384), dtype=np.float32)
        pieces = [
            encoding.ids[: _WIDTH - 2]
            for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]
        # Like lengths together: a batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda number: len(pieces[number]))
        for at in range(0, len(order), _BATCH):
            rows = order[at : at + _BATCH]
            shape = (len(rows), max(len(pieces[row]) for row in rows) + 2)
            ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
            for line, row in enumerate(rows):
                ids[line, : len(pieces[row]) + 2] = [_FIRST, *pieces[row], _LAST]
                mask[line, : len(pieces[row]) + 2] = 1
            feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros(shape, dtype=np.int64)}
            (states,) = self._session.run(["last_hidden_state"], feeds)
            out[rows] = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return out / (np.linalg.norm(out, axis=1, keepdims=True) + 1e-9)
