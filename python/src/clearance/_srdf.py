"""Semantic descriptions of robots (SRDF): the pairs of links that a planner does not check.

Every element and every attribute is known by name, or an error: a misspelt pair would be a pair that is checked, or
one that is not, and nobody would see it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NoReturn

from ._errors import FileError, OptionError
from ._xml import Element, Notes, Source, parse


@dataclass(frozen=True)
class _Tag:
    """An element: its attributes (those in ``optional`` may be missing), and the elements that it may contain."""

    attributes: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # attributes that name a link
    joints: tuple[str, ...] = ()  # attributes that name a joint of the URDF


_PAIR: Final = _Tag(("link1", "link2"), ("reason",), links=("link1", "link2"))

# The elements of the robot. An element of the same name has another meaning in a group and in a state of a group.
_ROBOT: Final[dict[str, _Tag]] = {
    "disable_collisions": _PAIR,
    "enable_collisions": _PAIR,
    "disable_default_collisions": _Tag(("link",), links=("link",)),
    "group": _Tag(("name",), children=("group/link", "group/joint", "group/passive_joint", "chain", "subgroup")),
    "group_state": _Tag(("name",), ("group",), children=("state/joint",)),
    "end_effector": _Tag(("name", "group", "parent_link"), ("parent_group", "component_name"), links=("parent_link",)),
    "virtual_joint": _Tag(("name", "type", "parent_frame", "child_link"), links=("child_link",)),
    "passive_joint": _Tag(("name",)),
    "joint_property": _Tag(("joint_name", "property_name", "value")),
    "link_sphere_approximation": _Tag(("link",), children=("sphere",), links=("link",)),
}
_INNER: Final[dict[str, _Tag]] = {
    "group/link": _Tag(("name",), links=("name",)),
    "group/joint": _Tag(("name",)),
    "group/passive_joint": _Tag(("name",)),
    "chain": _Tag(("base_link", "tip_link"), links=("base_link", "tip_link")),
    "subgroup": _Tag(("name",)),
    "state/joint": _Tag(("name", "value")),
    "sphere": _Tag(("center", "radius")),
}
_SUBGROUP: Final = "group"  # the name of a subgroup in the file

Pair = frozenset[str]


def disabled_pairs(
    source: Source, robot: str, links: Collection[str], ignore: Collection[str], notes: Notes
) -> set[Pair]:
    """The pairs of links whose collisions an SRDF file disables.

    ``robot`` is the name that the file must give, ``links`` are those of the URDF; elements of the robot whose name is
    in ``ignore`` are extensions of no meaning here.
    """
    if isinstance(ignore, str):
        raise OptionError(f"srdf_ignore: {ignore!r} is a text, want a list of names, such as ({ignore!r},)")
    return _Reader(source.name, links, ignore).pairs(parse(source, notes), robot)


class _Reader:
    def __init__(self, path: str, links: Collection[str], ignore: Collection[str]) -> None:
        self.path, self.links, self.ignore = path, links, ignore

    def pairs(self, root: Element, robot: str) -> set[Pair]:
        if root.tag != "robot":
            self.fail(root, f"<{root.tag}> is the root element, want <robot>")
        if root.get("name") != robot:
            self.fail(root, f"the robot is {root.get('name')!r}, that of the URDF {robot!r}")
        by_default: set[str] = set()
        disabled: set[Pair] = set()
        enabled: set[Pair] = set()
        for element in self.elements(root):
            if element.tag in self.ignore:
                continue
            if element.tag not in _ROBOT:
                advice = f"srdf_ignore=({element.tag!r},) leaves it out"
                self.fail(element, f"unknown element <{element.tag}>, want one of {', '.join(_ROBOT)}; {advice}")
            self.check(element, _ROBOT[element.tag])
            if element.tag == "disable_default_collisions":
                by_default.add(element.attrib["link"])
            elif element.tag in ("disable_collisions", "enable_collisions"):
                pair = frozenset((element.attrib["link1"], element.attrib["link2"]))
                if len(pair) == 1:
                    self.fail(element, f"a pair of link {element.get('link1')!r} and itself")
                (disabled if element.tag == "disable_collisions" else enabled).add(pair)
        every = {frozenset((a, b)) for a in by_default for b in self.links if a != b}
        return (every - enabled) | disabled

    def elements(self, parent: Element) -> list[Element]:
        """The child elements."""
        if parent.text.strip():
            self.fail(parent, f"text in <{parent.tag}>")
        return parent.children

    def check(self, element: Element, tag: _Tag) -> None:
        for name in element.attrib:
            if name not in tag.attributes + tag.optional:
                self.fail(element, f"<{element.tag}> has the unknown attribute {name!r}")
        for name in tag.attributes:
            if element.get(name) is None:
                self.fail(element, f"<{element.tag}> lacks the attribute {name!r}")
        for name in tag.links:
            if element.get(name) not in self.links:
                self.fail(element, f"{name}={element.get(name)!r} is no link of the URDF")
        inner = {_SUBGROUP if c == "subgroup" else c.rsplit("/", 1)[-1]: _INNER[c] for c in tag.children}
        for child in self.elements(element):
            if child.tag not in inner:
                self.fail(child, f"unknown element <{child.tag}> in <{element.tag}>")
            self.check(child, inner[child.tag])

    def fail(self, element: Element, reason: str) -> NoReturn:
        raise FileError(f"{self.path}, line {element.line}: {reason}")
