"""Files of worlds and motions: what is written is read, and answered as by the command line, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_python
from test_scene import make_scene

import clearance as cl

W, T, M = 20, 3, 4


def worlds(seed: int = 1, spread: float = 0.7) -> tuple[cl.Scene, Any, Any]:
    """A scene with pairs, the bodies of worlds that differ, and poses [W,T,M,7]."""
    rng = np.random.default_rng(seed)
    scene = make_scene()
    scene.all_pairs(skip=[(1, 2)])
    bodies = rng.integers(-1, len(scene.bodies), (W, M), dtype=np.int32)
    poses = rng.normal(0, spread, (W, T, M, 7))
    return scene, bodies, poses


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("per_world", [False, True])
def test_round_trip(tmp_path: Path, ending: str, per_world: bool) -> None:
    scene, bodies, poses = worlds()
    places = bodies if per_world else None
    want = bodies if per_world else np.arange(M)
    path = tmp_path / f"worlds.{ending}"
    for given, more in ((poses[:, 0], {}), (poses, {}), (poses[:, 0], {"pairs": "all", "skip": [(3, 1)]})):
        cl.write_worlds(path, scene, given, quat="wxyz", bodies=places, **more)  # type: ignore[arg-type]
        read = cl.read_worlds(path, scene)
        assert np.array_equal(read.poses, given) and np.array_equal(read.bodies, want)
        assert (read.pairs is None) == bool(more)
        if read.pairs is not None:
            assert read.pairs.tolist() == [list(p) for p in scene.pairs] and not len(read.skip)
        else:
            assert read.skip.tolist() == [[3, 1]]
        assert f"{W} " in repr(read)
    cl.write_worlds(path, scene, poses[..., [0, 1, 2, 4, 5, 6, 3]], quat="xyzw", bodies=places)
    assert np.array_equal(cl.read_worlds(path, scene).poses, poses)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("by_path", [False, True])
def test_same_bytes(engine: cl.Engine, batchbench: Path, tmp_path: Path, ending: str, by_path: bool) -> None:
    """The results are those of the command line, and of the same call on arrays."""
    scene, bodies, poses = worlds()
    shapes, file, want, got = (tmp_path / n for n in ("shapes.json", f"w.{ending}", f"want.{ending}", f"got.{ending}"))
    scene.save(shapes)
    given: Any = shapes if by_path else scene
    cases: list[tuple[list[str], dict[str, Any]]] = [
        ([], {}),
        (["--max-distance", "0.2", "--precision", "double"], {"max_distance": 0.2, "precision": "double"}),
        (["--reduce", "world", "--all-pairs"], {"reduce": "world", "pairs": "all"}),
        (["--all-pairs", "--max-distance", "0.1"], {"pairs": "all", "max_distance": 0.1}),
        (["--query", "penetration", "--no-culling"], {"query": "penetration", "culling": False}),
    ]
    command: list[Any] = ["--backend", "cpu", "--shapes", shapes, "--worlds", file, "--out", want]
    cl.write_worlds(file, scene, poses[:, 0], quat="wxyz", bodies=bodies)
    for flags, options in cases:
        subprocess.run([batchbench, "rollout", *command, *flags], check=True, capture_output=True)
        rep = cl.rollout_file(file, got, scene=given, engine=engine, **options)
        rep.raise_if_failed()
        assert got.read_bytes() == want.read_bytes(), flags
        assert rep.report.rows > 0 and rep.refuted is None
    cl.write_worlds(file, scene, poses, quat="wxyz", bodies=bodies)
    subprocess.run([batchbench, "sweep", *command, "--max-distance", "0.3"], check=True, capture_output=True)
    seen: list[tuple[int, int]] = []
    rep = cl.sweep_file(file, got, scene=given, max_distance=0.3, engine=engine, progress=lambda *x: seen.append(x))
    rep.raise_if_failed()
    assert got.read_bytes() == want.read_bytes() and seen[-1] == (rep.report.rows,) * 2
    if ending == "npz":
        r = engine.sweep(scene, poses, quat="wxyz", bodies=bodies, max_distance=0.3)
        with np.load(got) as z:
            assert np.array_equal(z["state"], r.state.ravel()) and np.array_equal(z["lower"], r.lower.ravel())
        assert rep.report.counts["penetrating"] == r.counts["contact"] > 0


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_parts(engine: cl.Engine, batchbench: Path, tmp_path: Path, ending: str) -> None:
    """A range of worlds has the bytes of the command line with --rows, and the rows of the whole, numbers included."""
    scene, bodies, poses = worlds()
    shapes, file, want, got = (tmp_path / n for n in ("shapes.json", f"w.{ending}", f"want.{ending}", f"got.{ending}"))
    scene.save(shapes)
    command: list[Any] = ["--backend", "cpu", "--shapes", shapes, "--worlds", file, "--out", want, "--rows", "35:90"]
    for name, given, call in (("rollout", poses[:, 0], cl.rollout_file), ("sweep", poses, cl.sweep_file)):
        cl.write_worlds(file, scene, given, quat="wxyz", bodies=bodies)
        subprocess.run([batchbench, name, *command], check=True, capture_output=True)
        rep = call(file, got, scene=scene, part=(7, 18), engine=engine)
        assert got.read_bytes() == want.read_bytes() and rep.report.rows == 55
        wrong: Any = (((7, W + 1), "worlds 7 to 21 of a file of 20"), ((3, 2), "part"), ([1, 2], "part"))
        for part, why in wrong:
            with pytest.raises(cl.ClearanceError, match=why):
                call(file, got, scene=scene, part=part, engine=engine)
    if ending == "npz":
        cl.write_worlds(file, scene, poses[:, 0], quat="wxyz", bodies=bodies)
        found = []
        ranges: list[tuple[int, int] | None] = [None, (0, 7), (7, 7), (7, W)]
        for some in ranges:
            cl.rollout_file(file, got, scene=scene, pairs="all", max_distance=0.3, part=some, engine=engine)
            with np.load(got) as z:
                found.append({name: z[name] for name in ("world", "body_a", "body_b", "distance")})
        for name, column in found[0].items():
            assert np.array_equal(np.concatenate([f[name] for f in found[1:]]), column)
        assert found[0]["world"].max() > 7


def test_bad_rows_and_files(engine: cl.Engine, tmp_path: Path) -> None:
    scene, bodies, poses = worlds()
    poses[3, 1, 2, 4] = np.nan
    bodies[3] = 0, 1, 2, 3
    file, out, shapes = tmp_path / "w.npz", tmp_path / "out.npz", tmp_path / "library.npz"
    cl.write_worlds(file, scene, poses[:, 1], quat="wxyz", bodies=bodies)
    rep = cl.rollout_file(file, out, scene=scene, engine=engine)
    with pytest.raises(cl.RowError, match=r"poses\[3\]: body 2"):
        rep.raise_if_failed()
    with pytest.raises(cl.FileError, match=r"w\.npz: array poses .*want \[W,T,M,7\]"):
        cl.sweep_file(file, out, scene=scene, engine=engine)
    cl.write_worlds(file, scene, poses, quat="wxyz", bodies=bodies)
    with pytest.raises(cl.RowError, match=r"poses\[3\]: body 2: way point 1"):
        cl.sweep_file(file, out, scene=scene, engine=engine).raise_if_failed()
    scene.save(tmp_path / "shapes.json")
    shapes.write_bytes((tmp_path / "shapes.json").read_bytes())
    for target, why in ((file, "another name"), (shapes, "is the input"), (tmp_path / "out.csv", r"out\.csv")):
        for answer in (cl.rollout_file, cl.sweep_file):
            cl.write_worlds(file, scene, poses if answer is cl.sweep_file else poses[:, 0], quat="wxyz", bodies=bodies)
            with pytest.raises(cl.FileError, match=why):
                answer(file, target, scene=shapes, engine=engine)
    assert shapes.read_bytes() == (tmp_path / "shapes.json").read_bytes()
    with pytest.raises(cl.FileError, match=r"nothing\.npz"):
        cl.read_worlds(tmp_path / "nothing.npz", scene)
    with pytest.raises(cl.FileError, match=r"nothing\.npz"):
        cl.rollout_file(tmp_path / "nothing.npz", out, scene=scene, engine=engine)
    with pytest.raises(cl.FileError, match=r"nothing\.json"):
        cl.sweep_file(file, out, scene=tmp_path / "nothing.json", engine=engine)
    few = cl.Scene(scene.library, scene.bodies[:2])
    with pytest.raises(cl.FileError, match=r"w\.npz: .*bod"):
        cl.read_worlds(file, few)


def test_mistakes(engine: cl.Engine, tmp_path: Path) -> None:
    scene, _, poses = worlds()
    path = tmp_path / "w.npz"
    wrong: Any = [
        ((poses[:, 0],), {"quat": "wxy"}, "quat"),
        ((poses[:, 0, 0],), {}, "poses"),
        ((poses[:, :1],), {}, "way points"),
        ((poses[:, 0, :3],), {}, "poses"),
        ((poses,), {"pairs": "all"}, "motions"),
        ((poses[:, 0],), {"skip": [(0, 1)]}, "skip"),
        ((poses[:, 0],), {"pairs": "all", "skip": [(0, 9)]}, "skip"),
        ((poses[:, 0],), {"bodies": [0, 1, 2, 9]}, "bod"),
    ]
    for given, options, why in wrong:
        with pytest.raises(cl.ClearanceError, match=why):
            cl.write_worlds(path, scene, *given, **({"quat": "wxyz"} | options))
        assert not path.exists()
    with pytest.raises(cl.OptionError, match="scene"):
        cl.write_worlds(path, scene.library, poses, quat="wxyz")  # type: ignore[arg-type]
    cl.write_worlds(path, scene, poses[:, 0], quat="wxyz")
    for name, value in (("max_distance", -1), ("reduce", "body"), ("pairs", "some"), ("query", "depth"), ("scene", 3)):
        options = {"scene": scene, name: value}
        with pytest.raises(cl.OptionError, match=name):
            cl.rollout_file(path, tmp_path / "out.npz", engine=engine, **options)
    for name, value in (("max_distance", -1), ("time_tolerance", 0), ("tolerance", -1), ("max_evaluations", 0)):
        with pytest.raises(cl.OptionError, match=name):
            wrong = {name: value}
            cl.sweep_file(path, tmp_path / "out.npz", scene=scene, engine=engine, **wrong)
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("call", ["rollout_file", "sweep_file"])
def test_interrupt_leaves_no_file(tmp_path: Path, call: str) -> None:
    """Ctrl-C ends a long file, and there is no results file then."""
    code = f"""
