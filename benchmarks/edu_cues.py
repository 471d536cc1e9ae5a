"""Fits the cue table of `disco_dspy.corpus.units` to gold EDUs, and measures segmentation.

Run from the repository root: `python -m benchmarks.edu_cues DATA measure` (F1 on `DATA/gum_rst/dev`, from raw text), or
`python -m benchmarks.edu_cues DATA fit` (writes `disco_dspy/data/edu-cues.json` from `train` and `train_more`).
Only documents whose text is CC BY are fitted to (genres academic, court, interview, news), so that nothing derived from
CC BY-SA text ships. Logistic regression, L2, full-batch Adam; deterministic.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from disco_dspy.corpus.cues import borders
from disco_dspy.corpus.sentences import sentence_starts
from disco_dspy.corpus.units import edu_starts

_TABLE = Path(__file__).parent.parent / "disco_dspy" / "data" / "edu-cues.json"
_CC_BY = {"academic", "court", "interview", "news"}


def _documents(folder: Path) -> list[dict]:
    return [json.loads(path.read_text("utf-8")) for path in sorted((folder / "json").glob("*.json"))]


def measure(documents: list[dict], sentences: bool = False) -> tuple[float, float, float]:
    """Returns precision, recall and F1 in percent of EDU (or sentence) starts, summed over documents.

    The first start of a document counts, as in DISRPT.

    Args:
        documents: Gold documents.
        sentences: Score sentence starts.
    """
    match = given = wanted = 0
    for document in documents:
        gold = {start for start, _ in document["sentences" if sentences else "edus"]}
        found = set((sentence_starts if sentences else edu_starts)(document["text"]))
        match, given, wanted = match + len(gold & found), given + len(found), wanted + len(gold)
    return 100 * match / given, 100 * match / wanted, 200 * match / (given + wanted)


def fit(documents: list[dict], least: int = 3, l2: float = 3.0, steps: int = 400) -> dict[str, float]:
    """Returns feature weights (log-odds), small ones left out.

    Args:
        documents: Gold documents.
        least: A feature must be seen so often.
        l2: Strength of the penalty.
        steps: Of Adam.
    """
    examples: list[tuple[list[str], bool]] = []
    for document in documents:
        gold = {start for start, _ in document["edus"]}
        opening = {start for start, _ in document["sentences"]}
        examples.extend((names, offset in gold) for offset, names in borders(document["text"], opening))
    counts = Counter(name for names, _ in examples for name in names)
    number = {name: i for i, name in enumerate(sorted(name for name, count in counts.items() if count >= least))}
    rows = [[number[name] for name in names if name in number] for names, _ in examples]
    columns = np.concatenate([np.asarray(row) for row in rows])
    owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    gold_labels = np.asarray([label for _, label in examples], dtype=float)
    weights, first, second = (np.zeros(len(number)) for _ in range(3))
    for step in range(1, steps + 1):
        odds = np.bincount(owner, weights=weights[columns], minlength=len(rows))
        error = 1 / (1 + np.exp(-odds)) - gold_labels
        slope = (np.bincount(columns, weights=error[owner], minlength=len(number)) + l2 * weights) / len(rows)
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        rate = 0.05 if step < 0.6 * steps else 0.01
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return {name: round(float(weights[i]), 2) for name, i in number.items() if abs(weights[i]) >= 0.1}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with gum_rst/")
    parser.add_argument("what", choices=["fit", "measure"])
    arguments = parser.parse_args()
    gum = arguments.data / "gum_rst"
    if arguments.what == "fit":
        chosen = [d for part in ("train", "train_more") for d in _documents(gum / part) if d["genre"] in _CC_BY]
        weights = fit(chosen)
        about = f"Fitted by benchmarks/edu_cues.py to the gold EDUs of {len(chosen)} GUM V11.1.0 documents (CC BY)."
        table = json.dumps({"about": about, "weights": weights}, ensure_ascii=False, indent=0, sort_keys=True)
        _TABLE.write_text(table + "\n", "utf-8")
    for what in ("sentences", "edus"):
        precision, recall, f1 = measure(_documents(gum / "dev"), sentences=what == "sentences")
        sys.stdout.write(f"{what}: P {precision:.1f} R {recall:.1f} F1 {f1:.1f}\n")


if __name__ == "__main__":
    main()
