"""clearance.jax: under jit, vmap and grad; against differences; with 32 bits; what is refused."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import Pairs
from test_contact_derivatives import EXACT, single
from test_derivatives import smooth
from test_sweep_derivatives import moving
from test_tape import moving as moving_on_ground

import clearance as cl

jax: Any = pytest.importorskip("jax", reason="JAX is not installed: pip install jax to run these tests")

from clearance import contact  # noqa: E402
from clearance.jax import answers, contact_time, distance, run, solve, step  # noqa: E402

NAMES = ("pos_a", "quat_a", "pos_b", "quat_b")


@pytest.fixture
def bits64() -> Iterator[None]:
    """64 bits, which JAX has disabled by default."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def poses(p: Pairs) -> tuple[Any, ...]:
    return tuple(getattr(p, name) for name in NAMES)


def weighted(engine: cl.Engine, p: Pairs, order: Any = "wxyz") -> Any:
    """A scalar of all ten numbers of the answers, as a function of the poses."""
    rng = np.random.default_rng(4)
    c = [rng.normal(size=s) for s in ((len(p.a),), *[(len(p.a), 3)] * 3)]

    def loss(*x: Any) -> Any:
        r = answers(engine, p.library, p.a, p.b, *x, quat=order)
        return sum((w * part).sum() for w, part in zip(c, r[:4], strict=True))

    return loss, c


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_grad_under_jit(engine: cl.Engine, bits64: None, order: Any) -> None:
    """The gradients under jit are those of Result.vjp, bit for bit, and agree with differences."""
    p = Pairs(smooth(), 20, spread=1.0)
    loss, c = weighted(engine, p, order)
    gradients = jax.jit(jax.grad(loss, argnums=(0, 1, 2, 3)))(*poses(p))
    r = engine.distance(*p.arrays(), quat=order, precision="double", grad=True)
    want = r.vjp(distance=c[0], normal=c[1], witness_a=c[2], witness_b=c[3], wrt="poses")
    for got, w in zip(gradients, want, strict=True):
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, w)
    check: Any = importlib.import_module("jax.test_util").check_grads
    check(jax.jit(loss), poses(p), order=1, modes=("rev",), eps=1e-5, atol=1e-4, rtol=1e-4)


def test_values(engine: cl.Engine, bits64: None) -> None:
    """The values under jit are those of the engine, with statuses and smoothness."""
    p = Pairs(smooth(), 30)
    p.quat_a[3] = 0
    r = engine.distance(*p.arrays(), quat="wxyz", precision="double", grad=True)
    got = jax.jit(lambda *x: answers(engine, p.library, p.a, p.b, *x, quat="wxyz"))(*poses(p))
    for name in ("distance", "normal", "witness_a", "witness_b", "status", "smoothness"):
        np.testing.assert_array_equal(getattr(got, name), getattr(r, name))
    assert got.status[3] == cl.INVALID and got.smoothness[3] == 0


def test_vmap(engine: cl.Engine, bits64: None) -> None:
    """A function of one pair under vmap is the call of all pairs, and its gradient too; nested, in one call back."""
    p = Pairs(smooth(), 12, spread=1.0)

    def one(a: Any, b: Any, *x: Any) -> Any:
        return distance(engine, p.library, a, b, *x, quat="wxyz")

    everything = (p.a, p.b, *poses(p))
    whole = distance(engine, p.library, *everything, quat="wxyz")
    np.testing.assert_array_equal(jax.vmap(one)(*everything), whole)
    each = jax.jit(jax.vmap(jax.grad(one, argnums=(2, 3, 4, 5))))(*everything)
    total = jax.grad(lambda *x: one(p.a, p.b, *x).sum(), argnums=(0, 1, 2, 3))(*poses(p))
    for got, want in zip(each, total, strict=True):
        np.testing.assert_array_equal(got, want)
    # A grid of 12 shapes by 3 places, of which one argument has the outer axis alone.
    places = np.stack([p.pos_b[0] + k for k in range(3)])
    grid = jax.vmap(jax.vmap(one, (None, None, None, None, 0, None)), (0, 0, 0, 0, None, 0))(
        p.a, p.b, p.pos_a, p.quat_a, places, p.quat_b
    )
    assert grid.shape == (12, 3)
    alone = engine.distance(
        p.library, p.a[5], p.b[5], p.pos_a[5], p.quat_a[5], places[2], p.quat_b[5], quat="wxyz", precision="double"
    )
    np.testing.assert_array_equal(grid[5, 2], alone.distance[0])


