"""Where bodies and joints are sampled: boxes, surfaces, ranges, and the counter-based random numbers of the samples.

A counter-based generator is a function of a key and a counter and has no state. The number of a draw is a function of
the seed, the world, what is placed, the trial and the component, so that a world has the same samples whatever the
other worlds are, and in whatever order they are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ._arrays import Array
from ._errors import OptionError
from ._kinematics import product, rotated, unit
from ._options import check_names, interval, one_of, real

if TYPE_CHECKING:
    from ._scene import Scene

Rotation = Literal["none", "yaw", "any"]
_KINDS: Final = ("none", "yaw", "any")
_AXES: Final = ("x", "y", "z", "roll", "pitch", "yaw")
_LOW: Final = np.uint64(0xFFFFFFFF)


def philox(seed: int, counters: Sequence[Any]) -> tuple[Array, ...]:
    """Four uint64 arrays of 32 random bits each: Philox4x32-10 (Salmon et al., SC 2011), of a key of 64 bits and four
    counters of 32 bits, which are broadcast."""
    c = [np.asarray(x, np.uint64) for x in np.broadcast_arrays(*counters)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    shift = np.uint64(32)
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(second >> shift) ^ c[1] ^ np.uint64(k0), second & _LOW, (first >> shift) ^ c[3] ^ np.uint64(k1),
             first & _LOW]  # fmt: skip
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return tuple(c)


def uniforms(seed: int, world: Array, item: int, trial: Array, numbers: int) -> Array:
    """Uniform numbers in [0, 1) [N, numbers], multiples of 2^-53, of worlds [N] and trials [N]."""
    out = np.empty((len(world), numbers))
    for block in range((numbers + 1) // 2):
        a, b, c, d = philox(seed, (world, item, trial, block))
        for k, (high, low) in enumerate(((a, b), (c, d))):
            if 2 * block + k < numbers:
                bits = (high << np.uint64(21)) ^ (low >> np.uint64(11))
                out[:, 2 * block + k] = bits.astype(np.float64) * 2.0**-53
    return out


def _random_rotation(kind: Rotation, u: Array) -> Array:
    """Rotations [N,4] of uniform numbers [N,k]: about z by a uniform angle, or uniform over all (Shoemake, 1992)."""
    if kind == "yaw":
        half = math.pi * u[:, 0]
        return np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=-1)
    if kind == "any":
        a, b, s, c = 2 * math.pi * u[:, 1], 2 * math.pi * u[:, 2], np.sqrt(1 - u[:, 0]), np.sqrt(u[:, 0])
        return np.stack([c * np.cos(b), s * np.sin(a), s * np.cos(a), c * np.sin(b)], axis=-1)
    return np.tile([1.0, 0, 0, 0], (len(u), 1))


_NUMBERS: Final = {"none": 0, "yaw": 1, "any": 3}


def _bounds(what: str, low: Any, high: Any, axes: int) -> Array:
    """Ranges [axes,2] of lower and upper bounds."""
    if np.shape(low) != (axes,) or np.shape(high) != (axes,):
        raise OptionError(f"{what}: low {low!r} and high {high!r}, want {axes} numbers each")
    ranges = [interval(f"{what}: axis {'xyz'[k]}", (low[k], high[k])) for k in range(axes)]
    return np.array(ranges, np.float64).reshape(axes, 2)


def _quaternion(what: str, value: Any) -> Array:
    if np.shape(value) != (4,):
        raise OptionError(f"{what}: {value!r}, want 4 numbers, w, x, y, z")
    q = np.array([real(what, v) for v in value])
    if not q.any():
        raise OptionError(f"{what}: {value!r} is no rotation")
    return unit(q)


class PoseRegion:
    """Where the pose of a body is sampled."""

    def _sampler(self, scene: Scene, body: int, margin: float) -> Sampler:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class BoxRegion(PoseRegion):
    """Poses whose position is uniform in a box with the corners ``low`` and ``high`` [3], in metres and world axes.

    The orientation is ``quat`` (w, x, y, z), rotated by ``rotation``: "yaw", about z of the world by a uniform angle;
    "any", uniform over all orientations; or "none".
    """

    low: Sequence[float]
    high: Sequence[float]
    rotation: Rotation = "yaw"
    quat: Sequence[float] = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        _bounds("BoxRegion", self.low, self.high, 3)
        one_of("rotation", self.rotation, _KINDS)
        _quaternion("quat", self.quat)

    def _sampler(self, scene: Scene, body: int, margin: float) -> Sampler:
        ranges, kind, quat = _bounds("", self.low, self.high, 3), self.rotation, _quaternion("quat", self.quat)

        def poses(u: Array, _: Array) -> Array:
            position = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * u[:, :3]
            return np.concatenate(
                [position, product(_random_rotation(kind, u[:, 3:]), np.tile(quat, (len(u), 1)))], axis=1
            )

        return Sampler(3 + _NUMBERS[kind], poses)


@dataclass(frozen=True, eq=False)
class SurfaceRegion(PoseRegion):
    """Poses of a body above a plane: the z = 0 plane of the frame ``pose`` [7] (position, then w, x, y, z).

    The origin of the body is uniform in the rectangle from ``low`` to ``high`` [2] of the plane, in metres, and its
    lowest point stands ``gap`` above the plane: by default the margin that is asked for, and 0.1 mm, which is room for
    the bounds of the answer. ``rotation`` and ``quat`` are those of :class:`BoxRegion`, in the frame of the plane, so
    that "yaw" rotates about its normal. The rectangle bounds the origin of the body and not its outline.
    """

    low: Sequence[float]
    high: Sequence[float]
    pose: Sequence[float] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    rotation: Rotation = "yaw"
    quat: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
    gap: float | None = None

    def __post_init__(self) -> None:
        _bounds("SurfaceRegion", self.low, self.high, 2)
        one_of("rotation", self.rotation, _KINDS)
        _quaternion("quat", self.quat)
        if np.shape(self.pose) != (7,):
            raise OptionError(f"pose: {self.pose!r}, want 7 numbers: position, then w, x, y, z")
        _quaternion("pose[3:]", np.asarray(self.pose)[3:])
        for v in np.asarray(self.pose)[:3].tolist():
            real("pose[:3]", v)
        if self.gap is not None:
            real("gap", self.gap)

    def _sampler(self, scene: Scene, body: int, margin: float) -> Sampler:
        ranges, kind, quat = _bounds("", self.low, self.high, 2), self.rotation, _quaternion("quat", self.quat)
        frame = np.asarray(self.pose, np.float64)
        axes, gap = _quaternion("pose[3:]", frame[3:]), margin + 1e-4 if self.gap is None else float(self.gap)
        upright = None if kind == "any" else _rise(scene, body, quat[None])

        def poses(u: Array, _: Array) -> Array:
            q = product(_random_rotation(kind, u[:, 2:]), np.tile(quat, (len(u), 1)))
            p = np.empty((len(u), 3))
            p[:, :2] = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * u[:, :2]
            p[:, 2] = gap + (_rise(scene, body, q) if upright is None else upright)
            of_plane = np.tile(axes, (len(u), 1))
            return np.concatenate([frame[:3] + rotated(of_plane, p), product(of_plane, q)], axis=1)

        return Sampler(2 + _NUMBERS[kind], poses)


Region = PoseRegion | Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Sampler:
    """Poses [N,7] of uniform numbers [N, numbers] and of the poses [N,7] at which the body stands."""

    numbers: int
    poses: Callable[[Array, Array], Array]


def _rise(scene: Scene, body: int, q: Array) -> Array:
    """How far the lowest point of a body in orientations [N,4] is below its origin [N]."""
    rises = np.full(len(q), -np.inf)
    for part in scene.bodies[body].parts:
        if scene.library[part.shape].kind == "halfspace":
            raise OptionError(
                f"regions: body {body} ({scene.bodies[body].name!r}) is a half-space, which has no lowest point"
            )
        axes = product(q, np.tile(unit(part.rotation), (len(q), 1)))
        down = rotated(axes * [1.0, -1, -1, -1], np.tile([0.0, 0, -1], (len(q), 1)))
        at = rotated(q, np.tile(np.asarray(part.position, np.float64), (len(q), 1)))
        lowest = at + rotated(axes, scene.library.support(part.shape, down))
        rises = np.maximum(rises, -lowest[:, 2])
    return rises


def _of_ranges(ranges: Mapping[str, Any]) -> Sampler:
    """Offsets of the pose at which a body stands: position in world axes, then roll, pitch and yaw after its own
    rotation."""
    check_names("ranges of a body", ranges, _AXES)
    bounds = np.array([interval(f"ranges: {a}", ranges.get(a, (0.0, 0.0))) for a in _AXES], np.float64)

    def poses(u: Array, base: Array) -> Array:
        x = bounds[:, 0] + (bounds[:, 1] - bounds[:, 0]) * u
        c, s = np.cos(x[:, 3:] / 2), np.sin(x[:, 3:] / 2)
        nil = np.zeros(len(u))
        roll = np.stack([c[:, 0], s[:, 0], nil, nil], axis=-1)
        pitch = np.stack([c[:, 1], nil, s[:, 1], nil], axis=-1)
        yaw = np.stack([c[:, 2], nil, nil, s[:, 2]], axis=-1)
        return np.concatenate(
            [base[:, :3] + x[:, :3], product(base[:, 3:], product(yaw, product(pitch, roll)))], axis=1
        )

    return Sampler(len(_AXES), poses)


def sampler(scene: Scene, body: int, region: Any, margin: float) -> Sampler:
    """The sampler of the region of a body."""
    if isinstance(region, PoseRegion):
        return region._sampler(scene, body, margin)
    if isinstance(region, Mapping):
        return _of_ranges(region)
    raise OptionError(f"regions: {region!r:.60}, want a BoxRegion, a SurfaceRegion, or ranges such as "
                      '{"x": (-0.1, 0.1), "yaw": (-3, 3)}')  # fmt: skip


@dataclass(frozen=True, eq=False)
class Coordinates:
    """What placements ask of a scene of a model, whose first ``known`` bodies its configurations move.

    ``standing`` [n] is a configuration. ``joints`` has the index, the limits and whether it slides of each joint of one
    number. ``moved`` are the bodies that joints move, by their names. ``free`` is where in a configuration the pose of
    a free body begins, and the bodies of the scene that move with it. ``poses`` of configurations [N,n] are [N,M,7].
    """

    known: int
    standing: Array
    joints: Mapping[str, tuple[int, tuple[float, float], bool]]
    moved: Callable[[Sequence[str]], list[int]]
    free: Mapping[int, tuple[int, list[int]]]
    poses: Callable[[Array], Array]
