"""World-steps a second of simulations, beside MuJoCo's threaded rollout of the same bodies.

    python lab/python/steps.py [--worlds 256] [--steps 100] [--workers 2]

Boxes of 1000 kg/m³ with a friction of 0.5, and a pile of 64 hulls in a sixteenth of the worlds; steps of 5 ms. Worlds
are settled by as many steps first, which are not timed. MuJoCo has elliptic cones, Newton's method and a tolerance of
1e-8; its contacts are soft, so that its problem is another one: the table has the largest penetration of both at the
end. lab/results/contacts.md has the figures.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import clearance as cl
from clearance import contact

DT = 5e-3
PILE = 64


def scene(kind: str, worlds: int) -> tuple[Any, Any, Any]:
    """The half extents [3] of M boxes or the vertices [N,3] of hulls, their position [W,M,3] and rotation [W,M,4]."""
    rng = np.random.default_rng(34)
    if kind == "pile":
        return pile(rng, worlds)
    m = {"ground": 8, "stack": 4, "heap": 8}[kind]
    half = rng.uniform(0.08, 0.12, (m, 3))
    position = np.zeros((worlds, m, 3))
    angle = rng.uniform(0, np.pi, (worlds, m))
    rotation = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=-1)
    if kind == "ground":
        position[:, :, 0], position[:, :, 1] = 0.5 * (np.arange(m) % 4), 0.5 * (np.arange(m) // 4)
        position[:, :, 2] = half[:, 2]
        return half, position, rotation
    below = np.concatenate([[0], np.cumsum(2 * half[:-1, 2])])
    position[:, :, 2] = below + half[:, 2]
    if kind == "stack":
        position[:, :, :2] = rng.uniform(-0.005, 0.005, (worlds, m, 2))
        rotation = np.stack([np.cos(angle / 40), 0 * angle, 0 * angle, np.sin(angle / 40)], axis=-1)
        return half, position, rotation
    q = rng.normal(size=(worlds, m, 4))
    position[:, :, 2] = 0.25 + 0.4 * np.arange(m)
    position[:, :, :2] = rng.uniform(-0.1, 0.1, (worlds, m, 2))
    return half, position, q / np.linalg.norm(q, axis=-1, keepdims=True)


def pile(rng: np.random.Generator, worlds: int) -> tuple[Any, Any, Any]:
    """Hulls of 16 points of an ellipsoid, in a lattice above the ground."""
    points = rng.normal(size=(PILE, 16, 3))
    points *= rng.uniform(0.08, 0.12, (PILE, 1, 3)) / np.linalg.norm(points, axis=-1, keepdims=True)
    at = np.stack(np.unravel_index(np.arange(PILE), (4, 4, 4)), axis=-1)[:, ::-1] * 0.25 + [0, 0, 0.15]
    q = rng.normal(size=(worlds, PILE, 4))
    return points, at + rng.uniform(-0.02, 0.02, (worlds, PILE, 3)), q / np.linalg.norm(q, axis=-1, keepdims=True)


def add(lib: cl.Library, shape: Any) -> int:
    return lib.box(shape) if shape.ndim == 1 else lib.convex(shape)


def deepest(shapes: Any, position: Any, rotation: Any) -> float:
    """The largest penetration of the bodies with the ground and each other, in metres."""
    lib = cl.Library()
    body = [add(lib, shape) for shape in shapes] + [lib.halfspace()]
    w, m = position.shape[:2]
    every = np.concatenate([position, np.zeros((w, 1, 3))], axis=1)
    unit = np.concatenate([rotation, np.tile([1.0, 0, 0, 0], (w, 1, 1))], axis=1)
    first, second = np.triu_indices(m + 1, 1)
    with cl.Engine("cpu", precision="double") as engine:
        roll = engine.rollout_of_shapes(lib, body, first, second, worlds=w, query="distance")
        r = roll(np.concatenate([every, unit], axis=-1), quat="wxyz")
    return float(max(0.0, -np.min(r.distance)))


def clocks() -> Any:
    """The time of the clock, and of all threads of the process."""
    return np.array([time.perf_counter(), time.process_time()])


def ours(kind: str, worlds: int, a: argparse.Namespace) -> tuple[Any, float, str]:
    shapes, position, rotation = scene(kind, worlds)
    lib = cl.Library()
    sim = contact.Simulation(lib, [add(lib, shape) for shape in shapes], density=1000, dt=DT, workers=a.workers)
    sim.run(position, rotation, quat="wxyz", steps=a.steps, every=a.steps)
    start = clocks()
    r = sim.run(steps=a.steps, every=a.steps)
    seconds = clocks() - start
    failed = sum(v for k, v in r.report.counts.items() if k in ("undecided", "invalid"))
    return seconds / (worlds * a.steps), deepest(shapes, r.position[-1], r.rotation[-1]), f"{failed}"


def mujoco_rollout(kind: str, worlds: int, a: argparse.Namespace) -> tuple[Any, float, str]:
    import mujoco
    from mujoco import rollout

    shapes, position, rotation = scene(kind, worlds)
    meshes, bodies = "", ""
    for k, shape in enumerate(shapes):
        size = " ".join(repr(float(x)) for x in shape.ravel())
        geom = f'type="box" size="{size}"'
        if shape.ndim > 1:
            meshes += f'<mesh name="m{k}" vertex="{size}"/>'
            geom = f'type="mesh" mesh="m{k}"'
        bodies += f'<body><freejoint/><geom {geom} density="1000" friction="0.5 0 0" condim="3"/></body>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" cone="elliptic" solver="Newton" tolerance="1e-8"/><size memory="64M"/>'
        f'<asset>{meshes}</asset><worldbody><geom type="plane" size="0 0 1" friction="0.5 0 0" condim="3"/>'
        f"{bodies}</worldbody></mujoco>"
    )
    full = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros((worlds, full))
    state[:, 1 : 1 + model.nq] = np.concatenate([position, rotation], axis=-1).reshape(worlds, -1)
    data = [mujoco.MjData(model) for _ in range(a.workers)]
    with rollout.Rollout(nthread=a.workers) as roll:
        settled, _ = roll.rollout(model, data, state, nstep=a.steps)
        start = clocks()
        end, _ = roll.rollout(model, data, settled[:, -1], nstep=a.steps)
        seconds = clocks() - start
    pose = end[:, -1, 1 : 1 + model.nq].reshape(worlds, len(shapes), 7)
    return seconds / (worlds * a.steps), deepest(shapes, pose[..., :3], pose[..., 3:]), "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, standard in (("worlds", 256), ("steps", 100), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=standard)
    parser.add_argument("--only", nargs="*", choices=("ground", "stack", "heap", "pile"), help="scenes")
    a = parser.parse_args()
    print("| scene | program | world-steps/s | µs of CPU | deepest penetration, µm | not advanced |")
    print("|---|---|---|---|---|---|")
    for kind in a.only or ("ground", "stack", "heap", "pile"):
        worlds = max(1, a.worlds // 16) if kind == "pile" else a.worlds
        for name, run in (("Clearance", ours), ("MuJoCo", mujoco_rollout)):
            (clock, cpu), depth, failed = run(kind, worlds, a)
            row = f"| {kind} | {name} | {1 / clock:,.0f} | {1e6 * cpu:.1f} | {1e6 * depth:.1f} | {failed} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
