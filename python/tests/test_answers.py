"""Answers: equal to those of the command line bit for bit, and right where a formula is known."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Pairs, every_kind

import clearance as cl


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, batchbench: Path) -> Path:
    """A generated set: shapes.json and pairs.npz."""
    folder = tmp_path_factory.mktemp("set")
    command: list[Any] = [
        batchbench,
        "generate",
        "--set",
        "mixed",
        "--pairs",
        "3000",
        "--shapes",
        folder / "shapes.json",
    ]
    subprocess.run([*command, "--out", folder / "pairs.npz"], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("query", ["distance", "collide", "penetration", "growth"])
def test_equals_score(files: Path, batchbench: Path, engine: cl.Engine, query: Any, precision: Any) -> None:
    """Every column of every row has the bits that `batchbench score` writes."""
    out = files / f"{query}-{precision}.npz"
    command: list[Any] = [
        batchbench,
        "score",
        "--shapes",
        files / "shapes.json",
        "--pairs",
        files / "pairs.npz",
        "--out",
        out,
    ]
    command += ["--query", query, "--precision", precision, "--backend", "cpu", "--columns", "all"]
    subprocess.run(command, check=True, capture_output=True)
    lib, p = cl.Library.load(files / "shapes.json"), np.load(files / "pairs.npz")
    with np.load(out) as want:
        names = [n for n in want.files if n in cl._result.COLUMNS]
        poses = (p["position_a"], p["rotation_a"], p["position_b"], p["rotation_b"])
        got = engine.query(
            query, lib, p["shape_a"], p["shape_b"], *poses, quat="wxyz", columns=names, precision=precision
        )
        assert len(names) >= 8
        for name in names:
            column = getattr(got, name)
            assert column.dtype == want[name].dtype
            assert column.tobytes() == want[name].tobytes(), name


def test_spheres(engine: cl.Engine) -> None:
    """Two balls: distance, bounds, normal, witnesses, status."""
    lib = cl.Library()
    a, b = lib.sphere(1), lib.sphere(0.5)
    x = np.array([3.0, 1.5, 1.0])
    n = len(x)
    pos_b = np.stack([x, np.zeros(n), np.zeros(n)], axis=1)
    q = np.tile([1.0, 0, 0, 0], (n, 1))
    r = engine.distance(lib, [a] * n, [b] * n, np.zeros((n, 3)), q, pos_b, q, quat="wxyz", precision="double")
    assert (r.lower <= x - 1.5).all() and (x - 1.5 <= r.upper).all()
    assert (r.upper - r.lower < 1e-11).all()
    assert r.status.tolist() == [cl.SEPARATED, cl.TOUCHING, cl.PENETRATING]
    assert r.hit.tolist() == [False, True, True]
    np.testing.assert_allclose(r.normal, np.tile([1, 0, 0], (n, 1)))
    np.testing.assert_allclose(r.witness_a, np.tile([1, 0, 0], (n, 1)))
    np.testing.assert_allclose(r.witness_b[:, 0], x - 0.5)
    grown = engine.growth(lib, [a] * n, [b] * n, np.zeros((n, 3)), q, pos_b, q, quat="wxyz", precision="double")
    np.testing.assert_allclose(grown.distance, x / 1.5, rtol=1e-11)


def test_quaternion_orders(engine: cl.Engine, pairs: Pairs) -> None:
    """The same rotations in both orders give the same bits; an order must be stated."""
    lib, a, b, pos_a, quat_a, pos_b, quat_b = pairs.arrays()
    one = engine.distance(lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
    xyzw = [np.roll(q, -1, axis=1) for q in (quat_a, quat_b)]
    two = engine.distance(lib, a, b, pos_a, xyzw[0], pos_b, xyzw[1], quat="xyzw")
    assert one.distance.tobytes() == two.distance.tobytes()
    with pytest.raises(TypeError, match="quat is missing"):
        engine.distance(lib, a, b, pos_a, quat_a, pos_b, quat_b)
    with pytest.raises(cl.OptionError, match="wxyz"):
        engine.distance(lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wzyx")  # type: ignore[arg-type]


def test_columns(engine: cl.Engine, pairs: Pairs) -> None:
    """Columns that are not requested are absent; those that are have the same bits."""
    full = engine.distance(*pairs.arrays(), quat="wxyz", columns=cl._result.COLUMNS[:9])
    for name in cl._result.COLUMNS[:9]:
        r = engine.distance(*pairs.arrays(), quat="wxyz", columns=[name])
        assert getattr(r, name).tobytes() == getattr(full, name).tobytes()
        assert {n for n in cl._result.COLUMNS if getattr(r, n) is not None} == {name, "status"}
    assert set(full.method_names.tolist()) >= {"closed_form", "gjk"} and full.method_names.shape == full.method.shape
    with pytest.raises(cl.OptionError, match="method"):
        _ = engine.collide(*pairs.arrays(), quat="wxyz").method_names
    bits = np.unpackbits(full.bits.view(np.uint8), bitorder="little")[: len(full)].astype(bool)
    assert (bits == full.hit).all()
    with pytest.raises(cl.OptionError, match="'point'"):
        engine.distance(*pairs.arrays(), quat="wxyz", columns=["point"])
    with pytest.raises(cl.OptionError, match="is a text"):
        engine.distance(*pairs.arrays(), quat="wxyz", columns="gap")


def test_max_distance(engine: cl.Engine, pairs: Pairs) -> None:
    """Rows beyond the cut-off are proved to lie beyond it, all others are as without it."""
    full = engine.distance(*pairs.arrays(), quat="wxyz")
    cut = engine.distance(*pairs.arrays(), quat="wxyz", max_distance=0.5)
    near, far = full.distance < 0.49, full.distance > 0.51
    assert near.sum() > 50 and far.sum() > 100
    assert (cut.distance[far] >= 0.5 - 1e-6).all() and (cut.status[far] == cl.SEPARATED).all()
    assert ((cut.lower <= full.upper) & (full.lower <= cut.upper)).all()
    assert (np.abs(cut.distance - full.distance) <= cut.gap + full.gap)[near].all()


def test_failed_rows_never_read_as_free(engine: cl.Engine, pairs: Pairs) -> None:
    """NaN, an index out of range and a zero quaternion fail alone; they hit, and their bounds are infinite."""
    lib, a, b, pos_a, quat_a, pos_b, quat_b = (x if i == 0 else x.copy() for i, x in enumerate(pairs.arrays()))
    pos_a[3, 1], a[5], quat_b[9] = np.nan, len(lib), 0
    r = engine.distance(lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
    bad = np.flatnonzero(r.status == cl.INVALID)
    assert bad.tolist() == [3, 5, 9] and r.hit[bad].all() and r.failed[bad].all() and not r.ok[bad].any()
    assert (r.lower[bad] == -np.inf).all() and (r.upper[bad] == np.inf).all()
    good = engine.distance(*pairs.arrays(), quat="wxyz")
    rest = np.setdiff1d(np.arange(len(a)), bad)
    assert r.distance[rest].tobytes() == good.distance[rest].tobytes()
    with pytest.raises(cl.RowError) as error:
        r.raise_if_failed()
    assert (error.value.array, error.value.row) == ("pos_a", 3) and "NaN" in error.value.reason
    good.raise_if_failed()
    assert "pos_a[3]" in repr(r) and "3 invalid" in repr(r)
    # One evaluation of the support function is not enough to prove a distance.
    few = engine.distance(*pairs.arrays(), quat="wxyz", max_iterations=1)
    undecided = few.status == cl.UNDECIDED
    assert undecided.any() and few.hit[undecided].all()
    with pytest.raises(cl.RowError, match="undecided"):
        few.raise_if_failed()


def test_bounds_enclose_the_other_precision(engine: cl.Engine, pairs: Pairs) -> None:
    one = engine.distance(*pairs.arrays(), quat="wxyz")
    two = engine.distance(*pairs.arrays(), quat="wxyz", precision="double")
    assert (one.lower <= two.upper).all() and (two.lower <= one.upper).all()


def test_rollout(engine: cl.Engine) -> None:
    """A held rollout has the answers of the pair list that it stands for, at every step."""
    lib = every_kind()
    w, m = 5, len(lib)
    first, second = np.triu_indices(m, 1)
    rng = np.random.default_rng(5)
    with engine.rollout_of_shapes(lib, np.arange(m), first, second, worlds=w) as roll:
        result: Any = None
        for _ in range(3):
            poses = rng.normal(size=(w, m, 7))
            poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
            result = roll(poses, quat="wxyz", out=result)
            assert result.distance.shape == (w, len(first)) and result.normal.shape == (w, len(first), 3)
            pose_a, pose_b = (poses[:, i].reshape(-1, 7).copy() for i in (first, second))
            want = engine.distance(
                lib, np.tile(first, w), np.tile(second, w),
                pose_a[:, :3].copy(), pose_a[:, 3:].copy(), pose_b[:, :3].copy(), pose_b[:, 3:].copy(), quat="wxyz",
            )  # fmt: skip
            assert result.distance.tobytes() == want.distance.tobytes()
            swapped = poses[..., [0, 1, 2, 4, 5, 6, 3]]
            assert roll(swapped, quat="xyzw").distance.tobytes() == want.distance.tobytes()
            near = roll(xpos=poses[..., :3], xmat=matrices(poses[..., 3:]))
            assert (np.abs(near.distance - result.distance) <= near.gap + result.gap + 1e-13).all()
        with pytest.raises(cl.OptionError, match="either poses"):
            roll()
        with pytest.raises(cl.ArrayError, match="poses"):
            roll(poses[:3], quat="wxyz")
        with pytest.raises(cl.CopyError):
            roll(xpos=poses[..., :3], xmat=matrices(poses[..., 3:]), copy=False)
        bad = poses.copy()
        bad[2, 0, 0] = np.nan
        failed = roll(bad, quat="wxyz").failed
        assert failed[2].any() and not failed[[0, 1, 3, 4]].any()
    with pytest.raises(cl.ClosedError):
        roll(poses, quat="wxyz")


def matrices(q: Any) -> Any:
    """Rotation matrices of unit quaternions (w, x, y, z)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def test_quaternions_of_matrices() -> None:
    """Also where the rotation is a half circle, and w is 0."""
    from clearance._kinematics import quaternions

    rng = np.random.default_rng(2)
    q = rng.normal(size=(1000, 4))
    q[:100, 0] = 0
    q[100:200, 1:] *= 1e-9
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    got = quaternions(matrices(q))
    got *= np.sign(np.sum(got * q, axis=1, keepdims=True))
    np.testing.assert_allclose(got, q, atol=1e-15)
    assert np.isnan(quaternions(np.full((1, 3, 3), np.nan))).all()
    for bad in (np.zeros((3, 3)), -np.eye(3), 2 * np.eye(3), np.eye(3) + 0.01 * np.eye(3, k=1)):
        assert np.isnan(quaternions(bad[None])).all()


