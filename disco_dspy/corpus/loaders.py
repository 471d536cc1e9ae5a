"""Reads a folder of txt, md, html and jsonl files into documents; a bad file is reported and never ends the run."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from disco_dspy.corpus.html import html_to_text
from disco_dspy.corpus.types import Document, FileProblem
from signatures.errors import DiscoError

_TEXT = {".txt", ".text", ".md", ".markdown"}
_HTML = {".html", ".htm", ".xhtml"}
_ROWS = {".jsonl", ".ndjson"}
SUFFIXES = frozenset(_TEXT | _HTML | _ROWS)

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_HEADING = re.compile(r"^[ ]{0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")


class LoaderSettings(Protocol):
    """The settings a loader reads; `IndexSettings` has them."""

    @property
    def encoding(self) -> str:
        """Encoding of files without a byte-order mark."""
        ...

    @property
    def text_field(self) -> str:
        """JSON Lines field with the text."""
        ...

    @property
    def title_field(self) -> str:
        """JSON Lines field with the title."""
        ...

    @property
    def id_field(self) -> str:
        """JSON Lines field that names a record."""
        ...


class _Problem(Exception):
    """A file or record that cannot be used; becomes a FileProblem."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code, self.sentence = code, sentence


def find_files(
    folder: Path, exclude: Iterable[Path] = (), onerror: Callable[[OSError], object] | None = None
) -> Iterator[Path]:
    """Yields the files below a folder, hidden ones left out, following links without looping.

    Args:
        folder: Where to look.
        exclude: Folders to leave out, such as the index itself.
        onerror: Told about each folder that cannot be listed; `filename` of the error names it.
    """
    left_out = {path.resolve() for path in exclude}
    seen: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(folder, onerror=onerror, followlinks=True):
        here = Path(place)
        status = here.stat()
        if (status.st_dev, status.st_ino) in seen or here.resolve() in left_out:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (here / name for name in sorted(names) if not name.startswith("."))


def load_folder(path: Path, settings: LoaderSettings, exclude: Iterable[Path] = ()) -> Iterator[Document | FileProblem]:
    """Reads every document below a folder (or the one file given), in order of path.

    Args:
        path: A folder, or one file of a known type.
        settings: Encoding and the names of the JSON Lines fields.
        exclude: Folders to leave out.

    Yields:
        A document for each usable file or record, a problem for each that is not. Problems with severity `skipped` are
        files of other types.

    Raises:
        DiscoError: `corpus/missing` if the path does not exist, `corpus/empty` if it holds no file of a known type,
            `corpus/encoding` for an unknown encoding name.
    """
    path = Path(path)
    kinds = "Give a folder with .txt, .md, .html or .jsonl files."
    if not path.exists():
        raise DiscoError("corpus/missing", f"There is no folder {str(path)!r}.", kinds)
    try:
        codecs.lookup(settings.encoding)
    except LookupError as error:
        raise DiscoError(
            "corpus/encoding", f"There is no text encoding {settings.encoding!r}.", "Use a name such as utf-8."
        ) from error
    root = path if path.is_dir() else path.parent
    closed: list[OSError] = []
    files = sorted(find_files(path, exclude, closed.append), key=lambda file: file.relative_to(root).as_posix())
    if not path.is_dir():
        files = [path]
    if not any(file.suffix.lower() in SUFFIXES for file in files):
        raise DiscoError("corpus/empty", f"{str(path)!r} holds no file that can be read.", kinds)
    return _load_files(root, files, closed, settings)


def _load_files(
    root: Path, files: list[Path], closed: list[OSError], settings: LoaderSettings
) -> Iterator[Document | FileProblem]:
    for error in closed:
        name = Path(str(error.filename)).relative_to(root).as_posix()
        sentence = f"Folder {name} cannot be listed: {error.strerror or error}."
        yield FileProblem(name, "corpus/unreadable", sentence)
    for file in files:
        source = _SURROGATE.sub("\ufffd", file.relative_to(root).as_posix())
        suffix = file.suffix.lower()
        if suffix not in SUFFIXES:
            yield FileProblem(source, "corpus/type", f"{source} is not of a type that is read.", "skipped")
            continue
        try:
            text = _read(file, settings.encoding)
            if suffix in _ROWS:
                yield from _rows(source, text, settings)
            else:
                yield _single(source, suffix, text)
        except _Problem as problem:
            yield FileProblem(source, problem.code, f"{source} {problem.sentence}")


def _read(file: Path, encoding: str) -> str:
    try:
        if not file.is_file():
            raise _Problem("corpus/unreadable", "is not a regular file or a link that leads nowhere.")
        raw = file.read_bytes()
    except OSError as error:
        raise _Problem("corpus/unreadable", f"cannot be read: {error.strerror or error}.") from error
    mark = next((name for bom, name in _MARKS if raw.startswith(bom)), None)
    if mark is None and b"\x00" in raw[:65536]:
        raise _Problem("corpus/binary", "is binary, not text.")
    try:
        text = raw.decode(mark or encoding)
    except UnicodeError as error:
        raise _Problem("corpus/encoding", f"is not valid {mark or encoding}; convert it or set `encoding`.") from error
    if not text.strip():
        raise _Problem("corpus/blank", "is empty." if not text else "holds only whitespace.")
    return text


def _single(source: str, suffix: str, text: str) -> Document:
    title = source.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    if suffix in _HTML:
        try:
            found, text = html_to_text(text)
        except (RecursionError, ValueError, AssertionError) as error:
            raise _Problem("corpus/html", f"cannot be parsed as HTML: {type(error).__name__}.") from error
        title = found or title
        if not text.strip():
            raise _Problem("corpus/blank", "holds no visible text.")
    elif suffix in {".md", ".markdown"}:
        heading = _HEADING.search(text)
        title = heading.group(1).strip() if heading else title
    return Document.make(source, text, title)


def _rows(source: str, text: str, settings: LoaderSettings) -> Iterator[Document | FileProblem]:
    used: set[str] = set()
    # Not splitlines(): JSON strings may hold U+2028 and other characters that it takes for line ends.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name = f"{source}#{number}"
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise _Problem("corpus/row", "is not a JSON object.")
            body = row.get(settings.text_field)
            if not isinstance(body, str):
                fields = ", ".join(sorted(row)[:8]) or "none"
                raise _Problem(
                    "corpus/row",
                    f"has no text in field {settings.text_field!r}; its fields: {fields}; set `text_field`.",
                )
            if not body.strip():
                raise _Problem("corpus/blank", "holds only whitespace.")
            if _SURROGATE.search(body):
                raise _Problem("corpus/encoding", "holds half of a character (a lone surrogate).")
        except (ValueError, RecursionError) as error:
            yield FileProblem(name, "corpus/json", f"{name} is not valid JSON: {error}.")
            continue
        except _Problem as problem:
            yield FileProblem(name, problem.code, f"{name} {problem.sentence}")
            continue
        given = row.get(settings.id_field)
        wanted = f"{source}#{given}" if isinstance(given, str | int) and str(given).strip() else name
        wanted = _SURROGATE.sub("\ufffd", wanted)
        if wanted in used:
            wanted = f"{wanted}@{number}"
        used.add(wanted)
        title = row.get(settings.title_field)
        title = _SURROGATE.sub("\ufffd", title.strip()) if isinstance(title, str) else ""
        yield Document.make(wanted, body, title, {"row": str(number)})
