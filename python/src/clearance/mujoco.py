"""Scenes of MuJoCo models: shapes, bodies, the pairs that MuJoCo would collide, and poses.

import mujoco, clearance as cl
from clearance.mujoco import from_model

model = mujoco.MjModel.from_xml_path("robot.xml")
scene = from_model(model, concave="hull")  # or from_model("robot.xml", concave="hull")
roll = cl.Engine().rollout(scene, worlds=1, max_distance=0.1)
r = roll(scene.poses(data))
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack

import numpy as np

from ._arrays import Array, host, take_batch, take_rows
from ._bodies import Part
from ._errors import ArrayError, FileError, OptionError, ShapeError
from ._kinematics import Moved, Plan, product, quaternions, rotated, with_others
from ._library import Library
from ._meshes import convex_parts
from ._mujoco_model import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    HFIELD,
    MESH,
    PLANE,
    SDF,
    SPHERE,
    Filter,
    body_pose,
    compiled,
    geom_pose,
    name_of,
    package,
)
from ._options import DerivativeOptions, sampled_limits, whole
from ._pin_geometry import tangents
from ._regions import Coordinates
from ._scene import Scene
from ._scene_derivatives import Motion, Step

if TYPE_CHECKING:
    from ._points import ContactPoints
    from ._result import SceneResult
    from ._rollout import SceneRollout

# mjtJoint
_FREE, _BALL, _SLIDE, _HINGE = range(4)

_KINDS: Final = {_FREE: "free", _BALL: "ball", _SLIDE: "prismatic", _HINGE: "revolute"}

# MuJoCo collides a mesh of so many vertices by its graph (mesh_graph), which maxhullvert limits, and one of fewer by
# all vertices: mjMESH_HILLCLIMB_MIN of engine_collision_convex.h, which its Python package does not have.
_GRAPH_VERTICES: Final = 10


@dataclass(eq=False, repr=False)
class MujocoScene(Scene):
    """A scene of a MuJoCo model.

    A body of the scene is the geoms of one MuJoCo body that collide alike. ``body_ids[i]`` is the MuJoCo body of body i
    of the scene, and ``geom_ids[i][k]`` the geom of its part k, as ``part_a`` and ``part_b`` of results count them.
    ``omitted`` names what was left out as asked.

    Bodies that are added to the scene belong to no body of the model; ``poses`` takes theirs as ``others``.
    """

    body_ids: list[int] = field(default_factory=list)
    geom_ids: list[list[int]] = field(default_factory=list)
    model: Any = None
    omitted: list[str] = field(default_factory=list)

    def poses(
        self,
        data: Any = None,
        *,
        qpos: Any = None,
        xpos: Any = None,
        xquat: Any = None,
        xmat: Any = None,
        others: Any = None,
        out: Any = None,
    ) -> Array:
        """Poses [W,M,7] in the order "wxyz": of one or more MjData, of configurations qpos [W,nq], or of batched xpos
        [W,nbody,3] with xquat [W,nbody,4] or xmat [W,nbody,9].

        With ``qpos`` the forward kinematics is that of ``mj_kinematics``, of all worlds at once; mocap bodies are where
        the model has them. ``others`` are the poses of the bodies added to the scene, [K,7] or [W,K,7] (default: the
        origin), with or without those of attached bodies, which nobody reads. ``out`` is an array of an earlier call
        to write to; without ``others`` it keeps those that it has.

        Arrays may have several leading axes in place of W, which the poses have, too. The poses remember their order
        of quaternions, so that ``roll(poses)`` needs no ``quat``.
        """
        known = len(self.body_ids)
        more, others = len(self.bodies) - known, self._with_attached(known, others)
        if qpos is not None:
            if data is not None or xpos is not None or xquat is not None or xmat is not None:
                raise OptionError("want MjData, qpos, or xpos with one of xquat and xmat")
            q, lead = self._configurations(qpos)
            poses, worlds = with_others(lead, known, others, more, out)
            plan, frame, within = self._plan
            plan.write(worlds, q, None, [frame[i] for i in self.body_ids], within[self.body_ids])
            return poses
        if data is not None:
            every = data if isinstance(data, Sequence) else [data]
            if not every:
                raise ArrayError("data", "is empty, want one MjData or more")
            own = (int(self.model.nbody), 3)
            for d in every:
                if np.shape(getattr(d, "xpos", ())) != own:
                    raise ArrayError("data", f"{d!r:.60}: want MjData of the model, whose xpos is {list(own)}")
            xpos, xquat = np.stack([d.xpos for d in every]), np.stack([d.xquat for d in every])
        if xpos is None or (xquat is None) == (xmat is None):
            raise OptionError("want MjData, qpos, or xpos with one of xquat and xmat")
        p, bodies = host("xpos", xpos, True), int(self.model.nbody)
        if p.ndim < 3 or p.shape[-2:] != (bodies, 3):
            want = f"[W, {bodies}, 3], or [..., {bodies}, 3], of all bodies of the model"
            raise ArrayError("xpos", f"has the shape {list(p.shape)}, want {want}")
        name = "xmat" if xquat is None else "xquat"
        rotations = host(name, xmat if xquat is None else xquat, True)
        tails = ((4,),) if xquat is not None else ((9,), (3, 3))
        if rotations.shape not in [(*p.shape[:-1], *tail) for tail in tails]:
            want = " or ".join(str([*p.shape[:-1], *tail]) for tail in tails)
            raise ArrayError(name, f"has the shape {list(rotations.shape)}, want {want}")
        for array, of in ((p, "xpos"), (rotations, name)):
            if array.dtype.kind not in "fiu":
                raise ArrayError(of, f"is {array.dtype}, want real numbers")
        if xquat is not None:
            q = rotations[..., self.body_ids, :]
        else:
            matrices = rotations.reshape(*p.shape[:-1], 3, 3)
            q = quaternions(matrices[..., self.body_ids, :, :].astype(np.float64))
        poses, _ = with_others(p.shape[:-2], known, others, more, out)
        poses[..., :known, :3], poses[..., :known, 3:] = p[..., self.body_ids, :], q
        return poses

    @cached_property
    def _plan(self) -> tuple[Plan, list[int], Array]:
        """The frames that joints of the model move, and of each of its bodies its frame and its pose [nbody,7] in that:
        mj_kinematics."""
        model, moved = self.model, list[Moved]()
        frame, within = [0] * model.nbody, np.tile([0, 0, 0, 1.0, 0, 0, 0], (model.nbody, 1))
        for body in range(1, model.nbody):  # a parent has a lower index
            parent, first = int(model.body_parentid[body]), int(model.body_jntadr[body])
            at, above = frame[parent], within[parent]
            offset, rotation = body_pose(model, body)
            position, rotation = above[:3] + rotated(above[3:], offset), product(above[3:], rotation)
            for j in range(first, first + int(model.body_jntnum[body])):
                kind, anchor, axis = int(model.jnt_type[j]), np.array(model.jnt_pos[j]), np.array(model.jnt_axis[j])
                index, name = int(model.jnt_qposadr[j]), _KINDS[int(model.jnt_type[j])]
                if kind == _SLIDE:
                    anchor = np.zeros(3)
                # The joint rotates about its anchor; the origin of the body is at -anchor from there.
                zero = 0.0 if kind in (_FREE, _BALL) else -float(model.qpos0[index])
                moved.append(Moved(name, at, position + rotated(rotation, anchor), rotation, axis, index, offset=zero))
                at, rotation = len(moved), np.array([1.0, 0, 0, 0])
                position = np.zeros(3) if kind == _FREE else -anchor
            frame[body], within[body, :3], within[body, 3:] = at, position, rotation
        return Plan(moved), frame, within

    def gradient(
        self, roll: SceneRollout, qpos: Any, *, others: Any = None, **options: Unpack[DerivativeOptions]
    ) -> tuple[SceneResult, Array]:
        """The answers of a rollout at configurations qpos [W,nq], and the gradients of the distances with respect to
        these: [W,P,nq] of pairs, [W,nq] of worlds, [N,nq] of all pairs.

        Quaternions in qpos count as free numbers: their gradients are orthogonal to them. ``options`` are those of
        :meth:`Result.vjp`. Rows without a derivative are zero: ``smoothness`` says which.
        """
        result = roll(self.poses(qpos=qpos, others=others), grad=True)
        step: Step = result._answered
        return result, step.by_coordinates(self._motion(self._configurations(qpos)[0]), options)

    def joint_gradient(self, bodies: Any, qpos: Any) -> Array:
        """The gradient [W,nq] of that with respect to the twists of the bodies [W,M,6], as :meth:`Result.vjp` has it,
        at configurations qpos [W,nq]."""
        q, lead = self._configurations(qpos)
        twists = take_batch("bodies", bodies, np.float64, (len(self.bodies), 6), len(q), True)
        origins = np.asarray(self.poses(qpos=q))[..., :3]
        return self._motion(q).gradient(twists.reshape(*origins.shape[:2], 6), origins).reshape(*lead, q.shape[1])

    def contact_jacobian(self, data: Any, contacts: ContactPoints) -> Array:
        """The Jacobian [K,3,nv] of the K contact points of this scene at one MjData, as
        :func:`clearance.contact.solve_system` takes it: two tangential rows and the normal one of the velocity of B at
        the point, relative to A. Bodies that were added to the scene do not move."""
        mujoco = package()

        count, nv = len(contacts), int(self.model.nv)
        sides = np.zeros((count, 3, nv))
        for k, (pair, point) in enumerate(zip(contacts.pair, contacts.position, strict=True)):
            for body, sign in zip(self.pairs[pair], (-1.0, 1.0), strict=True):
                if body < len(self.body_ids):
                    moved = np.zeros((3, nv))
                    mujoco.mj_jac(self.model, data, moved, None, point, self.body_ids[body])
                    sides[k] += sign * moved
        return tangents(contacts.normal) @ sides

    def _configurations(self, qpos: Any) -> tuple[Array, tuple[int, ...]]:
        """Configurations [W,nq], and their leading axes."""
        return take_rows("qpos", qpos, (int(self.model.nq),))

    def _motion(self, q: Array) -> Motion:
        plan, frame, _ = self._plan
        return Motion.of(plan, q, None, [frame[i] for i in self.body_ids], len(self.bodies))

    def random_qpos(
        self, count: int, seed: int | np.random.Generator = 0, *, slides: tuple[float, float] | None = None
    ) -> Array:
        """Configurations [count,nq], uniform within the limits of the joints: hinges without limits in [-π, π], balls
        in all orientations up to their limit, free bodies as in ``qpos0``. ``slides`` is the range of slides without
        limits in metres; without it they are refused. Equality constraints of the model are not looked at."""
        model, rng, count = self.model, np.random.default_rng(seed), whole("count", count)
        single = [j for j in range(model.njnt) if int(model.jnt_type[j]) in (_SLIDE, _HINGE)]
        sliding = [int(model.jnt_type[j]) == _SLIDE for j in single]
        limits = [model.jnt_range[j] if model.jnt_limited[j] else (-np.inf, np.inf) for j in single]
        ranges = sampled_limits([name_of(model, "jnt", j) for j in single], sliding, limits, slides)
        within = dict(zip(single, ranges.tolist(), strict=True))
        qpos = np.tile(np.asarray(model.qpos0, np.float64), (count, 1))
        for j in range(model.njnt):
            at = int(model.jnt_qposadr[j])
            if j in within:
                low, high = within[j]
                qpos[:, at] = rng.uniform(low, high, count)
            elif int(model.jnt_type[j]) == _BALL:
                axis = rng.normal(size=(count, 4))
                if model.jnt_limited[j]:  # the angle is at most the upper limit
                    half = rng.uniform(0, float(model.jnt_range[j, 1]) / 2, (count, 1))
                    axis[:, :1] = np.linalg.norm(axis[:, 1:], axis=1, keepdims=True) / np.tan(half)
                qpos[:, at : at + 4] = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        return qpos

    def _coordinates(self) -> Coordinates:
        model, joints, on = self.model, dict[str, tuple[int, tuple[float, float], bool]](), dict[str, int]()
        for j in range(model.njnt):
            kind, name = int(model.jnt_type[j]), name_of(model, "jnt", j)
            if kind in (_SLIDE, _HINGE):
                low, high = model.jnt_range[j] if model.jnt_limited[j] else (-np.inf, np.inf)
                joints[name] = int(model.jnt_qposadr[j]), (float(low), float(high)), kind == _SLIDE
                on[name] = int(model.jnt_bodyid[j])

        def below(bodies: Collection[int]) -> list[int]:
            """The bodies of the scene of some MuJoCo bodies and of all below them."""
            under = set(bodies)
            for b in range(1, model.nbody):  # a parent has a lower index
                if int(model.body_parentid[b]) in under:
                    under.add(b)
            return [i for i, b in enumerate(self.body_ids) if b in under]

        free = {}
        for i, b in enumerate(self.body_ids):
            first = int(model.body_jntadr[b])
            if model.body_jntnum[b] and int(model.jnt_type[first]) == _FREE:
                free[i] = int(model.jnt_qposadr[first]), below([b])
        standing = np.array(model.qpos0, np.float64)
        return Coordinates(
            len(self.body_ids), standing, joints, lambda names: below([on[n] for n in names]), free,
            lambda q: self.poses(qpos=q),
        )  # fmt: skip

    def _sampled(self) -> list[tuple[int, int]]:
        group = [self._free_body(b) for b in self.body_ids]
        known = len(group)
        return [(i, j) for i, j in self.pairs if i < known and j < known and group[i] == group[j]]

    def _free_body(self, body: int) -> int:
        """The nearest body above a body, or itself, that is free to go anywhere, as mocap bodies are; 0, the world, if
        there is none."""
        model = self.model
        while body and model.body_mocapid[body] < 0:
            if model.body_jntnum[body] and int(model.jnt_type[model.body_jntadr[body]]) == _FREE:
                break
            body = int(model.body_parentid[body])
        return body

    def _samples(self, count: int, rng: np.random.Generator, slides: tuple[float, float] | None) -> Array:
        return self.poses(qpos=self.random_qpos(count, rng, slides=slides))


def from_model(
    model: Any,
    *,
    margin: Literal["ignore", "add"] = "ignore",
    concave: Literal["raise", "hull"] = "raise",
    tolerance: float | None = None,
    omit: Collection[str] = (),
) -> MujocoScene:
    """The scene of an ``MjModel``, of an ``MjSpec``, or of a file that MuJoCo compiles (MJCF, URDF, ``.mjb``).

    Shapes are those of the geoms that can collide (contype or conaffinity is not 0). MuJoCo collides a mesh as its
    convex hull, of at most ``maxhullvert`` vertices: ``concave="hull"`` does so, too, while ``"raise"`` raises
    :class:`FileError` for a mesh that is not convex to the ``tolerance`` of :meth:`Library.mesh`. A plane is a
    half-space. ``margin="add"`` adds ``geom_margin`` to every shape, as a ball.

    A flex that can collide, an hfield and an SDF geom raise :class:`ShapeError`, which names them, unless ``omit`` does
    so: it lists flexes and geoms to leave out, by name, or as "flex 3" and "geom 7" without one.

    Pairs are those that MuJoCo collides: by contype and conaffinity, without bodies that are welded together, two that
    nothing moves (the world, mocap bodies and what is welded to these), parents and children (unless that filter is
    off), and excluded pairs; with the explicit pairs of the model. Where a flag of the model disables contacts or
    constraints, there are none; ``scene.all_pairs()`` asks about all of them.
    """
    if margin not in ("ignore", "add"):
        raise OptionError(f'margin: {margin!r}, want "ignore" or "add"')
    if concave not in ("raise", "hull"):
        raise OptionError(f'concave: {concave!r}, want "raise" or "hull"')
    model = compiled(model)
    omitted = _omitted(model, omit)
    explicit = {(int(model.pair_geom1[i]), int(model.pair_geom2[i])) for i in range(model.npair)}
    named = {g for pair in explicit for g in pair}
    scene = MujocoScene(model=model, omitted=list(omit))
    groups: dict[tuple[int, int, int, int, bool], list[int]] = {}
    for g in range(model.ngeom):
        contype, affinity = int(model.geom_contype[g]), int(model.geom_conaffinity[g])
        if (contype or affinity or g in named) and g not in omitted:
            plane = int(model.geom_type[g]) == PLANE
            key = (int(model.geom_bodyid[g]), contype, affinity, g if g in named else -1, plane)
            groups.setdefault(key, []).append(g)
    meshes = _Meshes(scene.library, model, concave, tolerance)
    for (body, *_), geoms in groups.items():
        parts = []
        for g in geoms:
            shape = _shape(scene, model, g, margin, meshes)
            parts.append(Part(shape, *geom_pose(model, g)))
        scene.add(*parts, name=name_of(model, "body", body))
        scene.body_ids.append(body)
        scene.geom_ids.append(geoms)
    scene.pairs = _pairs(model, list(groups), explicit)
    return scene


def _pairs(
    model: Any, groups: list[tuple[int, int, int, int, bool]], explicit: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The pairs of groups of geoms, each of which has a body, contype, conaffinity, the geom if explicit pairs name it,
    and whether it is a plane, that MuJoCo collides."""
    passed = Filter(model)
    body, contype, affinity, named, plane = np.array(groups, np.int64).reshape(-1, 5).T
    alone = {int(g): i for i, g in enumerate(named) if g >= 0}
    partners: list[list[int]] = [[] for _ in groups]
    for a, b in explicit:
        if not passed.off and a in alone and b in alone:
            i, j = sorted((alone[a], alone[b]))
            partners[i].append(j)
    pairs: list[tuple[int, int]] = []
    for i in range(len(groups)):  # a row at a time, so that memory does not grow with pairs that are filtered
        rest = slice(i + 1, None)
        kept = ((contype[i] & affinity[rest]) | (contype[rest] & affinity[i])) != 0
        kept &= passed.collides(body[i], body[rest])
        kept[[j - i - 1 for j in partners[i]]] = True
        kept &= (plane[i] & plane[rest]) == 0  # MuJoCo has no collision of two planes, also of an explicit pair
        pairs += [(i, j) for j in (np.flatnonzero(kept) + i + 1).tolist()]
    return pairs


