"""Gradients of distances and products with derivatives: against differences, as transposes, at rows without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Pairs, every_kind

import clearance as cl
from clearance._derivatives import quaternion_gradient


def smooth() -> cl.Library:
    """Shapes of which every pair has one normal and one pair of witnesses."""
    lib = cl.Library()
    lib.sphere(0.5)
    lib.ellipsoid([0.4, 0.5, 0.6])
    lib.ellipsoid([0.7, 0.3, 0.5], margin=0.05)
    return lib


def answer(engine: cl.Engine, p: Pairs, order: Any = "wxyz", **change: Any) -> cl.Result:
    arrays = [change.get(name, getattr(p, name)) for name in ("a", "b", "pos_a", "quat_a", "pos_b", "quat_b")]
    a, b, pos_a, quat_a, pos_b, quat_b = arrays
    return engine.distance(p.library, a, b, pos_a, quat_a, pos_b, quat_b, quat=order, precision="double")


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_distance_gradient(engine: cl.Engine, order: str) -> None:
    """Every coordinate of positions and quaternions, which are not unit."""
    p = Pairs(smooth(), 60, spread=1.0)
    gradient = cl.distance_gradient(answer(engine, p, order), p.pos_a, p.pos_b)
    assert gradient.shape == (60, 12)
    want = {
        "pos_a": gradient[:, :3],
        "quat_a": quaternion_gradient(gradient[:, 3:6], p.quat_a, order),
        "pos_b": gradient[:, 6:9],
        "quat_b": quaternion_gradient(gradient[:, 9:], p.quat_b, order),
    }
    h = 1e-5
    for name, rows in want.items():
        for k in range(rows.shape[1]):
            step = np.zeros(rows.shape[1])
            step[k] = h
            ahead = answer(engine, p, order, **{name: getattr(p, name) + step}).distance
            behind = answer(engine, p, order, **{name: getattr(p, name) - step}).distance
            np.testing.assert_allclose(rows[:, k], (ahead - behind) / (2 * h), atol=2e-6, err_msg=f"{name} {k}")


def test_common_motion(engine: cl.Engine) -> None:
    """A motion of both bodies as one leaves every distance as it is."""
    p = Pairs(every_kind(), 300)
    r = answer(engine, p)
    v, omega = np.array([0.3, -1.0, 0.5]), np.array([1.0, 0.2, -0.7])
    twists = np.concatenate(
        [
            v + np.cross(omega, p.pos_a),
            np.tile(omega, (300, 1)),
            v + np.cross(omega, p.pos_b),
            np.tile(omega, (300, 1)),
        ],
        axis=1,
    )
    gradient = cl.distance_gradient(r, p.pos_a, p.pos_b)
    np.testing.assert_allclose(np.sum(gradient * twists, axis=1), 0, atol=1e-9)


def test_rows_without_gradient(engine: cl.Engine) -> None:
    """Invalid rows and those beyond the largest distance are zero, never NaN."""
    p = Pairs(smooth(), 40)
    p.quat_a[3] = 0
    r = answer(engine, p)
    gradient = cl.distance_gradient(r, p.pos_a, p.pos_b)
    assert np.isfinite(gradient).all()
    assert not gradient[3].any() and gradient[np.arange(40) != 3].any(axis=1).all()
    near = engine.distance(*p.arrays(), quat="wxyz", max_distance=1.0, precision="double")
    cut = cl.distance_gradient(near, p.pos_a, p.pos_b, max_distance=1.0)
    far = np.isfinite(r.distance) & (r.distance > 1.001)
    assert far.any() and not cut[far].any()
    kept = r.distance < 0.999
    assert kept.any()
    np.testing.assert_allclose(cut[kept], gradient[kept], atol=1e-9)


def test_distance_gradient_refused(engine: cl.Engine) -> None:
    """What cannot be differentiated is an error that says so."""
    p = Pairs(smooth(), 5)
    with pytest.raises(cl.OptionError, match="normal"):
        cl.distance_gradient(engine.distance(*p.arrays(), quat="wxyz", columns=["distance"]), p.pos_a, p.pos_b)
    with pytest.raises(cl.OptionError, match=r"Engine\.distance"):
        cl.distance_gradient(engine.growth(*p.arrays(), quat="wxyz"), p.pos_a, p.pos_b)
    with pytest.raises(cl.ArrayError, match="pos_b"):
        cl.distance_gradient(answer(engine, p), p.pos_a, p.pos_b[:2])


def test_columns(engine: cl.Engine) -> None:
    """Derivatives as columns: alone in closed form, with others of the polished answer; failed rows have zeros."""
    p = Pairs(smooth(), 60, spread=1.0)
    p.quat_a[7] = 0
    pairs = (p.a, p.b, p.pos_a, p.quat_a, p.pos_b, p.quat_b)
    alone = engine.distance(p.library, *pairs, quat="wxyz", precision="double", columns=["d_distance"])
    assert alone.d_distance.shape == (60, 12) and alone.d_distance.dtype == np.float64 and alone.distance is None
    answered = answer(engine, p)
    assert np.allclose(alone.d_distance, cl.distance_gradient(answered, p.pos_a, p.pos_b), rtol=0, atol=1e-12)
    names = ["d_distance", "d_normal", "d_witness_a", "d_witness_b", "curvature", "smoothness"]
    r = engine.distance(p.library, *pairs, quat="wxyz", precision="double", columns=[*names, "normal"])
    assert r.d_normal.shape == r.d_witness_a.shape == r.d_witness_b.shape == (60, 3, 12)
    assert r.curvature.shape == (60, 6) and r.smoothness.dtype == np.uint8
    assert set(r.smoothness_names) == {"none", "smooth"} and r.smoothness_names[7] == "none"
    assert np.allclose(r.d_distance, alone.d_distance, rtol=0, atol=1e-4)
    for name in names:
        assert not getattr(r, name)[7].any()
    # A common rotation about z moves the normal along.
    ok = r.status < 3
    spin = np.zeros((60, 12))
    spin[:, 5] = spin[:, 11] = 1
    spin[:, :3] = np.cross([0, 0, 1], p.pos_a)
    spin[:, 6:9] = np.cross([0, 0, 1], p.pos_b)
    moved = np.einsum("nij,nj->ni", r.d_normal, spin)
    assert np.allclose(moved[ok], np.cross([0, 0, 1], r.normal)[ok], atol=1e-6)


def test_modes(engine: cl.Engine) -> None:
    """Smoothed derivatives depend on the seed and the row alone, and bad options are refused by name."""
    p = Pairs(every_kind(), 40, spread=2.0)
    pairs = (p.a, p.b, p.pos_a, p.quat_a, p.pos_b, p.quat_b)
    columns = ["d_normal", "smoothness"]
    options: Any = {"quat": "wxyz", "columns": columns, "derivative": "gaussian", "samples": 30}
    one = engine.distance(p.library, *pairs, seed=1, **options)
    same = engine.distance(p.library, *pairs, seed=1, **options)
    other = engine.distance(p.library, *pairs, seed=2, **options)
    assert np.array_equal(one.d_normal, same.d_normal) and not np.array_equal(one.d_normal, other.d_normal)
    assert "smoothed" in one.smoothness_names
    for bad in ({"derivative": "second"}, {"epsilon": -1.0}, {"samples": 0}, {"rings": -1}, {"seed": -1}):
        with pytest.raises(cl.OptionError, match=next(iter(bad))):
            engine.distance(p.library, *pairs, **{**options, **bad})
    with pytest.raises(cl.OptionError, match="smoothness"):
        _ = answer(engine, p).smoothness_names


ORDERS: Any = ("wxyz", "xyzw")
PARTS = ("distance", "normal", "witness_a", "witness_b")
POSES = ("pos_a", "quat_a", "pos_b", "quat_b")


def asked(engine: cl.Engine, p: Pairs, order: Any = "wxyz", query: Any = "distance", **change: Any) -> cl.Result:
    named = {name: getattr(p, name) for name in ("a", "b", *POSES)} | change
    a, b, pos_a, quat_a, pos_b, quat_b = (named.pop(name) for name in ("a", "b", *POSES))
    named.setdefault("precision", "double")
    return engine.query(query, p.library, a, b, pos_a, quat_a, pos_b, quat_b, quat=order, grad=True, **named)


def cotangents(n: int, seed: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(n,) if name == "distance" else (n, 3)) for name in PARTS}


def scalar(r: cl.Result, c: dict[str, Any]) -> Any:
    """The sum of each row's answers, weighted by cotangents."""
    return sum((c[name] * getattr(r, name)).reshape(len(r), -1).sum(axis=1) for name in PARTS)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("query", ["distance", "growth"])
