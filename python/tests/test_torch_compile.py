"""clearance.torch under torch.compile, torch.vmap and torch.func: one operator, the numbers of the uncompiled call."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest
from conftest import NO_TORCH, Pairs, full
from test_contact_derivatives import single
from test_derivatives import smooth
from test_sweep_derivatives import moving
from test_tape import moving as moving_on_ground

import clearance as cl

if importlib.util.find_spec("torch") is None:
    pytest.skip(NO_TORCH, allow_module_level=True)

from clearance.torch import answers, contact_time, distance, run, solve, step

torch: Any = pytest.importorskip("torch")


@pytest.fixture
def pairs() -> Pairs:
    return Pairs(smooth(), 40, spread=1.0)


def poses(p: Pairs, dtype: Any = None) -> list[Any]:
    arrays = (p.pos_a, p.quat_a, p.pos_b, p.quat_b)
    return [torch.tensor(x, dtype=dtype or torch.float64, requires_grad=True) for x in arrays]


def loss_of(engine: cl.Engine, p: Pairs, *tensors: Any, **options: Any) -> Any:
    d, _ = distance(engine, p.library, p.a, p.b, *tensors, quat="wxyz", **options)
    return (0.1 - d).clamp(min=0).square().sum()


def all_of(engine: cl.Engine, p: Pairs, *tensors: Any) -> Any:
    r = answers(engine, p.library, p.a, p.b, *tensors, quat="wxyz")
    weight = (r.smoothness == 1) & (r.status <= cl.PENETRATING)
    return (r.distance * weight).sum() + (r.normal[..., 0] * r.witness_a[..., 1] * weight).sum() + r.witness_b.sum()


@pytest.mark.parametrize("function", [loss_of, all_of])
def test_fullgraph(engine: cl.Engine, pairs: Pairs, function: Any) -> None:
    """A loss compiles without a break in the graph; the value and the gradients are those of the uncompiled call."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda *x: function(engine, pairs, *x), fullgraph=True, backend="aot_eager")
    want, got = poses(pairs), poses(pairs)
    value, other = function(engine, pairs, *want), compiled(*got)
    assert value.detach().item() > 0.01 and torch.allclose(value, other, rtol=1e-14, atol=0)
    value.backward()
    other.backward()
    for x, y in zip(want, got, strict=True):
        assert x.grad.abs().max() > 1e-4
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-12, atol=1e-14)


def test_compiled_once(engine: cl.Engine, pairs: Pairs) -> None:
    """A hundred calls with new poses compile once."""
    torch._dynamo.reset()
    count = importlib.import_module("torch._dynamo.testing").CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda *x: loss_of(engine, pairs, *x), fullgraph=True, backend=count)
    values = set()
    for k in range(100):
        tensors = poses(pairs)
        with torch.no_grad():
            tensors[0] += 0.01 * k
        loss = compiled(*tensors)
        loss.backward()
        values.add(loss.item())
    assert count.frame_count == 1 and len(values) > 90


def test_operator(engine: cl.Engine, pairs: Pairs) -> None:
    """PyTorch's own checks of an operator: schema, fake tensors, autograd, tracing."""
    tensors = [x.requires_grad_() for x in poses(pairs)]
    rows = [torch.tensor(pairs.a), torch.tensor(pairs.b)]
    values = ["double", None, None, None, None, None, None, None, None, None]
    args = (engine._key, pairs.library._key, "wxyz", *values, *rows, *tensors)
    torch.library.opcheck(torch.ops.clearance.answers, args, test_utils=("test_schema", "test_faketensor"))


def test_single_precision_and_orders(engine: cl.Engine, pairs: Pairs) -> None:
    """float32 poses have float32 gradients; quaternions of the other order the same ones, in that order."""
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda quat, *x: distance(engine, pairs.library, pairs.a, pairs.b, *x, quat=quat)[0].sum(),
        fullgraph=True,
        backend="aot_eager",
    )
    tensors = poses(pairs, torch.float32)
    compiled("wxyz", *tensors).backward()
    reordered = poses(pairs, torch.float32)
    with torch.no_grad():
        for k in (1, 3):
            reordered[k].copy_(tensors[k][:, [1, 2, 3, 0]])
    compiled("xyzw", *reordered).backward()
    assert reordered[1].grad.dtype == torch.float32
    torch.testing.assert_close(reordered[1].grad[:, [3, 0, 1, 2]], tensors[1].grad)
    torch.testing.assert_close(reordered[0].grad, tensors[0].grad)


