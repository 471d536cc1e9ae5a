"""From files to documents, chunks, sentences and EDU candidates, always with exact character offsets."""
