"""Benchmarks by name; each module says where its items come from and what its score is."""

from __future__ import annotations

from optimize.benchmarks.base import Benchmark, adopt
from optimize.benchmarks.gum import Gum
from optimize.benchmarks.hotpotqa import HotpotQA
from optimize.benchmarks.ramdocs import RamDocs
from signatures.errors import DiscoError, nearest

__all__ = ["BENCHMARKS", "Benchmark", "adopt", "find_benchmark"]

BENCHMARKS: dict[str, type[Benchmark]] = {kind.name: kind for kind in (Gum, HotpotQA, RamDocs)}


def find_benchmark(name: str) -> Benchmark:
    """Makes the benchmark of a name; its data is read when first needed.

    Raises:
        DiscoError: `benchmark/unknown`, with the nearest name.
    """
    if name not in BENCHMARKS:
        raise DiscoError(
            "benchmark/unknown", f"There is no benchmark {name!r}.", nearest(name, BENCHMARKS), exit_code=2
        )
    return BENCHMARKS[name]()