def test_against_differences(engine: cl.Engine, order: str, query: str) -> None:
    """Every coordinate of positions and quaternions that are not unit, of all ten numbers of smooth answers."""
    p = Pairs(smooth(), 60, spread=1.0)
    c = cotangents(60)
    r = asked(engine, p, order, query)
    assert (r.smoothness_names == "smooth").all()
    got = r.vjp(**c, wrt="poses")
    h = 1e-5
    for name in POSES:
        rows = getattr(got, name)
        assert rows.shape == getattr(p, name).shape
        for k in range(rows.shape[1]):
            step = np.zeros(rows.shape[1])
            step[k] = h
            ahead, behind = (
                scalar(asked(engine, p, order, query, **{name: getattr(p, name) + s}), c) for s in (step, -step)
            )
            want = (ahead - behind) / (2 * h)
            np.testing.assert_allclose(rows[:, k], want, rtol=2e-5, atol=2e-5, err_msg=f"{name} {k}")


@pytest.mark.parametrize("order", ORDERS)
def test_transposes(engine: cl.Engine, order: str) -> None:
    """<cotangent, J twist> = <Jᵀ cotangent, twist> for every kind with every kind, of twists and of poses."""
    n = 500
    p = Pairs(every_kind(), n, spread=1.0)
    c, rng = cotangents(n), np.random.default_rng(7)
    r = asked(engine, p, order)
    twists = rng.normal(size=(n, 12))
    t = r.jvp(twists)
    left, right = scalar_of(t, c), np.sum(r.vjp(**c) * twists, axis=1)
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)
    change = {name: rng.normal(size=getattr(p, name).shape) for name in POSES}
    t, g = r.jvp(**change), r.vjp(**c, wrt="poses")
    right = sum(np.sum(getattr(g, name) * change[name], axis=1) for name in POSES)
    np.testing.assert_allclose(scalar_of(t, c), right, rtol=1e-9, atol=1e-9)
    assert len(set(r.smoothness.tolist())) >= 2


