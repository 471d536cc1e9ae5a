"""The `disco` command: one file a verb."""
