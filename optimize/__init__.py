"""Benchmarks, metrics, optimisers and campaigns that compile Disco-RAG programs."""
