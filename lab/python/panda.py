"""A Panda arm of Franka Emika among 20 obstacles, beside loops over MuJoCo that ask for the same rows.

    pip install mujoco yourdfpy && pip install --no-deps robosuite
    python lab/python/panda.py [--urdf panda_arm_hand.urdf] [--worlds 4096] [--rounds 3] [--out page.md]

The URDF, with its collision meshes, is by default the one that the package robosuite contains. Each world is the arm at
random joints among obstacles of its own; the rows are all bodies of the arm with all obstacles, and the pairs of its
links that are not adjacent. Each loop, one thread, sets the poses of a world and asks for the rows: ``mj_geomDistance``
of each, without and with a largest distance, and ``mj_collision`` of explicit pairs with that distance as their margin.
The loops take the first ``--looped`` worlds. The rounds go through all cases in turns; all answers are compared.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import clearance as cl
from clearance import urdf

MOST: Final = 0.1  # the largest distance, in metres
OBSTACLES: Final = 20

# Distances [W,P] of worlds from poses [W,M,7]; infinite where nothing within the largest distance is found.
Loop = Callable[[Any], Any]


def bundled() -> Path:
    """The URDF file in the package robosuite, which need not be importable."""
    spec = importlib.util.find_spec("robosuite")
    if spec is None or spec.origin is None:
        raise SystemExit("no --urdf, and robosuite is not installed: pip install --no-deps robosuite")
    folder = Path(spec.origin).parent / "models/assets/bullet_data/panda_description"
    return folder / "urdf/panda_arm_hand.urdf"


def scene_of(path: Path, rng: np.random.Generator) -> urdf.UrdfScene:
    """The arm, with boxes, capsules, spheres and hulls of 24 vertices as obstacles."""
    scene = urdf.load(path, concave="hull")
    arm, lib = len(scene.bodies), scene.library
    for k in range(OBSTACLES):
        size = rng.uniform(0.04, 0.12, 3)
        points = rng.normal(size=(24, 3))
        if k % 4 == 0:
            shape = lib.box(size)
        elif k % 4 == 1:
            shape = lib.capsule(size[0], size[1])
        elif k % 4 == 2:
            shape = lib.sphere(size[0])
        else:
            shape = lib.convex(size * points / np.linalg.norm(points, axis=1, keepdims=True))
        scene.add(shape, name=f"obstacle {k}")
    scene.pairs += [(a, arm + k) for a in range(arm) for k in range(OBSTACLES)]
    return scene


def obstacles(worlds: int, rng: np.random.Generator) -> Any:
    """Poses [W,20,7] around the arm, at most 1.1 m from its base."""
    poses = rng.normal(size=(worlds, OBSTACLES, 7))
    place, rotation = poses[..., :3], poses[..., 3:]
    place *= rng.uniform(0.35, 1.1, (worlds, OBSTACLES, 1)) / np.linalg.norm(place, axis=-1, keepdims=True)
    place[..., 2] = np.abs(place[..., 2])
    rotation /= np.linalg.norm(rotation, axis=-1, keepdims=True)
    return poses


def text(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def mujoco_loops(scene: cl.Scene) -> dict[str, Loop]:
    """The loops, of a model whose bodies are placed by their poses."""
    mujoco: Any = importlib.import_module("mujoco")
    assets, bodies = [], []
    for i, s in enumerate(scene.library):
        if s.kind == "convex":
            assets.append(f'<mesh name="m{i}" vertex="{text(s.parameters["vertices"])}"/>')
    for body in scene.bodies:
        (part,) = body.parts
        s = scene.library[part.shape]
        size = [x for name in ("half_extents", "radius", "half_length") for x in np.ravel(s.parameters.get(name, []))]
        kind = f'type="mesh" mesh="m{part.shape}"' if s.kind == "convex" else f'type="{s.kind}" size="{text(size)}"'
        at = f'pos="{text(part.position)}" quat="{text(part.rotation)}"'
        bodies.append(f'<body mocap="true"><geom {kind} {at} contype="0" conaffinity="0"/></body>')
    names = [body.replace("<geom ", f'<geom name="g{i}" ') for i, body in enumerate(bodies)]
    pairs = "".join(f'<pair geom1="g{a}" geom2="g{b}" margin="{MOST}" gap="0"/>' for a, b in scene.pairs)
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{''.join(assets)}</asset><worldbody>{''.join(names)}</worldbody>"
        f"<contact>{pairs}</contact></mujoco>"
    )
    data, points = mujoco.MjData(model), np.zeros(6)
    row = {(a, b): p for p, (a, b) in enumerate(scene.pairs)} | {(b, a): p for p, (a, b) in enumerate(scene.pairs)}

    def place(world: Any) -> None:
        data.mocap_pos[:], data.mocap_quat[:] = world[:, :3], world[:, 3:]
        mujoco.mj_kinematics(model, data)

    def distances(poses: Any, most: float) -> Any:
        out = np.empty((len(poses), len(scene.pairs)))
        for w, world in enumerate(poses):
            place(world)
            for p, (a, b) in enumerate(scene.pairs):
                out[w, p] = mujoco.mj_geomDistance(model, data, a, b, most, points)
        return out

    def contacts(poses: Any) -> Any:
        out = np.full((len(poses), len(scene.pairs)), np.inf)
        for w, world in enumerate(poses):
            place(world)
            mujoco.mj_collision(model, data)
            for (a, b), d in zip(data.contact.geom.tolist(), data.contact.dist.tolist(), strict=True):
                out[w, row[a, b]] = min(out[w, row[a, b]], d)
        return out

    return {
        "`mj_geomDistance` of each row": lambda poses: distances(poses, 100.0),
        f"`mj_geomDistance` of each row, distmax {MOST}": lambda poses: distances(poses, MOST),
        f"`mj_collision`, margin {MOST}": contacts,
    }


def difference(name: str, got: Any, want: Any) -> str:
    """What the rows differ by: within the largest distance where the loop asks for no more."""
    near = (want > 0) & (want < (MOST if "0.1" in name else np.inf))
    seen = np.isfinite(got) & near & ((got < MOST) | ("0.1" not in name))
    apart = np.abs(got - want)[seen].max(initial=0)
    missed = int((near & ~seen & (want < MOST - 1e-5)).sum()) if "0.1" in name else 0
    hits = int(((got <= 0) != (want <= 0))[np.abs(want) > 1e-5].sum())
    return f"{apart:.1e} m of {int(seen.sum()):,} separated rows; {missed} rows missed, {hits} contacts differ"


def main() -> None:
    parser = argparse.ArgumentParser(description="a Panda arm among obstacles, beside loops over MuJoCo")
    parser.add_argument("--urdf", type=Path)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--looped", type=int, default=100, help="worlds of the loops")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3, help="of the rollouts per round")
    parser.add_argument("--note", default="", help="a sentence of the page about the machine")
    parser.add_argument("--out", type=Path, help="write the page to a file")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    scene = scene_of(options.urdf or bundled(), rng)
    joints, others = scene.random_joints(options.worlds, seed=2), obstacles(options.worlds, rng)
    poses = scene.poses(joints, others=others)
    loops, rates = mujoco_loops(scene), dict[str, list[float]]()

    def whole(roll: Any, out: Any) -> Any:
        return roll(scene.poses(joints, out=poses), quat="wxyz", out=out)

    engines = {n: cl.Engine("cpu", workers=n) for n in (1, 2)}
    steps: dict[str, Callable[[], Any]] = {"forward kinematics alone": lambda: scene.poses(joints, out=poses)}
    for n, engine in engines.items():
        one = "1 worker" if n == 1 else f"{n} workers"
        asked: tuple[tuple[str, dict[str, Any]], ...] = (
            ("all rows, distance and gap", {"columns": ("distance", "gap")}),
            (f"rows within {MOST} m", {"columns": ("distance", "gap", "status"), "max_distance": MOST}),
            (f"least of a world within {MOST} m", {"reduce": "world", "max_distance": MOST}),
        )
        for what, fast in asked:
            roll = engine.rollout(scene, worlds=options.worlds, **fast)
            out = roll(poses, quat="wxyz")
            steps[f"rollout, {what}, {one}"] = functools.partial(roll, poses, quat="wxyz", out=out)
            if "reduce" in fast:
                steps[f"kinematics and {what}, {one}"] = functools.partial(whole, roll, out)
    answers: dict[str, Any] = {}
    for _ in range(options.rounds):
        for name, loop in loops.items():
            start = time.perf_counter()
            answers[name] = loop(poses[: options.looped])
            rates.setdefault(name, []).append(options.looped / (time.perf_counter() - start))
        for name, step in steps.items():
            start = time.perf_counter()
            for _ in range(options.steps):
                step()
            rates.setdefault(name, []).append(options.steps * options.worlds / (time.perf_counter() - start))
    exact = engines[1].rollout(scene, worlds=options.looped, precision="double")
    want = exact(poses[: options.looped], quat="wxyz").distance
    page = table(scene, options, rates, list(loops))
    page += ["", options.note] if options.note else []
    page += ["", "Differences of the loops from the answers in double precision:", ""]
    page += [f"- {name}: {difference(name, got, want)}." for name, got in answers.items()]
    print("\n".join(page))
    if options.out:
        options.out.write_text("\n".join(page) + "\n", encoding="utf-8")


def table(scene: cl.Scene, options: Any, rates: dict[str, list[float]], loops: list[str]) -> list[str]:
    mujoco: Any = importlib.import_module("mujoco")
    base = [statistics.median(rates[name]) for name in loops]
    heads = ["worlds/s", "range", *(f"ratio to {name}" for name in loops)]
    page = [
        "# A Panda arm among 20 obstacles",
        "",
        f"`lab/python/panda.py`: {options.worlds:,} worlds of {len(scene.bodies)} bodies, {len(scene.pairs)} "
        f"rows each, of which the loops take the first {options.looped}. Median of {options.rounds} rounds in turns; "
        f"loops have one thread. {platform.machine()}, {os.cpu_count()} processors, MuJoCo {mujoco.__version__}.",
        "",
        "| case | " + " | ".join(heads) + " |",
        "|---|" + "---:|" * len(heads),
    ]
    for name, values in rates.items():
        rate = statistics.median(values)
        ratios = " | ".join(f"{rate / b:.3g}" for b in base)
        page.append(f"| {name} | {rate:,.0f} | {min(values):,.0f} to {max(values):,.0f} | {ratios} |")
    return page


if __name__ == "__main__":
    main()