@pytest.mark.parametrize("jit", [False, True])
def test_one_pair(engine: cl.Engine, bits64: None, jit: bool) -> None:
    """One pair without an axis of rows, and pairs with two axes: values and gradients of the same rows in one axis."""
    p = Pairs(smooth(), 6, spread=1.0)
    wrap = jax.jit if jit else lambda f: f

    def loss(c: Any, a: Any, b: Any, *x: Any) -> Any:
        r = answers(engine, p.library, a, b, *x, quat="wxyz")
        return sum((w * part).sum() for w, part in zip(c, r[:4], strict=True)), r.distance

    rng = np.random.default_rng(8)
    c = [rng.normal(size=s) for s in ((6,), (6, 3), (6, 3), (6, 3))]
    gradient = wrap(jax.grad(loss, argnums=(3, 4, 5, 6), has_aux=True))
    want, distances = gradient(c, p.a, p.b, *poses(p))
    for i in range(6):
        got, value = gradient([w[i] for w in c], p.a[i], p.b[i], *(x[i] for x in poses(p)))
        assert value.shape == () and value == distances[i]
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w[i])
    axes = [x.reshape(2, 3, *x.shape[1:]) for x in (*c, p.a, p.b, *poses(p))]
    got, value = gradient(axes[:4], *axes[4:])
    np.testing.assert_array_equal(value, distances.reshape(2, 3))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w.reshape(g.shape))


def test_broadcast(engine: cl.Engine, bits64: None) -> None:
    """One pose of all rows has the sum of the gradients of the rows."""
    p = Pairs(smooth(), 9)
    whole = distance(engine, p.library, p.a, p.b, p.pos_a[0], p.quat_a[0], p.pos_b, p.quat_b, quat="wxyz")
    assert whole.shape == (9,)

    def total(x: Any) -> Any:
        return distance(engine, p.library, p.a, p.b, x, p.quat_a[0], p.pos_b, p.quat_b, quat="wxyz").sum()

    tiled = np.tile(p.pos_a[0], (9, 1))
    np.testing.assert_allclose(jax.grad(total)(p.pos_a[0]), jax.grad(total)(tiled).sum(axis=0), rtol=1e-12)


def test_bits32(engine: cl.Engine) -> None:
    """By default JAX computes with float32, and so do the answers; rows without one have a zero gradient."""
    p = Pairs(smooth(), 12)
    p.quat_b[5] = 0
    x = [v.astype(np.float32) for v in poses(p)]

    def loss(*x: Any) -> Any:
        return distance(engine, p.library, p.a, p.b, *x, quat="wxyz").sum()

    assert np.isnan(loss(*x))
    gradients = jax.grad(loss, argnums=(0, 1, 2, 3))(*x)
    want = engine.distance(*p.arrays(), quat="wxyz", precision="double", grad=True).vjp(distance=1.0, wrt="poses")
    for got, w in zip(gradients, want, strict=True):
        assert got.dtype == np.float32 and np.isfinite(got).all() and not got[5].any()
        np.testing.assert_allclose(got, w, atol=1e-5)


def test_refused(engine: cl.Engine) -> None:
    p = Pairs(smooth(), 3)
    for change, words in (
        ({"quat": "matrix"}, "matrices"),
        ({"out": {}}, "out"),
        ({"columns": ["distance"]}, "columns"),
        ({"derivative": "newton"}, "gumbel"),
    ):
        options: Any = {"quat": "wxyz", **change}
        with pytest.raises(Exception, match=words):
            jax.grad(lambda x, o=options: distance(engine, p.library, p.a, p.b, x, *poses(p)[1:], **o).sum())(p.pos_a)
    with pytest.raises(cl.OptionError, match="pos_b"):
        distance(engine, p.library, p.a, p.b, p.pos_a, p.quat_a, p.pos_b[:, :2], p.quat_b, quat="wxyz")
    with pytest.raises(cl.OptionError, match="integers"):
        distance(engine, p.library, p.pos_a[:, 0], p.b, *poses(p), quat="wxyz")
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda x: distance(engine, p.library, p.a, p.b, x, *poses(p)[1:], quat="wxyz"), [p.pos_a], [p.pos_a])


