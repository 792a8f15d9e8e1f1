"""Friction and restitution of links, as the simulators state them whose extensions stand in URDF files: <contact> of
PyBullet, <mu1> of Gazebo and <drake:proximity_properties>."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NoReturn, Protocol

from ._urdf_fields import truth
from ._xml import Element, Notes

PROPERTIES: Final = "drake:proximity_properties"
_MU: Final = ("drake:mu_dynamic", "drake:mu_static")

SURFACE_ELEMENTS: Final = frozenset(
    {"contact", "lateral_friction", "restitution", "static", "mu1", "mu2", PROPERTIES, *_MU}
)


@dataclass(frozen=True)
class Simulator:
    """What a simulator takes where a file states nothing, how it combines two values, and the elements that state them:
    Bullet's product, the smaller one of ODE, and Drake's 2ab/(a + b), which is the geometric mean of equal ones."""

    friction: float
    friction_rule: str
    elements: tuple[str, ...]


SIMULATORS: Final = {
    "Bullet": Simulator(0.5, "product", ("link/contact",)),
    "Gazebo": Simulator(1.0, "minimum", ("gazebo/mu1", "gazebo/mu2")),
    "Drake": Simulator(0.5, "geometric_mean", (f"collision/{PROPERTIES}",)),
}


@dataclass(frozen=True)
class Stated:
    """What a file states of the contacts of a link or a collision element, and for which simulator."""

    simulator: str
    where: str
    friction: float | None
    restitution: float | None = None


class Reader(Protocol):
    """What reads the elements of a file."""

    notes: Notes
    inside: str

    def where(self, element: Element) -> str: ...
    def fail(self, element: Element, reason: str) -> NoReturn: ...
    def refuse(self, name: str, element: Element, what: str = "") -> None: ...


def value_of(element: Element) -> str:
    """The value of an element: of an attribute of that name, or its text."""
    return (element.get("value") or element.text).strip()


class Surfaces:
    """The surfaces of the links of a file."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.gazebo: dict[str, Stated] = {}
        self.references: dict[str, Element] = {}

    def extend(self, element: Element) -> str:
        """Read a <gazebo> of the robot, or of a link or joint. Says where the robot is made static, if it is."""
        reader, name = self.reader, element.get("reference") or ""
        reader.inside = f" of gazebo {name!r}"
        static, still = element.find("static"), ""
        if static is not None:
            value = truth(value_of(static))
            if value is None:
                reader.fail(static, f"is {value_of(static)!r}, want true or false")
            if name:
                reader.notes.take(reader.where(static), "<static> beside a reference, which Gazebo does not read")
            elif value:
                still = f"{reader.where(static)}: <static>"
        friction = self._friction(element, "mu1", "mu2", "gazebo/mu2")
        if friction is not None and not name:
            reader.notes.take(reader.where(element), "friction in <gazebo> without a reference, left out")
        elif friction is not None:
            if name in self.gazebo:
                reader.fail(element, f"states the friction of {name!r} again, want one")
            self.gazebo[name] = Stated("Gazebo", reader.where(element), friction)
        if name:
            self.references.setdefault(name, element)
        reader.inside = ""
        return still

    def _friction(self, parent: Element, first: str, second: str, key: str) -> float | None:
        """The friction that two elements state: one alone, or both the same."""
        given = [(e, self._number(e)) for e in map(parent.find, (first, second)) if e is not None]
        if not given:
            return None
        if len(given) == 2 and given[0][1] != given[1][1]:
            self.reader.refuse(key, given[1][0], f" {given[1][1]:g} beside <{first}> {given[0][1]:g}")
        if len(given) == 1 and key.startswith("gazebo"):
            element = given[0][0]
            what = f"<{element.tag}> alone, taken as the friction of both directions"
            self.reader.notes.take(self.reader.where(element), what, self.reader.inside)
        return given[0][1]

    def _number(self, element: Element | None, most: float = math.inf) -> float:
        """The value of an element, or 0 without one."""
        if element is None:
            return 0.0
        value = value_of(element)
        try:
            number = math.nan if "_" in value else float(value)
        except ValueError:
            number = math.nan
        if not (0 <= number <= most and math.isfinite(number)):
            want = "a finite number, not below 0" if most == math.inf else f"a number of 0 to {most:g}"
            self.reader.fail(element, f"is {value!r}, want {want}")
        return number

    def of_link(self, element: Element, name: str) -> list[Stated]:
        """What a file states of a link."""
        found = [self.gazebo[name]] if name in self.gazebo else []
        contact = element.find("contact")
        if contact is not None:
            slides, bounces = contact.find("lateral_friction"), contact.find("restitution")
            if slides is not None or bounces is not None:
                friction = None if slides is None else self._number(slides)
                where = self.reader.where(contact)
                found.append(Stated("Bullet", where, friction, self._number(bounces, 1.0)))
        return found

    def of_collision(self, element: Element) -> list[Stated]:
        """What a file states of a collision element."""
        properties = element.find(PROPERTIES)
        key = f"{PROPERTIES}/{_MU[1]}"
        friction = None if properties is None else self._friction(properties, *_MU, key)
        return [] if friction is None else [Stated("Drake", self.reader.where(element), friction)]

    def check(self, names: Collection[str]) -> None:
        """Note references to what is not there."""
        for name, element in self.references.items():
            if name not in names:
                what = f"<gazebo> of {name!r}, which is no link or joint"
                self.reader.notes.take(self.reader.where(element), what)
