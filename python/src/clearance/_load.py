"""Files of models, meshes and scenes, each read as what it is."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Unpack

from ._errors import FileError, OptionError
from ._library import Library
from ._meshes import MESHES, UP_AXES, UpAxis, concavity
from ._options import check_names, one_of, real
from ._packages import SCHEMES, package_file
from ._scene import Scene

if TYPE_CHECKING:
    from ._xml import Given

# Formats of meshes that trimesh reads, each with packages of its own. Others, such as FBX, it has no reader for.
_FOREIGN: Final = (".dae", ".gltf", ".glb", ".off", ".3mf")

_READ: Final = (
    "want URDF or MJCF (XML that begins with <robot> or <mujoco>, .mjb), a mesh "
    f"({', '.join(e[1:].upper() for e in MESHES)}; {', '.join(e[1:] for e in _FOREIGN)} by trimesh), or shapes.json"
)

# How files begin whose extension says otherwise, or nothing.
_MAGIC: Final = ((b"ply", ".ply"), (b"solid ", ".stl"), (b"glTF", ".glb"), (b"OFF", ".off"))
_USD: Final = (".usd", ".usda", ".usdc", ".usdz")

# What may stand before the root element of XML.
_PROLOG: Final = re.compile(r"(?:\s+|\ufeff|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\])?\s*>)*", re.DOTALL)
_TAG: Final = re.compile(r"<([^\s<>/]+)")

_URDF: Final = (
    *("concave", "tolerance", "margin", "srdf", "srdf_ignore", "packages", "folder", "skip_adjacent", "omit"),
    *("strict", "up_axis"),
)
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "URDF": _URDF,
    "MJCF": ("concave", "tolerance", "margin", "omit"),
    "mesh": ("concave", "tolerance", "margin", "up_axis"),
}


class LoadOptions(TypedDict, total=False):
    """Options of the readers of models; see :func:`load`."""

    concave: Literal["raise", "hull", "coacd"]
    tolerance: float | None
    margin: float | Literal["ignore", "add"]
    srdf: Given | None
    srdf_ignore: Collection[str]
    packages: Mapping[str, str | os.PathLike[str]] | None
    folder: str | os.PathLike[str] | None
    skip_adjacent: bool | None
    omit: Collection[str]
    strict: bool
    up_axis: UpAxis


def load(path: str | os.PathLike[str], **options: Unpack[LoadOptions]) -> Scene:
    """The scene of a file, read as what it is, whatever its name:

    - URDF, XML whose root is ``<robot>``: a :class:`clearance.urdf.UrdfScene`, as of :func:`clearance.urdf.load`.
    - MJCF, XML whose root is ``<mujoco>``, and a compiled ``.mjb``: a :class:`clearance.mujoco.MujocoScene`, as of
      :func:`clearance.mujoco.from_model`. It takes the package mujoco.
    - A mesh, by its extension: a :class:`Scene` of one body with the name of the file, whose parts are those of
      :meth:`Library.mesh_parts`. OBJ, STL and PLY are in their own unit; COLLADA, glTF, OFF and 3MF are read by
      trimesh, in metres.
    - shapes.json: a :class:`Scene`, as of :meth:`Scene.load`.

    SDF and USD are not read, nor is any other file: :class:`FileError` names what it is. Options are those of the
    reader, such as ``concave="hull"``, which URDF, MJCF and meshes have; one that the reader lacks is refused by name.

    ``path`` may be ``package://NAME/FILE``, of a package that ROS or pip has installed, or that ``packages`` names.
    """
    try:
        name = os.fspath(path)
    except TypeError as e:
        raise OptionError(f"path: {path!r:.60}, want the path of a file") from e
    file = package_file(name, options.get("packages") or {}) if name.startswith(SCHEMES) else Path(name)
    return read_as(kind_of(file), file, options)


def read_as(kind: str, file: Path, options: Mapping[str, Any]) -> Scene:
    """The scene of a file that is what :func:`kind_of` says."""
    if kind == "shapes.json" and options:
        raise OptionError(f"{next(iter(options))}: no option of shapes.json, which has none")
    check_names(f"the reader of {kind} files", options, list(_OPTIONS.get(kind, ())))
    given: dict[str, Any] = dict(options)
    if kind == "URDF":
        from . import urdf

        return urdf.load(file, **given)
    if kind == "MJCF":
        from . import mujoco

        try:
            importlib.import_module("mujoco")
        except ImportError as e:
            raise ImportError(f"{file} is MJCF, which the package mujoco compiles: pip install mujoco") from e
        return mujoco.from_model(file, **given)
    return Scene.load(file) if kind == "shapes.json" else _of_mesh(file, **given)


def _of_mesh(
    file: Path,
    concave: str = "raise",
    tolerance: float | None = None,
    margin: float = 0.0,
    up_axis: UpAxis = "ignore",
) -> Scene:
    """The scene of a mesh file."""
    from ._mesh_files import mesh_file

    axis: UpAxis = one_of("up_axis", up_axis, UP_AXES)
    margin = real("margin", margin, 0)
    library = Library()
    shapes = mesh_file(file, concavity(concave), tolerance, axis)
    scene = Scene(library)
    scene.add(*(library._append(s, margin, s.name or file.stem) for s in shapes), name=file.stem)
    return scene


def kind_of(file: Path) -> str:
    """What a file is, "URDF", "MJCF", "mesh" or "shapes.json", by its contents, and of meshes by its extension.
    FileError if it is nothing that is read."""
    if file.is_dir():
        raise FileError(f"{file} is a folder, want a file")
    try:
        with file.open("rb") as f:
            begin = f.read(1 << 10)
    except (OSError, ValueError) as e:
        raise FileError(f"{file}: {getattr(e, 'strerror', None) or e}") from e
    end = file.suffix.lower()
    if begin.startswith((b"PXR-USDC", b"#usda")) or end in _USD:
        raise FileError(f"{file} is USD, which is not read: convert the model to URDF or MJCF, or its meshes to OBJ")
    root = _root(file, begin)
    if root == "sdf" or (end == ".sdf" and root is None):
        raise FileError(f"{file} is SDF, which is not read: convert the model to URDF or MJCF")
    if root == "robot":
        if end == ".srdf":
            raise FileError(f"{file} is SRDF, which belongs to a URDF file: load that with srdf=")
        return "URDF"
    if root in ("mujoco", "mujocoinclude") or end == ".mjb":
        return "MJCF"
    if end in (*MESHES, *_FOREIGN):
        return "mesh"
    if root == "COLLADA":
        raise FileError(f"{file} is COLLADA: give it the extension .dae")
    if root is not None:
        raise FileError(f"{file} begins with <{root}>; {_READ}")
    if end == ".json" and _lists_shapes(file):
        return "shapes.json"
    for magic, extension in _MAGIC:
        if begin.startswith(magic):
            what = extension[1:].upper()
            raise FileError(f"{file} begins as {what} does: give it the extension {extension}, or {_READ}")
    raise FileError(f"{file} is empty" if not begin else f"{file} is no model that is known; {_READ}")


def _root(file: Path, begin: bytes) -> str | None:
    """The name of the root element of XML, None of what is none."""
    if not begin.startswith((b"\xff\xfe", b"\xfe\xff")) and not begin.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return None
    from ._xml import Notes, Source, text_of

    try:
        text = text_of(Source.of(file, "model"), Notes())
    except FileError:
        return None
    prolog = _PROLOG.match(text)
    tag = _TAG.match(text, prolog.end() if prolog else 0)
    return tag[1] if tag else None


def _lists_shapes(file: Path) -> bool:
    """Whether a JSON file is one of shapes; one that is damaged is, since its reader says where."""
    try:
        found: Any = json.loads(file.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError):
        return True
    return isinstance(found, dict) and bool({"shapes", "bodies"} & found.keys())
