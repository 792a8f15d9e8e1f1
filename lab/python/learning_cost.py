"""What the derivative of a step costs, beside finite differences over MuJoCo's step, on the same scenes.

    PYTHONPATH=python/src CLEARANCE_LIBRARY=FILE python lab/python/learning_cost.py [--json cost.json] [--page cost.md]

Eight cubes of 0.2 m lie on the ground, apart or as two stacks of four, each under a force and a torque: 48 inputs, 96
numbers of state. MuJoCo gives the derivative by mjd_transitionFD (forward and central differences, of state and
inputs: the whole Jacobian) and, cheaper, by differences over the 48 inputs alone. This project gives the product of a
cotangent of the next state with the derivative, which is the gradient of one cost with respect to the same 48 inputs,
the state and the parameters: what a training loop needs. CPU times of one thread, in turns, medians of rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from clearance import Library, contact

STEP: Final = 0.005
HALF: Final = 0.1
MASS: Final = 1.0
FRICTION: Final = 0.5
WORLDS: Final = 256
SETTLE: Final = 200  # steps before the measurement
STEPS: Final = 10  # of this project, a call
# Published, cited only: DART's derivative of a step by number of contacts (dartsim/dart, pull request 2761).
DART: Final = {8: 0.55e-3, 32: 10.3e-3}


def places(stacked: bool) -> Any:
    """The positions [8,3] of the cubes."""
    if stacked:
        return np.array([[i % 2, 0.0, HALF + 2 * HALF * (i // 2)] for i in range(8)])
    return np.array([[0.5 * (i % 4), 0.5 * (i // 4), HALF] for i in range(8)])


def mujoco_methods(at: Any) -> tuple[dict[str, Callable[[], float]], int]:
    """Seconds of each way, a call, and the number of contacts."""
    import mujoco

    bodies = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="box" size="{HALF} {HALF} {HALF}" mass="{MASS}"/></body>'
        for x, y, z in at
    )
    motors = "".join(
        f'<motor site="s{i}" gear="{" ".join("1" if k == j else "0" for k in range(6))}"/>'
        for i in range(8) for j in range(6)
    )  # fmt: skip
    bodies = "".join(b.replace("</body>", f'<site name="s{i}"/></body>') for i, b in enumerate(_split(bodies)))
    m = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" cone="elliptic"/><default><geom friction="{FRICTION} 0 0"/></default>'
        f'<worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody><actuator>{motors}</actuator></mujoco>'
    )
    d = mujoco.MjData(m)
    for _ in range(SETTLE):
        mujoco.mj_step(m, d)
    state = np.zeros(mujoco.mj_stateSize(m, mujoco.mjtState.mjSTATE_INTEGRATION))
    mujoco.mj_getState(m, d, state, mujoco.mjtState.mjSTATE_INTEGRATION)
    a, b = np.zeros((2 * m.nv, 2 * m.nv)), np.zeros((2 * m.nv, m.nu))

    def back() -> None:
        mujoco.mj_setState(m, d, state, mujoco.mjtState.mjSTATE_INTEGRATION)

    def timed(work: Callable[[], None]) -> Callable[[], float]:
        def one() -> float:
            back()
            began = time.process_time()
            work()
            return time.process_time() - began

        return one

    def inputs(central: bool) -> None:
        base = np.zeros(m.nv)
        for k in range(m.nu):
            for sign in (1, -1) if central else (1,):
                back()
                d.ctrl[k] = sign * 1e-6
                mujoco.mj_step(m, d)
                base[:] = d.qvel
        if not central:
            back()
            mujoco.mj_step(m, d)

    methods = {
        "MuJoCo, a step": timed(lambda: mujoco.mj_step(m, d)),
        "MuJoCo, forward differences over 48 inputs": timed(lambda: inputs(False)),
        "MuJoCo, central differences over 48 inputs": timed(lambda: inputs(True)),
        "MuJoCo, mjd_transitionFD, forward": timed(
            lambda: mujoco.mjd_transitionFD(m, d, 1e-6, False, a, b, None, None)
        ),
        "MuJoCo, mjd_transitionFD, central": timed(lambda: mujoco.mjd_transitionFD(m, d, 1e-6, True, a, b, None, None)),
    }
    return methods, int(d.ncon)


def _split(bodies: str) -> list[str]:
    return [part + "</body>" for part in bodies.split("</body>") if part]


def our_methods(at: Any) -> dict[str, Callable[[], float]]:
    """Seconds of a step and of a step with its derivative, a world, of a batch on one thread."""
    lib = Library()
    boxes = [lib.box([HALF] * 3)] * 8
    sim = contact.Simulation(lib, boxes, MASS, dt=STEP, friction=FRICTION, compliance=0.0, workers=1)
    position, rotation = np.tile(at, (WORLDS, 1, 1)), np.tile([1.0, 0, 0, 0], (WORLDS, 8, 1))
    sim.run(position, rotation, quat="wxyz", steps=SETTLE, every=SETTLE)
    settled, force = sim.state(), np.zeros((WORLDS, 8, 6))
    out = np.random.default_rng(0).normal(size=(2, STEPS, WORLDS, 8, 3))

    def step() -> float:
        sim.set_state(settled)
        began = time.process_time()
        sim.run(steps=STEPS, force=force)
        return (time.process_time() - began) / WORLDS / STEPS

    def both() -> float:
        sim.set_state(settled)
        began = time.process_time()
        sim.run(steps=STEPS, force=force, tape=True).vjp(position=out[0], velocity=out[1])
        return (time.process_time() - began) / WORLDS / STEPS

    return {"Clearance, a step": step, "Clearance, a step and its VJP": both}


def measure(rounds: int) -> dict[str, Any]:
    """Median seconds of all ways, by scene."""
    report: dict[str, Any] = {}
    for name, stacked in (("apart", False), ("two stacks of four", True)):
        methods, contacts = mujoco_methods(places(stacked))
        methods |= our_methods(places(stacked))
        times: dict[str, list[float]] = {k: [] for k in methods}
        for _ in range(rounds):
            for k, one in methods.items():
                times[k].append(one())
        ours = np.array(times["Clearance, a step and its VJP"]) - times["Clearance, a step"]
        times["Clearance, the VJP alone (difference)"] = ours.tolist()
        report[name] = {"contacts": contacts, "seconds": {k: statistics.median(t) for k, t in times.items()}}
    return report


def page(report: dict[str, Any]) -> str:
    """The tables."""
    out = []
    for name, about in report.items():
        seconds = about["seconds"]
        ours = seconds["Clearance, the VJP alone (difference)"]
        out += [
            f"### Eight cubes, {name} ({about['contacts']} contacts)",
            "",
            "| | µs a world | × our VJP |",
            "|---|--:|--:|",
        ]
        out += [f"| {k} | {v * 1e6:.3g} | {v / ours:.3g} |" for k, v in seconds.items()]
        out.append("")
    out += [
        "Published for DART: " + ", ".join(f"{n} contacts {s * 1e3:g} ms" for n, s in DART.items()) + " a world.",
        "",
    ]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    a = parser.parse_args()
    report = measure(a.rounds)
    if a.json:
        a.json.write_text(json.dumps(report, indent=1) + "\n")
    text = page(report)
    print(text)
    if a.page:
        a.page.write_text(text)


if __name__ == "__main__":
    main()
