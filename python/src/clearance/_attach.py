"""Objects that are attached to bodies of a scene, as what a gripper holds.

An attached body stands at its place of every world as before, but has the pose of another one, its carrier: its parts
are given in the frame of the carrier, and the native library reads the pose of the carrier in place of its own. So
neither the library nor the poses are touched, and gradients belong to the carrier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array
from ._bodies import Body, Part
from ._errors import NotFoundError, OptionError, ShapeError
from ._kinematics import product, rotated, unit
from ._poses import single

if TYPE_CHECKING:
    from ._scene import Scene


@dataclass(eq=False)
class Attachment:
    """A body of a scene that is attached to another one, its ``link``; ``pose`` [7], "wxyz", is that of the body in the
    frame of the link."""

    scene: Scene
    body: int
    link: int
    pose: Array
    skip: frozenset[int]
    free: Body  # the body as it is without the link

    @property
    def attached(self) -> bool:
        """Whether the body still is."""
        return self.scene.attachments.get(self.body) is self

    def move(self, pose: Any) -> None:
        """Change the pose of the body in the frame of the link. Rollouts that are open keep the old one."""
        self._check()
        self.pose = pose_in(pose)
        self.scene.bodies[self.body] = in_frame(self.free, self.pose)

    def detach(self) -> int:
        """See :meth:`Scene.detach`."""
        self._check()
        return self.scene.detach(self.body)

    def _check(self) -> None:
        if not self.attached:
            raise OptionError(f"the attachment of {named(self.scene, self.body)} has ended: it was detached")

    def __repr__(self) -> str:
        state = "attached to" if self.attached else "detached from"
        return f"{named(self.scene, self.body)} {state} {named(self.scene, self.link)}"


def named(scene: Scene, body: int) -> str:
    """A body as messages name it."""
    name = scene.bodies[body].name if body < len(scene.bodies) else ""
    return f"body {body} ({name!r})" if name else f"body {body}"


def index_of(scene: Scene, what: str, body: Any) -> int:
    """The index of a body that is given by its index or its name."""
    if isinstance(body, str):
        try:
            return scene.index(body)
        except NotFoundError as e:
            raise NotFoundError(f"{what}: {e.args[0]}") from None
    if isinstance(body, bool) or not isinstance(body, (int, np.integer)):
        raise OptionError(f"{what}: {body!r}, want a body of the scene, by its index or its name")
    if not 0 <= body < len(scene.bodies):
        raise NotFoundError(f"{what}: {body}, and the scene has the bodies 0 to {len(scene.bodies) - 1}")
    return int(body)


def pose_in(pose: Any) -> Array:
    """A pose [7], "wxyz", of a unit quaternion, from one in any form, or from None for the identity."""
    if pose is None:
        return np.array([0, 0, 0, 1.0, 0, 0, 0])
    array = single("pose", pose)
    if not np.isfinite(array).all() or not array[3:].any():
        raise OptionError(f"pose: {array.tolist()}, want finite numbers, and a quaternion that is not 0")
    return np.concatenate([array[:3], unit(array[3:])])


def in_frame(body: Body, pose: Array) -> Body:
    """A body with its parts in the frame in which it has a pose."""

    def moved(p: Part) -> Part:
        position = pose[:3] + rotated(pose[3:], np.array(p.position, np.float64))
        rotation = product(pose[3:], unit(np.array(p.rotation, np.float64)))
        return replace(p, position=tuple(position.tolist()), rotation=tuple(rotation.tolist()))

    return replace(body, parts=tuple(map(moved, body.parts)))


def attach(
    scene: Scene, what: Any, link: Any, pose: Any, skip: Iterable[Any], against: Iterable[Any] | None, name: str
) -> Attachment:
    """See :meth:`Scene.attach`."""
    to = index_of(scene, "link", link)
    if to in scene.attachments:
        above = named(scene, scene.attachments[to].link)
        raise OptionError(f"link: {named(scene, to)} is itself attached to {above}; attach to that")
    offset = pose_in(pose)
    touched = frozenset(index_of(scene, "skip", b) for b in listed("skip", skip))
    others = None if against is None else [index_of(scene, "against", b) for b in listed("against", against)]
    new = isinstance(what, Part) or (isinstance(what, (list, tuple)) and all(isinstance(p, Part) for p in what))
    if new:
        parts = [what] if isinstance(what, Part) else list(what)
        for p in parts:
            if not 0 <= p.shape < len(scene.library):
                raise ShapeError(f"shape {p.shape} of a part: the library has {len(scene.library)} shapes")
        body = scene.add(*parts, name=name)
        flat = unbounded(scene, body)
        every = range(body) if others is None else others
        scene.pairs.extend((i, body) for i in every if not (flat and unbounded(scene, i)))
    else:
        if name or against is not None:
            raise OptionError("name, against: those of a new body; the scene has this one, and its pairs")
        body = index_of(scene, "body", what)
        _check_free(scene, body, to)
    scene.attachments[body] = made = Attachment(scene, body, to, offset, touched, scene.bodies[body])
    scene.bodies[body] = in_frame(made.free, offset)
    scene._leave_out_barred({to, *touched, *(b for b, a in scene.attachments.items() if a.link == to)}, body)
    return made


def _check_free(scene: Scene, body: int, link: int) -> None:
    """Refuse a body that is attached, or that carries others."""
    if body == link:
        raise OptionError(f"link: {named(scene, body)} cannot be attached to itself")
    if body in scene.attachments:
        raise OptionError(
            f"{named(scene, body)} is attached to {named(scene, scene.attachments[body].link)}; detach it first"
        )
    for a in scene.attachments.values():
        if a.link == body:
            raise OptionError(f"{named(scene, body)} carries {named(scene, a.body)}; detach that first")


def unbounded(scene: Scene, body: int) -> bool:
    """Whether a body has a half-space."""
    return any(scene.library[p.shape].kind == "halfspace" for p in scene.bodies[body].parts)


def listed(name: str, bodies: Any) -> list[Any]:
    """Bodies that a caller lists; a name alone is a mistake."""
    if isinstance(bodies, (str, int)):
        raise OptionError(f"{name}: {bodies!r}, want a list of bodies")
    try:
        return list(bodies)
    except TypeError:
        raise OptionError(f"{name}: {bodies!r}, want a list of bodies") from None


def carriers_of(attachments: Mapping[int, Attachment], places: Array) -> Array | None:
    """The places whose poses the bodies at places, [M] or [W,M], have: int32 of the same shape, None for their own."""
    if not attachments:
        return None
    lists = np.atleast_2d(places)
    carriers = np.tile(np.arange(lists.shape[1], dtype=np.int32), (len(lists), 1))
    for body, a in attachments.items():
        held, link = lists == body, lists == a.link
        worlds = held.any(axis=1)
        count = link.sum(axis=1)
        if (count[worlds] != 1).any():
            world = int(np.flatnonzero(worlds & (count != 1))[0])
            raise OptionError(
                f"bodies: {named(a.scene, body)} is attached to {named(a.scene, a.link)}, which stands at "
                f"{count[world]} places of world {world}, want one"
            )
        carriers = np.where(held, link.argmax(axis=1)[:, None], carriers).astype(np.int32)
    return np.ascontiguousarray(carriers.reshape(places.shape))


def carried(attachments: Mapping[int, Attachment], places: Array, poses: Array) -> Array:
    """Poses [W,…,M,7] in which attached bodies have those of their carriers: a copy if there are some."""
    carriers = carriers_of(attachments, places)
    if carriers is None:
        return poses
    if carriers.ndim == 1:
        return np.ascontiguousarray(poses[..., carriers, :])
    at = carriers.reshape(len(poses), *([1] * (poses.ndim - 3)), -1, 1)
    return np.take_along_axis(poses, at.astype(np.int64), axis=-2)
