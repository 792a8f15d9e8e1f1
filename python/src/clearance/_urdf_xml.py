"""URDF files: links with what collides and what they weigh, and joints.

The table of fields says what is read. An element that is not known is noted, unless it could be a known one that is
misspelt or out of place: that is an error, since a link would lose a shape, or a joint its axis, and nobody would see
it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np

from ._arrays import Array
from ._errors import FileError, OptionError
from ._kinematics import of_rpy
from ._urdf_fields import (
    ATTRIBUTES,
    CHILDREN,
    ELEMENTS,
    NOTED,
    SURFACE_ELEMENTS,
    Stated,
    Surfaces,
    fate,
    refuses,
    value_of,
)
from ._xml import USED, Element, Notes, Source, parse

# Elements out of place that every reader passes over, since they can have no meaning there.
_STRAY: Final = frozenset({("link", "origin"), ("robot", "origin")})

# Elements of which one may stand in another, the same again at most.
_ONCE: Final = (ELEMENTS | SURFACE_ELEMENTS) - {"link", "joint", "collision", "inertial"}


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape of a link: its kind, its numbers, and the name of its file."""

    kind: str
    numbers: Array
    filename: str = ""


@dataclass(frozen=True, eq=False)
class Collision:
    """A collision element. ``where`` names file, line and link."""

    name: str  # LINK/NAME, or LINK/INDEX without a name
    where: str
    position: Array
    rotation: Array
    geometry: Geometry
    surfaces: list[Stated]


@dataclass(frozen=True, eq=False)
class Inertial:
    """The mass of a link, its center, and the inertia [3,3] about that, in the axes of the link."""

    where: str
    mass: float
    center: Array
    inertia: Array
    rotation: Array  # of the axes in which the file states the inertia


@dataclass(frozen=True, eq=False)
class Link:
    """A link."""

    name: str
    where: str
    collisions: list[Collision]
    inertials: list[Inertial]


@dataclass(frozen=True, eq=False)
class JointElement:
    """A joint, as the file has it. ``mimic`` is the joint that it follows, its multiplier and its offset."""

    name: str
    type: str
    where: str
    parent: str
    child: str
    position: Array
    rotation: Array
    axis: Array
    limit: tuple[float, float] | None
    mimic: tuple[str, float, float] | None


@dataclass(eq=False)
class Robot:
    """The robot of a file. ``refused`` are what simulations lack of it, by the names that ``omit`` takes, with their
    places, ``omitted`` the names that it took. ``still`` says by what of the file the robot does not move."""

    name: str
    links: list[Link] = field(default_factory=list)
    joints: list[JointElement] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=dict)
    omitted: set[str] = field(default_factory=set)
    still: str = ""


def check_omit(omit: Collection[str]) -> None:
    """Raise OptionError unless names are PARENT/ELEMENT."""
    if isinstance(omit, str):
        raise OptionError(f"omit: {omit!r} is a text, want a list of names, such as ({omit!r},)")
    for name in omit:
        if not isinstance(name, str) or name.count("/") != 1 or not all(name.split("/")):
            raise OptionError(f"omit: {name!r}, want PARENT/ELEMENT, such as 'link/{str(name).rsplit('/', 1)[-1]}'")


def check_omitted(omit: Collection[str], omitted: Collection[str], name: str) -> None:
    """Raise OptionError for names that left nothing out."""
    for wanted in omit:
        if wanted not in omitted:
            raise OptionError(f"omit: {wanted!r} is no element of {name} that could be left out")


def read(source: Source, omit: Collection[str], notes: Notes, masses: bool = False) -> Robot:
    """The robot of a URDF file. ``omit`` names elements to leave out as PARENT/ELEMENT, and attributes as
    ELEMENT/@ATTRIBUTE. What links weigh, and what else simulations look at, is read if it is asked for."""
    check_omit(omit)
    root = parse(source, notes)
    reader = _Reader(source.name, omit, notes, masses)
    if root.tag == "sdf":
        reader.fail(root, "is the root element: SDF is not read, convert the model to URDF or MJCF")
    if root.tag != "robot":
        reader.fail(root, "is the root element, want <robot>")
    reader.check(root)
    if not masses:  # simulations of several files take a name that one of them has
        check_omitted(omit, reader.omitted, source.name)
    robot = reader.robot(root)
    robot.refused, robot.omitted = reader.refused, reader.omitted
    return robot


