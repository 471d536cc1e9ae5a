"""A small trained RST parser for English chunks: numpy only, no language model, a few dozen milliseconds a chunk."""
