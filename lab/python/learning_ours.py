"""Derivatives of the set-ups of learning_setups.py by this project, under the names that it gives them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final

import numpy as np
from learning_peers import Answer, Method
from learning_setups import Setup

from clearance import Library, contact


def simulation(s: Setup) -> contact.Simulation:
    """The balls, and planes as half-spaces that do not move."""
    lib = Library()
    n, m = len(s.position), len(s.planes)
    shapes = [lib.sphere(s.radius)] * n + [lib.halfspace()] * m
    return contact.Simulation(
        lib, shapes, mass=[1.0] * n + [np.inf] * m, ground=False, dt=s.dt, friction=0.0, bounce_speed=1e-9,
        restitution=[s.restitution] * n + [0.0] * m, gravity=(0.0, s.gravity, 0.0), tolerance=1e-12,
        compliance=0.0, workers=1,
    )  # fmt: skip


def state(s: Setup) -> tuple[Any, Any, Any]:
    """Positions, rotations and velocities [1,M,…] of balls and planes."""
    n, m = len(s.position), len(s.planes)
    position, rotation, velocity = np.zeros((1, n + m, 3)), np.zeros((1, n + m, 4)), np.zeros((1, n + m, 3))
    position[0, :n, :2], velocity[0, :n, :2], rotation[..., 0] = s.position, s.velocity, 1
    for k, (n0, n1, d) in enumerate(s.planes):
        normal = np.array([n0, n1, 0.0])
        position[0, n + k] = d * normal
        rotation[0, n + k, 0], rotation[0, n + k, 1:] = 1, np.cross([0, 0, 1], normal)  # half a right angle
    rotation /= np.linalg.norm(rotation, axis=2, keepdims=True)
    return position, rotation, velocity


def forces(s: Setup) -> Any:
    """[T,1,M,6]."""
    out = np.zeros((s.steps, 1, len(s.position) + len(s.planes), 6))
    out[:, 0, 0, :2] = s.force
    return out


def derive(s: Setup, impacts: Any, finer: int = 1) -> Answer:
    """Reverse-mode through a run with a tape; ``impacts`` names the derivative. Steps are of dt/finer."""
    s = replace(s, dt=s.dt / finer, steps=s.steps * finer)
    sim, (position, rotation, velocity), n = simulation(s), state(s), len(s.position)

    def once() -> Any:
        run = sim.run(
            position, rotation, velocity, steps=s.steps, every=s.steps, force=forces(s), quat="wxyz", tape=True
        )
        at, cotangent = run.position[-1, 0, :n, :2], np.zeros((1, 1, n + len(s.planes), 3))
        cotangent[0, 0, :n, :2] = s.slope(at)
        return at, run.vjp(position=cotangent, impacts=impacts)

    once()
    began = time.process_time()
    at, g = once()
    spent = (time.process_time() - began) / s.steps
    total = float(s.cost(at)) + s.running * float(np.dot(s.force, s.force))
    names, counts = np.unique(g.smoothness_names, return_counts=True)
    note = ", ".join(f"{c} {name}" for name, c in zip(names, counts, strict=True))
    u0 = (g.force[:finer, 0, 0, :2] + s.running_slope()).sum(axis=0)
    return Answer(total, g.position[0, :n, :2], g.velocity[0, :n, :2], u0, spent, note)


METHODS: Final[dict[str, tuple[str, Method]]] = {
    "Clearance, discrete step": ("", lambda s: derive(s, "discrete")),
    "Clearance, time of impact": ("", lambda s: derive(s, "time_of_impact")),
    "Clearance, time of impact, 256 steps for one": ("", lambda s: derive(s, "time_of_impact", 256)),
}