def test_descent(engine: cl.Engine) -> None:
    """Gradient descent under jit brings an ellipsoid to a distance of 0.1 from each of 20 others."""
    p = Pairs(smooth(), 20)

    def step(x: Any) -> Any:
        def loss(x: Any) -> Any:
            d = distance(engine, p.library, p.a, p.b, x, p.quat_a, p.pos_b, p.quat_b, quat="wxyz")
            return ((d - 0.1) ** 2).sum()

        value, gradient = jax.value_and_grad(loss)(x)
        return x - 0.4 * gradient, value

    x, compiled = p.pos_a, jax.jit(step)
    for _ in range(40):
        x, value = compiled(x)
    assert float(value) < 1e-8


@pytest.mark.parametrize("reduce", [None, "world"])
@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_times_of_contact(engine: cl.Engine, bits64: None, reduce: Any, order: Any) -> None:
    """Under jit, and of one world under vmap, times and gradients are those of the sweep."""
    scene, poses = moving(6, 5)
    r = engine.sweep(scene, poses, quat=order, reduce=reduce, grad=True)
    weights = np.random.default_rng(1).normal(size=r.state.shape)

    def loss(x: Any) -> Any:
        found = contact_time(engine, scene, x, quat=order, reduce=reduce)
        return (weights * jax.numpy.where(found.smoothness == 1, found.time, 0)).sum(), found

    gradient, found = jax.jit(jax.grad(loss, has_aux=True))(poses)
    np.testing.assert_array_equal(gradient, r.vjp(time=weights, wrt="poses"))
    np.testing.assert_array_equal(found.time, r.time)
    np.testing.assert_array_equal(found.state, r.state)
    np.testing.assert_array_equal(found.smoothness, r.time_smoothness)
    one = jax.vmap(jax.grad(lambda x: contact_time(engine, scene, x, quat=order, reduce=reduce).time.sum()))
    kept = np.where(r.differentiable, 1.0, 0.0)
    np.testing.assert_array_equal(one(poses), r.vjp(time=kept, wrt="poses"))
    with pytest.raises(cl.OptionError, match="integers"):
        contact_time(engine, scene, np.zeros((2, 3, 7), int), quat=order)


@pytest.mark.parametrize("model", ["ncp", "ccp"])
def test_solve(bits64: None, model: Any) -> None:
    """Under jit, and of one world under vmap, solutions and gradients are those of contact.solve."""
    problem = single(8)
    reals = {name: x for name, x in problem.items() if x.dtype.kind == "f"}
    whole = {name: x for name, x in problem.items() if name not in reals}
    r = contact.solve(**problem, model=model, **EXACT, grad=True)
    rng = np.random.default_rng(1)
    v, i = rng.normal(size=r.velocity.shape), rng.normal(size=r.impulse.shape)

    def loss(x: Any) -> Any:
        solved = solve(**x, **whole, model=model, **EXACT)
        return (v * solved.velocity).sum() + (i * solved.impulse).sum(), solved

    gradient, solved = jax.jit(jax.grad(loss, has_aux=True))(reals)
    want = r.vjp(velocity=v, impulse=i)
    for name in reals:
        np.testing.assert_array_equal(gradient[name], getattr(want, name))
    for name in ("velocity", "impulse", "status", "smoothness", "margin"):
        np.testing.assert_array_equal(getattr(solved, name), getattr(r, name))
    one = jax.vmap(jax.grad(lambda x, y: solve(**x, **y, model=model, **EXACT).velocity.sum()))(reals, whole)
    want = r.vjp(velocity=1.0)
    for name in reals:
        np.testing.assert_array_equal(one[name], getattr(want, name))
    check: Any = importlib.import_module("jax.test_util").check_grads
    kept = {name: reals[name] for name in ("velocity", "mass", "friction", "target", "arm_b")}
    others = {name: x for name, x in reals.items() if name not in kept}
    check(lambda x: solve(**x, **others, **whole, model=model, **EXACT)[:2], (kept,), order=1, modes=("rev",), eps=1e-6)