import os, signal, clearance as cl, numpy as np
os.chdir({str(tmp_path)!r})
scene = cl.Scene()
shape = scene.library.superquadric([0.5, 0.4, 0.3], [0.4, 0.5])
for _ in range(20):
    scene.add(shape)
scene.all_pairs()
poses = np.random.default_rng(1).normal(0, 0.4, (4000, 2, 20, 7))
cl.write_worlds("w.npz", scene, poses if {call == "sweep_file"} else poses[:, 0], quat="wxyz")
def progress(done, total):
    if 0 < done < total:
        os.kill(os.getpid(), signal.SIGINT)
try:
    cl.{call}("w.npz", "out.npz", scene=scene, progress=progress)
except KeyboardInterrupt:
    print(sorted(os.listdir()))
"""
    run = run_python(code)
    assert run.stdout == "['w.npz']\n", run.stderr


def test_folders(engine: cl.Engine, tmp_path: Path) -> None:
    """A path with a slash at its end is a folder of parts, which holds what a file does."""
    pq = pytest.importorskip("pyarrow.parquet")
    scene, bodies, poses = worlds()
    for query, given in ((cl.rollout_file, poses[:, 0]), (cl.sweep_file, poses)):
        path = tmp_path / f"{query.__name__}.parquet"
        cl.write_worlds(path, scene, given, quat="wxyz", bodies=bodies)
        file, folder = tmp_path / "results.parquet", f"{tmp_path / query.__name__}/"
        for out in (file, folder):
            query(path, out, scene=scene, engine=engine).raise_if_failed()
        assert [p.name for p in Path(folder).iterdir()] == ["part-00000.parquet"]
        # As text, in which NaN is equal to NaN.
        assert str(pq.read_table(folder).to_pydict()) == str(pq.read_table(file).to_pydict())
