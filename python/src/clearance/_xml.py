"""XML files of models, with the lines of their elements, and tables of what becomes of fields of models.

Files of models are often no XML in the strict sense, and what reads them elsewhere takes no notice. Here each such
fault is repaired in the text if that changes no element, and noted: :class:`Notes` lists them, or makes them errors.

- An XML declaration that is not at the start, one of an unknown version and a second one are taken out.
- Text that is not in the encoding that it states, UTF-8 by default, is read as Latin-1.
- A prefix without a namespace is a part of the name.
- What follows the root element is left out.

Entities are not expanded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable
from xml.parsers import expat

from ._errors import FileError, OptionError

_DECLARATION: Final = re.compile(r"<\?xml\s.*?\?>", re.DOTALL)
_ENCODING: Final = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_VERSION: Final = re.compile(r"""version\s*=\s*["'](.*?)["']""")


@runtime_checkable
class Readable(Protocol):
    """A file object."""

    def read(self) -> Any: ...


Given = str | os.PathLike[str] | bytes | Readable


class Element:
    """An element, with its text, its children and the line of its start."""

    __slots__ = ("attrib", "children", "line", "tag", "text")

    def __init__(self, tag: str, attrib: dict[str, str], line: int) -> None:
        self.tag, self.attrib, self.line = tag, attrib, line
        self.text, self.children = "", list[Element]()

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    def get(self, name: str, default: str | None = None) -> str | None:
        """An attribute."""
        return self.attrib.get(name, default)

    def findall(self, tag: str) -> list[Element]:
        """The children of a name."""
        return [c for c in self.children if c.tag == tag]

    def find(self, tag: str) -> Element | None:
        """The first child of a name."""
        return next((c for c in self.children if c.tag == tag), None)


@dataclass(frozen=True)
class Source:
    """A file, a text or a file object: its contents, its name in messages, and the folder of the names in it."""

    name: str
    data: bytes
    folder: Path

    @staticmethod
    def of(given: Given, what: str, folder: str | os.PathLike[str] | None = None) -> Source:
        """The source that an argument is: a path, a text (which begins with "<"), bytes or a file object."""
        inside = None if folder is None else Path(folder)
        if isinstance(given, Readable):
            data, name = given.read(), getattr(given, "name", None)
            if isinstance(name, str) and Path(name).is_file():
                return Source(name, _bytes(what, data), inside or Path(name).parent)
            return Source(name if isinstance(name, str) else f"<{what}>", _bytes(what, data), inside or Path())
        if isinstance(given, (bytes, bytearray)) or (isinstance(given, str) and is_text(given)):
            return Source(f"<{what}>", _bytes(what, given), inside or Path())
        try:
            path = os.fspath(given)
        except TypeError as e:
            raise OptionError(f"{what}: {given!r}, want a path, a text, or a file object") from e
        try:
            return Source(path, Path(path).read_bytes(), inside or Path(path).parent)
        except (OSError, ValueError) as e:
            raise FileError(f"{path}: {getattr(e, 'strerror', None) or e}") from e


def is_text(given: str) -> bool:
    """Whether an argument is XML in place of the name of a file."""
    return given.lstrip("\ufeff \t\r\n").startswith("<")


def _bytes(what: str, data: Any) -> bytes:
    if isinstance(data, str):
        # A declaration of another encoding was true of the bytes that this text was read from.
        return b"\xef\xbb\xbf" + data.removeprefix("\ufeff").encode()
    if isinstance(data, (bytes, bytearray)):
        return bytes(data)
    raise OptionError(f"{what}: {type(data).__name__} was read, want text or bytes")


@dataclass
class Notes:
    """What of a file was read otherwise than it says, a line each, or with ``strict`` an error."""

    strict: bool = False
    _seen: dict[str, list[str]] = field(default_factory=dict)

    def take(self, where: str, what: str, more: str = "", advice: str = "") -> None:
        """Note what was done at a place. ``more`` is what differs between places of one note; ``advice`` belongs to the
        error alone."""
        if self.strict:
            raise FileError(f"{where}: {what}{more}{advice}; strict=False takes it")
        self._seen.setdefault(what, []).append(f"{where}: {what}{more}")

    @property
    def lines(self) -> list[str]:
        """The notes, one for all places of the same."""
        return [
            first if len(places) == 1 else f"{first} (and {len(places) - 1} more like it)"
            for places in self._seen.values()
            for first in places[:1]
        ]


def parse(source: Source, notes: Notes) -> Element:
    """The root element."""
    text = text_of(source, notes)
    line, at = 1, 0

    def blank(match: re.Match[str]) -> str:
        nonlocal line, at
        line, at = line + text.count("\n", at, match.start()), match.start()
        version = _VERSION.search(match[0])
        if match.start():
            notes.take(f"{source.name}, line {line}", "an XML declaration that is not at the start")
        elif version is None or version[1] not in ("1.0", "1.1"):
            what = "without a version" if version is None else f'of the version "{version[1]}"'
            notes.take(f"{source.name}, line {line}", f"an XML declaration {what}")
        return re.sub(r"[^\n]", " ", match[0])  # so that lines and columns stay

    return _Builder(source.name, notes).root(_DECLARATION.sub(blank, text).encode())


def text_of(source: Source, notes: Notes) -> str:
    data = source.data
    stated = _ENCODING.search(data[:1024])
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif data.startswith(b"\xef\xbb\xbf"):
        encoding = "utf-8-sig"
    else:
        encoding = stated[1].decode() if stated else "utf-8"
    try:
        text = data.decode(encoding)
    except LookupError as e:
        raise FileError(f"{source.name}: the encoding {encoding!r} is not known") from e
    except UnicodeError as e:
        line = 1 + data.count(b"\n", 0, getattr(e, "start", 0))
        notes.take(f"{source.name}, line {line}", f"bytes that are not {encoding}, read as Latin-1")
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class _Builder:
    def __init__(self, name: str, notes: Notes) -> None:
        self.name, self.notes = name, notes
        self.top: Element | None = None
        self.open: list[Element] = []
        self.prefixes: list[set[str]] = [{"xml", "xmlns"}]
        self.undeclared: set[str] = set()
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.entity

    def root(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as e:
            if self.top is None or self.open:
                raise FileError(f"{self.name}, line {e.lineno}, column {e.offset + 1}: {_reason(e)}") from e
            self.notes.take(f"{self.name}, line {e.lineno}", "content after the root element, left out")
        if self.top is None:
            raise FileError(f"{self.name}: no element")
        return self.top

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        declared = {a[len("xmlns:") :] for a in attributes if a.startswith("xmlns:")}
        self.prefixes.append(self.prefixes[-1] | declared if declared else self.prefixes[-1])
        for name in (tag, *attributes):
            prefix = name.partition(":")[0] if ":" in name else "xml"
            if prefix not in self.prefixes[-1] and prefix not in self.undeclared:
                self.undeclared.add(prefix)
                where = f"{self.name}, line {element.line}"
                self.notes.take(where, f"the prefix {prefix!r} has no namespace, taken as a part of names")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.top = element
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()
        self.prefixes.pop()

    def characters(self, data: str) -> None:
        if self.open:
            self.open[-1].text += data

    def entity(self, name: str, *_: Any) -> None:
        raise FileError(
            f"{self.name}, line {self.parser.CurrentLineNumber}: the entity &{name};, which is not read: expand it"
        )


def _reason(error: expat.ExpatError) -> str:
    return str(expat.ErrorString(error.code) or error)


USED: Final = "used"
INERT: Final = "moves nothing"

_COLUMNS: Final = 120


@dataclass(frozen=True)
class Row:
    """Fields, by name or by pattern, and what becomes of them in scenes and in simulations."""

    patterns: tuple[str, ...]
    scene: str
    bodies: str


class FieldTable:
    """The rows of a text: scenes, simulations and fields, which lines that begin with a blank go on with. A name stands
    in one row; patterns are looked at after names."""

    def __init__(self, heads: tuple[str, str, str], text: str) -> None:
        self.heads = heads
        joined = text.strip().replace("\n ", " ")
        cells = (line.split("|") for line in joined.split("\n"))
        self.rows = [Row(tuple(fields.split()), scene.strip(), bodies.strip()) for scene, bodies, fields in cells]
        self.row_of = cache(self._row_of)

    def _row_of(self, name: str) -> Row | None:
        for exact in (True, False):
            for row in self.rows:
                for pattern in row.patterns:
                    if name == pattern if exact else fnmatchcase(name, pattern):
                        return row
        return None

    def markdown(self) -> str:
        """The rows as Markdown, each of as many lines as its fields need."""
        lines = [f"| {' | '.join(self.heads)} |", "|---|---|---|"]
        for row in self.rows:
            end, text = f" | {row.scene} | {row.bodies} |", ""
            for pattern in row.patterns:
                if text and len(f"| {text}, `{pattern}`{end}") > _COLUMNS:
                    lines.append(f"| {text}{end}")
                    text = ""
                text += f", `{pattern}`" if text else f"`{pattern}`"
            lines.append(f"| {text}{end}")
        return "\n".join(lines) + "\n"


def shortened(names: list[str], most: int = 3) -> str:
    """A few names of a list."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
