"""MurmurHash, as the tagger's hashed embedding tables need it: one hash from text, four row numbers from each hash."""

from __future__ import annotations

import numpy as np

_MASK = (1 << 64) - 1
_M = 0xC6A4A7935BD1E995


def hash_text(text: str) -> int:
    """Returns the 64-bit MurmurHash64A (seed 1) of a text's UTF-8 bytes; 0 for the empty text."""
    data = text.encode("utf-8", "surrogatepass")
    if not data:
        return 0
    value = 1 ^ (len(data) * _M & _MASK)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at : at + 8], "little") * _M & _MASK
        k = (k ^ (k >> 47)) * _M & _MASK
        value = (value ^ k) * _M & _MASK
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    value = (value ^ (value >> 47)) * _M & _MASK
    return value ^ (value >> 47)


def row_numbers(value: int, seed: int) -> np.ndarray:
    """Returns four 32-bit keys (uint32) of a 64-bit hash, one for each row of a table that is added up."""

    def finish(h: int) -> int:
        h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD & _MASK
        h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
        return h ^ (h >> 33)

    h1 = value * 0x87C37B91114253D5 & _MASK
    h1 = (h1 << 31 | h1 >> 33) & _MASK
    h1 = h1 * 0x4CF5AD432745937F & _MASK
    h1 ^= seed ^ 8
    h2 = seed ^ 8
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return np.array([h1 & 0xFFFFFFFF, h1 >> 32, h2 & 0xFFFFFFFF, h2 >> 32], dtype=np.int64)
