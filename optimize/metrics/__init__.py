"""Metrics in [0, 1]: trees against gold, short answers, citations, conflicts between passages."""