def scalar_of(t: cl.Tangent, c: dict[str, Any]) -> Any:
    return sum((c[name] * getattr(t, name)).reshape(len(t.distance), -1).sum(axis=1) for name in PARTS)


def test_closed_form(engine: cl.Engine) -> None:
    """The gradient of the distance is that of distance_gradient, at every kind, smooth or not. Its normals are those of
    the answers, whose error is the root of a gap of 1e-12; those of vjp are polished."""
    p = Pairs(every_kind(), 400)
    r = asked(engine, p)
    want = cl.distance_gradient(r, p.pos_a, p.pos_b)
    np.testing.assert_allclose(r.vjp(distance=1.0), want, atol=2e-4)


def test_same_rows_alone(engine: cl.Engine) -> None:
    """A row has the same bits alone as among others, and with any number of threads."""
    p = Pairs(every_kind(), 600)
    c = cotangents(600)
    whole = asked(engine, p).vjp(**c)
    part = {name: getattr(p, name)[300:310] for name in ("a", "b", *POSES)}
    few = asked(engine, p, **part).vjp(**{name: v[300:310] for name, v in c.items()})
    np.testing.assert_array_equal(few, whole[300:310])
    with cl.Engine("cpu", workers=1) as one:
        np.testing.assert_array_equal(asked(one, p).vjp(**c), whole)


