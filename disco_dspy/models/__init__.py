"""Model files: what exists, what is here, and how to fetch the rest."""

from disco_dspy.models.pull import Progress, PullProgress, pull
from disco_dspy.models.registry import CACHE_ENV, Model, cache_dir, model_names, models_dir, registered
from disco_dspy.models.store import ModelStatus, list_models, path

__all__ = [
    "CACHE_ENV",
    "Model",
    "ModelStatus",
    "Progress",
    "PullProgress",
    "cache_dir",
    "list_models",
    "model_names",
    "models_dir",
    "path",
    "pull",
    "registered",
]