class _Reader:
    def __init__(self, path: str, omit: Collection[str], notes: Notes, masses: bool) -> None:
        self.path, self.omit, self.notes, self.masses = path, omit, notes, masses
        self.omitted: set[str] = set()
        self.refused: dict[str, list[str]] = {}
        self.inside = ""  # the link, joint or extension that is read

    def where(self, element: Element) -> str:
        return f"{self.path}, line {element.line}"

    def fail(self, element: Element, reason: str) -> NoReturn:
        raise FileError(f"{self.where(element)}: <{element.tag}>{self.inside} {reason}")

    def refuse(self, name: str, element: Element, what: str = "") -> None:
        """Note what simulations lack, by the name that ``omit`` takes."""
        place = f"<{element.tag}>{what}{self.inside} ({self.where(element)})"
        self.refused.setdefault(name, []).append(place)

    # -- elements -----------------------------------------------------------------------------------------------------

    def check(self, element: Element) -> None:
        """Check an element and those in it, and remove what is left out and what has no meaning here."""
        tag = element.tag
        if tag in ("link", "joint"):
            self.inside = f" of {tag} {element.get('name') or ''!r}"
        elif tag == "gazebo":
            self.inside = f" of {tag} {element.get('reference') or ''!r}"
        self.attributes(element)
        kept: list[Element] = []
        for child in element:
            name = f"{tag}/{child.tag}"
            what = fate(name, self.masses)
            if name in self.omit:
                self.omitted.add(name)
            elif what is None:
                self.unknown(element, child)
            elif what.startswith(USED):
                self.check(child)
                kept.append(child)
            elif what == NOTED:
                self.unread(element, child)
            elif refuses(what, value_of(child)):
                self.refuse(name, child, f" {value_of(child)}".rstrip())
        element.children = kept
        names = [c.tag for c in kept]
        for name in sorted({n for n in names if n in _ONCE and names.count(n) > 1}):
            same = element.findall(name)
            if tag == "geometry" or any(_content(c) != _content(same[0]) for c in same):
                self.fail(element, f"has {len(same)} elements {name!r}, want one")
            self.notes.take(self.where(same[1]), f"<{name}> in <{tag}> is there twice, the same", self.inside)
            element.children = [c for c in element if c.tag != name or c is same[0]]
        if tag == "geometry" and len(kept) != 1:
            want = ", ".join(sorted(CHILDREN["geometry"]))
            self.fail(element, f"has {len(kept)} elements, want one" if kept else f"is empty, want one of {want}")
        if tag in ("link", "joint", "gazebo"):
            self.inside = ""

    def attributes(self, element: Element) -> None:
        """Raise FileError for expressions of xacro, and for attributes that would have a meaning if they were known."""
        known = ATTRIBUTES.get(element.tag)
        for name, value in element.attrib.items():
            if "${" in value or "$(" in value:
                what = "an expression of xacro, which expands the file: run it first"
                self.fail(element, f"has {name}={value!r}, {what}")
            row = f"{element.tag}/@{name}"
            if row in self.omit:
                self.omitted.add(row)
            elif known is None or name == "xmlns" or name.startswith("xmlns:"):
                continue
            elif name in known:
                kept = fate(row, self.masses) or ""
                if kept == NOTED:
                    what = f"<{element.tag}> has the attribute {name!r}, left out"
                    self.notes.take(self.where(element), what, self.inside)
                elif refuses(kept, value):
                    self.refuse(row, element, f" {name}={value!r}")
            else:
                self.unknown_attribute(element, name, known)
        for name in [n for n in element.attrib if f"{element.tag}/@{n}" in self.omit]:
            del element.attrib[name]

    def unknown_attribute(self, element: Element, name: str, known: Collection[str]) -> None:
        close = [k for k in sorted(known) if k not in element.attrib and _close(name, k)]
        if close or (element.tag == "origin" and ":" not in name):
            want = f"want {close[0]!r}" if close else f"want {' and '.join(sorted(known))}"
            self.fail(element, f"has the unknown attribute {name!r}, {want}")
        what = f"<{element.tag}> has the unknown attribute {name!r}"
        self.notes.take(self.where(element), what, self.inside, f"; want one of {', '.join(sorted(known))}")

    def unread(self, parent: Element, child: Element) -> None:
        """Note an element that is known, and left out."""
        advice = f"; omit=({f'{parent.tag}/{child.tag}'!r},) leaves it out"
        self.notes.take(self.where(child), f"<{child.tag}> in <{parent.tag}> is left out", self.inside, advice)

    def unknown(self, parent: Element, child: Element) -> None:
        """Note an element that is not known, or raise FileError."""
        prefix, _, local = child.tag.rpartition(":")
        if prefix == "xacro":
            self.fail(child, "is one of xacro, which expands the file: run xacro first")
        where = f"in <{parent.tag}>"
        if parent.tag == "geometry" and child.tag not in ("material", "verbose"):
            shapes = ", ".join(sorted(CHILDREN["geometry"]))
            self.fail(child, f"{where} is no shape that is known, want one of {shapes}")
        if parent.tag in ELEMENTS and (parent.tag, child.tag) not in _STRAY and prefix == "":
            homes = sorted(p for p, children in CHILDREN.items() if local in children)
            if homes:
                self.fail(child, f"{where} is out of place, want it in <{'> or <'.join(homes)}>")
            close = [k for k in sorted(ELEMENTS - {"robot"}) if _close(local, k)]
            if close:
                self.fail(child, f"{where} is not known; <{close[0]}> is")
        advice = "" if child.tag in ELEMENTS else f"; omit=({f'{parent.tag}/{child.tag}'!r},) leaves it out"
        self.notes.take(self.where(child), f"<{child.tag}> {where} is not known, left out", self.inside, advice)

    # -- numbers ------------------------------------------------------------------------------------------------------

    def text(self, element: Element, name: str) -> str:
        value = element.get(name)
        if not value:
            self.fail(element, f"lacks the attribute {name!r}")
        return value

    def numbers(
        self, element: Element | None, name: str, count: int, default: Any = None, infinite: bool = False
    ) -> Array:
        """An attribute of some numbers, or the default if it is missing."""
        value = None if element is None else element.get(name)
        if value is None and default is not None:
            return np.array(default, np.float64)
        assert element is not None
        words = self.text(element, name).split()
        try:
            found = [float(w) for w in words]
        except ValueError:
            found = [math.nan]
        bad = len(found) != count or any(math.isnan(x) or (math.isinf(x) and not infinite) for x in found)
        if bad or "_" in str(value):  # which float takes
            want = f"{count} finite numbers" if count > 1 else "a finite number"
            self.fail(element, f"has {name}={value!r}, want {want}")
        return np.array(found, np.float64)

    def number(self, element: Element | None, name: str, default: float | None = None, infinite: bool = False) -> float:
        return float(self.numbers(element, name, 1, None if default is None else [default], infinite)[0])

    def origin(self, element: Element) -> tuple[Array, Array]:
        """The position and the rotation of an <origin>."""
        given = element.find("origin")
        return self.numbers(given, "xyz", 3, [0, 0, 0]), of_rpy(self.numbers(given, "rpy", 3, [0, 0, 0]))

    # -- the robot ----------------------------------------------------------------------------------------------------

    def robot(self, root: Element) -> Robot:
        if not root.get("name"):
            self.notes.take(self.where(root), "<robot> has no name")
        robot = Robot(root.get("name") or "")
        surfaces = Surfaces(self)
        for element in root.findall("gazebo"):
            robot.still = surfaces.extend(element) or robot.still
        for element in (e for e in root if e.tag in ("link", "joint")):
            kind, name = element.tag, element.get("name") or ""
            if not name:
                self.fail(element, "has no name")
            self.inside = f" of {kind} {name!r}"
            if kind == "link":
                robot.links.append(self.link(element, name, surfaces))
            else:
                robot.joints.append(self.joint(element, name))
            self.inside = ""
        if not robot.links:
            self.fail(root, "has no <link>")
        surfaces.check({x.name for x in robot.links} | {x.name for x in robot.joints})
        return robot

    def link(self, element: Element, name: str, surfaces: Surfaces) -> Link:
        stated = surfaces.of_link(element, name)
        collisions = [
            self.collision(c, name, k, stated + surfaces.of_collision(c))
            for k, c in enumerate(element.findall("collision"))
        ]
        inertials = [self.inertial(i) for i in element.findall("inertial")]
        return Link(name, f"{self.where(element)}: link {name!r}", collisions, inertials)

    def collision(self, element: Element, link: str, index: int, stated: list[Stated]) -> Collision:
        geometry = element.find("geometry")
        if geometry is None:
            self.fail(element, "has no <geometry>")
        name = f"{link}/{element.get('name') or index}"
        where = f"{self.where(element)}: collision element {name!r}"
        return Collision(name, where, *self.origin(element), self.geometry(geometry.children[0]), stated)

    def geometry(self, shape: Element) -> Geometry:
        kind = shape.tag
        if kind == "box":
            numbers = self.numbers(shape, "size", 3)
        elif kind in ("cylinder", "capsule"):
            numbers = np.array([self.number(shape, "radius"), self.number(shape, "length")])
        elif kind == "sphere":
            numbers = self.numbers(shape, "radius", 1)
        elif kind == "plane":
            numbers = self.numbers(shape, "normal", 3, [0, 0, 1])
            if not numbers.any():
                self.fail(shape, "has the normal 0")
        else:
            single = len((shape.get("scale") or "1 1 1").split()) == 1
            numbers = np.broadcast_to(self.numbers(shape, "scale", 1 if single else 3, [1, 1, 1]), 3)
            if not numbers.all():
                self.fail(shape, f"has the scale {shape.get('scale')}, want numbers other than 0")
            return Geometry(kind, numbers, self.text(shape, "filename"))
        if kind != "plane" and not (numbers >= 0).all():
            self.fail(shape, f"has the sizes {numbers.tolist()}, want none below 0")
        return Geometry(kind, numbers)

    def inertial(self, element: Element) -> Inertial:
        mass, tensor = element.find("mass"), element.find("inertia")
        if mass is None:
            self.fail(element, "has no <mass>")
        value = self.number(mass, "value")
        if value < 0:
            self.fail(mass, f"is {value:g} kg, want none below 0")
        if tensor is None and value:
            self.fail(element, "has no <inertia>")
        rows = self.tensor(tensor)
        where = f"{self.where(tensor or element)}: <{(tensor or element).tag}>{self.inside}"
        center, rotation = self.origin(element)
        return Inertial(where, value, center, rows, rotation)

    def tensor(self, element: Element | None) -> Array:
        """The inertia [3,3] of an <inertia>, of which the file may state either of two symmetric entries, or both."""
        rows = np.array([[self.number(element, f"i{r}{c}", math.inf) for c in "xyz"] for r in "xyz"])
        rows = np.where(np.isinf(rows), rows.T, rows)
        rows[np.isinf(rows)] = 0
        if element is not None and (rows != rows.T).any():
            r, c = (int(i) for i in np.argwhere(rows != rows.T)[0])
            first, second = f"i{'xyz'[r]}{'xyz'[c]}", f"i{'xyz'[c]}{'xyz'[r]}"
            self.fail(element, f"has {first}={element.get(first)!r} and {second}={element.get(second)!r}, want one")
        return rows

    def joint(self, element: Element, name: str) -> JointElement:
        ends = [element.find(end) for end in ("parent", "child")]
        if ends[0] is None or ends[1] is None:
            self.fail(element, f"has no <{'child' if ends[0] is not None else 'parent'}>")
        limit, mimic = element.find("limit"), element.find("mimic")
        bounds = None
        if limit is not None:
            # The specification of URDF: an attribute lower or upper that is missing is 0.
            bounds = self.number(limit, "lower", 0.0, True), self.number(limit, "upper", 0.0, True)
        follows = None
        if mimic is not None:
            follows = (
                self.text(mimic, "joint"),
                self.number(mimic, "multiplier", 1.0),
                self.number(mimic, "offset", 0.0),
            )
        return JointElement(
            name,
            self.text(element, "type"),
            f"{self.where(element)}: joint {name!r}",
            self.text(ends[0], "link"),
            self.text(ends[1], "link"),
            *self.origin(element),
            self.numbers(element.find("axis"), "xyz", 3, [1, 0, 0]),
            bounds,
            follows,
        )


def _content(element: Element) -> tuple[Any, ...]:
    return element.tag, sorted(element.attrib.items()), [_content(c) for c in element]


def _close(a: str, b: str) -> bool:
    """Whether two names differ by case, or by so few letters that one is likely the other, misspelt: one of every
    three, two at most. A transposition counts as one."""
    a, b = a.lower(), b.lower()
    most = min(2, max(len(a), len(b)) // 3)
    if abs(len(a) - len(b)) > most:
        return False
    before, row = list[int](), list(range(len(b) + 1))
    for i, x in enumerate(a):
        last, before, row = before, row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(before[j + 1] + 1, row[j] + 1, before[j] + (x != y)))
            if i and j and x == b[j - 1] and y == a[i - 1]:
                row[-1] = min(row[-1], last[j - 1] + 1)
    return row[-1] <= most


__all__ = ["Collision", "Geometry", "Inertial", "JointElement", "Link", "Robot", "read"]