def _omitted(model: Any, omit: Collection[str]) -> set[int]:
    """The geoms to leave out. Raise ShapeError for a flex that can collide, unless it is left out."""
    if isinstance(omit, str):
        raise OptionError(f"omit: {omit!r} is a text, want a list of names, such as ({omit!r},)")
    geoms = {name_of(model, "geom", g): g for g in range(model.ngeom)}
    flexes = {name_of(model, "flex", f): f for f in range(model.nflex)}
    for name in omit:
        if name not in geoms and name not in flexes:
            raise OptionError(f"omit: {name!r} is neither a geom nor a flex of the model")
    for name, f in flexes.items():
        collides = any(int(getattr(model, f"flex_{what}")[f]) for what in ("contype", "conaffinity", "selfcollide"))
        if collides and name not in omit:
            raise ShapeError(
                f"flex {f} ({name!r}) deforms, which no convex shape stands for; omit=({name!r},) leaves it out"
            )
    return {geoms[name] for name in omit if name in geoms}


def _shape(scene: Scene, model: Any, g: int, margin: str, meshes: _Meshes) -> int:
    """The shape of a geom."""
    lib, size = scene.library, [float(s) for s in model.geom_size[g]]
    name = name_of(model, "geom", g)
    options: dict[str, Any] = {"name": name, "margin": float(model.geom_margin[g]) if margin == "add" else 0.0}
    kind = int(model.geom_type[g])
    if kind == PLANE:
        return lib.halfspace(**options)
    if kind == SPHERE:
        return lib.sphere(size[0], **options)
    if kind == CAPSULE:
        return lib.capsule(size[0], size[1], **options)
    if kind == ELLIPSOID:
        return lib.ellipsoid(size, **options)
    if kind == CYLINDER:
        return lib.cylinder(size[0], size[1], **options)
    if kind == BOX:
        return lib.box(size, **options)
    if kind == MESH:
        return meshes.shape(int(model.geom_dataid[g]), name, options["margin"])
    what = {HFIELD: "an hfield", SDF: "a signed distance function"}.get(kind, f"of type {kind}")
    raise ShapeError(f"geom {g} ({name!r}) is {what}, which no convex shape stands for; omit=({name!r},) leaves it out")


