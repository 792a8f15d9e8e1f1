"""Scenes of URDF models: links as bodies, forward kinematics in batch, the pairs that an SRDF leaves.

from clearance import urdf

scene = urdf.load("robot.urdf", srdf="robot.srdf")
roll = cl.Engine().rollout(scene, worlds=4096, reduce="world")
r = roll(scene.poses(joints), quat="wxyz")  # joints [4096, dof], in the order of scene.joint_names

It needs yourdfpy, which reads the file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

import numpy as np

from ._arrays import Array, take
from ._bodies import Part
from ._decompose import advice, concavity, decomposed, mesh_shapes
from ._errors import FileError, OptionError, ShapeError
from ._kinematics import Tree, given_poses, normalized, quaternions, with_others
from ._library import Library
from ._meshes import convex_parts, foreign_mesh
from ._motion import Motion
from ._options import DerivativeOptions, flag
from ._scene import Scene
from ._scene_derivatives import by_coordinates
from ._shape import Shape
from ._srdf import disabled_pairs
from ._urdf_xml import read

if TYPE_CHECKING:
    from ._result import SceneResult
    from ._rollout import SceneRollout

_OWN_MESHES: Final = (".obj", ".stl", ".ply")


@dataclass(eq=False, repr=False)
class UrdfScene(Scene):
    """A scene of a URDF model.

    A body is a link with collision geometry, ``body_links[i]`` its index in ``link_names``, its parts are the collision
    elements of the link (meshes of several parts give several). ``joint_names`` are the joints of a configuration:
    those that move and do not mimic another, in the order of the file; ``limits`` [dof,2] are theirs: infinite of
    continuous joints and without ``<limit>``, 0 for a ``lower`` or ``upper`` that it does not name.

    Bodies that are added after loading, such as obstacles, belong to no link; ``poses`` takes theirs as ``others``.
    """

    link_names: list[str] = field(default_factory=list)
    body_links: list[int] = field(default_factory=list)
    tree: Tree = field(default_factory=Tree)

    @property
    def joint_names(self) -> list[str]:
        """The joints of a configuration, in order."""
        return self.tree.names

    @property
    def limits(self) -> Array:
        """The lower and upper limits [dof,2] of the joints, in radians or metres."""
        return np.array(self.tree.limits, np.float64).reshape(-1, 2)

    def forward(self, joints: Any, base: Any = None) -> Array:
        """Poses of all links [W,L,7], position and quaternion "wxyz", of configurations [W,dof].

        ``base`` is the pose of the root link in the world, [7] or [W,7] (default: the origin). Its quaternion may have
        any length; one that is 0 or not finite gives poses with NaN, whose rows are invalid.
        """
        q, root = self._at(joints, base)
        poses = np.empty((len(q), self.tree.links, 7))
        self.tree.write(poses, q, root, range(self.tree.links))
        return poses

    def poses(self, joints: Any, base: Any = None, others: Any = None, out: Any = None) -> Array:
        """Poses of the bodies [W,M,7] in the order "wxyz", for a rollout, of configurations [W,dof].

        ``others`` are the poses of the bodies added after loading, [K,7] or [W,K,7] (default: the origin). ``out`` is
        an array of an earlier call to write to; without ``others`` it keeps those that it has.
        """
        q, root = self._at(joints, base)
        known = len(self.body_links)
        poses = with_others(len(q), known, others, len(self.bodies) - known, out)
        self.tree.write(poses, q, root, self.body_links)
        return poses

    def _at(self, joints: Any, base: Any) -> tuple[Array, Array | None]:
        """Configurations [W,dof] and poses of the root link, [7] or [W,7]."""
        q = take("joints", joints, np.float64, (len(self.tree.names),), None, True)
        return q, None if base is None else normalized(given_poses("base", base, len(q), ()))

    def gradient(
        self,
        roll: SceneRollout,
        joints: Any,
        *,
        base: Any = None,
        others: Any = None,
        **options: Unpack[DerivativeOptions],
    ) -> tuple[SceneResult, Array]:
        """The answers of a rollout at configurations [W,dof], and the gradients of the distances with respect to these:
        [W,P,dof] of pairs, [W,dof] of worlds, [N,dof] of all pairs.

        ``options`` are those of :meth:`Result.vjp`. Rows without a derivative are zero: ``smoothness`` says which.
        """
        configurations = take("joints", joints, np.float64, (len(self.tree.names),), None, True)
        result = roll(self.poses(configurations, base, others), quat="wxyz", grad=True)
        return result, by_coordinates(result, self._motion(configurations, base), options)

    def joint_gradient(self, bodies: Any, joints: Any, base: Any = None) -> Array:
        """The gradient [W,dof] of that with respect to the twists of the bodies [W,M,6], as :meth:`Result.vjp` has it,
        at configurations [W,dof]."""
        configurations = take("joints", joints, np.float64, (len(self.tree.names),), None, True)
        twists = take("bodies", bodies, np.float64, (len(self.bodies), 6), len(configurations), True)
        return self._motion(configurations, base).gradient(twists, self.poses(configurations, base)[..., :3])

    def _motion(self, configurations: Array, base: Any) -> Motion:
        plan, frame, _ = self.tree.plan
        root = None if base is None else normalized(given_poses("base", base, len(configurations), ()))
        return Motion.of(plan, configurations, root, [frame[i] for i in self.body_links], len(self.bodies))

    def random_joints(self, count: int, seed: int | np.random.Generator = 0) -> Array:
        """Configurations [count,dof], uniform within the limits; a revolute joint without limits is sampled
        in [-π, π], a prismatic one without limits is refused."""
        limits = self.limits
        for i, kind in enumerate(self.tree.kinds):
            if not limits[i, 0] <= limits[i, 1]:
                raise OptionError(f"joint {self.tree.names[i]!r} has the limits {limits[i].tolist()}")
            if not np.isfinite(limits[i]).all():
                if kind == "prismatic":
                    raise OptionError(f"joint {self.tree.names[i]!r} is prismatic and has no limits to sample within")
                limits[i] = -np.pi, np.pi
        return np.random.default_rng(seed).uniform(limits[:, 0], limits[:, 1], (count, len(limits)))

    def _sampled(self) -> list[tuple[int, int]]:
        linked = len(self.body_links)
        return [(i, j) for i, j in self.pairs if i < linked and j < linked]

    def _samples(self, count: int, rng: np.random.Generator) -> Array:
        return self.poses(self.random_joints(count, rng))


def load(
    path: str | os.PathLike[str],
    *,
    srdf: str | os.PathLike[str] | None = None,
    srdf_ignore: Collection[str] = (),
    concave: Literal["raise", "hull", "coacd"] = "raise",
    tolerance: float | None = None,
    margin: float = 0.0,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    skip_adjacent: bool | None = None,
    omit: Collection[str] = (),
) -> UrdfScene:
    """The scene of a URDF file.

    Bodies are the links with collision geometry, all of it: boxes, cylinders, spheres, capsules (whose length is that
    of the segment) and meshes. An element of the robot, a link, a joint or its geometry that is not known is an error,
    unless ``omit`` names it, and so is a file that xacro has not expanded. A mesh whose parts are not convex raises
    :class:`FileError`; ``concave="hull"`` takes the hull of all its vertices, ``"coacd"`` the parts that
    :func:`clearance.decompose` finds; ``tolerance`` is that of :meth:`Library.mesh`. OBJ, STL and PLY are read as
    :meth:`Library.mesh_parts` does, other formats by trimesh, from the unit that the file states to metres and, of
    COLLADA, from its ``up_axis`` to z. ``margin`` is the radius of a ball that is added to every shape. ``packages``
    are the folders of packages by name; ``package://`` is looked for in the folders above the file, too.

    Joints are revolute, continuous, prismatic or fixed, and may mimic another. Floating and planar joints are refused
    by name.

    Pairs are all pairs of bodies. With ``srdf``, those that its ``disable_collisions`` names are left out, and no
    others; an unknown element, attribute or link in it is an error, unless ``srdf_ignore`` names the element. Without
    it (or with ``skip_adjacent=True``), so are links that a joint connects, and links that only fixed joints connect,
    whose distance never changes.
    """
    concavity(concave)
    if skip_adjacent is not None:
        skip_adjacent = flag("skip_adjacent", skip_adjacent)
    robot, capsules = read(os.fspath(path), omit)
    names = [link.name for link in robot.links]
    scene = UrdfScene(link_names=names, tree=Tree.of(os.fspath(path), names, robot.joints))
    meshes = _Meshes(Path(path), concave, packages or {}, scene.library, margin, tolerance)
    for index, link in enumerate(robot.links):
        parts: list[Part] = []
        for k, collision in enumerate(link.collisions):
            name = f"{link.name}/{collision.name or k}"
            if collision.geometry is None:
                raise FileError(f"{path}: collision element {name!r} has no geometry")
            origin = np.eye(4) if collision.origin is None else collision.origin
            pose = origin[:3, 3], quaternions(origin[None, :3, :3])[0]
            if (index, k) in capsules:
                rod = collision.geometry.cylinder
                shapes = [scene.library.capsule(rod.radius, rod.length / 2, name=name, margin=margin)]
            else:
                shapes = _shapes(scene, collision.geometry, name, margin, meshes)
            parts += [Part(s, *pose) for s in shapes]
        if parts:
            scene.add(*parts, name=link.name)
            scene.body_links.append(index)
    skipped = set() if srdf is None else disabled_pairs(srdf, robot.name, names, srdf_ignore)
    adjacent = skip_adjacent or (skip_adjacent is None and srdf is None)
    scene.pairs = _pairs(scene, skipped, adjacent)
    return scene


def _pairs(scene: UrdfScene, skipped: Collection[frozenset[str]], adjacent: bool) -> list[tuple[int, int]]:
    """All pairs of bodies without those skipped, by the names of their links, and without adjacent links."""
    links = np.array(scene.body_links, np.int64)
    number = {b.name: i for i, b in enumerate(scene.bodies)}
    at = {link: i for i, link in enumerate(scene.body_links)}
    gone: dict[int, list[int]] = {}
    rigid, joined = scene.tree.adjacent() if adjacent else (np.arange(scene.tree.links), [])
    named = [tuple(number.get(name, -1) for name in pair) for pair in skipped]
    for i, j in [*named, *((at.get(a, -1), at.get(b, -1)) for a, b in joined)]:
        if i >= 0 and j >= 0:
            gone.setdefault(min(i, j), []).append(max(i, j))
    pairs: list[tuple[int, int]] = []
    for i in range(len(links)):  # a row at a time, so that memory does not grow with pairs that are skipped
        kept = rigid[links[i + 1 :]] != rigid[links[i]]
        kept[[j - i - 1 for j in gone.get(i, ())]] = False
        pairs += [(i, j) for j in (np.flatnonzero(kept) + i + 1).tolist()]
    return pairs


def _shapes(scene: UrdfScene, geometry: Any, name: str, margin: float, meshes: _Meshes) -> list[int]:
    lib = scene.library
    options: dict[str, Any] = {"name": name, "margin": margin}
    if geometry.box is not None:
        return [lib.box(np.asarray(geometry.box.size) / 2, **options)]
    if geometry.cylinder is not None:
        return [lib.cylinder(geometry.cylinder.radius, geometry.cylinder.length / 2, **options)]
    if geometry.sphere is not None:
        return [lib.sphere(geometry.sphere.radius, **options)]
    if geometry.mesh is None:
        raise ShapeError(f"collision element {name!r} has no geometry that is known")
    scale = 1.0 if geometry.mesh.scale is None else np.asarray(geometry.mesh.scale, np.float64)
    if np.shape(scale) not in ((), (3,)) or not np.all(np.isfinite(scale)) or not np.all(scale):
        raise ShapeError(f"collision element {name!r}: scale {scale}, want three numbers other than 0")
    return meshes.shapes(geometry.mesh.filename, scale, name)


class _Meshes:
    """The mesh files of a model, each read once, and their shapes, each made once for a scale."""

    def __init__(
        self,
        path: Path,
        concave: str,
        packages: Mapping[str, str | os.PathLike[str]],
        library: Library,
        margin: float,
        tolerance: float | None,
    ) -> None:
        self.tolerance = tolerance
        self.path, self.concave, self.packages = path.resolve(), concave, packages
        self.library, self.margin = library, margin
        self.known: dict[Path, list[Shape]] = {}
        self.made: dict[tuple[Path, tuple[float, ...]], list[int]] = {}

    def shapes(self, uri: str, scale: Any, name: str) -> list[int]:
        """The shapes of a mesh at a scale. ``name`` is that of the collision element, and of shapes that are new."""
        parts = self.read(uri, name)
        key = self.find(uri, name), tuple(np.broadcast_to(scale, 3).tolist())
        if key not in self.made:
            options: dict[str, Any] = {"name": name, "margin": self.margin}
            self.made[key] = [self.library.convex(s.parameters["vertices"] * scale, **options) for s in parts]
        return self.made[key]

    def read(self, uri: str, name: str) -> list[Shape]:
        """The convex parts of a mesh file, or its hull."""
        file = self.find(uri, name)
        if file not in self.known:
            try:
                own = file.suffix.lower() in _OWN_MESHES
                self.known[file] = mesh_shapes(file, self.concave, self.tolerance) if own else self.foreign(file)
            except FileError as e:
                raise FileError(f"collision element {name!r}: {e}") from e
        return self.known[file]

    def foreign(self, file: Path) -> list[Shape]:
        """The hull of a mesh in a format that only trimesh reads, or its parts."""
        vertices, faces = foreign_mesh(file)
        if self.concave != "hull":
            try:
                return convex_parts(vertices, faces, os.fspath(file), advice(file), self.tolerance)
            except FileError:
                if self.concave == "raise":
                    raise
                return decomposed(file)
        return [Shape("convex", {"vertices": vertices})]

    def find(self, uri: str, name: str) -> Path:
        """The file of a name in the URDF."""
        tried: list[Path] = []
        if uri.startswith("package://"):
            package, _, rest = uri[len("package://") :].partition("/")
            inside = os.path.normpath(rest)
            if package in ("", ".", "..") or rest.startswith("/") or inside.split(os.sep, 1)[0] == os.pardir:
                raise FileError(f"collision element {name!r}: {uri} leaves its package, want package://NAME/FILE")
            if package in self.packages:
                tried = [Path(self.packages[package]) / rest]
            else:
                above = list(self.path.parents)
                tried = [p / rest for p in above if p.name == package] + [p / package / rest for p in above]
        elif "://" in uri and not uri.startswith("file://"):
            raise FileError(f"collision element {name!r}: {uri}: want a path, file:// or package://")
        else:
            tried = [self.path.parent / uri.removeprefix("file://")]
        for file in tried:
            if file.is_file():
                return file
        raise FileError(
            f"collision element {name!r}: {uri} is not found; packages={{name: folder}} says where packages are"
            if uri.startswith("package://")
            else f"collision element {name!r}: {tried[0]} is not found"
        )


__all__ = ["UrdfScene", "load"]
