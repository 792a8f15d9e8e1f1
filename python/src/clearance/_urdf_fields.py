"""Elements and attributes of URDF that have a meaning to a known reader, and the surfaces of links among them.

Elements are PARENT/ELEMENT, attributes ELEMENT/@ATTRIBUTE. What no row of the table names is noted, and left out. The
elements of gazebo are those of sdformat's parser, those of contact PyBullet's, those with a prefix Drake's. Friction
and restitution are stated by <contact> of PyBullet, <mu1> of Gazebo and <drake:proximity_properties>.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, NoReturn, Protocol

from ._xml import USED, Element, FieldTable, Notes

NOTED: Final = "noted"
REFUSED: Final = "refused"
_UNLESS: Final = "refused unless "

# Used: read. Noted: listed in ``notes``, and left out. Refused: an error, unless ``omit`` names it, or its value is the
# one behind "unless", which changes nothing. Whatever else is said is the reason why it is left out silently.
_TABLE: Final = FieldTable(
    ("elements and attributes", "`urdf.load`", "`from_urdf`"),
    """
used | used | robot/link robot/joint robot/@name link/@name link/collision joint/@name joint/@type joint/origin
  joint/parent joint/child parent/@link child/@link origin/@xyz origin/@rpy
used | used | collision/@name collision/origin collision/geometry geometry/box geometry/cylinder geometry/sphere
  geometry/capsule geometry/mesh geometry/plane box/@size cylinder/@radius cylinder/@length capsule/@radius
  capsule/@length sphere/@radius mesh/@filename mesh/@scale plane/@normal
option `concave` | option `concave` | link/@concave collision/@concave
- | used | link/inertial inertial/origin inertial/mass inertial/inertia mass/@value inertia/@ixx inertia/@ixy
  inertia/@ixz inertia/@iyx inertia/@iyy inertia/@iyz inertia/@izx inertia/@izy inertia/@izz
used | of joints that move | joint/axis axis/@xyz joint/limit limit/@lower limit/@upper joint/mimic mimic/@joint
  mimic/@multiplier mimic/@offset
- | of joints that move | limit/@effort limit/@velocity joint/dynamics joint/calibration joint/safety_controller
  robot/transmission robot/ros2_control
- | moves nothing | robot/@version robot/material robot/sensor link/@type link/visual link/sensor
  link/self_collision_checking link/audio_source joint/@dont_collapse axis/@rpy collision/material collision/verbose
noted | refused | collision/@group collision/@mask link/@drake_ignore joint/@drake_ignore robot/deformable
  robot/reduced_deformable robot/loop_joint robot/force_element
- | refused | collision/contact_coefficients
- | used | link/contact contact/lateral_friction contact/restitution
- | refused unless 0 | contact/rolling_friction contact/spinning_friction contact/contact_cfm
- | refused unless 1 | contact/inertia_scaling
- | refused | contact/stiffness contact/damping
- | Bullet's own solver | contact/contact_erp contact/friction_anchor
- | used | robot/gazebo gazebo/@reference gazebo/static gazebo/mu1
- | used, refused unless equal to `mu1` | gazebo/mu2
- | of unequal `mu1` and `mu2` | gazebo/fdir1
- | refused unless 1e12 | gazebo/kp
- | refused unless 1 | gazebo/kd
- | refused unless 0 | gazebo/dampingFactor gazebo/velocity_decay
- | refused unless false | gazebo/turnGravityOff gazebo/kinematic gazebo/enable_wind
- | refused unless true | gazebo/gravity
- | refused | gazebo/collision gazebo/include gazebo/inertial gazebo/joint gazebo/link gazebo/plugin gazebo/pose
  link/gazebo joint/gazebo
- | Gazebo's own solver | gazebo/minDepth gazebo/maxVel gazebo/maxContacts
- | of joints that move | gazebo/springReference gazebo/springStiffness gazebo/stopCfm gazebo/stopErp gazebo/stopKp
  gazebo/stopKd gazebo/fudgeFactor gazebo/cfmDamping gazebo/implicitSpringDamper gazebo/provideFeedback
  gazebo/initial_joint_position
