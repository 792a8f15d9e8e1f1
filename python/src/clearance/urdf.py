"""Scenes of URDF models: links as bodies, forward kinematics in batch, the pairs that an SRDF leaves.

from clearance import urdf

scene = urdf.load("robot.urdf", srdf="robot.srdf")
roll = cl.Engine().rollout(scene, worlds=4096, reduce="world")
r = roll(scene.poses(joints))  # joints [4096, dof], in the order of scene.joint_names

COLLADA and other formats of meshes than OBJ, STL and PLY are read by trimesh.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ._arrays import Array, take_batch, take_rows
from ._bodies import Part
from ._kinematics import Tree, given_poses, normalized, product, with_others
from ._library import Library
from ._mesh_files import MeshFiles, shapes_of
from ._meshes import UP_AXES, UpAxis, concavity
from ._options import DerivativeOptions, flag, one_of, real, sampled_limits, whole, with_order
from ._packages import SCHEMES, package_file
from ._regions import Coordinates
from ._scene import Scene
from ._scene_derivatives import Motion, Step
from ._srdf import disabled_pairs
from ._urdf_xml import Robot, read
from ._xml import Given, Notes, Source

if TYPE_CHECKING:
    from ._result import SceneResult
    from ._rollout import SceneRollout


@dataclass(eq=False, repr=False)
class UrdfScene(Scene):
    """A scene of a URDF model.

    A body is a link with collision geometry, ``body_links[i]`` its index in ``link_names``, its parts are the collision
    elements of the link (meshes of several parts give several). ``joint_names`` are the joints of a configuration:
    those that move and do not mimic another, in the order of the file; ``limits`` [dof,2] are theirs: infinite of
    continuous joints and without ``<limit>``, 0 for a ``lower`` or ``upper`` that it does not name. ``notes`` says what
    of the file was read otherwise than it stands there, or passed over: a line each, with file, line and link.

    Bodies that are added after loading, such as obstacles, belong to no link; ``poses`` takes theirs as ``others``.
    """

    link_names: list[str] = field(default_factory=list)
    body_links: list[int] = field(default_factory=list)
    tree: Tree = field(default_factory=Tree)
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return super().__repr__() + (f", {len(self.notes)} notes" if self.notes else "")

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

        Configurations may have several leading axes, such as [B,T,dof], here and in other calls; what is returned has
        the same ones. An array of poses remembers its order of quaternions, so that ``roll(poses)`` needs no ``quat``.

        ``base`` is the pose of the root link in the world, [7] or [W,7] (default: the origin). Its quaternion may have
        any length; one that is 0 or not finite gives poses with NaN, whose rows are invalid.
        """
        q, lead, root = self._at(joints, base)
        poses = np.empty((len(q), self.tree.links, 7))
        self.tree.write(poses, q, root, range(self.tree.links))
        return with_order(poses.reshape(*lead, self.tree.links, 7), "wxyz")

    def poses(self, joints: Any, base: Any = None, others: Any = None, out: Any = None) -> Array:
        """Poses of the bodies [W,M,7] in the order "wxyz", for a rollout, of configurations [W,dof].

        ``others`` are the poses of the bodies added after loading, [K,7] or [W,K,7] (default: the origin), with or
        without those of attached bodies, which nobody reads. ``out`` is an array of an earlier call to write to;
        without ``others`` it keeps those that it has.
        """
        q, lead, root = self._at(joints, base)
        known = len(self.body_links)
        others = self._with_attached(known, others)
        poses, worlds = with_others(lead, known, others, len(self.bodies) - known, out)
        self.tree.write(worlds, q, root, self.body_links)
        return poses

    def _at(self, joints: Any, base: Any) -> tuple[Array, tuple[int, ...], Array | None]:
        """Configurations [W,dof], their leading axes, and poses of the root link, [7] or [W,7]."""
        q, lead = take_rows("joints", joints, (len(self.tree.names),))
        return q, lead, None if base is None else normalized(given_poses("base", base, lead, ()))

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
        q, _, root = self._at(joints, base)
        result = roll(self.poses(joints, base, others), grad=True)
        step: Step = result._answered
        return result, step.by_coordinates(self._motion(q, root), options)

    def joint_gradient(self, bodies: Any, joints: Any, base: Any = None) -> Array:
        """The gradient [W,dof] of that with respect to the twists of the bodies [W,M,6], as :meth:`Result.vjp` has it,
        at configurations [W,dof]."""
        q, lead, root = self._at(joints, base)
        twists = take_batch("bodies", bodies, np.float64, (len(self.bodies), 6), len(q), True)
        origins = np.asarray(self.poses(joints, base)).reshape(len(q), -1, 7)[..., :3]
        gradient = self._motion(q, root).gradient(twists.reshape(*origins.shape[:2], 6), origins)
        return gradient.reshape(*lead, q.shape[1])

    def _motion(self, configurations: Array, root: Array | None) -> Motion:
        plan, frame, _ = self.tree.plan
        return Motion.of(plan, configurations, root, [frame[i] for i in self.body_links], len(self.bodies))

    def random_joints(
        self, count: int, seed: int | np.random.Generator = 0, *, slides: tuple[float, float] | None = None
    ) -> Array:
        """Configurations [count,dof], uniform within the limits; a revolute joint without limits is sampled in
        [-π, π], a prismatic one without limits within ``slides`` (metres), and refused without that."""
        count = whole("count", count)
        limits = sampled_limits(self.joint_names, [k == "prismatic" for k in self.tree.kinds], self.limits, slides)
        return np.random.default_rng(seed).uniform(limits[:, 0], limits[:, 1], (count, len(limits)))

    def _coordinates(self) -> Coordinates:
        tree, known = self.tree, len(self.body_links)
        joints = {
            name: (i, (float(low), float(high)), kind == "prismatic")
            for i, (name, kind, (low, high)) in enumerate(zip(tree.names, tree.kinds, tree.limits, strict=True))
        }

        def moved(names: Collection[str]) -> list[int]:
            """The bodies below some joints and those that mimic them."""
            index, below = {joints[n][0] for n in names}, set[int]()
            for j in tree.joints:  # which follow those above them
                if j.index in index or j.parent in below:
                    below.add(j.child)
            return [i for i, link in enumerate(self.body_links) if link in below]

        return Coordinates(known, np.zeros(len(tree.names)), joints, moved, {}, self.poses)

    def _sampled(self) -> list[tuple[int, int]]:
        linked = len(self.body_links)
        return [(i, j) for i, j in self.pairs if i < linked and j < linked]

    def _samples(self, count: int, rng: np.random.Generator, slides: tuple[float, float] | None) -> Array:
        return self.poses(self.random_joints(count, rng, slides=slides))