def test_solve_in_single_precision() -> None:
    """With 32 bits gradients are those of the problem in float32, solved anew in float64; mistakes are refused."""
    problem = {name: x.astype(np.float32 if x.dtype.kind == "f" else np.int32) for name, x in single(4).items()}
    r = contact.solve(**problem, grad=True)
    gradient = jax.grad(lambda m: solve(**{**problem, "mass": m}).velocity.sum())(problem["mass"])
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, r.vjp(velocity=1.0).mass.astype(np.float32))
    with pytest.raises(cl.OptionError, match="friction: is int32"):
        solve(**{**problem, "friction": np.ones((4, 2), np.int32)})
    with pytest.raises(cl.OptionError, match="count: is float32"):
        solve(**{**problem, "count": np.ones(4, np.float32)})
    with pytest.raises(cl.OptionError, match="arm_a: has the shape"):
        solve(**{**problem, "arm_a": problem["arm_a"][:, :1]})
    with pytest.raises(cl.OptionError, match="bound"):
        solve(**problem, bound=True)  # type: ignore[call-arg]


def test_steps(bits64: None) -> None:
    """Under jit, and of one world under vmap, states and gradients are those of runs with a tape."""
    sim, state, force = moving_on_ground(6)
    r = sim.run(*state, quat="wxyz", steps=3, force=force, tape=True)
    rng = np.random.default_rng(1)
    bars = [rng.normal(size=x.shape) for x in (r.position, r.rotation, r.velocity, r.spin)]

    def loss(x: Any, f: Any) -> Any:
        s = run(sim, x, f, steps=3)
        return sum((b.swapaxes(0, 1) * part).sum() for b, part in zip(bars, s[:4], strict=True)), s

    (by_state, by_force), s = jax.jit(jax.grad(loss, argnums=(0, 1), has_aux=True))(tuple(state), force)
    g = r.vjp(position=bars[0], rotation=bars[1], velocity=bars[2], spin=bars[3])
    for got, name in zip((*by_state, by_force), ("position", "rotation", "velocity", "spin", "force"), strict=True):
        np.testing.assert_array_equal(got, getattr(g, name))
    for got, want in ((s.position, r.position), (s.status, r.status), (s.smoothness, g.smoothness)):
        np.testing.assert_array_equal(got, want.swapaxes(0, 1))
    np.testing.assert_array_equal(s.margin, r.margin.T)
    one = jax.vmap(lambda *x: step(sim, x[:4], x[4]))(*state, force)
    for got, want in zip(one, step(sim, state, force), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(one.position, r.position[0])

    def scanned(f: Any) -> Any:
        def body(x: Any, _: Any) -> Any:
            after = step(sim, x, f, masks=False)
            return after[:4], after.position

        return jax.lax.scan(body, tuple(state), None, length=3)[1].sum()

    # Each step begins without impulses, and the solutions of both are to 1e-13 of the speeds.
    want = r.vjp(position=1.0).force
    np.testing.assert_allclose(jax.jit(jax.grad(scanned))(force), want, rtol=1e-6, atol=1e-9)


def test_steps_by_numbers_of_worlds(bits64: None) -> None:
    """Masses and frictions may differ from world to world; gradients of numbers that are shared are sums. Mistakes are
    refused."""
    sim, state, force = moving_on_ground(4)
    mass = np.array([[1.0, 2.0], [1.5, 2.0], [1.0, 2.0], [0.5, 1.0]])
    friction = np.array([0.3, 0.2])

    def end(m: Any, mu: Any, g: Any) -> Any:
        return run(sim, state, force, steps=4, mass=m, friction=mu, gravity=g, masks=False).position.sum()

    by = jax.grad(end, argnums=(0, 1, 2))(mass, friction, np.array([0, 0, -9.81]))
    for w in range(4):
        alone = sim.replace(mass=mass[w])
        r = alone.run(*[x[w : w + 1] for x in state], quat="wxyz", steps=4, force=force[w : w + 1], tape=True)
        g = r.vjp(position=1.0)
        np.testing.assert_allclose(by[0][w], g.mass[0], rtol=1e-9, atol=1e-15)
        by = (by[0], by[1] - g.friction[0], by[2] - g.gravity[0])
    np.testing.assert_allclose(by[1], 0, atol=1e-9)
    np.testing.assert_allclose(by[2], 0, atol=1e-9)
    parts = np.tile([0, 0, 0, 1.0, 0, 0, 0], (4, sim.parts, 1))
    moved = jax.grad(lambda x: run(sim, state, force, steps=4, parts_pose=x, masks=False).position.sum())(parts)
    want = sim.run(*state, quat="wxyz", steps=4, force=force, tape=True).vjp(position=1.0).parts_pose
    np.testing.assert_allclose(moved[..., :3], want[..., :3], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(moved[..., 4:], 2 * want[..., 3:], rtol=1e-9, atol=1e-15)
    with pytest.raises(cl.OptionError, match="force: is int32"):
        step(sim, state, np.zeros((4, 2, 6), np.int32))
    with pytest.raises(cl.OptionError, match="velocity: has the shape"):
        step(sim, [state[0], state[1], state[2][:, :1], state[3]])
    with pytest.raises(cl.OptionError, match="density"):
        step(sim, state, density=3.0)  # type: ignore[call-arg]


@pytest.fixture
def compiled() -> Iterator[list[str]]:
    """The programs that XLA compiles during the test."""
    names: list[str] = []

    def note(event: str, seconds: float, **about: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            names.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield names
    importlib.import_module("jax._src.monitoring").unregister_event_duration_listener(note)


def test_compiled_once(engine: cl.Engine, bits64: None, compiled: list[str]) -> None:
    """100 calls of a gradient of distances with new inputs compile one program, which has a foreign function in it and
    no callback; gradients without jit compile nothing for new inputs."""
    p = Pairs(smooth(), 5, spread=1.0)
    x = jax.numpy.asarray(p.pos_a)

    def loss(y: Any) -> Any:
        d = distance(engine, p.library, p.a, p.b, y, p.quat_a, p.pos_b, p.quat_b, quat="wxyz")
        return ((d - 0.1) ** 2).sum()

    gradient = jax.jit(jax.value_and_grad(loss))
    assert "callback" not in gradient.lower(x).as_text() and "clearance_call" in gradient.lower(x).as_text()
    inputs = [x + jax.numpy.full(x.shape, 0.01 * k) for k in range(100)]
    gradient(x)
    before = len(compiled)
    assert before > 0
    values = [float(gradient(y)[0]) for y in inputs]
    assert len(compiled) == before and gradient._cache_size() == 1 and len(set(values)) == 100
    jax.grad(loss)(x)
    before = len(compiled)
    assert not np.array_equal(jax.grad(loss)(inputs[1]), jax.grad(loss)(inputs[2]))
    assert len(compiled) == before


def test_programs_keep_their_engine(bits64: None) -> None:
    """A program works after the caller forgot engine and library; one whose engine is closed says so."""
    p, engine = Pairs(smooth(), 5, spread=1.0), cl.Engine("cpu")
    want = engine.distance(*p.arrays(), quat="wxyz", precision="double").distance
    compiled = jax.jit(lambda x, e=engine, y=p: distance(e, y.library, y.a, y.b, x, *poses(y)[1:], quat="wxyz"))
    program, x = compiled.lower(p.pos_a).compile(), p.pos_a
    del p, compiled
    jax.clear_caches()
    np.testing.assert_array_equal(program(x), want)
    engine.close()
    with pytest.raises(Exception, match="the engine is closed"):
        program(x)


def test_vmap_is_one_call(engine: cl.Engine, bits64: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under vmap of 12 pairs the engine answers once, and takes one product with the derivative."""
    p, plain = Pairs(smooth(), 12, spread=1.0), cl.Engine.distance
    calls: list[int] = []

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(len(args[2]))
        return plain(*args, **options)

    monkeypatch.setattr(cl.Engine, "distance", counted)

    def one(a: Any, b: Any, *x: Any) -> Any:
        return distance(engine, p.library, a, b, *x, quat="wxyz")

    jax.jit(jax.vmap(jax.grad(one, argnums=2)))(p.a, p.b, *poses(p))
    assert calls == [12]
    np.testing.assert_array_equal(jax.lax.map(lambda y: one(*y), (p.a, p.b, *poses(p)))[3], one(p.a, p.b, *poses(p))[3])