- | between links of one body | gazebo/selfCollide gazebo/self_collide gazebo/disableFixedJointLumping
  gazebo/preserveFixedJoint gazebo/canonicalBody
- | moves nothing | gazebo/laserRetro gazebo/material gazebo/sensor gazebo/visual
- | used | collision/drake:proximity_properties drake:proximity_properties/drake:mu_dynamic
- | used, refused unless equal to `drake:mu_dynamic` | drake:proximity_properties/drake:mu_static
- | refused | drake:proximity_properties/drake:compliant_hydroelastic
  drake:proximity_properties/drake:hydroelastic_modulus drake:proximity_properties/drake:hunt_crossley_dissipation
  drake:proximity_properties/drake:point_contact_stiffness drake:proximity_properties/drake:relaxation_time
- | Drake's own solver | drake:proximity_properties/drake:rigid_hydroelastic
  drake:proximity_properties/drake:mesh_resolution_hint
noted | between links of one body | robot/drake:collision_filter_group
noted | option `concave` | mesh/drake:declare_convex
noted | refused | robot/drake:joint robot/drake:linear_bushing_rpy robot/drake:linear_spring_damper
  robot/drake:ball_constraint
- | used | robot/mujoco mujoco/compiler
- | refused | mujoco/option
- | refused unless 0 | compiler/@boundmass compiler/@boundinertia
- | refused unless -1 | compiler/@settotalmass
- | refused unless false | compiler/@balanceinertia compiler/@inertiafromgeom
- | moves nothing | mujoco/size compiler/@angle compiler/@assetdir compiler/@autolimits compiler/@convexhull
  compiler/@discardvisual compiler/@fusestatic compiler/@meshdir compiler/@strippath compiler/@texturedir
""",
)
ROWS: Final = _TABLE.rows
table = _TABLE.markdown


def fate(name: str, masses: bool) -> str | None:
    """What becomes of an element or attribute in scenes, or where masses are read in simulations; None if no row names
    it. What scenes use is read by simulations, too, which refuse joints that move by their names."""
    row = _TABLE.row_of(name)
    if row is None:
        return None
    return USED if row.scene == USED else row.bodies if masses else row.scene


def refuses(what: str, value: str) -> bool:
    """Whether an element or attribute is refused, given its value."""
    if not what.startswith(_UNLESS):
        return what == REFUSED
    want = what.removeprefix(_UNLESS)
    if want in ("true", "false"):
        return truth(value) is not (want == "true")
    try:
        return float(value) != float(want)
    except ValueError:
        return True


_TRUTH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def truth(value: str) -> bool | None:
    """A truth value, or None if it is none."""
    return _TRUTH.get(value.strip().lower())


def _plain() -> Iterator[tuple[str, str]]:
    """The parents and names of what scenes read, and of masses: plain URDF, without extensions of simulators."""
    for row in ROWS:
        if row.scene == USED or "link/inertial" in row.patterns:
            for pattern in row.patterns:
                parent, name = pattern.split("/")
                yield parent, name


# The elements of plain URDF by their parents.
CHILDREN: Final[dict[str, frozenset[str]]] = {
    above: frozenset(n for p, n in _plain() if p == above and not n.startswith("@"))
    for above in ("robot", "link", "collision", "geometry", "inertial", "joint")
}
ELEMENTS: Final = frozenset({"robot"}).union(*CHILDREN.values())


def _attributes() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {name: set() for name in ELEMENTS}
    for row in ROWS:
        for pattern in row.patterns:
            parent, at, name = pattern.partition("/@")
            if at:
                found.setdefault(parent, set()).add(name)
    return {parent: frozenset(names) for parent, names in found.items()}


# The attributes of plain elements, and of others that have some in the table: those of the rest are not looked at.
ATTRIBUTES: Final = _attributes()
__all__ = [
    "ATTRIBUTES",
    "CHILDREN",
    "ELEMENTS",
    "NOTED",
    "ROWS",
    "fate",
    "refuses",
    "table",
    "truth",
]


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
