"""Time to reach an error against closed forms: simulations beside MuJoCo, at three sizes.

    python lab/python/equal_error.py [--worlds 16] [--least 1e-4]

Boxes of half size h and 1000 kg/m³, friction 0.4, on the ground, for times in units of T = √(h/(0.1 m)) s:

- slide: a box of the speed √(gh) stops after h/(2·0.4) of way; error of the way.
- push: a force at the center of the mass that grows to twice the friction within 0.4 T gives 0.4·g·0.1 T; error of the
  speed.
- slope: a box rests on a slope of tan α = 0.2 for T; how far it moves, over h.
- stack: four boxes rest on one another for T; how far one of them moves, over h.

Time steps are T divided by 60, 120, 250, …; the largest whose error is within a limit counts. MuJoCo has elliptic
cones and Newton's method, once with its default contacts and once with stiff ones (the least time constant that it
takes, two steps, a width of a thousandth of h, `impratio` 100, 5 steps without slip). One thread; CPU time of all steps
over worlds and the time T. lab/results/contacts.md has the figures.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import clearance as cl
from clearance import contact

G, MU = 9.81, 0.4
SIZES = (0.005, 0.1, 2.0)
STEPS = (60, 120, 250, 500, 1000, 2000, 5000, 10000)
LIMITS = (1e-2, 1e-3)
KINDS = ("slide", "push", "slope", "stack")


@dataclass(frozen=True)
class Case:
    """A scene of M boxes with the half size h. The force [steps] along x acts at the center of the first one."""

    kind: str
    h: float
    rate: int  # steps per unit of time

    @property
    def unit(self) -> float:
        return float(np.sqrt(self.h / 0.1))

    @property
    def dt(self) -> float:
        return self.unit / self.rate

    @property
    def steps(self) -> int:
        return round(0.4 * self.rate) if self.kind == "push" else self.rate

    @property
    def boxes(self) -> int:
        return 4 if self.kind == "stack" else 1

    @property
    def gravity(self) -> tuple[float, float, float]:
        slope = np.arctan(0.2) if self.kind == "slope" else 0.0
        return float(G * np.sin(slope)), 0.0, float(-G * np.cos(slope))

    @property
    def position(self) -> Any:
        at = np.zeros((self.boxes, 3))
        at[:, 2] = self.h * (1 + 2 * np.arange(self.boxes))
        return at

    @property
    def speed(self) -> float:
        return float(np.sqrt(G * self.h)) if self.kind == "slide" else 0.0

    @property
    def force(self) -> Any:
        mass = 8000 * self.h**3
        return 2 * MU * mass * G * (np.arange(self.steps) + 0.5) / self.steps * (self.kind == "push")

    def error(self, position: Any, velocity: Any) -> float:
        """Of the worst world, of positions and velocities [W,M,3] at the end."""
        moved = position - self.position
        if self.kind == "slide":
            return float(np.max(np.abs(moved[:, 0, 0] / (self.h / (2 * MU)) - 1)))
        if self.kind == "push":
            return float(np.max(np.abs(velocity[:, 0, 0] / (MU * G * 0.1 * self.unit) - 1)))
        return float(np.max(np.linalg.norm(moved, axis=-1)) / self.h)


def ours(case: Case, worlds: int) -> tuple[float, float]:
    """The error, and the CPU time per world and unit of time."""
    lib = cl.Library()
    box = lib.box([case.h] * 3)
    sim = contact.Simulation(
        lib, [box] * case.boxes, density=1000, dt=case.dt, friction=MU, gravity=case.gravity, workers=1
    )
    position = np.tile(case.position, (worlds, 1, 1))
    rotation = np.tile([1.0, 0, 0, 0], (worlds, case.boxes, 1))
    velocity = np.zeros_like(position)
    velocity[:, 0, 0] = case.speed
    options: dict[str, Any] = {}
    if case.kind == "push":
        options["force"] = np.zeros((case.steps, worlds, case.boxes, 6))
        options["force"][:, :, 0, 0] = case.force[:, None]
    start = time.process_time()
    r = sim.run(position, rotation, velocity, quat="wxyz", steps=case.steps, every=case.steps, **options)
    seconds = time.process_time() - start
    return case.error(r.position[-1], r.velocity[-1]), seconds / worlds * case.rate / case.steps


def mujoco_error(case: Case, worlds: int, stiff: bool) -> tuple[float, float]:
    import mujoco
    from mujoco import rollout

    contacts, option = "", ""
    if stiff:
        contacts = f'solref="{2 * case.dt!r} 1" solimp="0.99 0.9999 {1e-3 * case.h!r}"'
        option = 'impratio="100" noslip_iterations="5"'
    geom = f'friction="{MU} 0 0" condim="3" {contacts}'
    bodies = "".join(
        f'<body pos="0 0 {z!r}"><freejoint/><geom type="box" size="{case.h} {case.h} {case.h}" density="1000" {geom}/>'
        "</body>"
        for z in case.position[:, 2].tolist()
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{case.dt!r}" cone="elliptic" solver="Newton" tolerance="1e-10" {option} '
        f'gravity="{" ".join(map(repr, case.gravity))}"/><worldbody><geom type="plane" size="0 0 1" {geom}/>{bodies}'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, spec))
    data.qvel[0] = case.speed
    mujoco.mj_getState(model, data, state, spec)
    control = np.zeros((worlds, case.steps, 6 * model.nbody))
    control[:, :, 6] = case.force
    with rollout.Rollout(nthread=0) as roll:
        start = time.process_time()
        end, _ = roll.rollout(
            model,
            data,
            np.tile(state, (worlds, 1)),
            control,
            control_spec=mujoco.mjtState.mjSTATE_XFRC_APPLIED,
            nstep=case.steps,
        )
        seconds = time.process_time() - start
    pose = end[:, -1, 1 : 1 + model.nq].reshape(worlds, case.boxes, 7)
    speed = end[:, -1, 1 + model.nq : 1 + model.nq + model.nv].reshape(worlds, case.boxes, 6)
    return case.error(pose[..., :3], speed[..., :3]), seconds / worlds * case.rate / case.steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--least", type=float, default=1e-4, help="the least time step, in units of T")
    parser.add_argument("--only", nargs="*", choices=KINDS)
    a = parser.parse_args()
    programs = (
        ("Clearance", ours),
        ("MuJoCo", lambda case, worlds: mujoco_error(case, worlds, False)),
        ("MuJoCo, stiff", lambda case, worlds: mujoco_error(case, worlds, True)),
    )
    limits = " | ".join(f"{limit:g}: step, µs of CPU" for limit in LIMITS)
    print(f"| scene | h, m | program | {limits} | least error, step |")
    print("|---|---|---|---|---|---|")
    for kind in a.only or KINDS:
        for h in SIZES:
            for name, run in programs:
                cells, least = ["-"] * len(LIMITS), (np.inf, "")
                for rate in STEPS:
                    if 1 / rate < a.least or cells[-1] != "-":
                        break
                    case = Case(kind, h, rate)
                    error, seconds = run(case, a.worlds)
                    least = min(least, (error, f"T/{rate}"))
                    for k, limit in enumerate(LIMITS):
                        if error <= limit and cells[k] == "-":
                            cells[k] = f"T/{rate}, {1e6 * seconds:,.0f}"
                print(f"| {kind} | {h:g} | {name} | {' | '.join(cells)} | {least[0]:.1e}, {least[1]} |", flush=True)


if __name__ == "__main__":
    main()