def test_vmap_and_func(engine: cl.Engine, pairs: Pairs) -> None:
    """torch.vmap makes one batch; torch.func.grad takes the gradient of backward."""
    tensors = [x.detach() for x in poses(pairs)]

    def one(a: Any, b: Any, *x: Any) -> Any:
        return distance(engine, pairs.library, a, b, *x, quat="wxyz")[0]

    rows = torch.tensor(pairs.a), torch.tensor(pairs.b)
    want = one(*rows, *tensors)
    got = torch.vmap(one)(*rows, *tensors)
    torch.testing.assert_close(got, want, rtol=0, atol=0)
    gradient = torch.func.grad(lambda p: one(*rows, p, *tensors[1:]).sum())(tensors[0])
    leaf = tensors[0].clone().requires_grad_()
    one(*rows, leaf, *tensors[1:]).sum().backward()
    torch.testing.assert_close(gradient, leaf.grad, rtol=1e-12, atol=1e-14)
    each = torch.vmap(torch.func.grad(lambda p, a, b, *x: one(a, b, p, *x)))(tensors[0], *rows, *tensors[1:])
    torch.testing.assert_close(each, leaf.grad, rtol=1e-12, atol=1e-14)
    with pytest.raises(cl.OptionError, match="no second derivatives"):
        torch.func.jacrev(torch.func.jacrev(lambda p: one(*rows, p, *tensors[1:]).sum()))(tensors[0])


def test_refused_by_name(engine: cl.Engine, pairs: Pairs) -> None:
    tensors = [x.detach() for x in poses(pairs)]

    def call(**options: Any) -> Any:
        return torch.vmap(lambda *x: distance(engine, pairs.library, 0, 1, *x, quat="wxyz", **options)[0])(*tensors)

    with pytest.raises(cl.OptionError, match="columns: no option of a compiled graph"):
        call(columns=["gap"])
    with pytest.raises(cl.OptionError, match=r"pos_a: has the shape \[40, 2\], want \[..., 3\]"):
        torch._dynamo.reset()
        distance_of = torch.vmap(lambda p: distance(engine, pairs.library, 0, 1, p, *tensors[1:], quat="wxyz")[0])
        distance_of(tensors[0][None, :, :2])
    other = cl.Engine("cpu")
    other.close()
    with pytest.raises(cl.ClosedError, match="closed"):
        torch.vmap(lambda *x: distance(other, pairs.library, 0, 1, *x, quat="wxyz")[0])(*tensors)


def test_inductor(engine: cl.Engine, pairs: Pairs) -> None:
    """The default backend, which compiles C++."""
    full("the graph of test_fullgraph by the default backend of torch.compile")
    torch._dynamo.reset()
    compiled = torch.compile(lambda *x: loss_of(engine, pairs, *x), fullgraph=True)
    want, got = poses(pairs), poses(pairs)
    loss_of(engine, pairs, *want).backward()
    compiled(*got).backward()
    for x, y in zip(want, got, strict=True):
        np.testing.assert_allclose(y.grad, x.grad, rtol=1e-10, atol=1e-13)


def close(function: Any, inputs: list[Any]) -> None:
    """A function compiles without a break, and has the values and gradients of the uncompiled one."""
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    want = [x.clone().requires_grad_() for x in inputs]
    got = [x.clone().requires_grad_() for x in inputs]
    value, other = function(*want), compiled(*got)
    torch.testing.assert_close(other, value, rtol=1e-9, atol=1e-12)
    value.backward()
    other.backward()
    assert any(x.grad.abs().max() > 1e-4 for x in want)
    for x, y in zip(want, got, strict=True):
        assert y.grad.dtype == x.dtype
        torch.testing.assert_close(y.grad, x.grad, rtol=1e-6, atol=1e-9)


