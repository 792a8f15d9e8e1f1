"""Tapes of runs: gradients of a function of the states of a run with respect to what the run was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, cast, get_args

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, host, reordered, take
from ._contact_derivatives import SMOOTHNESSES
from ._derivatives import quaternion_gradient
from ._errors import OptionError
from ._native import named, numbers
from ._options import Bools, Floats, Ints, one_of

Impacts = Literal["discrete", "time_of_impact"]
IMPACTS: Final = get_args(Impacts)


class Stated(NamedTuple):
    """Gradients by friction and restitution that are not those of bodies, for each world: [W], or [W,N] of parts and of
    surfaces."""

    friction: Floats
    restitution: Floats


class Layout(NamedTuple):
    """Where friction or restitution of a simulation is stated: by bodies and the ground, by parts, and by pairs, of
    which the first are those of the bodies, and of the parts, with the ground, unless it has its own."""

    bodies: int  # without the ground
    ground: bool
    parts: Array  # [P,2] bodies and parts
    pairs: int
    copied: bool  # to pairs with the ground

    def split(self, of: Array) -> tuple[Array, Array, Array, Array]:
        """Gradients [W,S] as those of bodies [W,M], the ground [W], parts [W,P] and surfaces [W,N]."""
        m, p = self.bodies, len(self.parts)
        of_bodies, rest = of[:, :m].copy(), of[:, m + int(self.ground) :]
        ground = of[:, m] if self.ground else np.zeros(len(of))
        of_parts, of_pairs = rest[:, :p].copy(), rest[:, p:]
        if self.copied:
            of_bodies += of_pairs[:, :m]
            of_parts += of_pairs[:, m : m + p]
            of_pairs = of_pairs[:, m + p :]
        return of_bodies, ground.copy(), of_parts, of_pairs.copy()

    @property
    def stated(self) -> int:
        return self.bodies + int(self.ground) + len(self.parts) + self.pairs


@dataclass(frozen=True, eq=False, repr=False)
class RunGradient:
    """The gradient of a function of the states of a run of T steps of W worlds of M bodies.

    ``position``, ``velocity``, ``spin`` [W,M,3] and ``rotation`` [W,M,4] are by the state that the run began with, the
    latter by quaternions in the order of the run, which need not be unit. ``force`` is by the forces and torques, in
    the shape of the run's: [W,M,6], those of all steps, or [T,W,M,6]. The others are by numbers that all worlds share,
    for each world by itself, so that worlds may be weighted before they are added: ``mass`` [W,M] at constant inertia,
    ``inertia`` [W,M,6], ``gravity`` [W,3], ``friction`` and ``restitution`` [W,M] of bodies, in their contacts with the
    ground too where it has none of its own. ``ground`` are those of the ground, ``parts`` of the parts that state their
    own, in order, ``surfaces`` of surfaces. ``parts_pose`` [W,P,6] is by the poses of the P parts in their bodies, body
    after body and part after part, as twists in the axes of the body: velocity of the position of the part, angular
    velocity; mass, center of mass and inertia stay. Units are those of the function by SI units.

    ``smoothness`` [T,W] says what the gradient of each step is worth: 0 smooth, 1 boundary, 2 one_of_many, 3 none, as
    of :class:`ProblemGradient`; a step without a derivative is taken as constant, which stops the gradient. ``margin``
    [T,W] is how far the step is from the nearest change of a mode of a contact, relative to its speeds.
    """

    position: Floats
    rotation: Floats
    velocity: Floats
    spin: Floats
    force: Floats
    mass: Floats
    inertia: Floats
    friction: Floats
    restitution: Floats
    gravity: Floats
    ground: Stated
    parts: Stated
    surfaces: Stated
    parts_pose: Floats
    smoothness: Ints
    margin: Floats

    @property
    def smoothness_names(self) -> Array:
        """The names of ``smoothness``."""
        return np.array(SMOOTHNESSES)[self.smoothness]

    @property
    def smooth(self) -> Bools:
        """World-steps [T,W] whose gradients hold in a neighborhood of the state; ``smooth.all(axis=0)`` are the worlds
        that are smooth throughout, to weight losses with."""
        steps: Bools = self.smoothness == 0
        return steps

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.smoothness == i):,} {name}" for i, name in enumerate(SMOOTHNESSES))
        t, w = self.smoothness.shape
        return f"RunGradient of {t:,} steps of {w:,} worlds: {counts}"


def angular(cotangent: Array, quat: Array) -> Array:
    """The gradient [...,3] with respect to the rotation of a body, by that with respect to its unit quaternion [...,4],
    "wxyz": of dq = ω⊗q/2 the transpose, (s·ū - s̄·u + u×ū)/2."""
    s, u, sb, ub = quat[..., :1], quat[..., 1:], cotangent[..., :1], cotangent[..., 1:]
    spin: Array = 0.5 * (s * ub - sb * u + np.cross(u, ub))
    return spin


def by_parts_pose(twists: Array, poses: Array, quat: str) -> Array:
    """The gradients [...,P,7] by poses of parts, whose quaternions have the order ``quat`` and need not be unit, of
    those by twists [...,P,6]."""
    full = np.ascontiguousarray(np.broadcast_to(poses, (*twists.shape[:-1], 7)))
    quaternion = quaternion_gradient(twists[..., 3:].reshape(-1, 3), full[..., 3:].reshape(-1, 4), quat)
    return np.concatenate([twists[..., :3], quaternion.reshape(*twists.shape[:-1], 4)], axis=-1)


COTANGENTS: Final = {"position": 3, "rotation": 4, "velocity": 3, "spin": 3}

# Gradients that a tape has, by their names in the C interface: axes are those of steps, worlds, bodies.
_PARAMETERS: Final[dict[str, tuple[int, ...]]] = {"mass": (), "inertia": (6,)}
_SURFACES: Final = ("friction", "restitution")


class Tape(nat.Owner):
    """The tape of a run: a handle of the native library, and what its numbers mean."""

    def __init__(
        self,
        number: int,
        steps: int,
        forced: str,
        bodies: int,
        first: Array,
        rotation: Array,
        xyzw: bool,
        layouts: tuple[Layout, Layout],
        parts: tuple[int, int],
    ) -> None:
        self._number, self.layouts = number, layouts
        self.parts = parts  # of the bodies, and with the ground
        self.steps, self.forced, self.bodies = steps, forced, bodies  # forced: "force", "forces" or ""
        self.first = first  # poses [W,B,7] at the beginning, "wxyz"
        self.rotation = rotation  # of recorded steps [R,W,M,4], "wxyz"
        self.xyzw = xyzw

    def __del__(self) -> None:
        if getattr(self, "_number", 0) and nat.usable():
            nat.native().tape_close(self._number, None)

    def begin_with(self, rotation: Array) -> None:
        """Take gradients by these quaternions [W,M,4] of the beginning, in the order of the run, which need not be
        unit."""
        self.first[:, : self.bodies, 3:] = reordered(rotation, (3, 0, 1, 2)) if self.xyzw else rotation

    @cached_property
    def about(self) -> RunGradient:
        """The gradient of nothing, which says what derivatives are worth."""
        r, w, m = self.rotation.shape[:3]
        return self.vjp({"velocity": np.zeros((r, w, m, 3))})

    def vjp(self, given: Mapping[str, Any], impacts: Impacts = "discrete") -> RunGradient:
        """See :meth:`Trajectory.vjp`."""
        code = IMPACTS.index(one_of("impacts", impacts, IMPACTS))
        if all(value is None for value in given.values()):
            raise OptionError("vjp: no cotangent; want position, rotation, velocity or spin")
        r, w, m = self.rotation.shape[:3]
        every = self.first.shape[1]
        pose, velocity, spin = np.zeros((r, w, every, 6)), np.zeros((r, w, every, 3)), np.zeros((r, w, every, 3))
        places = {"position": pose[:, :, :m, :3], "velocity": velocity[:, :, :m], "spin": spin[:, :, :m]}
        for name, value in given.items():
            if value is None:
                continue
            width = COTANGENTS[name]
            array = host(name, value, True)
            if array.shape == (r, w, m, width)[4 - array.ndim :]:
                array = np.broadcast_to(array, (r, w, m, width))
            array = take(name, array, np.float64, (w, m, width), r, True)
            if name == "rotation":
                array = reordered(array, (3, 0, 1, 2)) if self.xyzw else array
                pose[:, :, :m, 3:] = angular(array, self.rotation)
            else:
                places[name][...] = array
        inputs = {"pose_bar": pose, "velocity_bar": velocity, "spin_bar": spin}
        out: dict[str, Array] = {
            "pose_gradient": np.zeros((w, every, 6)),
            "velocity_gradient": np.zeros((w, every, 3)),
            "spin_gradient": np.zeros((w, every, 3)),
            "gravity_gradient": np.zeros((w, 3)),
            "parts_gradient": np.zeros((w, self.parts[1], 6)),
            "smoothness": np.zeros((self.steps, w), np.uint8),
            "margin": np.zeros((self.steps, w)),
        }
        out |= {f"{name}_gradient": np.zeros((w, every, *tail)) for name, tail in _PARAMETERS.items()}
        for name, layout in zip(_SURFACES, self.layouts, strict=True):
            out[f"{name}_gradient"] = np.zeros((w, layout.stated))
        each = (self.steps,) if self.forced == "forces" else ()
        out["force_gradient"] = np.zeros((*each, w, every, 6))
        self._call(inputs | cast("dict[str, Array]", numbers(impacts=code)), out)
        twists = out["pose_gradient"][:, :m]
        rotation = quaternion_gradient(
            twists[..., 3:].reshape(-1, 3), self.first[:, :m, 3:].reshape(-1, 4), "wxyz"
        ).reshape(w, m, 4)
        force = out["force_gradient"]
        friction, restitution = (
            layout.split(out[f"{name}_gradient"]) for name, layout in zip(_SURFACES, self.layouts, strict=True)
        )
        return RunGradient(
            position=twists[..., :3].copy(),
            rotation=reordered(rotation, (1, 2, 3, 0)) if self.xyzw else rotation,
            velocity=out["velocity_gradient"][:, :m].copy(),
            spin=out["spin_gradient"][:, :m].copy(),
            force=np.ascontiguousarray(force[..., :m, :]),
            gravity=out["gravity_gradient"],
            friction=friction[0],
            restitution=restitution[0],
            ground=Stated(friction[1], restitution[1]),
            parts=Stated(friction[2], restitution[2]),
            surfaces=Stated(friction[3], restitution[3]),
            parts_pose=out["parts_gradient"][:, : self.parts[0]].copy(),
            smoothness=out["smoothness"],
            margin=out["margin"],
            **{name: out[f"{name}_gradient"][:, :m].copy() for name in _PARAMETERS},
        )

    def _call(self, inputs: Mapping[str, Array], out: Mapping[str, Array]) -> None:
        records = named({**inputs, **out})

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, nat.native().tape_vjp(self._number, records, len(records), ms, job, report, error))

        _jobs.run(submit, (self, inputs, out, records))
