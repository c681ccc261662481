"""Reading of untrusted XML: elements with their lines. No document types, no entities, limited depth and size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from pliant.language.faults import Fault, SpecError
from pliant.language.limits import limits, most

MAX_DEPTH = 400


@dataclass
class Element:
    """An element: its tag, attributes, children, and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def get(self, name: str, otherwise: str = "") -> str:
        """An attribute without surrounding spaces, or `otherwise`."""
        return self.attributes.get(name, otherwise).strip()

    def all(self, tag: str) -> list[Element]:
        """The children of that tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child of that tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and all elements in it, in the order of the text."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting.extend(reversed(here.children))


def read_markup(data: bytes, file: str) -> Element:
    """The root element of XML; raises SpecError if it is not well formed, or not allowed here."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    skipped = data[: len(data) - len(start)].count(b"\n")  # XML allows nothing before the declaration, so it is removed
    reader = _Reader(file, skipped)
    try:
        reader.parser.Parse(start, True)
    except expat.ExpatError as error:
        message = f"the XML is not well formed: {expat.ErrorString(error.code)}"
        raise SpecError([Fault(message, file=file, line=error.lineno + skipped)], file) from None
    except (LookupError, ValueError) as error:
        raise SpecError([Fault(f"the XML cannot be read: {error}", "save it as UTF-8", file=file)], file) from None
    assert reader.root is not None, "well-formed XML has a root"
    return reader.root


class _Reader:
    """Builds elements from the events of the parser."""

    def __init__(self, file: str, skipped: int) -> None:
        self.file, self.skipped = file, skipped
        self.root: Element | None = None
        self.open: list[Element] = []
        self.left = int(limits().values)
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._refuse_type
        self.parser.EntityDeclHandler = self._refuse_type
        self.parser.ExternalEntityRefHandler = self._refuse_type

    def _fail(self, message: str, hint: str) -> SpecError:
        line = self.parser.CurrentLineNumber + self.skipped
        return SpecError([Fault(message, hint, file=self.file, line=line)], self.file)

    def _refuse_type(self, *_: object) -> int:
        raise self._fail("document types and entities are not allowed", "remove the <!DOCTYPE ...> declaration")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self._fail("elements are nested too deeply", f"at most {MAX_DEPTH} levels")
        self.left -= 1 + len(attributes)
        if self.left < 0:
            raise self._fail("the file contains too many values", most("values"))
        here = Element(tag, attributes, self.parser.CurrentLineNumber + self.skipped)
        if self.open:
            self.open[-1].children.append(here)
        else:
            self.root = here
        self.open.append(here)

    def _end(self, tag: str) -> None:
        self.open.pop()