def test_problems() -> None:
    """Contact problems in a graph, with the mask that weights the loss."""
    problem = {name: torch.tensor(x) for name, x in single(6).items()}
    reals = ["mass", "velocity", "friction", "arm_a"]

    def loss(*x: Any) -> Any:
        s: Any = solve(**{**problem, **dict(zip(reals, x, strict=True))}, tolerance=1e-12)
        weight = torch.as_tensor(s.result.smoothness == 0)[:, None, None]
        return (weight * s.velocity).square().sum() + (weight * s.impulse).sum()

    close(loss, [problem[name] for name in reals])


@pytest.mark.parametrize("forces", ["one", "each"])
def test_runs(forces: str) -> None:
    """Steps and runs in a graph, as functions of states, forces and frictions."""
    sim, state, force = moving_on_ground(4)
    f = torch.tensor(np.stack([force] * 3) if forces == "each" else force)

    def loss(p: Any, q: Any, v: Any, s: Any, f: Any, mu: Any, x: Any) -> Any:
        r: Any = run(sim, (p, q, v, s), f, steps=3, every=2 if forces == "each" else 1, friction=mu, parts_pose=x)
        return r.position.square().sum() + r.last.spin.sum() + r.rotation[..., 1].sum()

    parts = torch.tensor([[0, 0, 0, 1.0, 0, 0, 0]] * sim.parts, dtype=torch.float64)
    close(loss, [*map(torch.tensor, state), f, torch.tensor([0.3, 0.2], dtype=torch.float64), parts])
    torch._dynamo.reset()
    compiled = torch.compile(lambda *x: step(sim, x[:4], x[4]), fullgraph=True, backend="aot_eager")
    after: Any = compiled(*map(torch.tensor, state), torch.tensor(force))
    r = sim.run(*state, quat="wxyz", steps=1, force=force, tape=True)
    np.testing.assert_array_equal(after.position, r.position[0])
    np.testing.assert_array_equal(after.run.margin, r.margin)
    np.testing.assert_array_equal(after.run.smoothness == 0, r.smooth)
    single_precision = compiled(*(torch.tensor(x, dtype=torch.float32) for x in (*state, force)))
    assert single_precision.position.dtype == torch.float32
    np.testing.assert_allclose(single_precision.position, r.position[0], rtol=1e-4, atol=1e-5)


def test_times(engine: cl.Engine) -> None:
    """Times of contact in a graph, weighted by their mask."""
    scene, way = moving(6, 2)

    def loss(x: Any) -> Any:
        found: Any = contact_time(engine, scene, x, quat="xyzw", reduce="world")
        mask = found[1].smoothness if torch.compiler.is_compiling() else torch.as_tensor(found[1].time_smoothness)
        return torch.where(mask == 1, found[0], torch.zeros_like(found[0])).sum()

    close(loss, [torch.tensor(way)])


def test_calls_as_operators() -> None:
    """PyTorch's own checks of the operator of a run; there is no second derivative."""
    sim, state, force = moving_on_ground(2)
    torch._dynamo.reset()
    calls: Any = importlib.import_module("clearance._torch_calls")
    seen: list[Any] = []
    plain = calls._operator

    def noted(args: Any, number: int) -> Any:
        seen.append((args, number))
        return plain(args, number)

    calls._operator = noted
    try:
        inputs = [torch.tensor(x, requires_grad=True) for x in (*state, force)]
        out = calls.stepped(sim, inputs[:4], inputs[4], 2, "wxyz", "discrete", {})[0]
    finally:
        calls._operator = plain
    torch.library.opcheck(plain, seen[0], test_utils=("test_schema", "test_faketensor"))
    gradient = torch.autograd.grad(out[0].sum(), inputs[4], create_graph=True)[0]
    with pytest.raises(cl.OptionError, match="no second derivatives"):
        gradient.sum().backward()
