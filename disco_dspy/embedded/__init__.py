"""Language models that run inside this process."""

from disco_dspy.embedded.server import EmbeddedServer, running, start, stop_all

__all__ = ["EmbeddedServer", "running", "start", "stop_all"]