def test_rows_without_derivative(engine: cl.Engine) -> None:
    """Invalid rows are zero whatever their cotangents; parallel faces say that they have no unique witnesses."""
    lib = cl.Library()
    box = lib.box([1, 1, 1])
    pos = np.array([[0, 0, 3.0], [0.3, 0.2, 3.0], [5.0, 5.0, 5.0]])
    quat = np.array([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0.0, 0, 0, 0]])
    r = engine.distance(
        lib, box, box, np.zeros(3), [1.0, 0, 0, 0], pos, quat, quat="wxyz", precision="double", grad=True
    )
    assert r.smoothness_names.tolist() == ["not unique", "not unique", "none"]
    g = r.vjp(distance=[1.0, 1.0, np.nan], normal=np.full((3, 3), [[1.0], [1.0], [np.nan]]))
    assert np.isfinite(g).all() and not g[2].any()
    np.testing.assert_allclose(g[:2, 6:9], [[0, 0, 1], [0, 0, 1]], atol=1e-12)
    one = r.vjp(distance=1.0, wrt="poses")
    assert one.pos_a.shape == (3,) and one.quat_a.shape == (4,) and one.pos_b.shape == (3, 3)
    np.testing.assert_allclose(one.pos_a, [0, 0, -2], atol=1e-12)


def test_beyond_the_largest_distance(engine: cl.Engine) -> None:
    p = Pairs(smooth(), 60)
    full = asked(engine, p)
    near = asked(engine, p, cut_off=1.0)
    far = full.distance > 1.001
    assert far.any() and not near.vjp(distance=1.0)[far].any() and not near.smoothness[far].any()
    assert (near.smoothness[full.distance < 0.999] != 0).all()