@pytest.mark.parametrize(("precision", "tolerance", "digits"), [("single", 1e-6, 6e-8), ("double", 1e-12, 8e-15)])
def test_tolerance_of_far_pairs(engine: cl.Engine, precision: Any, tolerance: float, digits: float) -> None:
    """Pairs hundreds of sizes apart are decided, and their gap is the tolerance and the rounding of the distance."""
    lib, n = cl.Library(), 3000
    lib.sphere(0.5)
    lib.box([0.5, 0.6, 0.7])
    lib.capsule(0.3, 0.5)
    lib.ellipsoid([0.4, 0.5, 0.6])
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, len(lib), (2, n))
    direction = rng.normal(size=(n, 3))
    far = direction / np.linalg.norm(direction, axis=1, keepdims=True) * rng.uniform(2, 800, (n, 1))
    quat_a, quat_b = rng.normal(size=(2, n, 4))
    radius = np.array([0.5, np.linalg.norm([0.5, 0.6, 0.7]), 0.8, 0.6])
    size = radius[a] + radius[b]
    r = engine.distance(lib, a, b, [0, 0, 0], quat_a, far, quat_b, quat="wxyz", precision=precision)
    r.raise_if_failed()
    distance = np.abs(r.distance.astype(np.float64))
    assert distance.max() > 300 * size.max()
    assert (r.gap <= tolerance * size + digits * (size + distance)).all()
    assert (r.gap > tolerance * size).any(), "the tolerance alone is not met, as the README says"
    # Less than rounding allows counts as that: the rows are decided, and say how far they are known.
    least = engine.distance(
        lib, a, b, [0, 0, 0], quat_a, far, quat_b, quat="wxyz", precision=precision, tolerance=1e-30
    )
    assert not least.failed.any() and (least.gap > 0).all()
