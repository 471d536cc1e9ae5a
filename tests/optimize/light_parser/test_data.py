import json
from pathlib import Path

import pytest

from optimize.light_parser.data import folds, read_chunks
from signatures.errors import DiscoError

ROW = {
    "doc": "GUM_news_x", "genre": "news", "text": "A b. C d. E", "edus": [[0, 4], [5, 9], [10, 11]],
    "tree": [[1, 2, 3, "NN", "joint-list", False], [1, 1, 2, "NS", "causal-cause", True]],
}  # fmt: skip


def write(root: Path, row: dict, kind: str = "greedy") -> None:
    (root / "train").mkdir(exist_ok=True)
    (root / "train" / f"chunks_{kind}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")


def test_fine_labels_become_the_inventorys_and_cut_nodes_are_set_apart(tmp_path: Path) -> None:
    write(tmp_path, ROW)
    (chunk,) = read_chunks(tmp_path, ["train"], "greedy")
    assert chunk.nodes == ((0, 0, 1, "NS:cause"),)
    assert chunk.cut == {(0, 2)}
    assert chunk.starts == [0, 5, 10]


def test_a_missing_file_and_a_strange_label_are_told(tmp_path: Path) -> None:
    with pytest.raises(DiscoError) as caught:
        read_chunks(tmp_path, ["train"], "maximal")
    assert caught.value.code == "data/missing"
    write(tmp_path, {**ROW, "tree": [[1, 1, 3, "NS", "zzz-unheard"]]}, "maximal")
    with pytest.raises(DiscoError) as caught:
        read_chunks(tmp_path, ["train"], "maximal")
    assert caught.value.code == "data/label"


def test_folds_keep_documents_whole_and_spread_genres() -> None:
    names = [f"GUM_{genre}_{n}" for genre in ("bio", "news") for n in "abcd"]
    place = folds([*names, *names], 4)
    assert set(place) == set(names)
    for genre in ("bio", "news"):
        assert sorted(place[n] for n in names if genre in n) == [0, 1, 2, 3]
    assert place == folds(list(reversed(names)), 4)