def load(
    source: Given,
    *,
    srdf: Given | None = None,
    srdf_ignore: Collection[str] = (),
    concave: Literal["raise", "hull", "coacd"] = "raise",
    tolerance: float | None = None,
    margin: float = 0.0,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    folder: str | os.PathLike[str] | None = None,
    skip_adjacent: bool | None = None,
    omit: Collection[str] = (),
    strict: bool = False,
    up_axis: UpAxis = "ignore",
) -> UrdfScene:
    """The scene of a URDF file: of its path, ``package://NAME/FILE`` of an installed package, its text (which begins
    with "<"), or a file object; ``srdf`` alike.

    Bodies are the links with collision geometry, all of it: boxes, cylinders, spheres, capsules (whose length is that
    of the segment), meshes, and PyBullet's ``<plane>``, a half-space. A sphere of radius 0 is a point, and boxes,
    cylinders and capsules without a thickness are flat. A mesh whose parts are not convex raises :class:`FileError`;
    ``concave="hull"`` takes the hull of all its vertices, as MuJoCo, PyBullet and coal do, ``"coacd"`` the parts that
    :func:`clearance.decompose` finds; ``tolerance`` is that of :meth:`Library.mesh`. OBJ, STL and PLY are read as
    :meth:`Library.mesh_parts` does, other formats by trimesh, from the unit that the file states to metres. Coordinates
    are taken as they stand: RViz, pinocchio and PyBullet do not look at the ``up_axis`` of COLLADA, and
    ``up_axis="file"`` rotates from it to z. ``margin`` is the radius of a ball that is added to every shape.

    ``packages`` are the folders of packages by name; ``package://`` and ``model://`` are looked for in the folders
    above the file, too, and where ROS and pip install packages (ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, ``share`` of the
    environment). ``folder`` is that of the file (default: of a text, the current one).

    Faults that change nothing, such as a wrong version of XML, and elements and attributes that are not known are
    passed over, and ``notes`` of the scene lists them; with ``strict=True`` they are errors. An element that may be a
    known one, misspelt or out of place, is an error in any case, and so are numbers that are none, and a file that
    xacro has not expanded. ``omit`` leaves elements out, as PARENT/ELEMENT: ``omit=("link/collision",)``.

    Joints are revolute, continuous, prismatic or fixed, and may mimic another. Floating and planar joints are refused
    by name.

    Pairs are all pairs of bodies. With ``srdf``, those that its ``disable_collisions`` names are left out, and no
    others; an unknown element, attribute or link in it is an error, unless ``srdf_ignore`` names the element. Without
    it (or with ``skip_adjacent=True``), so are links that a joint connects, and links that only fixed joints connect,
    whose distance never changes. Half-spaces make no pair with each other.
    """
    notes = Notes(flag("strict", strict))
    up_axis = one_of("up_axis", up_axis, UP_AXES)
    concavity(concave)
    margin = real("margin", margin, 0)
    if tolerance is not None:
        tolerance = real("tolerance", tolerance, 0)
    if skip_adjacent is not None:
        skip_adjacent = flag("skip_adjacent", skip_adjacent)
    source, srdf = (_found(x, packages or {}) for x in (source, srdf))
    given = Source.of(source, "urdf", folder)
    robot = read(given, omit, notes)
    meshes = MeshFiles(given.folder, packages or {}, Library(), notes, concave, tolerance, margin, up_axis)
    scene = scene_of(robot, meshes)
    skipped = set[frozenset[str]]()
    if srdf is not None:
        semantics = Source.of(srdf, "srdf", folder)
        skipped = disabled_pairs(semantics, robot.name, scene.link_names, srdf_ignore, notes)
    adjacent = skip_adjacent or (skip_adjacent is None and srdf is None)
    scene.pairs = _pairs(scene, skipped, adjacent)
    scene.notes = notes.lines
    return scene


