"""Gradients of runs of simulations: closed forms, differences of whole runs, names where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import contact

GRAVITY, DT = 9.81, 5e-3
STATE = ("position", "rotation", "velocity", "spin")


def resting(worlds: int, bodies: int = 1, seed: int = 1) -> list[Any]:
    """States [W,M,...] at rest, one body above the other."""
    position = np.zeros((worlds, bodies, 3))
    position[..., 2] = 1 + np.arange(bodies)
    rotation = np.tile([1.0, 0, 0, 0], (worlds, bodies, 1))
    return [position, rotation, np.zeros((worlds, bodies, 3)), np.zeros((worlds, bodies, 3))]


def test_flight() -> None:
    """Without contacts x_T = x + T·dt·v + (g + F/m)·dt²·T(T+1)/2 and, of a ball, ω_T = ω + T·dt·τ/I, whose derivatives
    are those of the tape."""
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.1)], mass=2.0, dt=DT)
    t, m, inertia = 12, 2.0, 0.4 * 2.0 * 0.01
    state, force = resting(3), np.zeros((3, 1, 6))
    force[..., :3] = 1.0, 2.0, 3.0
    run = sim.run(*state, quat="wxyz", steps=t, force=force, tape=True)
    end = np.zeros((t, 3, 1, 3))
    end[-1, ..., 0] = 1
    g = run.vjp(position=end)
    half = DT * DT * t * (t + 1) / 2
    assert run.smooth.shape == (t, 3) and run.smooth.all() and np.isinf(run.margin).all()
    assert set(g.smoothness_names.ravel()) == {"smooth"}
    np.testing.assert_allclose(g.position, np.broadcast_to([1.0, 0, 0], (3, 1, 3)), rtol=1e-12)
    np.testing.assert_allclose(g.velocity[..., 0], t * DT, rtol=1e-12)
    np.testing.assert_allclose(g.force[..., 0], half / m, rtol=1e-12)
    np.testing.assert_allclose(g.gravity, np.broadcast_to([half, 0, 0], (3, 3)), rtol=1e-12)
    np.testing.assert_allclose(g.mass, -force[..., 0] / m**2 * half, rtol=1e-12)
    g = run.vjp(spin=end)
    np.testing.assert_allclose(g.spin[..., 0], 1, rtol=1e-12)
    np.testing.assert_allclose(g.force[..., 3], t * DT / inertia, rtol=1e-12)
    each = np.broadcast_to(force, (t, 3, 1, 6))
    every = sim.run(*state, quat="wxyz", steps=t, force=each, every=t, tape=True)
    g = every.vjp(position=np.array([1.0, 0, 0]))
    ahead = DT * DT * np.arange(t, 0, -1) / m  # of the force in a step, which all that follow move by
    np.testing.assert_allclose(g.force[:, :, 0, 0], np.tile(ahead[:, None], (1, 3)), rtol=1e-12)


def test_sliding() -> None:
    """A cube that slides on its face is slowed by μg·dt a step, so that ∂x_T/∂μ = -g·dt²·T(T+1)/2. Its corners share
    the load in many ways, which a rigid world says; with the compliance of a tape the world is smooth."""
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.box([0.1, 0.1, 0.1])], mass=2.0, dt=DT, friction=0.3, tolerance=1e-9)
    state = resting(2)
    state[0][..., 2], state[2][..., 0] = 0.1, 3.0
    t = 20
    run = sim.run(*state, quat="wxyz", steps=t, tape=True)
    end = np.zeros((t, 2, 1, 3))
    end[-1, ..., 0] = 1
    g = run.vjp(position=end)
    want = -GRAVITY * DT * DT * t * (t + 1) / 2
    np.testing.assert_allclose(g.friction, want, rtol=1e-2)
    np.testing.assert_allclose(g.velocity[..., 0], t * DT, rtol=1e-3)
    assert set(g.smoothness_names[2:].ravel()) == {"smooth"} and g.ground.friction.tolist() == [0, 0]
    about: dict[str, Any] = {"mass": 2.0, "dt": DT, "friction": 0.3, "tolerance": 1e-9}
    rigid = contact.Simulation(lib, [0], **about, compliance=0.0).run(*state, quat="wxyz", steps=t, tape=True)
    assert set(rigid.vjp(position=end).smoothness_names.ravel()) == {"one_of_many"}
    soft = contact.Simulation(lib, [0], **about, compliance=contact.TAPE_COMPLIANCE)
    without = soft.run(*state, quat="wxyz", steps=t)
    assert np.array_equal(without.position, run.position) and not np.array_equal(rigid.position, run.position)
    own = contact.Simulation(
        lib, [cl.Part(0, friction=0.3)], mass=2.0, dt=DT, friction=0.9, tolerance=1e-9, ground_friction=0.3
    )
    g = own.run(*state, quat="wxyz", steps=t, tape=True).vjp(position=end)
    np.testing.assert_allclose(g.parts.friction, want / 2, rtol=1e-2)  # of √(μ·μ')
    np.testing.assert_allclose(g.ground.friction, want / 2, rtol=1e-2)
    assert not g.friction.any()
    pair = contact.Simulation(
        lib, [0], mass=2.0, dt=DT, friction=0.9, tolerance=1e-9, surfaces=[contact.Surface(0, 1, friction=0.3)]
    )
    g = pair.run(*state, quat="wxyz", steps=t, tape=True).vjp(position=end)
    np.testing.assert_allclose(g.surfaces.friction[:, 0], want, rtol=1e-2)
    assert not g.friction.any()


def moving(worlds: int, seed: int = 1, compliance: float = 0.0) -> tuple[contact.Simulation, list[Any], Any]:
    """An ellipsoid and a ball that slide, roll and meet on the ground, and forces; quaternions are not unit."""
    rng = np.random.default_rng(seed)
    lib = cl.Library()
    shapes = [lib.ellipsoid([0.1, 0.12, 0.15]), lib.sphere(0.1)]
    sim = contact.Simulation(
        lib,
        shapes,
        mass=[1.0, 2.0],
        dt=DT,
        friction=[0.3, 0.2],
        restitution=0.0,
        tolerance=1e-13,
        correction=0.0,
        compliance=compliance,
    )
    position = np.zeros((worlds, 2, 3))
    position[:] = rng.normal(0, 0.01, (worlds, 2, 3)) + np.array([[0, 0, 0.13], [0.24, 0, 0.105]])
    velocity = rng.normal(0, 1, (worlds, 2, 3)) * [1, 1, 0.3] + np.array([[1.0, 0, -0.5], [-1.0, 0, -0.5]])
    state = [position, rng.normal(size=(worlds, 2, 4)), velocity, rng.normal(0, 3, (worlds, 2, 3))]
    return sim, state, rng.normal(0, 2, (worlds, 2, 6)) * [1, 1, 1, 0.02, 0.02, 0.02]


@pytest.mark.parametrize(("order", "compliance"), [("wxyz", 0.0), ("xyzw", 1e-3)])
def test_differences(order: Any, compliance: float) -> None:
    """Central differences of whole runs along random changes of each argument, of worlds in which no mode changes.
    Those of a step of 1e-6 have an error of the third derivative times 1e-12, and one of 1e-7 by solutions to 1e-13."""
    w, t, h = 40, 6, 1e-6
    sim, state, force = moving(w, compliance=compliance)
    rng = np.random.default_rng(3)
    run = sim.run(*state, quat=order, steps=t, force=force, tape=True)
    bars = {name: rng.normal(size=getattr(run, name).shape) for name in STATE}
    g = run.vjp(**bars)
    smooth = run.smooth.all(axis=0) & (run.margin.min(axis=0) > 1e-3)
    assert smooth.sum() > w / 6 and (run.contact_count.max(axis=0)[smooth] > 0).sum() > w / 8
    values: dict[str, Any] = {"mass": [1.0, 2.0], "friction": [0.3, 0.2], "gravity": [0, 0, -GRAVITY]}
    given = {**dict(zip(STATE, state, strict=True)), "force": force}
    for name in (*given, *values):
        shape = np.shape(given[name] if name in given else values[name])
        change = rng.normal(size=shape)
        totals = []
        for sign in (1, -1):
            there, other = dict(given), sim
            if name in given:
                there[name] = given[name] + sign * h * change
            else:
                other = sim.replace(**{name: np.asarray(values[name]) + sign * h * change})
            r = other.run(**there, quat=order, steps=t)
            totals.append(sum((getattr(r, k) * bars[k]).sum(axis=(0, 2, 3)) for k in STATE))
        want = (totals[0] - totals[1]) / (2 * h)
        got = (getattr(g, name) * change).reshape(w, -1).sum(axis=1)
        np.testing.assert_allclose(got[smooth], want[smooth], rtol=1e-5, atol=1e-4, err_msg=name)


def test_parts_pose() -> None:
    """Gradients by the poses of the parts of two bodies, three parts in all, against central differences of simulations
    whose parts are moved; errors as in test_differences."""
    w, t, h = 40, 6, 1e-6
    _, state, force = moving(w)
    rng = np.random.default_rng(4)
    lib = cl.Library()
    shapes = [lib.ellipsoid([0.1, 0.12, 0.15]), lib.sphere(0.1), lib.sphere(0.1)]
    change = rng.normal(size=(3, 6)) * [0.3, 0.3, 0.3, 1, 1, 1]

    def simulation(x: float) -> contact.Simulation:
        parts = []
        for k, at in enumerate(([0.01, 0, 0.02], [-0.1, 0.02, 0.0], [0, 0.01, 0])):
            angle = x * change[k, 3:] / 2
            q = np.array([1.0, *angle]) / np.sqrt(1 + angle @ angle)
            parts.append(cl.Part(shapes[k], tuple(at + x * change[k, :3]), tuple(q)))
        m, inertia = np.array([1.0, 2.0]), np.outer([1.0, 2.0], [4e-3, 5e-3, 6e-3, 1e-4, 0, 0])
        return contact.Simulation(
            lib, [cl.Body((parts[0], parts[1])), parts[2]], mass=m, inertia=inertia, center=np.zeros((2, 3)),
            dt=DT, friction=0.3, tolerance=1e-13, correction=0.0, compliance=1e-3)  # fmt: skip

    run = simulation(0).run(*state, quat="wxyz", steps=t, force=force, tape=True)
    bars = {name: rng.normal(size=getattr(run, name).shape) for name in STATE}
    g = run.vjp(**bars)
    smooth = run.smooth.all(axis=0) & (run.margin.min(axis=0) > 1e-3)
    touching = smooth & (run.contact_count.max(axis=0) > 0)
    assert g.parts_pose.shape == (w, 3, 6) and touching.sum() > w / 8
    assert all(np.abs(g.parts_pose[touching, k]).max() > 1 for k in range(3))
    totals = []
    for sign in (1, -1):
        r = simulation(sign * h).run(*state, quat="wxyz", steps=t, force=force)
        totals.append(sum((getattr(r, k) * bars[k]).sum(axis=(0, 2, 3)) for k in STATE))
    want = (totals[0] - totals[1]) / (2 * h)
    got = (g.parts_pose * change).reshape(w, -1).sum(axis=1)
    np.testing.assert_allclose(got[smooth], want[smooth], rtol=1e-5, atol=1e-4)
    # Simulation.replace places the same parts, in either order of quaternions, which need not be unit.
    base, q = simulation(0), np.concatenate([np.ones((3, 1)), h * change[:, 3:] / 2], axis=1)
    at = np.array([[0.01, 0, 0.02], [-0.1, 0.02, 0.0], [0, 0.01, 0]]) + h * change[:, :3]
    plus = simulation(h).run(*state, quat="wxyz", steps=t, force=force)
    for order, quats in (("wxyz", 3 * q), ("xyzw", q[:, [1, 2, 3, 0]])):
        moved = base.replace(parts_pose=np.concatenate([at, quats], axis=1), quat=order)  # type: ignore[arg-type]
        r = moved.run(*state, quat="wxyz", steps=t, force=force)
        np.testing.assert_allclose(r.position, plus.position, rtol=0, atol=1e-12)
    with pytest.raises(cl.OptionError, match="parts_pose: row 1 has a quaternion of zeros"):
        base.replace(parts_pose=np.array([[0, 0, 0, 1.0, 0, 0, 0], np.zeros(7), [0, 0, 0, 1, 0, 0, 0]]))
    with pytest.raises(cl.ArrayError, match="parts_pose"):
        base.replace(parts_pose=np.zeros((2, 7)))


def test_tape_changes_nothing() -> None:
    """A run with a tape has the states of the same run without one, bit for bit, where contacts are not redundant; a
    world alone has the gradients that it has beside others; a tape outlives its simulation."""
    sim, state, force = moving(6)
    plain = sim.run(*state, quat="wxyz", steps=8, force=force)
    run = sim.run(*state, quat="wxyz", steps=8, force=force, tape=True)
    for name in (*STATE, "status"):
        assert np.array_equal(getattr(run, name), getattr(plain, name)), name
    bar = np.random.default_rng(1).normal(size=run.position.shape)
    g = run.vjp(position=bar)
    sim.close()
    assert np.array_equal(run.vjp(position=bar).velocity, g.velocity)
    one = moving(6)[0].run(*[x[2:3] for x in state], quat="wxyz", steps=8, force=force[2:3], tape=True)
    alone = one.vjp(position=bar[:, 2:3])
    for name in (*STATE, "force", "mass", "inertia", "friction", "restitution", "gravity", "parts_pose"):
        assert np.array_equal(getattr(alone, name)[0], getattr(g, name)[2]), name


def test_mistakes() -> None:
    """What has no tape or no cotangent is refused by name; an invalid world has a zero gradient."""
    sim, state, _ = moving(3)
    with pytest.raises(cl.OptionError, match="tape=True"):
        sim.run(*state, quat="wxyz", steps=2).vjp(position=1.0)
    state[2][1] = np.nan
    run = sim.run(*state, quat="wxyz", steps=2, tape=True)
    with pytest.raises(cl.OptionError, match="cotangent"):
        run.vjp()
    with pytest.raises(cl.ArrayError, match="velocity"):
        run.vjp(velocity=np.ones((2, 3, 1, 3)))
    g = run.vjp(velocity=1.0)
    assert np.isfinite(g.velocity).all() and not g.friction[1].any() and g.velocity[0].any()
    with pytest.raises(cl.ArrayError, match="mass"):
        sim.replace(mass=[1.0])


def test_impacts() -> None:
    """A ball that bounces off the ground without gravity [Zhong et al., arXiv 2207.05060, Table 1]: after 1 s its
    position has the derivatives -1, -1 and -1/480 by the time of impact, where the discrete step has the other sign."""
    lib, t = cl.Library(), 480
    sim = contact.Simulation(lib, [lib.sphere(0.1)], mass=1.0, dt=1 / t, friction=0.0, restitution=1.0,
                             gravity=(0.0, 0.0, 0.0), bounce_speed=1e-9, compliance=0.0)  # fmt: skip
    state = resting(1)
    state[0][...], state[2][...] = [-1.0, 0.0, 1.003], [2.0, 0.0, -2.0]
    run = sim.run(*state, quat="wxyz", steps=t, every=t, force=np.zeros((t, 1, 1, 6)), tape=True)
    up = np.array([0.0, 0.0, 1.0])
    g = run.vjp(position=up, impacts="time_of_impact")
    got = [g.position[0, 0, 2], g.velocity[0, 0, 2], g.force[0, 0, 0, 2]]
    np.testing.assert_allclose(got, [-1, -1, -1 / t], rtol=1e-8)
    assert run.vjp(position=up).position[0, 0, 2] == pytest.approx(1)
    with pytest.raises(cl.OptionError, match="impacts"):
        run.vjp(position=up, impacts="late")  # type: ignore[arg-type]


def test_smoothed() -> None:
    """The derivative of a step under noise: of a free body that of the step, within five standard deviations (with
    noise of k numbers (k + 1)/N of the gradient, squared); of a ball that may land in the step the mean of both."""
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.1)], mass=[2.0], gravity=(0, 0, 0), dt=DT, tolerance=1e-10)
    gap, n = 5e-4, 2048
    margins = np.array([-2.0, 0.0, 2.0])  # of the noise
    p, q = np.zeros((4, 1, 3)), np.tile([1.0, 0, 0, 0], (4, 1, 1))
    p[:3, 0, 2], p[3, 0, 2] = 0.1 + gap, 5
    v = np.zeros((4, 1, 3))
    v[:3, 0, 2] = (margins * 1e-4 - gap) / DT
    sim.start(p, q, v, quat="wxyz")
    before = sim.state().pose.copy()
    up = np.array([0, 0, 1.0])
    g = sim.smoothed(position=up, noise_position=1e-4, samples=n, seed=1)
    want = [0.0227501, 0.5, 0.9772499, 1.0]  # of the normal distribution
    np.testing.assert_allclose(g.position[:, 0, 2], want, atol=5 * np.sqrt((4 + 3) / n))
    assert (g.answered == n).all() and not g.velocity.any() and np.array_equal(sim.state().pose, before)
    f = sim.smoothed(velocity=up, noise_force=0.1, samples=n)
    np.testing.assert_allclose(f.force[3, 0, :3], [0, 0, DT / 2], atol=5 * DT / 2 * np.sqrt(2 / n))
    r = sim.smoothed(rotation=np.array([0, 0, 0, 1.0]), noise_spin=0.01, samples=n)
    np.testing.assert_allclose(r.spin[3, 0, 2], DT / 2, rtol=5 * np.sqrt(2 / n))
    with pytest.raises(cl.OptionError, match="no noise; want one of noise_position"):
        sim.smoothed(position=up)
    with pytest.raises(cl.OptionError, match="noise_spin: -1"):
        sim.smoothed(position=up, noise_spin=-1.0)
    with pytest.raises(cl.OptionError, match="no cotangent"):
        sim.smoothed(noise_spin=1.0)
