"""URDF files: links with what collides and what they weigh, and joints.

An element that has no meaning here is left out. One that is not known is noted, unless it could be a known one that is
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
from ._xml import Element, Notes, Source, parse

# The elements that may stand in an element.
_CHILDREN: Final[dict[str, frozenset[str]]] = {
    "robot": frozenset({"link", "joint"}),
    "link": frozenset({"collision", "inertial"}),
    "collision": frozenset({"origin", "geometry"}),
    "geometry": frozenset({"box", "cylinder", "sphere", "capsule", "mesh", "plane"}),
    "inertial": frozenset({"origin", "mass", "inertia"}),
    "joint": frozenset({"origin", "parent", "child", "axis", "limit", "mimic"}),
}
# Those that have no part in collisions, masses or motions: nothing in them is looked at.
_WITHOUT_MEANING: Final[dict[str, frozenset[str]]] = {
    "robot": frozenset({"material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco"}),
    "link": frozenset({"visual", "contact", "sensor", "gazebo", "self_collision_checking"}),
    "collision": frozenset({"material", "verbose", "contact_coefficients"}),
    "joint": frozenset({"dynamics", "calibration", "safety_controller"}),
}
# Elements out of place that every reader passes over, since they can have no meaning there.
_STRAY: Final = frozenset({("link", "origin"), ("robot", "origin")})

_ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    "robot": frozenset({"name", "version"}),
    "link": frozenset({"name", "type", "concave"}),
    "joint": frozenset({"name", "type", "dont_collapse"}),
    "collision": frozenset({"name", "group", "mask", "concave"}),
    "geometry": frozenset(),
    "inertial": frozenset(),
    "origin": frozenset({"xyz", "rpy"}),
    "box": frozenset({"size"}),
    "cylinder": frozenset({"radius", "length"}),
    "capsule": frozenset({"radius", "length"}),
    "sphere": frozenset({"radius"}),
    "mesh": frozenset({"filename", "scale"}),
    "plane": frozenset({"normal"}),
    "parent": frozenset({"link"}),
    "child": frozenset({"link"}),
    "axis": frozenset({"xyz", "rpy"}),
    "limit": frozenset({"lower", "upper", "effort", "velocity"}),
    "mimic": frozenset({"joint", "multiplier", "offset"}),
    "mass": frozenset({"value"}),
    "inertia": frozenset({"ixx", "ixy", "ixz", "iyx", "iyy", "iyz", "izx", "izy", "izz"}),
}
_ONCE: Final = frozenset(_ATTRIBUTES) - {"link", "joint", "collision", "inertial"}
_KNOWN: Final = frozenset().union(*_CHILDREN.values())


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


@dataclass(frozen=True, eq=False)
class Robot:
    """The robot of a file."""

    name: str
    links: list[Link] = field(default_factory=list)
    joints: list[JointElement] = field(default_factory=list)


def read(source: Source, omit: Collection[str], notes: Notes, masses: bool = False) -> Robot:
    """The robot of a URDF file. ``omit`` names elements to leave out as PARENT/ELEMENT. What links weigh is read if it
    is asked for."""
    if isinstance(omit, str):
        raise OptionError(f"omit: {omit!r} is a text, want a list of names, such as ({omit!r},)")
    for name in omit:
        if not isinstance(name, str) or name.count("/") != 1 or not all(name.split("/")):
            raise OptionError(f"omit: {name!r}, want PARENT/ELEMENT, such as 'link/{str(name).rsplit('/', 1)[-1]}'")
    root = parse(source, notes)
    reader = _Reader(source.name, omit, notes, masses)
    if root.tag == "sdf":
        reader.fail(root, "is the root element: SDF is not read, convert the model to URDF or MJCF")
    if root.tag != "robot":
        reader.fail(root, "is the root element, want <robot>")
    reader.check(root)
    for name in omit:
        if name not in reader.omitted:
            raise OptionError(f"omit: {name!r} is no element of {source.name} that could be left out")
    return reader.robot(root)


class _Reader:
    def __init__(self, path: str, omit: Collection[str], notes: Notes, masses: bool) -> None:
        self.path, self.omit, self.notes, self.masses = path, omit, notes, masses
        self.omitted: set[str] = set()
        self.inside = ""  # the link or joint that is read

    def where(self, element: Element) -> str:
        return f"{self.path}, line {element.line}"

    def fail(self, element: Element, reason: str) -> NoReturn:
        raise FileError(f"{self.where(element)}: <{element.tag}>{self.inside} {reason}")

    # -- elements -----------------------------------------------------------------------------------------------------

    def check(self, element: Element) -> None:
        """Check an element and those in it, and remove what is left out and what has no meaning here."""
        tag = element.tag
        if tag in ("link", "joint"):
            self.inside = f" of {tag} {element.get('name') or ''!r}"
        self.attributes(element)
        kept: list[Element] = []
        for child in element:
            name = f"{tag}/{child.tag}"
            if name in self.omit:
                self.omitted.add(name)
            elif child.tag == "inertial" and not self.masses:
                continue
            elif child.tag in _CHILDREN.get(tag, ()):
                self.check(child)
                kept.append(child)
            elif child.tag not in _WITHOUT_MEANING.get(tag, ()):
                self.unknown(element, child)
        element.children = kept
        names = [c.tag for c in kept]
        for name in sorted({n for n in names if n in _ONCE and names.count(n) > 1}):
            same = element.findall(name)
            if tag == "geometry" or any(_content(c) != _content(same[0]) for c in same):
                self.fail(element, f"has {len(same)} elements {name!r}, want one")
            self.notes.take(self.where(same[1]), f"<{name}> in <{tag}> is there twice, the same", self.inside)
            element.children = [c for c in element if c.tag != name or c is same[0]]
        if tag == "geometry" and len(kept) != 1:
            want = ", ".join(sorted(_CHILDREN["geometry"]))
            self.fail(element, f"has {len(kept)} elements, want one" if kept else f"is empty, want one of {want}")
        if tag in ("link", "joint"):
            self.inside = ""

    def attributes(self, element: Element) -> None:
        """Raise FileError for expressions of xacro, and for attributes that would have a meaning if they were known."""
        known = _ATTRIBUTES[element.tag]
        for name, value in element.attrib.items():
            if "${" in value or "$(" in value:
                what = "an expression of xacro, which expands the file: run it first"
                self.fail(element, f"has {name}={value!r}, {what}")
            if name in known or ":" in name or name == "xmlns":
                continue
            close = [k for k in sorted(known) if k not in element.attrib and _close(name, k)]
            if close or element.tag == "origin":
                want = f"want {close[0]!r}" if close else f"want {' and '.join(sorted(known))}"
                self.fail(element, f"has the unknown attribute {name!r}, {want}")
            what = f"<{element.tag}> has the unknown attribute {name!r}"
            self.notes.take(self.where(element), what, self.inside, f"; want one of {', '.join(sorted(known))}")

    def unknown(self, parent: Element, child: Element) -> None:
        """Note an element that is not known, or raise FileError."""
        prefix, _, local = child.tag.rpartition(":")
        if prefix == "xacro":
            self.fail(child, "is one of xacro, which expands the file: run xacro first")
        where = f"in <{parent.tag}>"
        if parent.tag == "geometry" and child.tag not in set().union(*_WITHOUT_MEANING.values()):
            self.fail(
                child, f"{where} is no shape that is known, want one of {', '.join(sorted(_CHILDREN['geometry']))}"
            )
        if (parent.tag, child.tag) not in _STRAY and prefix == "":
            homes = sorted(p for p, children in _CHILDREN.items() if local in children)
            if homes:
                self.fail(child, f"{where} is out of place, want it in <{'> or <'.join(homes)}>")
            close = [k for k in sorted(_KNOWN) if _close(local, k)]
            if close:
                self.fail(child, f"{where} is not known; <{close[0]}> is")
        advice = "" if child.tag in _KNOWN else f"; omit=({f'{parent.tag}/{child.tag}'!r},) leaves it out"
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
        for element in root:
            kind, name = element.tag, element.get("name") or ""
            if not name:
                self.fail(element, "has no name")
            self.inside = f" of {kind} {name!r}"
            if kind == "link":
                robot.links.append(self.link(element, name))
            else:
                robot.joints.append(self.joint(element, name))
            self.inside = ""
        if not robot.links:
            self.fail(root, "has no <link>")
        return robot

    def link(self, element: Element, name: str) -> Link:
        collisions = [self.collision(c, name, k) for k, c in enumerate(element.findall("collision"))]
        inertials = [self.inertial(i) for i in element.findall("inertial")]
        return Link(name, f"{self.where(element)}: link {name!r}", collisions, inertials)

    def collision(self, element: Element, link: str, index: int) -> Collision:
        geometry = element.find("geometry")
        if geometry is None:
            self.fail(element, "has no <geometry>")
        name = f"{link}/{element.get('name') or index}"
        where = f"{self.where(element)}: collision element {name!r}"
        return Collision(name, where, *self.origin(element), self.geometry(geometry.children[0]))

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
        entries = {c: self.number(tensor, f"i{c}", 0.0) for c in ("xx", "yy", "zz", "xy", "xz", "yz")}
        rows = np.array([[entries["".join(sorted(r + c))] for c in "xyz"] for r in "xyz"])
        where = f"{self.where(tensor or element)}: <{(tensor or element).tag}>{self.inside}"
        center, rotation = self.origin(element)
        return Inertial(where, value, center, rows, rotation)

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
