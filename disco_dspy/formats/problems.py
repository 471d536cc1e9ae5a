"""How the readers say what is wrong with a file, and where."""

from __future__ import annotations

from signatures.errors import DiscoError


def problem(code: str, name: str, what: str, remedy: str, line: int | None = None) -> DiscoError:
    """Returns an error about a file.

    Args:
        code: `format/...`.
        name: Of the file; may be empty.
        what: Clause without a full stop.
        remedy: Sentence.
        line: Line number from 1, where there is one.
    """
    where = ", ".join(part for part in (name, f"line {line}" if line else "") if part)
    return DiscoError(code, f"{where}: {what}." if where else f"{what[:1].upper()}{what[1:]}.", remedy)
