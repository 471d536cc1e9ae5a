from pathlib import Path
from typing import Any

import numpy as np
import pytest

from disco_dspy.light.forest import Forest
from disco_dspy.light.linear import Linear, pair_features
from disco_dspy.light.model import Model, Settings
from disco_dspy.light.parser import LightParser
from disco_dspy.light.store import save_arrays
from optimize.light_parser.data import read_chunks
from optimize.light_parser.grow import COMMON, fit_linear, flatten, grow_forest
from optimize.light_parser.train import prepare, rank_words, train
from signatures.relations import load_inventory
from signatures.tree import check_tree

lightgbm: Any = pytest.importorskip("lightgbm", reason="training needs the extra `train`")


@pytest.mark.parametrize("classes", [1, 3])
def test_the_numpy_walk_gives_what_lightgbm_gives(classes: int) -> None:
    draw = np.random.default_rng(1)
    x = draw.normal(size=(400, 6)).astype(np.float32)
    x[:, 3] = draw.integers(0, 4, 400)
    y = ((x[:, 0] + x[:, 3] > 1).astype(int) + (x[:, 1] > 1)) % max(classes, 2)
    goal = {"objective": "binary"} if classes == 1 else {"objective": "multiclass", "num_class": classes}
    booster = lightgbm.train({**COMMON, **goal, "min_data_in_leaf": 5}, lightgbm.Dataset(x, y), 20)
    forest = Forest(flatten(booster.dump_model()["tree_info"], classes))
    probe = np.concatenate([x, draw.normal(size=(400, 6)).astype(np.float32)])
    expected = booster.predict(probe, raw_score=True).reshape(len(probe), -1)
    assert np.allclose(forest.raw(probe), expected, atol=1e-5)


def test_growing_twice_gives_the_same_arrays() -> None:
    x = np.random.default_rng(2).normal(size=(300, 5)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    one, two = (grow_forest(x, y, 10, min_data_in_leaf=5) for _ in range(2))
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_a_name_that_tells_the_class_and_vectors_that_do_are_both_learned() -> None:
    names = [["the", "red"] if n % 2 else ["the", "blue"] for n in range(60)]
    y = np.array([n % 2 for n in range(60)])
    linear = Linear(fit_linear(names, y, 2, 1.0, 2))
    none = np.zeros((1, 4), dtype=np.float32)
    assert linear.softmax([["red", "unseen"]], none, none)[0, 1] > 0.8
    assert linear.softmax([["blue"]], none, none)[0, 0] > 0.8

    draw = np.random.default_rng(3)
    left, right = draw.normal(size=(60, 4)).astype(np.float32), draw.normal(size=(60, 4)).astype(np.float32)
    left[:, 0] = np.where(y == 1, 2, -2)
    basis = np.eye(4, 2, dtype=np.float16)
    arrays = fit_linear([["the"]] * 60, y, 2, 1.0, 2, pair_features(left, right, basis.astype(np.float32)))
    found = Linear({**arrays, "basis": basis}).softmax([["the"]] * 60, left, right)
    assert (found.argmax(axis=1) == y).all()


def test_a_tiny_training_run_is_repeatable_and_gives_a_working_parser(tmp_path: Path) -> None:
    root = tmp_path / "gum"
    (root / "train").mkdir(parents=True)
    gold = Path(__file__).resolve().parents[3] / "data" / "gum" / "train.jsonl"
    (root / "train" / "chunks_maximal.jsonl").write_text("\n".join(gold.read_text("utf-8").splitlines()[:12]), "utf-8")
    chunks = read_chunks(root, ["train"], "maximal")
    front = LightParser.frontend("light")
    analyses = [front.analyse(chunk.text) for chunk in chunks]
    ranked = rank_words(analyses)
    prepared = prepare(front, chunks, analyses, ranked)
    files = []
    for name in ("one", "two"):
        arrays = train(prepared, prepared, ranked, Settings(), encoded=False)
        save_arrays(tmp_path / f"{name}.npz", arrays)
        files.append((tmp_path / f"{name}.npz").read_bytes())
        parser = front.with_model(Model(arrays))
    assert files[0] == files[1]
    for chunk in chunks[:3]:
        check_tree(parser.parse(chunk.text), load_inventory("refined-19"))
