"""Seeded splits: which items tune, which choose, which judge."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dspy

from signatures.errors import DiscoError

NAMES = ("train", "val", "heldout")


@dataclass(frozen=True)
class Splits:
    """Disjoint examples: `train` to learn from, `val` to choose candidates by, `heldout` for before and after."""

    train: tuple[dspy.Example, ...]
    val: tuple[dspy.Example, ...]
    heldout: tuple[dspy.Example, ...]

    def ids(self) -> dict[str, list[str]]:
        """Item ids of each split, in order, for the record."""
        return {name: [example.id for example in getattr(self, name)] for name in NAMES}


def split(
    tune: Sequence[dspy.Example],
    judge: Sequence[dspy.Example] | None,
    seed: int,
    limits: Mapping[str, int] | None = None,
) -> Splits:
    """Shuffles with the seed and cuts.

    Args:
        tune: Items that may be learnt from.
        judge: Items that may only measure (a benchmark's own dev part), or None to set 40 % of `tune` aside.
        seed: Same seed, same splits, whatever the order of calls.
        limits: Most items of `train`, `val`, `heldout`; absent means all.

    Raises:
        DiscoError: `split/empty` when a part would hold no item.
    """
    rng = random.Random(f"splits-{seed}")
    pool = list(tune)
    rng.shuffle(pool)
    if judge is None:
        cut = round(len(pool) * 0.4)
        heldout, pool = pool[:cut], pool[cut:]
    else:
        heldout = list(judge)
        rng.shuffle(heldout)
    # A third of the tuning pool chooses between candidates: fewer items pick winners by luck.
    cut = round(len(pool) / 3)
    parts = {"train": pool[cut:], "val": pool[:cut], "heldout": heldout}
    for name, most in (limits or {}).items():
        parts[name] = parts[name][:most]
    empty = [name for name in NAMES if not parts[name]]
    if empty:
        raise DiscoError(
            "split/empty",
            f"The {' and '.join(empty)} split holds no item.",
            "Raise --items, or point DISCO_DATA at more data.",
        )
    return Splits(*(tuple(parts[name]) for name in NAMES))


def parse_limits(text: str) -> dict[str, int]:
    """Reads `train=20,val=10,heldout=30`, or one number for all three.

    Raises:
        DiscoError: `split/limits` when a name or number cannot be read.
    """
    if not text.strip():
        return {}
    try:
        if text.strip().isdigit():
            limits: dict[str, int] = {name: int(text) for name in NAMES}
        else:
            limits = {name.strip(): int(most) for name, most in (part.split("=") for part in text.split(","))}
    except ValueError as error:
        raise DiscoError(
            "split/limits", f"--items {text!r} cannot be read.", "Write train=20,val=10,heldout=30.", exit_code=2
        ) from error
    wrong = [name for name in limits if name not in NAMES]
    if wrong or any(most < 1 for most in limits.values()):
        raise DiscoError(
            "split/limits",
            f"--items {text!r} names no split or no positive number.",
            "Write train=20,val=10,heldout=30 with numbers of at least 1.",
            exit_code=2,
        )
    return limits
