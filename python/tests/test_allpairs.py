"""All pairs and sweeps: the answers are those of the command line on the same files, and what the words say."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_python
from test_scene import make_scene

import clearance as cl

W, M = 20, 12


def crowd(seed: int = 1) -> tuple[cl.Scene, Any, Any]:
    """The bodies of test_scene many times over in worlds that differ, some of them absent: scene, bodies, poses."""
    rng = np.random.default_rng(seed)
    scene = make_scene()
    bodies = rng.integers(-1, len(scene.bodies), (W, M), dtype=np.int32)
    poses = rng.normal(0, 0.7, (W, M, 7))
    return scene, bodies, poses


def write(folder: Path, scene: cl.Scene, **arrays: Any) -> Path:
    """The bodies of a scene and its worlds as files of the command line."""
    scene.library.save(folder / "shapes.json")
    text = json.loads((folder / "shapes.json").read_text())
    text["bodies"] = [
        {"parts": [{"shape": p.shape, "position": list(p.position), "rotation": list(p.rotation)} for p in b.parts]}
        for b in scene.bodies
    ]
    (folder / "shapes.json").write_text(json.dumps(text))
    first, second = scene.pair_arrays()
    np.savez(folder / "worlds.npz", template_a=first, template_b=second, **arrays)
    return folder / "worlds.npz"


def answers(batchbench: Path, name: str, folder: Path, *flags: str) -> dict[str, Any]:
    """The answers of a command."""
    command: list[Any] = [batchbench, name, "--backend", "cpu", "--shapes", folder / "shapes.json"]
    files: list[Any] = ["--worlds", folder / "worlds.npz", "--out", folder / "out.npz"]
    run = subprocess.run([*command, *files, *flags], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    with np.load(folder / "out.npz") as z:
        return dict(z)


def same(result: Any, want: dict[str, Any], names: dict[str, str]) -> None:
    """Columns have the bits of those of a file."""
    for name, column in names.items():
        got, value = getattr(result, name), want[column]
        assert np.array_equal(np.ravel(got), np.ravel(value), equal_nan=value.dtype.kind == "f"), name


COLUMNS = {c: c for c in ("distance", "gap", "normal", "witness_a", "witness_b", "status", "part_a", "part_b")}


@pytest.mark.parametrize("precision", ["single", "double"])
def test_all_pairs_are_those_of_the_command_line(
    engine: cl.Engine, batchbench: Path, tmp_path: Path, precision: Any
) -> None:
    scene, bodies, poses = crowd()
    write(tmp_path, scene, bodies=bodies, poses=poses)
    columns = ["distance", "gap", "normal", "witness_a", "witness_b", "status", "bits"]
    roll = engine.rollout(
        scene, worlds=W, pairs="all", bodies=bodies, max_distance=0.2, precision=precision, columns=columns
    )
    r = roll(poses, quat="wxyz")
    want = answers(batchbench, "rollout", tmp_path, "--all-pairs", "--max-distance", "0.2", "--precision", precision)
    same(r, want, {**COLUMNS, "body_a": "body_a", "body_b": "body_b", "world": "world"})
    assert len(r) == len(want["world"]) > 50 and r.distance.dtype == column_type(precision)
    bit = np.unpackbits(r.bits.view(np.uint8), bitorder="little")[: len(r)].astype(bool)
    assert (bit == (r.status != cl.SEPARATED)).all()
    for w in range(W):
        assert (r.world[r.of(w)] == w).all()
    with pytest.raises(IndexError):
        r.of(W)
    roll = engine.rollout(scene, worlds=W, pairs="all", bodies=bodies, reduce="world", precision=precision)
    worlds = roll(poses, quat="wxyz")
    want = answers(batchbench, "rollout", tmp_path, "--all-pairs", "--reduce", "world", "--precision", precision)
    same(worlds, want, {**COLUMNS, "body_a": "body_a", "body_b": "body_b", "contacts": "contacts", "any": "any"})
    assert worlds.offsets is None
    with pytest.raises(cl.OptionError, match="all"):
        _ = worlds.world
    again = roll(poses, quat="wxyz", out=worlds)
    assert again.body_a is worlds.body_a and (again.body_a == want["body_a"]).all()


def column_type(precision: str) -> Any:
    return np.float64 if precision == "double" else np.float32


def test_all_pairs_against_the_template(engine: cl.Engine) -> None:
    """The rows are the pairs of a full template within the largest distance, without those to skip."""
    scene, _, poses = crowd(2)
    scene.bodies = [scene.bodies[k % 4] for k in range(M)]
    skip = [(3, 1), (0, 7)]
    scene.all_pairs(skip=skip)
    full = engine.rollout(scene, worlds=W)(poses, quat="wxyz")
    r = engine.rollout(scene, worlds=W, pairs="all", skip=skip, max_distance=0.3)(poses, quat="wxyz")
    number = {pair: p for p, pair in enumerate(scene.pairs)}
    p = np.array([number[a, b] for a, b in zip(r.body_a.tolist(), r.body_b.tolist(), strict=True)])
    np.testing.assert_allclose(r.distance, full.distance[r.world, p], atol=1e-6)
    near = full.lower <= 0.3
    assert near.sum() == len(r) > 100 and near[r.world, p].all()
    empty = engine.rollout(scene, worlds=1, pairs="all", max_distance=0)
    far = np.zeros((1, M, 7))
    far[0, :, 0], far[0, :, 3] = 10 * np.arange(M), 1
    none = empty(far, quat="wxyz")
    assert len(none) == 0 and none.offsets.tolist() == [0, 0] and none.hit.shape == (0,) and "0 rows" in repr(none)
    with pytest.raises(cl.OptionError, match="out"):
        empty(far, quat="wxyz", out=none)
    wrong: Any
    for wrong in ({"pairs": "every"}, {"skip": [(0, 1)]}, {"pairs": "all", "skip": [(0, M)]}):
        with pytest.raises(cl.OptionError, match=r"pairs|skip"):
            engine.rollout(scene, worlds=1, **wrong)
    bad = poses.copy()
    bad[3, 5, 2] = np.nan
    r = engine.rollout(scene, worlds=W, pairs="all", max_distance=0.3)(bad, quat="wxyz")
    failed = np.flatnonzero(r.failed)
    assert len(failed) == M - 1 and (r.world[failed] == 3).all() and r.hit[failed].all()


def motions(seed: int = 3) -> tuple[cl.Scene, Any, Any]:
    rng = np.random.default_rng(seed)
    scene = make_scene()
    bodies = np.tile(np.arange(4, dtype=np.int32), (W, 1))
    bodies[5, 1] = -1
    poses = rng.normal(0, 1.2, (W, 3, 4, 7))
    return scene, bodies, poses


def test_sweeps_are_those_of_the_command_line(engine: cl.Engine, batchbench: Path, tmp_path: Path) -> None:
    scene, bodies, poses = motions()
    write(tmp_path, scene, bodies=bodies, poses=poses)
    r = engine.sweep(scene, poses, quat="wxyz", bodies=bodies)
    want = answers(batchbench, "sweep", tmp_path)
    names = ("state", "lower", "upper", "closest", "t0", "t1", "part_a", "part_b", "evaluations")
    same(r, want, {n: n for n in names})
    assert r.counts["free"] > 10 and r.counts["contact"] > 10 and sum(r.counts.values()) == r.state.size
    assert (np.bincount(r.state.ravel(), minlength=4) == list(r.counts.values())).all()
    other = engine.sweep(scene, poses[..., [0, 1, 2, 4, 5, 6, 3]], quat="xyzw", bodies=bodies, max_distance=0.1)
    far = answers(batchbench, "sweep", tmp_path, "--max-distance", "0.1")
    same(other, far, {n: n for n in names})
    assert "free" in repr(r) and (r.hit == (r.state != cl.FREE)).all()


def test_sweep_of_a_closed_form(engine: cl.Engine) -> None:
    """A ball that passes a wall and then meets it; failures read as hits and name their place."""
    scene = cl.Scene()
    ball, wall = scene.library.sphere(0.5), scene.library.box([1, 1, 1])
    scene.add(ball)
    scene.add(wall)
    scene.all_pairs()
    poses = np.zeros((2, 3, 2, 7))
    poses[..., 3] = 1
    poses[0, :, 0, 0] = 4, 3, 1  # meets x = 1.5 in the second leg, at 1.75
    poses[1, :, 0, 0] = 4, 3, 2
    r = engine.sweep(scene, poses, quat="wxyz")
    assert r.state.tolist() == [[cl.CONTACT], [cl.FREE]]
    assert r.t0[0, 0] <= 1.75 <= r.t1[0, 0] <= r.t0[0, 0] + 1.1e-6
    assert 0.25 <= r.lower[1, 0] <= 0.5 <= r.upper[1, 0] < 0.5 + 1e-6 and r.closest[1, 0] == 2
    loose = engine.sweep(scene, poses, quat="wxyz", time_tolerance=0.1)
    assert r.t1[0, 0] - r.t0[0, 0] < loose.t1[0, 0] - loose.t0[0, 0] < 0.1
    few = engine.sweep(scene, poses, quat="wxyz", max_evaluations=2)
    assert few.failed[0, 0] and few.hit[0, 0]
    with pytest.raises(cl.RowError, match=r"1 undecided.*state\[0\]"):
        few.raise_if_failed()
    poses[1, 1, 0, 5] = np.nan
    bad = engine.sweep(scene, poses, quat="wxyz")
    assert bad.failed.tolist() == [[False], [True]]
    with pytest.raises(cl.RowError, match=r"poses\[1\]: body 0: way point 1"):
        bad.raise_if_failed()
    wrong: Any
    for wrong in ({"max_evaluations": 1 << 32}, {"time_tolerance": -1.0}, {"max_distance": np.nan}):
        with pytest.raises(cl.OptionError):
            engine.sweep(scene, poses, quat="wxyz", **wrong)
    with pytest.raises(cl.ArrayError, match="way points"):
        engine.sweep(scene, poses[:, :1], quat="wxyz")


def test_interrupts_of_sweeps_and_all_pairs() -> None:
    """Both end within half a second of an interrupt (15 s pass, on a busy machine), and leave the engine usable."""
    code = """
from clearance import _jobs
import os, signal, threading, time, numpy as np, clearance as cl
rng = np.random.default_rng(1)
scene = cl.Scene()
for k in range(40): scene.add(scene.library.convex(rng.normal(0, 1, (60, 3))))
scene.all_pairs()
eng = cl.Engine("cpu")
poses = rng.normal(0, 2, (3000, 2, 40, 7))
roll = eng.rollout(scene, worlds=3000, pairs="all", precision="double")
def look(call):
    sent = []
    def interrupt():
        while not _jobs._alive: time.sleep(0.001)
        time.sleep(0.1)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    try: threading.Thread(target=interrupt, daemon=True).start(); call(); print("ended")
    except KeyboardInterrupt: print(time.perf_counter() - sent[0] < 15)
look(lambda: eng.sweep(scene, poses, quat="wxyz"))
look(lambda: roll(poses[:, 0], quat="wxyz"))
few = eng.rollout(scene, worlds=1, pairs="all")(poses[:1, 0], quat="wxyz")
print(len(few) == 780)
"""
    run = run_python(code)
    assert run.stdout.split() == ["True", "True", "True"], run.stdout + run.stderr
