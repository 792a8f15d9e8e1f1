"""Contact problems of mechanisms, and derivatives of contact points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import contact


def problems(seed: int, worlds: int = 6, n: int = 7, c: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(worlds, n, n))
    return {
        "mass": root @ np.swapaxes(root, 1, 2) + 0.3 * np.eye(n),
        "jacobian": rng.normal(size=(worlds, c, 3, n)),
        "velocity": rng.normal(size=(worlds, n)),
        "friction": rng.uniform(0.2, 1, (worlds, c)),
        "target": rng.normal(size=(worlds, c)),
        "compliance": rng.uniform(0, 0.1, (worlds, c, 2)),
    }


def test_point_on_the_ground() -> None:
    """A point mass that falls and slides: its normal impulse stops it, and friction takes μ of that from the slip."""
    mass, velocity, mu = 2.0, np.array([1.0, 0.0, -0.5]), 0.3
    s = contact.solve_system(mass * np.eye(3)[None], np.eye(3)[None, None], velocity[None], [[mu]], tolerance=1e-12)
    s.raise_if_failed()
    np.testing.assert_allclose(s.impulse[0, 0], [-mu * 1.0, 0, 1.0], atol=1e-10)
    np.testing.assert_allclose(s.velocity[0], [1 - mu * 0.5, 0, 0], atol=1e-10)
    g = s.vjp(velocity=[[1.0, 0, 0]])
    np.testing.assert_allclose(g.velocity[0], [1, 0, mu], atol=1e-10)
    np.testing.assert_allclose(g.friction[0], [-0.5], atol=1e-10)
    assert g.mode[0, 0] == 2 and g.smooth[0]


@pytest.mark.parametrize("model", contact.MODELS)
def test_gradients_of_systems(model: Any) -> None:
    """Gradients against central differences, by directions of all arguments; a step of 1e-6 leaves 1e-12 and the
    tolerance over it."""
    p = problems(1)
    rng = np.random.default_rng(2)
    s = contact.solve_system(**p, model=model, tolerance=1e-12)
    s.raise_if_failed()
    v_bar, l_bar = rng.normal(size=s.velocity.shape), rng.normal(size=s.impulse.shape)
    g = s.vjp(velocity=v_bar, impulse=l_bar)
    checked = g.smooth & (g.margin > 1e-3)
    assert checked.sum() >= 3
    for name, value in p.items():
        direction = rng.normal(size=value.shape)
        if name == "mass":
            direction = direction + np.swapaxes(direction, 1, 2)

        def along(h: float, name: str = name, value: Any = value, direction: Any = direction) -> Any:
            near = contact.solve_system(**{**p, name: value + h * direction}, model=model, tolerance=1e-12)
            return (near.velocity * v_bar).sum(axis=1) + (near.impulse * l_bar).sum(axis=(1, 2))

        want = (along(1e-6) - along(-1e-6)) / 2e-6
        have = (getattr(g, name) * direction).reshape(len(want), -1).sum(axis=1)
        np.testing.assert_allclose(have[checked], want[checked], rtol=1e-5, atol=1e-6, err_msg=name)


def test_worlds_and_faults() -> None:
    """Worlds have the bits that they have alone; what is wrong with one is named, and the others are solved."""
    p = problems(3)
    every = contact.solve_system(**p, tolerance=1e-10)
    for w in range(6):
        one = contact.solve_system(**{k: a[w : w + 1] for k, a in p.items()}, tolerance=1e-10)
        np.testing.assert_array_equal(one.velocity[0], every.velocity[w])
    p["mass"][4] *= -1
    with pytest.raises(cl.RowError, match=r"world 4: mass: number 0 .*positive definite"):
        contact.solve_system(**p).raise_if_failed()
    with pytest.raises(cl.ArrayError, match=r"jacobian: has the shape \[6, 2, 7, 3\], want \[6, 2, 3, 7\]"):
        contact.solve_system(**{**p, "jacobian": np.swapaxes(p["jacobian"], 2, 3)})
    with pytest.raises(cl.OptionError, match="vjp: no cotangent"):
        every.vjp()


def test_points_vjp(engine: cl.Engine) -> None:
    """The derivative of the corners of a tilted box on a plane, by the twists of the box: a corner is a point of it."""
    lib = cl.Library()
    plane, box = lib.halfspace(), lib.box([0.1, 0.2, 0.3])
    angle = 1e-3
    place, rotation = np.array([[0.3, -0.2, 0.3]]), np.array([[np.cos(angle / 2), np.sin(angle / 2), 0, 0]])
    found = engine.contacts(
        lib, plane, box, np.zeros(3), [1.0, 0, 0, 0], place, rotation, quat="wxyz", max_gap=0.01, grad=True
    )
    assert len(found) == 4
    for k in range(4):
        gap, position = np.zeros(4), np.zeros((4, 3))
        gap[k] = 1
        position[k, 0] = 1
        arm = found.position[k] + 0.5 * found.gap[k] * found.normal[k] - place[0]
        for g, force in ((found.vjp(gap=gap), [0, 0, 1.0]), (found.vjp(position=position), [1.0, 0, 0])):
            np.testing.assert_allclose(g.twists[0, 6:9], force, atol=1e-12)
            np.testing.assert_allclose(g.twists[0, 9:], np.cross(arm, force), atol=1e-9)
    with pytest.raises(cl.OptionError, match="grad=True"):
        plain = engine.contacts(
            lib, plane, box, np.zeros(3), [1.0, 0, 0, 0], place, rotation, quat="wxyz", max_gap=0.01
        )
        plain.vjp(gap=np.ones(4))


@pytest.mark.parametrize("model", contact.MODELS)
def test_delassus(model: Any) -> None:
    """Problems by their Delassus matrices have the impulses of those by M and J, and gradients that differences
    confirm."""
    p = problems(4)
    w, c, n = 6, 2, 7
    rows = p["jacobian"].reshape(w, 3 * c, n)
    matrix = rows @ np.linalg.solve(p["mass"], np.swapaxes(rows, 1, 2))
    matrix = 0.5 * (matrix + np.swapaxes(matrix, 1, 2))
    free = (rows @ p["velocity"][..., None]).reshape(w, c, 3)
    rest = {name: p[name] for name in ("friction", "target", "compliance")}
    want = contact.solve_system(**p, model=model, tolerance=1e-12)
    s = contact.solve_delassus(matrix, free, **rest, model=model, tolerance=1e-12)
    s.raise_if_failed()
    np.testing.assert_allclose(s.impulse, want.impulse, atol=1e-8)
    moved = (rows @ want.velocity[..., None]).reshape(w, c, 3)
    np.testing.assert_allclose(s.velocity, moved, atol=1e-8)
    rng = np.random.default_rng(5)
    v_bar, l_bar = rng.normal(size=(2, w, c, 3))
    g = s.vjp(velocity=v_bar, impulse=l_bar)
    checked = (g.smoothness == 0) & (g.margin > 1e-3)
    assert checked.sum() >= 3
    for name, value in {"delassus": matrix, "free": free, **rest}.items():
        direction = rng.normal(size=value.shape)
        if name == "delassus":
            direction = direction + np.swapaxes(direction, 1, 2)

        def along(h: float, name: str = name, value: Any = value, direction: Any = direction) -> Any:
            given = {"delassus": matrix, "free": free, **rest, name: value + h * direction}
            near = contact.solve_delassus(**given, model=model, tolerance=1e-12)
            return (near.velocity * v_bar + near.impulse * l_bar).sum(axis=(1, 2))

        wanted = (along(1e-6) - along(-1e-6)) / 2e-6
        have = (getattr(g, name) * direction).reshape(w, -1).sum(axis=1)
        np.testing.assert_allclose(have[checked], wanted[checked], rtol=1e-5, atol=1e-6, err_msg=name)
    matrix[3] *= -1
    faulty = contact.solve_delassus(matrix, free, p["friction"])
    assert faulty.ok[:3].all() and np.isnan(faulty.velocity[3]).all()
    with pytest.raises(cl.RowError, match=r"world 3: delassus: number \d+ is .*positive semidefinite"):
        faulty.raise_if_failed()


def test_bounds() -> None:
    """Bounds of the ccp cover the difference of a coarse and a fine solution at every contact; the ncp has none."""
    p = problems(7)
    coarse, fine = (contact.solve_system(**p, model="ccp", tolerance=t, bound=True) for t in (1e-2, 1e-12))
    off = np.linalg.norm(np.einsum("wcan,wn->wca", p["jacobian"], coarse.velocity - fine.velocity), axis=2).max(1)
    assert (off <= coarse.bound + fine.bound).all() and (fine.bound < 1e-3).all()
    assert (coarse.primal < 1e-12).all() and (coarse.dual < 1).all() and (coarse.complementarity < 1).all()
    assert np.isnan(contact.solve_system(**p, bound=True).bound).all()