def _found(given: Any, packages: Mapping[str, str | os.PathLike[str]]) -> Any:
    """A source, of which ``package://NAME/FILE`` is the path of the file."""
    return package_file(given, packages) if isinstance(given, str) and given.startswith(SCHEMES) else given


def scene_of(robot: Robot, meshes: MeshFiles) -> UrdfScene:
    """The scene of a robot, without pairs."""
    names = [link.name for link in robot.links]
    scene = UrdfScene(meshes.library, link_names=names, tree=Tree.of(robot.links, robot.joints))
    for index, link in enumerate(robot.links):
        parts: list[Part] = []
        for collision in link.collisions:
            shapes, local = shapes_of(collision, meshes)
            rotation = product(collision.rotation, local)
            # What simulations read of a file: there is nothing of it in scenes.
            own = {
                name: next((v for s in collision.surfaces if (v := getattr(s, name)) is not None), None)
                for name in ("friction", "restitution")
            }
            parts += [Part(s, collision.position, rotation, **own) for s in shapes]
        if parts:
            scene.add(*parts, name=link.name)
            scene.body_links.append(index)
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
    endless = np.array([any(scene.library[p.shape].kind == "halfspace" for p in b.parts) for b in scene.bodies], bool)
    pairs: list[tuple[int, int]] = []
    for i in range(len(links)):  # a row at a time, so that memory does not grow with pairs that are skipped
        kept = rigid[links[i + 1 :]] != rigid[links[i]]
        kept[[j - i - 1 for j in gone.get(i, ())]] = False
        if endless[i]:
            kept &= ~endless[i + 1 :]
        pairs += [(i, j) for j in (np.flatnonzero(kept) + i + 1).tolist()]
    return pairs


__all__ = ["UrdfScene", "load"]
