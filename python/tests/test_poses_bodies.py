"""Forms of poses of bodies: in rollouts, sweeps, contact points, files, simulations and pages, and as arrays of JAX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from test_poses import Frame, homogeneous, rotations

import clearance as cl
from clearance import contact
from clearance._kinematics import quaternions

W, M = 6, 3
LEAD = (2, 3, M)


class Setup:
    """Worlds of three bodies, with their poses as positions, matrices and quaternions."""

    def __init__(self) -> None:
        self.library = cl.Library()
        self.shapes = [self.library.box([0.3, 0.4, 0.5]), self.library.sphere(0.4), self.library.capsule(0.2, 0.6)]
        self.scene = cl.Scene(self.library)
        for s in self.shapes:
            self.scene.add(s)
        self.scene.all_pairs()
        self.pos = np.random.default_rng(2).normal(0, 1, (*LEAD, 3))
        self.rotation = rotations(W * M, 5).reshape(*LEAD, 3, 3)
        self.matrix = homogeneous(self.pos, self.rotation)
        self.seven = np.concatenate([self.pos, quaternions(self.rotation)], axis=-1)


@pytest.fixture(scope="module")
def worlds() -> Setup:
    return Setup()


def frames(matrices: Any) -> Any:
    """Nested lists of objects."""
    return Frame(matrices) if matrices.ndim == 2 else [frames(m) for m in matrices]


# Forms of matrices [..., 4, 4] and the order of their quaternions.
FORMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "matrices": (lambda m: m, None),
    "nested lists": (lambda m: m.tolist(), None),
    "objects": (frames, None),
    "a pair": (lambda m: (m[..., :3, 3], quaternions(m[..., :3, :3])), "wxyz"),
    "a pair xyzw": (lambda m: (m[..., :3, 3], np.roll(quaternions(m[..., :3, :3]), -1, axis=-1)), "xyzw"),
    "a pair with matrices": (lambda m: (m[..., :3, 3], m[..., :3, :3]), None),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.usefixtures("page_without_script")
def test_forms_have_the_same_bits(engine: cl.Engine, worlds: Setup, name: str, tmp_path: Path) -> None:
    form, quat = FORMS[name]
    given, scene, exact = form(worlds.matrix), worlds.scene, name.startswith("a pair") and quat is not None
    for options in ({}, {"reduce": "world"}, {"pairs": "all"}):
        roll = engine.rollout(scene, worlds=W, **cast("Any", options))
        want, got = roll(worlds.seven, quat="wxyz", grad=True), roll(given, quat=quat, grad=True)
        assert got.distance.tobytes() == want.distance.tobytes() and got.status.shape == want.status.shape
        assert got.vjp(distance=1.0).tobytes() == want.vjp(distance=1.0).tobytes()
        assert (got.report.rotation_error == 0) == exact and got.report.rotation_error < 3e-14
    shapes = engine.rollout_of_shapes(worlds.library, worlds.shapes, [0, 0], [1, 2], worlds=W)
    assert shapes(given, quat=quat).distance.tobytes() == shapes(worlds.seven, quat="wxyz").distance.tobytes()
    way = worlds.matrix.reshape(2, 3, M, 4, 4)
    moved, still = engine.sweep(scene, form(way), quat=quat), engine.sweep(scene, worlds.seven, quat="wxyz")
    assert moved.t0.tobytes() == still.t0.tobytes() and (moved.report.rotation_error == 0) == exact
    points = engine.scene_contacts(scene, given, quat=quat, max_gap=0.5)
    want_points = engine.scene_contacts(scene, worlds.seven, quat="wxyz", max_gap=0.5)
    assert points.position.tobytes() == want_points.position.tobytes() and len(points)
    assert (points.report.rotation_error == 0) == exact
    cl.write_worlds(tmp_path / "w.npz", scene, form(way), quat=quat)
    assert np.asarray(cl.read_worlds(tmp_path / "w.npz", scene).poses).tobytes() == worlds.seven.tobytes()
    forms: Any = ((given, quat), (worlds.seven, "wxyz"))
    pages = [cl.show(want, scene, p, quat=q).scene["rows"] for p, q in forms]
    assert pages[0] == pages[1]


def test_simulations(worlds: Setup) -> None:
    """A state as matrices, pairs or objects is that of positions and rotations."""
    matrices = worlds.matrix.reshape(W, M, 4, 4)
    position, rotation = matrices[..., :3, 3], quaternions(matrices[..., :3, :3])
    sim = contact.Simulation(worlds.library, worlds.shapes, dt=1e-3)
    want = sim.run(position, rotation, quat="wxyz", steps=3)
    for form, quat in FORMS.values():
        got = sim.run(form(matrices), quat=quat, steps=3)
        assert got.position.tobytes() == want.position.tobytes()
        same_order = got.rotation if quat != "xyzw" else np.roll(got.rotation, 1, axis=-1)
        assert same_order.tobytes() == want.rotation.tobytes()
    sim.start(np.concatenate([position, rotation], axis=-1), velocity=np.zeros((W, M, 3)), quat="wxyz")
    assert sim.run(steps=3).position.tobytes() == want.position.tobytes()
    with pytest.raises(cl.OptionError, match="rotation: None, want one beside a position"):
        sim.run(position, quat="wxyz", steps=1)
    with pytest.raises(cl.OptionError, match=r"rotation: None, want one, or poses as position: \[..., 4, 4\]"):
        sim.start(np.zeros((W, M, 4)))
    with pytest.raises(cl.OptionError, match="quat: None"):
        sim.start(np.concatenate([position, rotation], axis=-1))


def test_mistakes(engine: cl.Engine, worlds: Setup) -> None:
    roll = engine.rollout(worlds.scene, worlds=W)
    flat = worlds.matrix.reshape(W, M, 4, 4)
    with pytest.raises(cl.ArrayError, match=r"poses: has the shape \[6, 2, 7\], want \[6, 3, 7\]"):
        roll(flat[:, :2])
    with pytest.raises(cl.ArrayError, match=r"poses\[0\]: the last row is"):
        roll(np.swapaxes(flat, -1, -2))
    with pytest.raises(cl.OptionError, match="quat: None"):
        roll((flat[..., :3, 3], quaternions(flat[..., :3, :3])))
    with pytest.raises(cl.CopyError, match="poses"):
        roll(flat, copy=False)
    with pytest.raises(cl.ArrayError, match="poses: has positions of the shape"):
        roll((flat[:, :2, :3, 3], flat[..., :3, :3]))
    wrong = flat.copy()
    wrong[4, 1, 0, 0] = np.nan
    r = roll(wrong)
    assert np.flatnonzero(r.failed.any(axis=1)).tolist() == [4] and r.hit[4].sum() >= 2
    assert "rotation" in str(r.report.error)


def test_jax(engine: cl.Engine, worlds: Setup) -> None:
    """Matrices under jit, grad and vmap: answers and gradients are those of their quaternions."""
    jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
    from clearance.jax import answers, distance

    lib, (a, b, _) = worlds.library, worlds.shapes
    with jax.enable_x64(True):
        ta, tb = (jax.numpy.asarray(worlds.matrix.reshape(W, M, 4, 4)[:, k]) for k in range(2))
        want = engine.distance(lib, a, b, np.asarray(ta), np.asarray(tb), precision="double", grad=True)

        def loss(pose: Any) -> Any:
            return distance(engine, lib, a, b, pose, tb).sum()

        np.testing.assert_allclose(jax.jit(loss)(ta), want.distance.sum(), atol=1e-11)
        gradient, twist = jax.grad(loss)(ta), want.vjp(distance=1.0)
        w = np.array([0.3, -0.2, 0.5])
        cross = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        along = (np.asarray(gradient)[:, :3, :3] * (cross @ np.asarray(ta)[:, :3, :3])).sum(axis=(1, 2))
        np.testing.assert_allclose(along, twist[:, 3:6] @ w, atol=1e-10)
        each = jax.vmap(lambda p, q: distance(engine, lib, a, b, p, q))(ta, tb)
        np.testing.assert_allclose(each, want.distance, atol=1e-11)
        p, q = np.asarray(ta)[:, :3, 3], quaternions(np.asarray(ta)[:, :3, :3])
        for pose, quat in (
            ((p, q), "wxyz"),
            ((p, np.roll(q, -1, axis=-1)), "xyzw"),
            (np.concatenate([p, q], axis=-1), "wxyz"),
            (frames(np.asarray(ta)), None),
            ((p, np.asarray(ta)[:, :3, :3]), None),
        ):
            found = answers(engine, lib, a, b, pose, tb, quat=cast("Any", quat)).distance
            np.testing.assert_allclose(found, want.distance, atol=1e-11)
        with pytest.raises(cl.OptionError, match="quat: None"):
            distance(engine, lib, a, b, (p, q), tb)
        with pytest.raises(cl.ArrayError, match="pose_a: has the shape"):
            distance(engine, lib, a, b, p, tb)
        with pytest.raises(TypeError, match="3 arguments are poses"):
            distance(engine, lib, a, b, ta, tb, tb)
