"""Disco-RAG at run time."""
