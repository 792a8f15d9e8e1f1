"""Derivatives of contact problems: a closed form, differences of all parameters, worlds without one by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_contact import DT, GRAVITY, sliding_box

import clearance as cl
from clearance import contact
from clearance._contact_derivatives import PARAMETERS, SMOOTHNESSES

# Solutions to about rounding, so that differences are.
EXACT: dict[str, Any] = {"tolerance": 1e-13, "max_steps": 2000}


def single(worlds: int, seed: int = 1) -> dict[str, Any]:
    """Balls of 1 kg, some apart, some that stick and some that slide: one contact each with the ground, and one between
    the two of a world, with all parameters."""
    rng = np.random.default_rng(seed)
    frames = np.linalg.qr(rng.normal(size=(worlds, 2, 3, 3)))[0]
    frames *= np.sign(np.linalg.det(frames))[..., None, None]
    return {
        "mass": rng.uniform(0.5, 2, (worlds, 2)),
        "inertia": np.concatenate(
            [rng.uniform(0.3, 0.4, (worlds, 2, 3)), rng.normal(0, 0.03, (worlds, 2, 3))], axis=-1
        ),
        "velocity": rng.normal(size=(worlds, 2, 6)),
        "count": np.full(worlds, 2),
        "body_a": np.tile([-1, 0], (worlds, 1)),
        "body_b": np.tile([0, 1], (worlds, 1)),
        "arm_a": rng.normal(0, 0.3, (worlds, 2, 3)) * np.array([[0], [1]]),
        "arm_b": rng.normal(0, 0.3, (worlds, 2, 3)),
        "frame": frames,
        "friction": rng.uniform(0.1, 1, (worlds, 2)),
        "target": rng.normal(0, 0.1, (worlds, 2)),
        "compliance": rng.uniform(0.05, 0.2, (worlds, 2, 2)),
    }


def rotated(frame: Any, axis: Any) -> Any:
    """Frames whose rows are rotated by small vectors, to the second order."""
    once = np.cross(axis[..., None, :], frame)
    return frame + once + np.cross(axis[..., None, :], once) / 2


@pytest.mark.parametrize("model", ["ncp", "ccp"])
def test_differences(model: Any) -> None:
    """Central differences along random changes of one parameter after the other. Solutions are good to 1e-13 of their
    speeds, so that differences over 2e-5 are to 1e-8, and have an error of the third derivative times 1e-10."""
    problem = single(60)
    r = contact.solve(**problem, model=model, **EXACT, grad=True)
    assert r.ok.all() and r.smooth.all() and r.margin.min() > 0
    rng = np.random.default_rng(2)
    v_bar, i_bar = rng.normal(size=r.velocity.shape), rng.normal(size=r.impulse.shape)
    g = r.vjp(velocity=v_bar, impulse=i_bar)
    assert {"open", "stick", "slide"} == set(g.mode_names.ravel())
    apart = r.margin > 1e-3  # modes do not change within a difference
    assert apart.sum() > 45 and (g.adjoint_residual < 1e-12).all()
    h = 1e-5
    for name in PARAMETERS:
        change = rng.normal(size=problem[name].shape)
        if name == "arm_a":
            change[:, 0] = 0
        values = []
        axis = rng.normal(size=(60, 2, 3))
        for sign in (1, -1):
            moved = dict(problem)
            if name == "frame":
                moved[name] = rotated(problem[name], sign * h * axis)
                change = np.cross(axis[..., None, :], problem[name])
            else:
                moved[name] = problem[name] + sign * h * change
            s = contact.solve(**moved, model=model, **EXACT)
            values.append((s.velocity * v_bar).sum(axis=(1, 2)) + (s.impulse * i_bar).sum(axis=(1, 2)))
        want = (values[0] - values[1]) / (2 * h)
        got = (getattr(g, name) * change).reshape(60, -1).sum(axis=1)
        np.testing.assert_allclose(got[apart], want[apart], rtol=1e-5, atol=1e-6, err_msg=name)


def test_closed_form() -> None:
    """A cube that slides along x is slowed by μg·dt: ∂v/∂μ = -g·dt, over all corners, and ∂v/∂v_z = μ. Its corners
    share the load in many ways, which the world says as one_of_many; it is smooth with a compliance of the normals."""
    problem = sliding_box(3)
    slightly = np.tile([0.0, 1e-4], (3, 4, 1))
    r = contact.solve(**problem, compliance=slightly, tolerance=1e-10, grad=True)
    ahead = np.array([1.0, 0, 0, 0, 0, 0])
    g = r.vjp(velocity=ahead)
    assert (g.mode == 2).all() and r.smooth.all() and r.margin.min() > 0
    np.testing.assert_allclose(g.friction.sum(axis=1), -GRAVITY * DT, rtol=1e-3)
    np.testing.assert_allclose(g.velocity[:, 0, 0], 1, atol=1e-5)
    np.testing.assert_allclose(g.velocity[:, 0, 2], 0.3, rtol=1e-3)
    g = contact.solve(**problem, tolerance=1e-10, grad=True).vjp(velocity=ahead)
    assert set(g.smoothness_names) == {"one_of_many"}  # given with a compliance of a thousandth
    np.testing.assert_allclose(g.friction.sum(axis=1), -GRAVITY * DT, rtol=1e-2)
    problem["friction"] = np.tile([0.1, 0.2, 0.4, 0.3], (3, 1))
    many = contact.solve(**problem, grad=True)
    assert set(many.vjp(velocity=ahead).smoothness_names) == {"one_of_many"} and not many.smooth.any()
    soft = contact.solve(**problem, compliance=np.tile([0.0, 2e-3], (3, 4, 1)), grad=True)
    assert soft.smooth.all() and soft.margin.min() > 0


def test_names() -> None:
    """Worlds without a solution have no gradient, a contact at rest between two modes is a boundary; mistakes are
    refused."""
    problem = sliding_box(4)
    problem["mass"][1] = -1.0
    problem["velocity"][2, 0] = 0  # at rest without a load: between open and stuck
    problem["count"][3] = 0
    r = contact.solve(**problem, grad=True)
    cotangent = np.full((4, 1, 6), 1.0)
    cotangent[1] = np.nan
    g = r.vjp(velocity=cotangent)
    assert g.smoothness_names.tolist() == ["one_of_many", "none", "boundary", "smooth"]
    for name in PARAMETERS:
        assert np.isfinite(getattr(g, name)).all() and not getattr(g, name)[1].any(), name
    assert not g.friction[3].any() and (g.velocity[3] == 1).all() and g.margin[2] == 0 and g.nearest[3] == -1
    assert r.smoothness.tolist() == [SMOOTHNESSES.index(n) for n in g.smoothness_names]
    assert "1 smooth, 1 boundary, 1 one_of_many, 1 none" in repr(g)
    with pytest.raises(cl.OptionError, match="grad=True"):
        contact.solve(**problem).vjp(velocity=cotangent)
    with pytest.raises(cl.OptionError, match="cotangent"):
        r.vjp()
    with pytest.raises(cl.ArrayError, match="impulse"):
        r.vjp(impulse=np.ones((4, 3, 3)))


def test_workers() -> None:
    """Bits depend on nothing but the world."""
    problem = single(40)
    cotangent = np.random.default_rng(3).normal(size=(40, 2, 6))
    all_of = contact.solve(**problem, grad=True, workers=3).vjp(velocity=cotangent)
    one = contact.solve(**{k: v[7:8] for k, v in problem.items()}, grad=True).vjp(velocity=cotangent[7:8])
    for name in (*PARAMETERS, "normal", "margin"):
        np.testing.assert_array_equal(getattr(one, name)[0], getattr(all_of, name)[7])
