"""Model files: what exists, what is here, and how to fetch the rest."""

from disco_dspy.models.registry import CACHE_ENV, Model, cache_dir, model_names, models_dir, registered

__all__ = ["CACHE_ENV", "Model", "cache_dir", "model_names", "models_dir", "registered"]
