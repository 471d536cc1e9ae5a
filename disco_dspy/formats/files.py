"""One door to all formats: by name, or by the ending of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from disco_dspy.formats.brackets import read_brackets, write_brackets
from disco_dspy.formats.diagrams import tree_dot, tree_mermaid
from disco_dspy.formats.dis import read_dis, write_dis
from disco_dspy.formats.document import RSTDocument
from disco_dspy.formats.json_form import read_json, write_json
from disco_dspy.formats.problems import problem
from disco_dspy.formats.rs3_read import read_rs3
from disco_dspy.formats.rs3_write import write_rs3, write_rs4
from disco_dspy.formats.rsd import read_rsd
from disco_dspy.formats.rsd_write import write_rsd
from signatures.errors import DiscoError, nearest
from signatures.tree import RSTTree

Writer = Callable[[RSTTree | RSTDocument], str]


@dataclass(frozen=True)
class Format:
    """A format.

    Args:
        name: Also the ending of its files.
        write: Makes the text of a file.
        read: Reads one; None for formats that are only written.
        keeps: What survives writing and reading, in words.
    """

    name: str
    write: Writer
    read: Callable[[bytes, str], RSTDocument] | None
    keeps: str


def _text(read: Callable[[str, str], RSTDocument]) -> Callable[[bytes, str], RSTDocument]:
    def decoded(data: bytes, name: str) -> RSTDocument:
        try:
            return read(data.decode("utf-8-sig"), name)
        except UnicodeDecodeError as error:
            what = f"it is not UTF-8 text (byte {error.start})"
            raise problem("format/encoding", name, what, "Save the file as UTF-8.") from error

    return decoded


def _svg(document: RSTTree | RSTDocument) -> str:
    from disco_dspy.show.svg import tree_svg  # drawing is not needed to read and write

    return tree_svg(document.tree if isinstance(document, RSTDocument) else document)


_ALL = (
    Format("rs3", write_rs3, read_rs3, "the tree and declared relations"),
    Format("rs4", write_rs4, read_rs3, "the tree, declared relations, secondary edges and signals"),
    Format("dis", write_dis, _text(read_dis), "the tree"),
    Format("rsd", write_rsd, _text(read_rsd), "the tree, secondary edges and signals"),
    Format(
        "brackets",
        lambda document: write_brackets(document, texts=True),
        _text(lambda data, name: read_brackets(data, None, name)),
        "the tree",
    ),
    Format("json", write_json, _text(read_json), "everything"),
    Format("mermaid", tree_mermaid, None, "a diagram"),
    Format("dot", tree_dot, None, "a diagram"),
    Format("svg", _svg, None, "a picture"),
)
FORMATS: dict[str, Format] = {item.name: item for item in _ALL}
"""By name."""

_ENDINGS = {**{f".{name}": name for name in FORMATS}, ".mmd": "mermaid", ".gv": "dot"}


def find_format(name: str) -> Format:
    """Returns a format by its name.

    Args:
        name: As in `FORMATS`; case and a leading dot do not matter.

    Raises:
        DiscoError: `format/unknown`.
    """
    found = FORMATS.get(name.lower().removeprefix("."))
    if found is None:
        raise DiscoError("format/unknown", f"There is no format named {name!r}.", nearest(name, FORMATS), exit_code=2)
    return found


def _by_ending(path: Path) -> Format:
    name = _ENDINGS.get(path.suffix.lower())
    if name is None:
        what = f"The ending of {path.name} says nothing about its format."
        raise DiscoError("format/unknown", what, f"Name the format. {nearest(path.suffix, FORMATS)}", exit_code=2)
    return FORMATS[name]


def loads(data: bytes | str, format: str, name: str = "") -> RSTDocument:
    """Returns the document that a file holds.

    Args:
        data: Its content.
        format: Its format, as in `FORMATS`.
        name: For messages.

    Raises:
        DiscoError: `format/unknown`, `format/write-only`, or what is wrong with the content and on which line.
    """
    return _loads(data, find_format(format), name)


def _loads(data: bytes | str, format: Format, name: str) -> RSTDocument:
    if format.read is None:
        readable = ", ".join(item.name for item in _ALL if item.read)
        what = f"{format.name} is only written, it cannot be read back."
        raise DiscoError("format/write-only", what, f"Read one of: {readable}.", exit_code=2)
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return format.read(raw, name)


def dumps(document: RSTTree | RSTDocument, format: str) -> str:
    """Returns a document as the text of a file.

    Args:
        document: A document, or a plain tree.
        format: As in `FORMATS`.

    Raises:
        DiscoError: `format/unknown`, or `format/unit` if an edge or signal names EDUs that are no unit.
    """
    return find_format(format).write(document)


def read(path: str | Path, format: str | None = None) -> RSTDocument:
    """Returns the document of a file; its name is the file's without the ending.

    Args:
        path: The file.
        format: As in `FORMATS`; by default what the ending says.

    Raises:
        DiscoError: `format/unreadable`, or as `loads`.
    """
    path = Path(path)
    chosen = find_format(format) if format else _by_ending(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror or error}."
        raise DiscoError("format/unreadable", what, "Check the path and its permissions.") from error
    document = _loads(data, chosen, path.name)
    return replace(document, name=path.stem) if document.name == path.name else document


def write(document: RSTTree | RSTDocument, path: str | Path, format: str | None = None) -> None:
    """Writes a document to a file, whole or not at all.

    Args:
        document: A document, or a plain tree.
        path: The file; replaced if it is there.
        format: As in `FORMATS`; by default what the ending says.

    Raises:
        DiscoError: `format/unwritable`, or as `dumps`.
    """
    path = Path(path)
    text = (find_format(format) if format else _by_ending(path)).write(document)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # A lone surrogate has no UTF-8 form; every other character survives.
        part.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        what = f"{path} cannot be written: {error.strerror or error}."
        raise DiscoError("format/unwritable", what, "Check that the folder exists and has room.") from error
