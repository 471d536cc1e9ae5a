"""Reading XML from strangers: no document type, no entities of its own, line numbers kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from disco_dspy.formats.problems import problem

# The largest file of GUM has 0.2 MB.
_MAX_BYTES = 64 * 2**20
_MAX_DEPTH = 64
_MENDED = "Repair the file, or export it again from the tool it came from."


@dataclass
class Element:
    """One element in document order.

    Args:
        tag: Its name.
        attributes: As written, entities resolved.
        line: Where it opens.
        text: All text inside it.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""


@dataclass
class _Collector:
    name: str
    parser: expat.XMLParserType
    elements: list[Element] = field(default_factory=list)
    open: list[tuple[Element, list[str]]] = field(default_factory=list)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= _MAX_DEPTH:
            raise problem("format/xml", self.name, f"elements are nested deeper than {_MAX_DEPTH}", _MENDED, self.line)
        element = Element(tag, attributes, self.line)
        self.elements.append(element)
        self.open.append((element, []))

    def end(self, tag: str) -> None:
        element, parts = self.open.pop()
        element.text = "".join(parts)
        if self.open:
            self.open[-1][1].extend(parts)

    def data(self, text: str) -> None:
        if self.open:
            self.open[-1][1].append(text)

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def refuse(self, *_: object) -> None:
        # A document type can declare entities that grow without bound or read other files; no tool needs one here.
        raise problem(
            "format/dtd",
            self.name,
            "the XML has a document type declaration, which is refused because it can hide an attack",
            "Delete the <!DOCTYPE ...> part; .rs3 and .rs4 files do not need it.",
            self.line,
        )


def read_xml(data: bytes | str, name: str = "") -> list[Element]:
    """Returns the elements of an XML file in document order.

    Args:
        data: Bytes in the encoding they declare (UTF-8 by default), or text.
        name: Of the file, for messages.

    Raises:
        DiscoError: `format/too-large`, `format/dtd` or `format/xml` with the line.
    """
    if isinstance(data, str):
        data, encoding = data.removeprefix("\ufeff").encode("utf-8", "surrogatepass"), "utf-8"
    else:
        encoding = None
    if len(data) > _MAX_BYTES:
        size = f"it has {len(data) / 2**20:.0f} MB, more than {_MAX_BYTES // 2**20}"
        raise problem("format/too-large", name, size, "Split it into one file a document.")
    parser = expat.ParserCreate(encoding)
    collector = _Collector(name, parser)
    parser.buffer_text = True
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.CharacterDataHandler = collector.data
    parser.StartDoctypeDeclHandler = collector.refuse
    parser.EntityDeclHandler = collector.refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        # Besides its own error, expat lets through what Python says of an unknown encoding.
        what, line = _explain(error)
        raise problem("format/xml", name, what, _MENDED, line) from error
    return collector.elements


def _explain(error: Exception) -> tuple[str, int | None]:
    if not isinstance(error, expat.ExpatError):
        return f"the XML cannot be decoded ({error})", None
    reason = expat.ErrorString(error.code) or "unknown error"
    if error.code in _TRUNCATED:
        return f"the XML ends too early or is not XML ({reason}, column {error.offset + 1})", error.lineno
    return f"the XML is broken ({reason}, column {error.offset + 1})", error.lineno


_TRUNCATED = {
    expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
    expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
    expat.errors.codes[expat.errors.XML_ERROR_PARTIAL_CHAR],
}
