"""Settings of a corpus and its index."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from signatures.errors import DiscoError, nearest


class IndexSettings(BaseModel):
    """How a folder becomes an index and how it is searched.

    `chunk_size`, `overlap`, `tokenizer`, `sentence_aware` and `embed_title` shape what is stored: an index keeps those
    it was made with. The others may change from run to run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    chunk_size: int = Field(default=256, ge=8, description="Most tokens in a chunk.")
    overlap: int = Field(default=0, ge=0, description="Most tokens a chunk repeats from the one before.")
    tokenizer: Literal["minilm"] = Field(default="minilm", description="What counts the tokens.")
    sentence_aware: bool = Field(default=True, description="Cut at sentence borders; false is the paper's plain cut.")
    embed_title: bool = Field(default=True, description="Put the document's title before a chunk when it is embedded.")
    retrieval: Literal["dense", "bm25", "hybrid"] = Field(default="hybrid", description="How chunks are found.")
    top_k: int = Field(default=10, ge=1, description="Chunks for a question.")
    rrf_k: int = Field(default=5, ge=1, description="Constant of reciprocal rank fusion.")
    embed_batch: int = Field(default=32, ge=1, description="Texts embedded and saved at a time.")
    encoding: str = Field(default="utf-8", description="Encoding of files without a byte-order mark.")
    text_field: str = Field(default="text", description="JSON Lines field with the text.")
    title_field: str = Field(default="title", description="JSON Lines field with the title, if there is one.")
    id_field: str = Field(default="id", description="JSON Lines field with the record's name, if there is one.")

    @model_validator(mode="after")
    def _fits(self) -> IndexSettings:
        if self.overlap >= self.chunk_size:
            raise ValueError(f"overlap {self.overlap} must be smaller than chunk_size {self.chunk_size}")
        return self

    def shape(self) -> dict[str, object]:
        """Returns the settings that stored chunks and vectors depend on."""
        return self.model_dump(include={"chunk_size", "overlap", "tokenizer", "sentence_aware", "embed_title"})


_PRESETS = {
    "default": IndexSettings(),
    # facts of the paper: 256 tokens, no overlap, plain cut, dense top 10
    "paper": IndexSettings(sentence_aware=False, embed_title=False, retrieval="dense"),
}


def preset(name: str) -> IndexSettings:
    """Returns named settings: `default`, or `paper` (plain cut at 256 tokens, dense top 10).

    Args:
        name: One of the two.

    Raises:
        DiscoError: `settings/preset` for any other name.
    """
    if name not in _PRESETS:
        raise DiscoError("settings/preset", f"There is no index preset {name!r}.", nearest(name, _PRESETS))
    return _PRESETS[name]
