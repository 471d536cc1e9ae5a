"""Trains and measures the light parser of `disco_dspy.light`; see docs/light-parser.md."""
