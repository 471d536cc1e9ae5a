"""Trees in the files of other tools: .rs3, .rs4, .dis, .rsd, brackets, JSON; and as Mermaid, DOT and SVG."""

from disco_dspy.formats.document import AS_WRITTEN, RSTDocument, SecondaryEdge, Signal, Span, as_document
from disco_dspy.formats.files import FORMATS, Format, dumps, find_format, loads, read, write

__all__ = [
    "AS_WRITTEN",
    "FORMATS",
    "Format",
    "RSTDocument",
    "SecondaryEdge",
    "Signal",
    "Span",
    "as_document",
    "dumps",
    "find_format",
    "loads",
    "read",
    "write",
]
