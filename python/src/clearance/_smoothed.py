"""Gradients of a step under noise: where contacts change their modes the step itself has none that tells what is
beyond. The mean of the step over Gaussian noise has a derivative everywhere, ∇E[f(u + σz)] = E[(f(u + σz) - f(u))·z]/σ,
which samples of steps estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, host, reordered, take
from ._contact_derivatives import cotangent
from ._derivatives import quaternion_gradient
from ._errors import OptionError
from ._native import named, numbers
from ._options import Floats, Ints, real, whole
from ._tape import COTANGENTS, angular


@dataclass(frozen=True, eq=False, repr=False)
class StepGradient:
    """The gradient of a function of the states of W worlds of M bodies after a step under noise, by the state before
    and the forces, estimated from samples.

    ``position``, ``velocity``, ``spin`` [W,M,3], ``rotation`` [W,M,4] by quaternions in the order of the simulation,
    and ``force`` [W,M,6] by forces and torques, in units of the function by SI units; zero of what has no noise.
    ``answered`` [W] is the number of samples that were advanced; the others are left out.
    """

    position: Floats
    rotation: Floats
    velocity: Floats
    spin: Floats
    force: Floats
    answered: Ints

    def __repr__(self) -> str:
        return f"StepGradient of {len(self.answered):,} worlds: {int(self.answered.sum()):,} samples answered"


def smoothed(
    sim: Any, force: Any, given: dict[str, Any], noise: dict[str, float], samples: int, seed: int, first_world: int
) -> StepGradient:
    """See :meth:`clearance.contact.Simulation.smoothed`."""
    if all(value is None for value in given.values()):
        raise OptionError("smoothed: no cotangent; want position, rotation, velocity or spin")
    scales = {name: real(name, value, 0) for name, value in noise.items()}
    if not any(scales.values()):
        raise OptionError(f"smoothed: no noise; want one of {', '.join(scales)} above 0")
    state = sim.state()
    w, every = state.pose.shape[:2]
    m, xyzw = sim.bodies, sim._quat == "xyzw"
    pushed = np.zeros((w, every, 6))
    if force is not None:
        pushed[:, :m] = take("force", host("force", force, True), np.float64, (m, 6), w, True)
    bars = {name: cotangent(name, value, (w, m, COTANGENTS[name])) for name, value in given.items()}
    pose = np.zeros((w, every, 6))
    pose[:, :m, :3] = bars["position"]
    if given["rotation"] is not None:
        after = sim.replace()
        after.set_state(state)
        rotation = after.run(steps=1, force=pushed[:, :m]).rotation[0]
        after.close()
        by = reordered(bars["rotation"], (3, 0, 1, 2)) if xyzw else bars["rotation"]
        pose[:, :m, 3:] = angular(by, rotation)
    velocity, spin = np.zeros((w, every, 3)), np.zeros((w, every, 3))
    velocity[:, :m], spin[:, :m] = bars["velocity"], bars["spin"]
    inputs: dict[str, Array | None] = {"pose_bar": pose, "velocity_bar": velocity, "spin_bar": spin, "force": pushed}
    inputs |= numbers(samples=whole("samples", samples, 1), seed=whole("seed", seed), first_world=first_world, **scales)
    out: dict[str, Array] = {
        "pose_gradient": np.zeros((w, every, 6)),
        "velocity_gradient": np.zeros((w, every, 3)),
        "spin_gradient": np.zeros((w, every, 3)),
        "force_gradient": np.zeros((w, every, 6)),
        "answered": np.zeros(w, np.int32),
    }
    records, number = named(inputs | out), sim._number

    def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        n = nat.native()
        return cast(int, n.simulation_smoothed(number, records, len(records), ms, job, report, error))

    _jobs.run(submit, (sim, inputs, out, records))
    twists, quats = out["pose_gradient"][:, :m], np.ascontiguousarray(state.pose[:, :m, 3:])
    rotation = quaternion_gradient(twists[..., 3:].reshape(-1, 3), quats.reshape(-1, 4), "wxyz").reshape(w, m, 4)
    return StepGradient(
        position=twists[..., :3].copy(),
        rotation=reordered(rotation, (1, 2, 3, 0)) if xyzw else rotation,
        velocity=out["velocity_gradient"][:, :m].copy(),
        spin=out["spin_gradient"][:, :m].copy(),
        force=out["force_gradient"][:, :m].copy(),
        answered=out["answered"],
    )
