"""Measurements behind decisions; each script re-runs from a data folder."""
