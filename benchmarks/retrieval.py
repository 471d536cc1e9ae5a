"""Compares dense, BM25 and hybrid retrieval on passages of HotpotQA, MuSiQue and RAMDocs.

Run: `python -m benchmarks.retrieval DATA --embedder minilm` (DATA holds `hotpotqa/`, `musique/`, `ramdocs/`), from the
repository root. Each set's passages are pooled, duplicates removed, and indexed together, so a question competes with
the passages of all others. Everything is deterministic; the output is a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from disco_dspy.index import Embedder, Index, IndexSettings

KS = (5, 10)


@dataclass(frozen=True)
class Item:
    """A question and the passages (titles and texts) that answer it."""

    question: str
    gold: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Set:
    """A pooled retrieval set."""

    name: str
    passages: tuple[tuple[str, str], ...]
    items: tuple[Item, ...]


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def _pool(name: str, parts: Sequence[tuple[str, Sequence[tuple[str, str, bool]]]]) -> Set:
    passages: dict[tuple[str, str], None] = {}
    items = []
    for question, found in parts:
        for title, text, _ in found:
            passages.setdefault((title, text))
        gold = frozenset((title, text) for title, text, good in found if good)
        if gold:
            items.append(Item(question, gold))
    return Set(name, tuple(passages), tuple(items))


def load_sets(data: Path) -> list[Set]:
    """Reads the three sets.

    Args:
        data: The folder that holds `hotpotqa`, `musique` and `ramdocs`.
    """
    hotpot = []
    for row in _rows(next((data / "hotpotqa").glob("*.jsonl"))):
        gold = {title for title, _ in row["supporting_facts"]}
        hotpot.append((row["question"], [(t, "".join(s).strip(), t in gold) for t, s in row["context"]]))
    musique = []
    for row in _rows(next((data / "musique").glob("*.jsonl"))):
        found = [(p["title"], p["paragraph_text"].strip(), p["is_supporting"]) for p in row["paragraphs"]]
        musique.append((row["question"], found))
    ramdocs = []
    for row in _rows(next((data / "ramdocs").glob("*.jsonl"))):
        # A misleading document is about the question too: finding it is right, judging it is the later roles' work.
        ramdocs.append((row["question"], [("", d["text"].strip(), d["type"] != "noise") for d in row["documents"]]))
    return [_pool("hotpotqa", hotpot), _pool("musique", musique), _pool("ramdocs", ramdocs)]


def score(index: Index, data: Set, name_of: dict[str, tuple[str, str]]) -> dict[str, np.ndarray]:
    """Returns recall at each k, whether all gold passages are in the first 10, and the reciprocal rank, per question.

    Args:
        index: Holds the passages.
        data: The questions.
        name_of: Document source -> passage.
    """
    rows: dict[str, list[float]] = {f"R@{k}": [] for k in KS} | {"all@10": [], "MRR@10": []}
    for item in data.items:
        ranked: list[tuple[str, str]] = []
        for hit in index.search(item.question, 30):
            passage = name_of[hit.chunk.source]
            if passage not in ranked:
                ranked.append(passage)
        for k in KS:
            rows[f"R@{k}"].append(len(item.gold & set(ranked[:k])) / len(item.gold))
        rows["all@10"].append(float(item.gold <= set(ranked[:10])))
        first = next((rank for rank, passage in enumerate(ranked[:10], start=1) if passage in item.gold), 0)
        rows["MRR@10"].append(1 / first if first else 0.0)
    return {name: np.asarray(values) for name, values in rows.items()}


def interval(differences: np.ndarray, seed: int = 0, draws: int = 5000) -> tuple[float, float]:
    """Returns the 95 % bootstrap interval of a mean.

    Args:
        differences: One value a question.
        seed: Of the draws.
        draws: How many.
    """
    generator = np.random.default_rng(seed)
    means = differences[generator.integers(0, len(differences), (draws, len(differences)))].mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def variants() -> list[tuple[str, IndexSettings]]:
    """Returns the settings that are compared, by name."""
    chosen = [
        ("dense, text only", IndexSettings(embed_title=False, retrieval="dense")),
        ("bm25, text only", IndexSettings(embed_title=False, retrieval="bm25")),
        ("hybrid k=5, text only", IndexSettings(embed_title=False, retrieval="hybrid", rrf_k=5)),
        ("dense, with title", IndexSettings(embed_title=True, retrieval="dense")),
        ("bm25, with title", IndexSettings(embed_title=True, retrieval="bm25")),
    ]
    for constant in (1, 5, 10, 20, 60):
        settings = IndexSettings(embed_title=True, retrieval="hybrid", rrf_k=constant)
        chosen.append((f"hybrid k={constant}, with title", settings))
    return chosen


def run(sets: Sequence[Set], embedder: Embedder, out: Callable[[str], object]) -> None:
    """Measures every variant on every set and writes the tables.

    Args:
        sets: From `load_sets`.
        embedder: For the dense part.
        out: Takes one line of Markdown at a time.
    """
    baseline = "dense, with title"
    for data in sets:
        with tempfile.TemporaryDirectory() as place:
            corpus = Path(place) / "corpus"
            corpus.mkdir()
            records = [{"id": str(n), "title": t, "text": x} for n, (t, x) in enumerate(data.passages)]
            lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
            (corpus / "p.jsonl").write_text(lines, "utf-8")
            name_of = {f"p.jsonl#{n}": passage for n, passage in enumerate(data.passages)}
            results: dict[str, dict[str, np.ndarray]] = {}
            for name, settings in variants():
                folder = Path(place) / ("titles" if settings.embed_title else "texts")
                with Index.open_or_create(folder, settings, embedder) as index:
                    index.update(corpus)
                    results[name] = score(index, data, name_of)
        out(f"\n{data.name}: {len(data.items)} questions, {len(data.passages)} passages\n")
        out("| retrieval | R@5 | R@10 | all@10 | MRR@10 | R@10 against dense with title (95 % interval) |")
        out("| --- | --- | --- | --- | --- | --- |")
        for name, values in results.items():
            means = " | ".join(f"{100 * values[column].mean():.1f}" for column in ("R@5", "R@10", "all@10", "MRR@10"))
            difference = 100 * (values["R@10"] - results[baseline]["R@10"])
            low, high = interval(difference)
            beside = "" if name == baseline else f"{difference.mean():+.1f} ({low:+.1f} to {high:+.1f})"
            out(f"| {name} | {means} | {beside} |")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with hotpotqa/, musique/ and ramdocs/")
    parser.add_argument("--embedder", default="minilm", help="as in disco.toml")
    arguments = parser.parse_args()
    from disco_dspy.embedders import load_embedder

    embedder = load_embedder(arguments.embedder)
    run(load_sets(arguments.data), embedder, lambda line: sys.stdout.write(line + "\n"))


if __name__ == "__main__":
    main()