def test_smoothed(engine: cl.Engine) -> None:
    """Smoothed derivatives see the curvature that a polytope stands for; equal seeds give equal bits."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 3))
    lib = cl.Library()
    lib.convex(points / np.linalg.norm(points, axis=1, keepdims=True))
    p = Pairs(lib, 30, spread=3.0)
    r = asked(engine, p)
    c: Any = {"witness_a": np.ones((30, 3))}
    exact, gumbel = r.vjp(**c), r.vjp(**c, derivative="gumbel", epsilon=0.02)
    gauss = [r.vjp(**c, derivative="gaussian", epsilon=0.2, samples=50, seed=s) for s in (1, 1, 2)]
    zeroth = r.vjp(**c, derivative="zeroth", samples=4, seed=1)
    np.testing.assert_array_equal(gauss[0], gauss[1])
    assert not np.array_equal(gauss[0], gauss[2]) and np.isfinite(zeroth).all() and zeroth.any()
    # Of two unit balls the derivative is known: compare the median error with that of the flat faces.
    lib.sphere(1.0)
    ball = asked(engine, p, a=np.ones(30, np.int32), b=np.ones(30, np.int32)).vjp(**c)
    errors = [np.median(np.abs(g - ball).max(axis=1)) for g in (exact, gumbel, gauss[0])]
    assert errors[1] < 0.5 * errors[0] and errors[2] < 0.5 * errors[0], errors


def test_kept(engine: cl.Engine) -> None:
    """Derivatives are those of the poses and answers of the call, though the arrays change later."""
    p = Pairs(smooth(), 20)
    r = asked(engine, p)
    want = r.vjp(distance=1.0)
    out = asked(engine, p, out=r)
    p.pos_a += 1.0
    again = asked(engine, p, out=r)
    np.testing.assert_array_equal(out.vjp(distance=1.0), want)
    assert not np.array_equal(again.vjp(distance=1.0), want)


def test_single_precision(engine: cl.Engine) -> None:
    """Answers of single precision have derivatives as good: the normal is polished."""
    p = Pairs(smooth(), 60, spread=1.0)
    c = cotangents(60)
    single, double = (asked(engine, p, precision=s).vjp(**c) for s in ("single", "double"))
    np.testing.assert_allclose(single, double, rtol=1e-6, atol=1e-6)


def test_refused(engine: cl.Engine) -> None:
    p = Pairs(smooth(), 5)
    r = asked(engine, p)
    plain = engine.distance(*p.arrays(), quat="wxyz")
    for call, words in (
        (lambda: plain.vjp(distance=1.0), "grad=True"),
        (lambda: r.vjp(), "no cotangent"),
        (lambda: r.vjp(distance=1.0, wrt="matrices"), "twists"),  # type: ignore[arg-type]
        (lambda: r.vjp(distance=1.0, derivative="newton"), "gumbel"),  # type: ignore[arg-type]
        (lambda: r.vjp(distance=1.0, derivative="gumbel", epsilon=-1.0), "epsilon: -1"),
        (lambda: r.vjp(distance=1.0, epsilon=0.1), "epsilon: .*these are exact"),
        (lambda: r.vjp(distance=1.0, derivative="exact", seed=1), "seed: .*these are exact"),
        (lambda: r.vjp(distance=1.0, sample=3), "did you mean samples"),  # type: ignore[call-arg]
        (lambda: r.jvp(), "twists"),
        (lambda: r.jvp(np.zeros(12), pos_a=np.zeros(3)), "either"),
        (lambda: engine.collide(*p.arrays(), quat="wxyz", grad=True), "collide"),
    ):
        with pytest.raises(cl.OptionError, match=words):
            call()
    with pytest.raises(cl.ArrayError, match="normal"):
        r.vjp(normal=np.zeros((5, 2)))
    m = np.tile(np.eye(3), (5, 1, 1))
    matrix = engine.distance(p.library, p.a, p.b, p.pos_a, m, p.pos_b, m, quat="matrix", grad=True)
    assert matrix.vjp(distance=1.0).shape == (5, 12)
    with pytest.raises(cl.OptionError, match="matrix"):
        matrix.vjp(distance=1.0, wrt="poses")
    with cl.Engine("cpu") as other:
        closed = asked(other, p)
    with pytest.raises(cl.ClosedError):
        closed.vjp(distance=1.0)


@pytest.mark.parametrize("option", [{"epsilon": 0.1}, {"samples": 8}, {"rings": 1}, {"seed": 0}])
def test_options_of_no_mode(engine: cl.Engine, option: dict[str, Any]) -> None:
    """An option of smoothed derivatives is no option of exact ones, wherever it stands."""
    p = Pairs(smooth(), 3)
    calls: list[Callable[..., Any]] = [
        lambda **o: engine.distance(*p.arrays(), quat="wxyz", **o),
        lambda **o: engine.query("growth", *p.arrays(), quat="wxyz", grad=True, **o),
        lambda **o: engine.vjp("distance", *p.arrays(), quat="wxyz", distance=1.0, **o),
        lambda **o: engine.distance(*p.arrays(), quat="wxyz", grad=True).vjp(distance=1.0, **o),
    ]
    for call in calls:
        with pytest.raises(cl.OptionError, match=f"{next(iter(option))}: an option of smoothed derivatives"):
            call(**option)
        with pytest.raises(cl.OptionError, match="an option of smoothed derivatives"):
            call(derivative="exact", **option)
        call(derivative="gumbel", **option)
    smoothed = engine.distance(
        *p.arrays(), quat="wxyz", precision="double", grad=True, derivative="gumbel", epsilon=0.3
    )
    exact = engine.distance(*p.arrays(), quat="wxyz", precision="double", grad=True)
    assert np.array_equal(smoothed.vjp(normal=[1, 0, 0], derivative="exact"), exact.vjp(normal=[1, 0, 0]))
