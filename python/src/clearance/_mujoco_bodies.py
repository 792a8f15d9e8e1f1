"""Free rigid bodies of MuJoCo models, for simulations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy as np

from ._arrays import Array
from ._bodies import Body
from ._errors import OptionError
from ._free_bodies import FreeBodies, Rigid, free_bodies, rotated_inertia
from ._kinematics import product, rotated
from ._mujoco_model import (
    FEATURES,
    compiled,
    disabled,
    inertia_pose,
    name_of,
    package,
    refused,
    surfaces,
    unknown_fields,
    unknown_flags,
)

_CONJUGATE = np.array([1.0, -1, -1, -1])


def from_mujoco(
    model: Any, *, concave: Literal["raise", "hull"] = "raise", omit: Collection[str] = (), friction: Any = None
) -> FreeBodies:
    """The bodies of a MuJoCo model with free joints, and those that do not move: the world with what is welded to it,
    and each mocap body with what is welded to that, which stand where the model has them.

    The model is an ``MjModel``, an ``MjSpec`` or a file. Masses, inertias, ``qpos0``, gravity, the time step, the pairs
    that MuJoCo collides, their friction, and the flags that disable gravity, contacts and constraints are taken over.
    Joints that are not free are refused by name, and so is everything else that has an influence on the motion of the
    bodies (docs/mujoco.md lists the fields), unless ``omit`` leaves it out: by a key, such as "damping", or by the name
    of a geom, a flex, or a body without geoms that collide. ``friction``, a number or one for each body, goes before
    the frictions of the model. ``concave`` is that of :func:`clearance.mujoco.from_model`.
    """
    from .mujoco import from_model

    if isinstance(omit, str):
        raise OptionError(f"omit: {omit!r} is a text, want a list of names, such as ({omit!r},)")
    model = compiled(model)
    mujoco = package()
    for j in range(model.njnt):
        if int(model.jnt_type[j]) != int(mujoco.mjtJoint.mjJNT_FREE):
            body = name_of(model, "body", int(model.jnt_bodyid[j]))
            raise OptionError(
                f"joint {name_of(model, 'jnt', j)!r} of body {body!r} is no free joint: simulations have no joints"
            )
    roots = _roots(model)
    keys = {*FEATURES, *unknown_fields(model), *unknown_flags(model)}
    shapes = {name_of(model, what, i) for what, n in (("geom", model.ngeom), ("flex", model.nflex)) for i in range(n)}
    others = {name_of(model, "body", b) for b in set(roots)} - shapes  # a geom may have the name of its body
    for name in omit:
        if name not in keys and name not in shapes and name not in others:
            raise OptionError(
                f"omit: {name!r} is no geom, flex or body of the model, nor a key: {', '.join(sorted(keys))}"
            )
    scene = from_model(model, concave=concave, omit=[name for name in omit if name in shapes - keys])
    geoms = [g for ids in scene.geom_ids for g in ids]
    lacking = refused(model, geoms, omit)
    empty = set(roots) - {roots[b] for b in scene.body_ids}
    for name in omit:
        if name in others - keys - {name_of(model, "body", root) for root in empty}:
            raise OptionError(f"omit: body {name!r} has geoms that collide: name these to leave it out")
    for root in sorted(empty - {0}):
        name = name_of(model, "body", root)
        if name not in omit and int(model.body_mocapid[root]) < 0:
            lacking[name] = f"body {name!r}, which no geom lets collide"
    for f in range(model.nflex):
        if (name := name_of(model, "flex", f)) not in omit:
            lacking[name] = f"flex {name!r}, which deforms"
    if lacking:
        raise OptionError(
            f"simulations of rigid bodies lack what the model has: {'; '.join(lacking.values())}. "
            f"omit={(*omit, *lacking)!r} leaves it out"
        )
    return _bodies(model, scene, roots, friction, omit)


def _roots(model: Any) -> list[int]:
    """The body of each body that it is welded to: its own if a joint moves it, or if it is a mocap body; 0, the world,
    or the root of its parent."""
    roots = [0] * model.nbody
    for b in range(1, model.nbody):  # a parent has a lower index
        own = model.body_jntnum[b] > 0 or int(model.body_mocapid[b]) >= 0
        roots[b] = b if own else roots[int(model.body_parentid[b])]
    return roots


def _bodies(model: Any, scene: Any, root_of: list[int], friction: Any, omit: Collection[str]) -> FreeBodies:
    data = package().MjData(model)
    package().mj_kinematics(model, data)
    roots = sorted(set(root_of))
    place = {root: i for i, root in enumerate(roots)}
    rigid = [Rigid() for _ in roots]
    moves = [bool(model.body_jntnum[root]) for root in roots]
    for b in range(model.nbody):
        at = place[root_of[b]]
        if moves[at]:
            position, rotation = _relative(data, roots[at], b)
            center, axes = inertia_pose(model, b)
            inertia = rotated_inertia(product(rotation, axes), np.diag(model.body_inertia[b]))
            rigid[at].add_mass(float(model.body_mass[b]), position + rotated(rotation, center), inertia)
    members: list[list[int]] = [[] for _ in roots]
    for i, b in enumerate(scene.body_ids):
        at = place[root_of[b]]
        members[at].append(i)
        position, rotation = _relative(data, roots[at], b)
        for part in scene.bodies[i].parts:
            rigid[at].add_part(part.shape, position, rotation, part)
    used = [i for i, r in enumerate(rigid) if r.parts]
    names = [name_of(model, "body", roots[i]) for i in used]
    groups = [members[i] for i in used]
    skip = _skipped(scene.pairs, groups, [moves[i] for i in used], names)
    if friction is None:
        parts = [[g for i in group for g in scene.geom_ids[i]] for group in groups]
        friction, listed = surfaces(model, parts, skip)
        rubbing = {"friction": friction, "friction_rule": "maximum", "surfaces": listed}
    else:
        rubbing = {"friction": friction}
    options = {
        **rubbing,
        "gravity": (0.0, 0.0, 0.0) if disabled(model, "GRAVITY") else tuple(float(g) for g in model.opt.gravity),
        "dt": float(model.opt.timestep),
        "skip": skip,
        "ground": False,
    }
    poses = [np.concatenate([data.xpos[roots[i]], data.xquat[roots[i]]]) for i in used]
    columns = [rigid[i].column() if moves[i] else (np.inf, np.zeros(3), np.zeros(6)) for i in used]
    bodies = [Body(tuple(rigid[i].parts), name) for i, name in zip(used, names, strict=True)]
    return free_bodies(scene.library, bodies, columns, poses, options, omit)


def _relative(data: Any, root: int, body: int) -> tuple[Array, Array]:
    """The pose of a body of MuJoCo in the frame of another one."""
    back = data.xquat[root] * _CONJUGATE
    return rotated(back, data.xpos[body] - data.xpos[root]), product(back, data.xquat[body])


def _skipped(
    pairs: Sequence[tuple[int, int]], members: list[list[int]], moves: list[bool], names: list[str]
) -> list[tuple[int, int]]:
    """The pairs of bodies that are not to be collided. Bodies collide with all of their geoms or with none."""
    asked = {frozenset(p) for p in pairs}
    skip = []
    for j in range(len(members)):
        for i in range(j):
            found = sum(frozenset((a, b)) in asked for a in members[i] for b in members[j])
            if not found or not (moves[i] or moves[j]):
                skip.append((i, j))
            elif found < len(members[i]) * len(members[j]):
                raise OptionError(f"bodies {names[i]!r} and {names[j]!r}: only some of their geoms collide")
    return skip


__all__ = ["from_mujoco"]
