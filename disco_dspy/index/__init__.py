"""A searchable corpus in one directory: SQLite catalogue, FAISS vectors, BM25."""

from disco_dspy.index.index import Hit, Index, IndexReport, IndexStatus, ProgressEvent
from disco_dspy.index.settings import IndexSettings, preset
from disco_dspy.protocols import Embedder

__all__ = ["Embedder", "Hit", "Index", "IndexReport", "IndexSettings", "IndexStatus", "ProgressEvent", "preset"]
