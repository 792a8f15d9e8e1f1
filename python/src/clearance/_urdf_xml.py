"""The XML of URDF files, read strictly where it says what collides and how it moves.

yourdfpy drops what it does not know. Here an element that is not known is an error, unless the caller leaves it out by
name, and so is a file that xacro has not expanded.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Collection
from typing import Any, Final

from ._errors import FileError, OptionError
from ._srdf import parse

# The elements that may stand in an element. Those of a set, such as materials, have no part in collisions or motions:
# nothing in them is looked at.
_CHILDREN: Final[dict[str, frozenset[str]]] = {
    "robot": frozenset({"link", "joint"}),
    "link": frozenset({"collision"}),
    "collision": frozenset({"origin", "geometry"}),
    "geometry": frozenset({"box", "cylinder", "sphere", "capsule", "mesh"}),
    "joint": frozenset({"origin", "parent", "child", "axis", "limit", "mimic"}),
}
_WITHOUT_MEANING: Final[dict[str, frozenset[str]]] = {
    "robot": frozenset({"material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco"}),
    "link": frozenset({"inertial", "visual", "contact", "sensor", "gazebo", "self_collision_checking"}),
    "collision": frozenset({"material", "verbose", "contact_coefficients"}),
    "geometry": frozenset(),
    "joint": frozenset({"dynamics", "calibration", "safety_controller"}),
}


def read(path: str, omit: Collection[str]) -> tuple[Any, set[tuple[int, int]]]:
    """The robot of a URDF file as yourdfpy reads it, and its capsules: the index of the link and of its collision
    element, which the robot has as cylinders. Elements whose name is in ``omit`` are left out."""
    if isinstance(omit, str):
        raise OptionError(f"omit: {omit!r} is a text, want a list of names, such as ({omit!r},)")
    try:
        yourdfpy: Any = importlib.import_module("yourdfpy")
    except ImportError as e:
        raise ImportError("clearance.urdf reads files by yourdfpy: pip install yourdfpy") from e
    root = parse(path)  # yourdfpy repairs what is not XML, with a log line alone
    if root.tag != "robot":
        raise FileError(f"{path}, line {root.sourceline}: <{root.tag}> is the root element, want <robot>")
    reader = _Reader(path, omit)
    reader.check(root)
    for name in omit:
        if name not in reader.omitted:
            raise OptionError(f"omit: {name!r} is no element of {path} that could be left out")
    capsules: set[tuple[int, int]] = set()
    for i, link in enumerate(root.findall("link")):
        for k, collision in enumerate(link.findall("collision")):
            for capsule in collision.findall("geometry/capsule"):
                capsules.add((i, k))
                capsule.tag = "cylinder"  # which has the same attributes, and yourdfpy knows
    etree: Any = importlib.import_module("lxml.etree")
    try:
        text = io.BytesIO(etree.tostring(root))
        return yourdfpy.URDF.load(text, build_scene_graph=False, load_meshes=False).robot, capsules
    except Exception as e:  # it raises what its code runs into
        raise FileError(f"{path}: yourdfpy cannot read it: {type(e).__name__}: {e}") from e


class _Reader:
    def __init__(self, path: str, omit: Collection[str]) -> None:
        self.path, self.omit = path, omit
        self.omitted: set[str] = set()

    def check(self, element: Any) -> None:
        """Check an element and those in it, and remove what is left out and what has no meaning here."""
        self.expanded(element)
        tag = element.tag
        for child in list(element):
            name = child.tag
            if not isinstance(name, str):  # a comment, a processing instruction or an entity
                if str(child).startswith("&"):
                    self.fail(element, f"has the entity {child}, which is not read: expand it")
                element.remove(child)
            elif name in self.omit or _plain(child) in self.omit:
                self.omitted.add(name if name in self.omit else _plain(child))
                element.remove(child)
            elif "xacro" in name:
                self.fail(child, "is one of xacro, which expands the file: run xacro first")
            elif name in _WITHOUT_MEANING.get(tag, ()):
                element.remove(child)
            elif name in _CHILDREN.get(tag, ()):
                self.check(child)
            else:
                self.fail(child, f"in <{tag}> is not known; omit=({_plain(child)!r},) leaves it out")
        once = {"geometry", "origin", "parent", "child", "axis", "limit", "mimic"}
        seen = [c.tag for c in element if c.tag in once] if tag != "geometry" else ["shape"] * len(element)
        for name in seen:
            if seen.count(name) > 1:
                self.fail(element, f"has {seen.count(name)} elements {name!r}, want one")
        if tag == "geometry" and not seen:
            self.fail(element, f"is empty, want one of {', '.join(sorted(_CHILDREN['geometry']))}")

    def expanded(self, element: Any) -> None:
        """Raise FileError for an expression of xacro."""
        for name, value in element.attrib.items():
            if "${" in value or "$(" in value:
                self.fail(
                    element, f"has {name}={value!r}, an expression of xacro, which expands the file: run it first"
                )

    def fail(self, element: Any, reason: str) -> None:
        raise FileError(f"{self.path}, line {element.sourceline}: <{_plain(element)}> {reason}")


def _plain(element: Any) -> str:
    """The name of an element as the file has it, with the prefix of its namespace."""
    local = str(element.tag).rsplit("}", 1)[-1]
    return f"{element.prefix}:{local}" if element.prefix else local
