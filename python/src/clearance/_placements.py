"""Overlap-free placements: poses of bodies and configurations of robots, sampled until worlds are proved free.

What is placed is an item: a body with a region, or the joints of a robot with their ranges. Items are placed one after
the other. A draw of an item counts as free when the pairs between its bodies and those that stand already all have a
proved lower bound of the distance of at least the margin. Anything else, also what is not decided, is drawn anew. Many
worlds, and where few are left many draws of each, are answered by one call of a rollout; of the draws of a world the
first one that is free is taken, so that the number of draws in a call does not change what is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ._arrays import Array
from ._engine import Engine
from ._errors import ArrayError, NotFoundError, OptionError, PlacementError
from ._inputs import Bodies, check_scene
from ._kinematics import given_poses, normalized
from ._options import PoseArray, flag, one_of, real, sampled_limits, whole, with_order
from ._regions import Coordinates, Region, Sampler, sampler, uniforms

if TYPE_CHECKING:
    from ._scene import Scene

_BLOCK = 4096  # worlds that are filled together, and draws of a call

Joints = Mapping[str, tuple[float, float]] | Literal["limits"]


@dataclass(frozen=True, eq=False, repr=False)
class Placements:
    """W worlds in which all pairs of a scene are proved to be ``margin`` apart, but those that are not ``filled``.

    ``poses`` are [W,M,7], position and quaternion "wxyz"; ``configuration`` [W,n] are the joints of the model, None
    without one. Both are NaN in worlds that are not filled. ``world`` [W] are the numbers of the worlds. ``lower`` [W]
    is a proved lower bound of the least distance, at least the margin, -inf in worlds that are not filled; bounds just
    above the margin are not pursued. ``tries`` [W] counts the draws of all items, ``undecided`` [W] those of them whose
    bounds neither prove nor refute the margin, which were drawn anew. ``items`` names what was placed, in order;
    ``blocked`` [W] is the item that found no place in the last attempt, -2 where bodies that stand are too near
    already, -1 in filled worlds.
    """

    world: Array
    poses: PoseArray
    configuration: Array | None
    filled: Array
    lower: Array
    tries: Array
    undecided: Array
    blocked: Array
    items: list[str]
    margin: float

    def __len__(self) -> int:
        return len(self.filled)

    def __repr__(self) -> str:
        tries = f"{self.tries.mean():.1f} draws a world, at most {self.tries.max():,}" if len(self) else "no worlds"
        return (
            f"Placements of {len(self.items)} items: {int(self.filled.sum()):,} of {len(self):,} worlds proved "
            f"{self.margin:g} m free\n  {tries}, {int(self.undecided.sum()):,} undecided"
        )


class _Item:
    """What is drawn as one: the bodies that it moves, and its uniform numbers."""

    name: str
    bodies: list[int]
    numbers: int

    def draw(self, u: Array, poses: Array, q: Array | None) -> None:
        """Write draws of uniform numbers [N, numbers] into poses [N,M,7] and configurations [N,n]."""
        raise NotImplementedError


class _Placed(_Item):
    """A body in a region."""

    def __init__(self, name: str, body: int, of: Sampler, model: Coordinates | None) -> None:
        self.name, self.body, self.numbers, self._of, self._model = name, body, of.numbers, of, model
        self._at = -1
        self.bodies = [body]
        if model is not None and body < model.known:
            self._at, self.bodies = model.free[body]

    def draw(self, u: Array, poses: Array, q: Array | None) -> None:
        pose = self._of.poses(u, poses[:, self.body])
        if self._at < 0:
            poses[:, self.body] = pose
            return
        assert self._model is not None and q is not None
        q[:, self._at : self._at + 7] = pose
        poses[:, self.bodies] = self._model.poses(q)[:, self.bodies]


class _Jointed(_Item):
    """Joints in ranges."""

    def __init__(self, model: Coordinates, names: list[str], ranges: Array) -> None:
        self.name = f"joints {', '.join(names[:3])}{', …' if len(names) > 3 else ''}"
        self.bodies, self.numbers, self._model = model.moved(names), len(names), model
        self._index, self._ranges = [model.joints[n][0] for n in names], ranges

    def draw(self, u: Array, poses: Array, q: Array | None) -> None:
        assert q is not None
        low, high = self._ranges.T
        q[:, self._index] = low + (high - low) * u
        poses[:, self.bodies] = self._model.poses(q)[:, self.bodies]


class _Together(_Item):
    """Items that are drawn at once."""

    def __init__(self, items: Sequence[_Item]) -> None:
        self.name = "all items together"
        self.bodies = sorted({b for i in items for b in i.bodies})
        self.numbers, self._items = sum(i.numbers for i in items), items

    def draw(self, u: Array, poses: Array, q: Array | None) -> None:
        at = 0
        for item in self._items:
            item.draw(u[:, at : at + item.numbers], poses, q)
            at += item.numbers


class _Check:
    """Which worlds are proved free, of some pairs of a scene."""

    def __init__(self, engine: Engine, scene: Scene, pairs: list[tuple[int, int]], margin: float) -> None:
        self._used = sorted({b for p in pairs for b in p})
        place = {b: i for i, b in enumerate(self._used)}
        listed = [(place[a], place[b]) for a, b in pairs]
        self._part: Any = Bodies(scene.library, [scene.bodies[b] for b in self._used], listed)
        # The parts of an attached body are in the frame of its link, whose pose it has.
        self._posed = [scene.attachments[b].link if b in scene.attachments else b for b in self._used]
        self._engine, self._margin, self._pairs = engine, margin, pairs

    def __call__(self, poses: Array) -> tuple[Array, Array, Array]:
        """Of poses [N,M,7] whether each world is proved free, whether it is undecided, and the bounds proved [N]."""
        n = len(poses)
        if not self._pairs or n == 0:
            return np.ones(n, bool), np.zeros(n, bool), np.full(n, np.inf)
        # A pair that is proved to be farther than this is not solved.
        enough = 1.01 * self._margin + 1e-6
        with self._engine.rollout(self._part, worlds=n, max_distance=enough, reduce="world") as roll:
            r = roll(np.ascontiguousarray(poses[:, self._posed]), quat="wxyz")
        lower, upper = np.asarray(r.lower), np.asarray(r.upper)
        free = (np.asarray(r.any) == 0) & (np.asarray(r.failures) == 0) & (lower >= self._margin) & (lower > 0)
        refuted = (np.asarray(r.contacts) > 0) | (upper < self._margin)
        return free, ~free & ~refuted, lower


def free_placements(
    scene: Scene,
    worlds: Any,
    regions: Mapping[Any, Region] | None,
    *,
    ranges: Joints | None,
    configuration: Any,
    others: Any,
    margin: float,
    seed: int,
    tries: int,
    restarts: int,
    together: bool,
    unfilled: str,
    slides: tuple[float, float] | None,
    engine: Engine | None,
) -> Placements:
    """See :meth:`Scene.free_placements`."""
    check_scene(scene)
    margin, seed = real("margin", margin, 0), whole("seed", seed, 0, 2**64 - 1)
    tries, restarts = whole("tries", tries, 1), whole("restarts", restarts, 0)
    whole("tries × (restarts + 1)", tries * (restarts + 1), 1, 2**32 - 1)
    one_of("unfilled", unfilled, ("raise", "mask"))
    number, model = _worlds(worlds), scene._coordinates()
    items: Sequence[_Item] = _items(scene, regions or {}, ranges, model, margin, slides)
    if flag("together", together):
        items = [_Together(items)]
    base, q = _standing(scene, model, configuration, others, len(number))
    opened = Engine() if engine is None else engine
    try:
        parts = [
            _fill(opened, scene, items, margin, seed, tries, restarts, number[at : at + _BLOCK],
                  base[at : at + _BLOCK], None if q is None else q[at : at + _BLOCK])
            for at in range(0, len(number), _BLOCK)
        ]  # fmt: skip
    finally:
        if engine is None:
            opened.close()
    columns = [np.concatenate(c) for c in zip(*parts, strict=True)] if parts else []
    if not parts:
        columns = [base, np.zeros(0, bool), np.zeros(0), *(np.zeros(0, np.int64) for _ in range(3))]
        columns.append(base if q is None else q)
    poses, filled, lower, tried, undecided, blocked, joints = columns
    if scene.attachments:
        poses = scene.placed(poses, "wxyz")
    names = [i.name for i in items]
    found = Placements(
        number, with_order(poses, "wxyz"), None if q is None else joints, filled, lower, tried, undecided, blocked,
        names, margin,
    )  # fmt: skip
    if unfilled == "raise" and not filled.all():
        raise PlacementError(_message(scene, found, tries, restarts, items, base), found)
    return found


def _message(
    scene: Scene, found: Placements, tries: int, restarts: int, items: Sequence[_Item], base: Array
) -> str:  # fmt: skip
    w = int(np.flatnonzero(~found.filled)[0])
    at = int(found.blocked[w])
    left = int((~found.filled).sum())
    if at >= 0:
        why = (
            f"{found.items[at]} found no place in {tries:,} draws, the last of {restarts + 1} attempts "
            f"({found.tries[w]:,} draws of all items, of which {found.undecided[w]:,} were undecided)"
        )
    else:
        why = "bodies that nothing places are nearer than the margin; scene.skip leaves pairs out"
    return f"{left:,} of {len(found):,} worlds are not filled, the first is world {found.world[w]}: {why}"


def _worlds(worlds: Any) -> Array:
    """The numbers of worlds, uint32."""
    if np.ndim(worlds) == 0:
        return np.arange(whole("worlds", worlds, 0, 2**32), dtype=np.uint32)
    array = np.asarray(worlds)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise OptionError("worlds: want their number, or a list of the numbers of worlds")
    for i in np.flatnonzero((array < 0) | (array >= 2**32))[:1]:
        raise ArrayError("worlds", f"is {array[i]}, want 0 to 2^32 - 1", int(i))
    return array.astype(np.uint32)


def _items(
    scene: Scene, regions: Mapping[Any, Region], ranges: Joints | None, model: Coordinates | None, margin: float,
    slides: tuple[float, float] | None,
) -> list[_Item]:  # fmt: skip
    """What is placed: first the joints, then the bodies in the order of their regions."""
    items: list[_Item] = []
    if ranges is not None:
        items.append(_jointed(model, ranges, slides))
    elif slides is not None:
        raise OptionError("slides: the range of joints without limits, and no joints are sampled; ranges= says which")
    if not isinstance(regions, Mapping):
        raise OptionError(f"regions: {regions!r:.60}, want a mapping from bodies to regions")
    taken: set[int] = set()
    for key, region in regions.items():
        body = _body(scene, key, model)
        if body in taken:
            raise OptionError(f"regions: body {body} ({scene.bodies[body].name!r}) has two")
        item = _Placed(f"body {scene.bodies[body].name or body!r}", body, sampler(scene, body, region, margin), model)
        taken |= set(item.bodies)
        items.append(item)
    if not items:
        raise OptionError("regions: none, and no ranges of joints: nothing is to be placed")
    return items


def _jointed(model: Coordinates | None, ranges: Any, slides: tuple[float, float] | None) -> _Item:
    if model is None:
        raise OptionError("ranges: those of joints, and this scene has no model with joints")
    if isinstance(ranges, str):
        one_of("ranges", ranges, ("limits",))
        names = list(model.joints)
    elif isinstance(ranges, Mapping):
        names = list(ranges)
        for n in names:
            if n not in model.joints:
                raise NotFoundError(f"ranges: no joint {n!r} of one number; the model has {', '.join(model.joints)}")
    else:
        raise OptionError(f'ranges: {ranges!r:.60}, want "limits", or a mapping from joints to ranges')
    if not names:
        raise OptionError("ranges: no joint is named")
    limits = [model.joints[n][1] if isinstance(ranges, str) else ranges[n] for n in names]
    if not isinstance(ranges, str):
        for n, limit in zip(names, limits, strict=True):
            _interval_of(n, limit)
    return _Jointed(model, names, sampled_limits(names, [model.joints[n][2] for n in names], limits, slides))


def _interval_of(name: str, value: Any) -> None:
    if np.shape(value) != (2,):
        raise OptionError(f"ranges: {name!r}: {value!r}, want a lower and an upper value")
    for v in value:
        real(f"ranges: {name!r}", v)


def _body(scene: Scene, key: str | int, model: Coordinates | None) -> int:
    """The body of a region. Bodies of a model are placed only if they are free."""
    if isinstance(key, str):
        found = [i for i, b in enumerate(scene.bodies) if b.name == key]
        if model is not None and len(found) > 1 and found[0] in model.free:
            found = found[:1] if set(found) <= set(model.free[found[0]][1]) else found
        if len(found) != 1:
            raise NotFoundError(f"regions: {len(found)} bodies have the name {key!r}")
        body = found[0]
    else:
        body = whole("regions: a body", key, 0, len(scene.bodies) - 1)
    if body in scene.attachments:
        raise OptionError(f"regions: body {body} ({scene.bodies[body].name!r}) is attached, and moves with its link")
    if model is not None and body < model.known and body not in model.free:
        raise OptionError(
            f"regions: body {body} ({scene.bodies[body].name!r}) has no free joint; ranges= samples joints of the model"
        )
    return body


def _standing(
    scene: Scene, model: Coordinates | None, configuration: Any, others: Any, worlds: int
) -> tuple[Array, Array | None]:
    """The poses [W,M,7] at which bodies stand, and the configurations [W,n] of the model."""
    known = 0 if model is None else model.known
    poses, q = np.empty((worlds, len(scene.bodies), 7)), None
    poses[:] = [0, 0, 0, 1.0, 0, 0, 0]
    if model is None and configuration is not None:
        raise OptionError("configuration: joints of a model, and this scene has none")
    if model is not None:
        n = len(model.standing)
        given = np.asarray(model.standing if configuration is None else configuration, np.float64)
        if given.shape not in ((n,), (worlds, n)):
            raise ArrayError("configuration", f"has the shape {list(given.shape)}, want [{n}] or [{worlds}, {n}]")
        q = np.array(np.broadcast_to(given, (worlds, n)))
        poses[:, :known] = model.poses(q)[:, :known]
    others = scene._with_attached(known, others)
    if others is not None:
        poses[:, known:] = normalized(given_poses("others", others, (worlds,), (len(scene.bodies) - known,)))
    return poses, q


def _fill(
    engine: Engine, scene: Scene, items: Sequence[_Item], margin: float, seed: int, tries: int, restarts: int,
    number: Array, base: Array, base_q: Array | None,
) -> tuple[Array, ...]:  # fmt: skip
    """The columns of placements of some worlds, by their numbers."""
    moved = _carried(scene, {b for i in items for b in i.bodies})
    standing = set(range(len(scene.bodies))) - moved
    stands, _, lower = _Check(engine, scene, _between(scene, standing, standing), margin)(base)
    checks, placed = [], standing
    for item in items:
        own = _carried(scene, set(item.bodies))
        checks.append(_Check(engine, scene, _between(scene, own, own | placed), margin))
        placed = placed | own
    w = len(number)
    filled, blocked = np.zeros(w, bool), np.where(stands, 0, -2)
    tried, undecided = np.zeros(w, np.int64), np.zeros(w, np.int64)
    poses, q, best = base.copy(), None if base_q is None else base_q.copy(), lower.copy()
    for restart in range(restarts + 1):
        left = np.flatnonzero(stands & ~filled)
        if not len(left):
            break
        poses[left], best[left] = base[left], lower[left]
        if q is not None and base_q is not None:
            q[left] = base_q[left]
        for k, (item, check) in enumerate(zip(items, checks, strict=True)):
            waiting, done, first = left, [], 0
            while len(waiting) and first < tries:
                count = min(tries - first, max(1, _BLOCK // len(waiting)))
                trial = np.arange(first, first + count) + restart * tries
                rows, trials = np.repeat(waiting, count), np.tile(trial, len(waiting))
                u = uniforms(seed, number[rows], k, trials, item.numbers)
                drawn, joints = poses[rows], None if q is None else q[rows]
                item.draw(u, drawn, joints)
                free, open_, bound = (a.reshape(len(waiting), count) for a in check(drawn))
                hit = free.any(axis=1)
                chosen = np.where(hit, free.argmax(axis=1), count - 1)
                tried[waiting] += chosen + 1
                undecided[waiting] += (open_ & (np.arange(count) <= chosen[:, None])).sum(axis=1)
                of, at = waiting[hit], (np.arange(len(waiting)) * count + chosen)[hit]
                poses[of] = drawn[at]
                if q is not None and joints is not None:
                    q[of] = joints[at]
                best[of] = np.minimum(best[of], bound.ravel()[at])
                done.append(of)
                waiting, first = waiting[~hit], first + count
            blocked[waiting] = k
            left = np.sort(np.concatenate([*done, waiting[:0]]))
        filled[left] = True
    blocked[filled] = -1
    poses[~filled], best[~filled] = np.nan, -np.inf
    if q is not None:
        q[~filled] = np.nan
    return poses, filled, best, tried, undecided, blocked, np.zeros((w, 0)) if q is None else q


def _carried(scene: Scene, bodies: set[int]) -> set[int]:
    """Bodies, and those that are attached to them."""
    return bodies | {b for b, a in scene.attachments.items() if a.link in bodies}


def _between(scene: Scene, some: set[int], others: set[int]) -> list[tuple[int, int]]:
    """The pairs of a scene of one of some bodies and one of others."""
    is_some, is_other = np.zeros((2, len(scene.bodies)), bool)
    is_some[list(some)], is_other[list(others)] = True, True
    a, b = scene.pair_arrays()
    kept = (is_some[a] & is_other[b]) | (is_some[b] & is_other[a])
    return list(zip(a[kept].tolist(), b[kept].tolist(), strict=True))
