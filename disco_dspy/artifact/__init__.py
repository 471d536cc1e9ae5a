"""Program artifacts: a compiled program as three files, checked before anything in them is used."""

from disco_dspy.artifact.check import verify
from disco_dspy.artifact.load import load
from disco_dspy.artifact.manifest import Cost, Manifest, Metric, Provenance, Score
from disco_dspy.artifact.save import save

__all__ = ["Cost", "Manifest", "Metric", "Provenance", "Score", "load", "save", "verify"]
