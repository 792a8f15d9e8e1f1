"""clearance.torch: gradcheck in double precision, rows without an answer, second derivatives refused by name."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from conftest import NO_TORCH, Pairs
from test_contact_derivatives import EXACT, single
from test_derivatives import smooth
from test_sweep_derivatives import moving
from test_systems import problems as systems
from test_tape import moving as moving_on_ground

import clearance as cl

if importlib.util.find_spec("torch") is None:
    pytest.skip(NO_TORCH, allow_module_level=True)

from clearance import contact
from clearance.torch import State, answers, contact_time, distance, run, solve, solve_system, step

torch: Any = pytest.importorskip("torch")


def call(engine: cl.Engine, p: Pairs, *tensors: Any, **options: Any) -> Any:
    return distance(engine, p.library, p.a, p.b, *tensors, quat="wxyz", **options)


def poses(p: Pairs) -> list[Any]:
    return [torch.tensor(x, requires_grad=True) for x in (p.pos_a, p.quat_a, p.pos_b, p.quat_b)]


def test_gradcheck_of_distances(engine: cl.Engine) -> None:
    """In double precision, also of an argument of all rows."""
    p = Pairs(smooth(), 12, spread=1.0)
    tensors = poses(p)
    assert torch.autograd.gradcheck(lambda *x: call(engine, p, *x)[0], tensors, eps=1e-5, atol=1e-5)
    value, result = call(engine, p, *tensors, columns=["method"])
    assert value.dtype == torch.float64 and result.method is not None and not result.normal.requires_grad
    assert (result.smoothness == 1).all()
    one = torch.tensor(p.pos_a[0], requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: call(engine, p, x, *tensors[1:])[0].sum(), [one], eps=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_gradcheck_of_answers(engine: cl.Engine, order: Any) -> None:
    """Normals and witnesses are differentiable as well, in both orders of quaternions."""
    p = Pairs(smooth(), 6, spread=1.0)

    def all_of(*x: Any) -> Any:
        return answers(engine, p.library, p.a, p.b, *x, quat=order)[:4]

    assert torch.autograd.gradcheck(all_of, poses(p), eps=1e-5, atol=2e-5)


def test_smoothed(engine: cl.Engine) -> None:
    """The options of a derivative are those of Result.vjp."""
    lib = cl.Library()
    lib.box([0.5, 0.6, 0.7])
    p = Pairs(lib, 6)
    tensors = poses(p)
    r = answers(engine, lib, p.a, p.b, *tensors, quat="wxyz", derivative="gumbel", epsilon=0.05)
    r.witness_a.sum().backward()
    want = r.result.vjp(witness_a=np.ones(3), wrt="poses")
    assert torch.equal(tensors[0].grad, want.pos_a)
    assert not torch.equal(tensors[0].grad, r.result.vjp(witness_a=np.ones(3), wrt="poses", derivative="exact").pos_a)


def test_second_derivatives(engine: cl.Engine) -> None:
    """There are none: gradgradcheck is refused by name."""
    p = Pairs(smooth(), 3, spread=1.0)
    tensors = poses(p)
    with pytest.raises(cl.OptionError, match=r"second derivatives.*gradgradcheck"):
        torch.autograd.gradgradcheck(lambda *x: call(engine, p, *x)[0], tensors)
    first = torch.autograd.grad(call(engine, p, *tensors)[0].sum(), tensors[0], create_graph=True)[0]
    with pytest.raises(cl.OptionError, match="second derivatives"):
        torch.autograd.grad(first.sum(), tensors[0])


def test_rows(engine: cl.Engine) -> None:
    """A row without an answer has a zero gradient, single precision gives float32, mistakes are refused."""
    p = Pairs(smooth(), 12)
    p.quat_b[5] = 0
    tensors = poses(p)
    value, _ = call(engine, p, *tensors, precision="single")
    assert value.dtype == torch.float32 and torch.isnan(value[5])
    value.sum().backward()
    for x in tensors:
        assert torch.isfinite(x.grad).all() and not x.grad[5].any() and x.grad[0].any()
    with pytest.raises(cl.OptionError, match="out"):
        call(engine, p, *tensors, out={})
    with pytest.raises(cl.OptionError, match="matrices"):
        distance(engine, p.library, p.a, p.b, *tensors, quat="matrix")  # type: ignore[arg-type]


def test_descent(engine: cl.Engine) -> None:
    """An optimizer brings an ellipsoid to a distance of 0.1 from each of 20 others."""
    p = Pairs(smooth(), 20)
    pos_a = torch.tensor(p.pos_a, requires_grad=True)
    optimizer = torch.optim.SGD([pos_a], lr=0.4)
    for _ in range(60):
        optimizer.zero_grad()
        value, _ = call(engine, p, pos_a, p.quat_a, p.pos_b, p.quat_b)
        loss = ((value - 0.1) ** 2).sum()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 1e-10


@pytest.mark.parametrize("reduce", [None, "world"])
def test_times_of_contact(engine: cl.Engine, reduce: Any) -> None:
    """gradcheck of the times of regular contacts, of quaternions that are not unit; others have no gradient."""
    scene, poses = moving(6, 2)
    way = torch.tensor(poses, requires_grad=True)

    def times(x: Any) -> Any:
        time, result = contact_time(engine, scene, x, quat="xyzw", reduce=reduce)
        return torch.where(result.differentiable, time, torch.zeros_like(time))

    # Times are polished to 1e-12, differences over 2e-5 then good to 1e-7.
    assert torch.autograd.gradcheck(times, [way], eps=1e-5, atol=1e-6)
    away = way.detach() + torch.arange(3)[:, None] * torch.tensor([9.0, 0, 0, 0, 0, 0, 0], dtype=torch.float64)
    away.requires_grad_()
    time, result = contact_time(engine, scene, away, quat="xyzw", reduce=reduce)
    assert not result.differentiable.any()
    time.nansum().backward()
    assert not away.grad.any()
    with pytest.raises(cl.OptionError, match=r"poses: is torch\.int64"):
        contact_time(engine, scene, torch.zeros((1, 2, 3, 7), dtype=torch.int64), quat="wxyz")
    time, _ = contact_time(engine, scene, way, quat="xyzw")
    first = torch.autograd.grad(time.nansum(), way, create_graph=True)[0]
    with pytest.raises(cl.OptionError, match="second derivatives of times of contact"):
        torch.autograd.grad(first.sum(), way)


@pytest.mark.parametrize("model", ["ncp", "ccp"])
def test_gradcheck_of_solve(model: Any) -> None:
    """gradcheck in double of velocities and impulses by all parameters, of worlds that are not near a change of modes.
    Frames are made from rotation vectors, so that they stay frames. Solutions are good to 1e-13 of the speeds, so that
    differences over 2e-6 are to 1e-7."""
    problem = {name: x[:3] for name, x in single(6, seed=5).items()}
    first = torch.as_tensor(problem.pop("frame"))
    whole = {name: problem.pop(name) for name in ("count", "body_a", "body_b")}
    asked = {"model": model, **EXACT}
    names = list(problem)

    def solved(*x: Any) -> Any:
        axis = x[-1]
        zero = torch.zeros_like(axis[..., 0])
        a, b, c = axis.unbind(-1)
        skew = torch.stack([zero, -c, b, c, zero, -a, -b, a, zero], -1).reshape(*axis.shape[:-1], 3, 3)
        frame = first @ torch.linalg.matrix_exp(skew)
        return solve(**dict(zip(names, x, strict=False)), **whole, frame=frame, **asked)

    tensors = [torch.tensor(problem[name], requires_grad=True) for name in names]
    tensors.append(torch.zeros((3, 2, 3), dtype=torch.float64, requires_grad=True))
    r = solved(*tensors).result
    assert r.smooth.all() and r.margin.min() > 1e-3
    assert len({*r.vjp(velocity=1.0).mode.ravel()}) > 1
    assert torch.autograd.gradcheck(lambda *x: solved(*x)[:2], tensors, eps=1e-6, atol=1e-5, rtol=1e-4)
    first_one = torch.autograd.grad(solved(*tensors).velocity.sum(), tensors[0], create_graph=True)[0]
    with pytest.raises(cl.OptionError, match="second derivatives of contact problems"):
        torch.autograd.grad(first_one.sum(), tensors[0])


def test_solve_mistakes() -> None:
    """Integers have no derivative, unknown options are refused by name; an invalid world has a zero gradient."""
    problem = single(3)
    problem["mass"][1, 0] = -1
    tensors = {k: torch.tensor(v, requires_grad=v.dtype.kind == "f") for k, v in problem.items()}
    r = solve(**tensors)
    assert torch.isnan(r.velocity[1]).all() and r.result.smoothness.tolist()[1] == 3
    torch.where(torch.as_tensor(r.result.ok)[:, None, None], r.velocity, 0.0).sum().backward()
    for name, x in tensors.items():
        assert x.grad is None or (torch.isfinite(x.grad).all() and not x.grad[1].any()), name
    assert tensors["friction"].grad[0].any() and tensors["mass"].grad[2].any()
    with pytest.raises(cl.OptionError, match=r"friction: is torch\.int64"):
        solve(**{**tensors, "friction": torch.ones((3, 2), dtype=torch.int64)})
    with pytest.raises(cl.OptionError, match=r"count: is torch\.float64"):
        solve(**{**tensors, "count": torch.ones(3, dtype=torch.float64)})
    with pytest.raises(cl.OptionError, match="bound"):
        solve(**tensors, bound=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("model", ["ncp", "ccp"])
def test_gradcheck_of_systems(model: Any) -> None:
    """gradcheck of mechanisms by all parameters, M = RRᵀ + 0.3 by R; worlds near a change of modes have no weight."""
    p = {k: torch.tensor(x) for k, x in systems(1, worlds=4).items()}
    root = torch.linalg.cholesky(p.pop("mass"))
    p["offset"] = 0.1 * torch.ones_like(p["jacobian"][..., 0])
    eye = 0.3 * torch.eye(root.shape[-1], dtype=torch.float64)

    def solved(root: Any, *x: Any) -> Any:
        given = dict(zip(p, x, strict=True))
        return solve_system(root @ root.mT + eye, **given, model=model, tolerance=1e-13)

    tensors = [x.clone().requires_grad_() for x in (root, *p.values())]
    first = solved(*tensors)
    first.result.raise_if_failed()
    masks = first.result.vjp(velocity=np.ones(first.velocity.shape))
    weight = torch.as_tensor(masks.smooth & (masks.margin > 1e-3)).double()
    assert weight.sum() >= 2

    def weighted(*x: Any) -> Any:
        s = solved(*x)
        return weight[:, None] * s.velocity, weight[:, None, None] * s.impulse

    assert torch.autograd.gradcheck(weighted, tensors, eps=1e-6, atol=1e-5, rtol=1e-4)
    gradient = torch.autograd.grad(first.velocity.sum(), tensors[0], create_graph=True)[0]
    with pytest.raises(cl.OptionError, match="second derivatives of contact problems of mechanisms"):
        torch.autograd.grad(gradient.sum(), tensors[0])
    with pytest.raises(cl.OptionError, match=r"friction: is torch\.int64"):
        solve_system(root @ root.mT, **{**p, "friction": torch.ones((4, 2), dtype=torch.int64)})


def smooth_worlds(steps: int) -> tuple[contact.Simulation, list[Any], Any]:
    """Worlds of bodies on the ground in which no mode changes in some steps, of which some have contacts."""
    sim, state, force = moving_on_ground(40)
    r = sim.run(*state, quat="wxyz", steps=steps, force=force, tape=True)
    apart = r.smooth.all(axis=0) & (r.margin.min(axis=0) > 1e-2)
    touching = apart & (r.contact_count.min(axis=0) > 0)
    assert touching.sum() >= 2
    chosen = np.flatnonzero(touching)[:2]
    return sim, [x[chosen] for x in state], force[chosen]


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_gradcheck_of_step(order: Any) -> None:
    """gradcheck in double of a step with contacts, by the state, whose quaternions are not unit, and the force."""
    sim, state, force = smooth_worlds(3)
    if order == "xyzw":
        state[1] = state[1][..., [1, 2, 3, 0]]
    tensors = [torch.tensor(x, requires_grad=True) for x in (*state, force)]
    assert torch.autograd.gradcheck(
        lambda *x: step(sim, x[:4], x[4], quat=order)[:4], tensors, eps=1e-6, atol=1e-5, rtol=1e-4
    )


def test_gradcheck_of_run() -> None:
    """gradcheck in double of three steps with contacts, by the state, forces of each step, and numbers of bodies."""
    sim, state, force = smooth_worlds(3)
    values = {"mass": [1.0, 2.0], "friction": [0.3, 0.2], "gravity": [0, 0, -9.81]}
    arrays = [*state, np.stack([force] * 3), *(np.array(v, np.float64) for v in values.values())]
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]

    def made(*x: Any) -> Any:
        return run(sim, x[:4], x[4], steps=3, **dict(zip(values, x[5:], strict=True)))

    r = made(*tensors)
    assert r.trajectory.contact_count.min() > 0 and r.trajectory.smooth.all()
    assert torch.autograd.gradcheck(lambda *x: made(*x)[:4], tensors, eps=1e-6, atol=1e-4, rtol=1e-4)
    g = torch.autograd.grad(r.position.sum(), tensors, create_graph=True)
    assert g[5].any() and g[6].any() and g[7].any()
    with pytest.raises(cl.OptionError, match="second derivatives of steps"):
        torch.autograd.grad(g[0].sum(), tensors[0])


def test_steps_of_a_loop() -> None:
    """Steps one after the other have the states of a run, since each begins with the impulses of the one before, and
    its gradients; a state that a caller makes begins without impulses."""
    sim, state, force = smooth_worlds(4)
    tensors = [torch.tensor(x, requires_grad=True) for x in (*state, force)]
    whole = run(sim, tensors[:4], tensors[4], steps=4)
    want = torch.autograd.grad(whole.position[-1].sum(), tensors)
    now = State(*tensors[:4])
    for k in range(4):
        now = step(sim, now, tensors[4])
        assert now.run is not None and now.run.smooth.shape == (1, 2)
        torch.testing.assert_close(now.position, whole.position[k], rtol=0, atol=1e-14)
    got = torch.autograd.grad(now.position.sum(), tensors)
    for a, b in zip(got, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)
    cold = step(sim, State(*whole.last[:4]), tensors[4])
    warm = step(sim, whole.last, tensors[4])
    torch.testing.assert_close(cold.position, warm.position, rtol=0, atol=1e-12)  # both to the tolerance


def test_step_mistakes() -> None:
    """What an operation does not have is refused by name."""
    sim, state, _ = smooth_worlds(1)
    tensors = [torch.tensor(x) for x in state]
    with pytest.raises(cl.OptionError, match="state: 3 tensors"):
        step(sim, tensors[:3])
    with pytest.raises(cl.OptionError, match=r"position: is torch\.int64"):
        step(sim, [tensors[0].to(torch.int64), *tensors[1:]])
    with pytest.raises(cl.OptionError, match="density"):
        step(sim, tensors, density=3.0)  # type: ignore[call-arg]
    with pytest.raises(cl.ArrayError, match="force"):
        step(sim, tensors, torch.zeros(3))


def test_training() -> None:
    """A policy of two layers learns to push balls that roll to a point, by gradients through contact."""
    torch.manual_seed(1)
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.1)], mass=1.0, dt=0.02, friction=0.3)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2)).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.03)
    start = 0.3 * torch.randn((8, 1, 2), dtype=torch.float64)
    at_rest = torch.zeros((8, 1, 3), dtype=torch.float64)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        up = torch.full((8, 1, 1), 0.1, dtype=torch.float64)
        still = torch.tensor([1.0, 0, 0, 0], dtype=torch.float64).expand(8, 1, 4)
        state = State(torch.cat([start, up], -1), still, at_rest, at_rest)
        for _ in range(10):
            obs = torch.cat([state.position[..., :2], state.velocity[..., :2]], -1)
            push = torch.nn.functional.pad(20 * net(obs), (0, 4))
            state = step(sim, state, push)
        loss = (state.position[..., :2] ** 2).sum() + 0.01 * (state.velocity**2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0], losses


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_gradcheck_of_parts(order: Any) -> None:
    """Runs are differentiable in the poses of parts, whose quaternions need not be unit."""
    sim, state, force = moving_on_ground(3)
    if order == "xyzw":
        state = [state[0], state[1][..., [1, 2, 3, 0]], *state[2:]]
    pose = np.zeros((sim.parts, 7))
    pose[:, 3 if order == "wxyz" else 6] = 1.3
    parts = torch.tensor(pose, requires_grad=True)
    first = [torch.tensor(x) for x in state]

    def end(x: Any) -> Any:
        r = run(sim, first, force, steps=2, quat=order, parts_pose=x)
        smooth = torch.as_tensor(r.trajectory.smooth.all(axis=0))
        return (smooth[:, None, None] * (r.position[-1] + r.spin[-1])).sum(dim=(0, 1))

    assert end(parts).abs().max() > 1e-3
    assert torch.autograd.gradcheck(end, [parts], eps=1e-7, atol=1e-4, rtol=1e-3)
    (got,) = torch.autograd.grad(end(parts).sum(), parts)
    assert got.abs().max() > 1e-3