class _Meshes:
    """The meshes of a model, each of which is one shape for a margin, however many geoms have it."""

    def __init__(self, library: Library, model: Any, concave: str, tolerance: float | None) -> None:
        self.library, self.model, self.concave, self.tolerance = library, model, concave, tolerance
        self.made: dict[tuple[int, float], int] = {}

    def shape(self, mesh: int, geom: str, margin: float) -> int:
        """The shape of a mesh, made for a geom that is named unless there is one."""
        if (mesh, margin) not in self.made:
            vertices = self.vertices(mesh, geom)
            self.made[mesh, margin] = self.library.convex(vertices, name=geom, margin=margin)
        return self.made[mesh, margin]

    def vertices(self, mesh: int, geom: str) -> Array:
        """The vertices [N,3] of a mesh that MuJoCo collides, in the frame of its geoms, which are checked to be convex
        unless the hull will do."""
        model = self.model
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        vertices = np.array(model.mesh_vert[first : first + count], np.float64).reshape(-1, 3)
        if self.concave == "raise":
            face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
            corners = np.array(model.mesh_face[face : face + faces]).reshape(-1, 3)
            what = f"mesh {name_of(model, 'mesh', mesh)!r} of geom {geom!r}"
            advice = 'MuJoCo collides its hull: concave="hull" does, too'
            parts = convex_parts(vertices, corners, what, advice, self.tolerance)
            if len(parts) > 1:
                raise FileError(f"{what} is not convex: it has {len(parts)} parts. {advice}")
        graph = int(model.mesh_graphadr[mesh])
        if graph < 0 or count < _GRAPH_VERTICES:
            return vertices
        # The graph: its numbers of vertices and faces, where the edges of each vertex begin, the vertices of the mesh.
        on_hull = int(model.mesh_graph[graph])
        chosen: Array = vertices[np.array(model.mesh_graph[graph + 2 + on_hull : graph + 2 + 2 * on_hull])]
        return chosen


__all__ = ["MujocoScene", "from_model"]
