"""docs/support-learning.md is written from what runs here: which gradients each way of calling has, and that they are
those of the library. CLEARANCE_UPDATE=1 writes the page anew."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import NO_TORCH, ROOT, Pairs, full
from test_contact_derivatives import EXACT, single
from test_derivatives import smooth
from test_sweep_derivatives import moving
from test_systems import problems
from test_tape import moving as moving_on_ground

import clearance as cl
from clearance import contact

PAGE = ROOT / "docs/support-learning.md"
WAYS = ("NumPy", "PyTorch", "torch.compile", "JAX", "jax.jit", "jax.vmap")

if importlib.util.find_spec("torch") is None:
    pytest.skip(NO_TORCH, allow_module_level=True)
torch: Any = pytest.importorskip("torch")
jax: Any = pytest.importorskip("jax", reason="JAX is not installed: pip install jax to run these tests")

from clearance import jax as on_jax  # noqa: E402
from clearance import torch as on_torch  # noqa: E402

# A scalar of an array in a module (clearance.torch or clearance.jax), None where modules have none; the array, and the
# gradient by the library itself.
Row = tuple[Callable[[Any, Any], Any] | None, Any, Any]


def rows(engine: cl.Engine) -> dict[str, Row]:
    """The rows of the table: what is called, and by what the gradient is."""
    p = Pairs(smooth(), 6, spread=1.0)
    rest = (p.quat_a, p.pos_b, p.quat_b)
    d = engine.distance(*p.arrays(), quat="wxyz", precision="double", grad=True)
    scene, way = moving(6, 2)
    sweep = engine.sweep(scene, way, quat="xyzw", grad=True)
    kept = np.where(sweep.differentiable, 1.0, 0.0)
    problem = single(4)
    solved = contact.solve(**problem, **EXACT, grad=True)
    others = {name: x for name, x in problem.items() if name != "velocity"}
    sim, state, force = moving_on_ground(3)
    mass, mu = np.array([1.0, 2.0]), np.array([0.3, 0.2])
    parts = np.tile([0, 0, 0, 1.0, 0, 0, 0], (2, 1))
    step = sim.run(*state, quat="wxyz", steps=1, force=force, tape=True).vjp(position=1.0)
    run = sim.run(*state, quat="wxyz", steps=3, force=force, tape=True).vjp(position=1.0)
    late = sim.run(*state, quat="wxyz", steps=3, force=force, tape=True).vjp(position=1.0, impacts="time_of_impact")
    by_parts = np.concatenate([run.parts_pose[..., :3], np.zeros((3, 2, 1)), 2 * run.parts_pose[..., 3:]], axis=-1)
    system = problems(1)
    dense = contact.solve_system(**system, tolerance=1e-12)

    def of_runs(**options: Any) -> Callable[[Any, Any], Any]:
        def total(m: Any, x: Any) -> Any:
            given = {name: x if value is None else value for name, value in options.items()}
            pushed = given.pop("force", force)
            r = m.run(sim, state if m is on_jax else list(map(torch.as_tensor, state)), pushed, steps=3, **given)
            return r.position.sum()

        return total

    def once(m: Any, x: Any) -> Any:
        return m.step(sim, state if m is on_jax else list(map(torch.as_tensor, state)), x).position.sum()

    def times(m: Any, x: Any) -> Any:
        found = m.contact_time(engine, scene, x, quat="xyzw")
        time = found.time if m is on_jax else found[0]
        return (m_where(m, kept, time)).sum()

    def distances(m: Any, x: Any) -> Any:
        found = m.answers(engine, p.library, p.a, p.b, x, *rest, quat="wxyz")
        return found.distance.sum()

    return {
        "distance: positions": (distances, p.pos_a, d.vjp(distance=1.0, wrt="poses").pos_a),
        "time of contact: way points": (times, way, sweep.vjp(time=kept, wrt="poses")),
        "solve: velocities": (
            lambda m, x: m.solve(velocity=x, **others, **EXACT).velocity.sum(),
            problem["velocity"],
            solved.vjp(velocity=1.0).velocity,
        ),
        "step: forces": (once, force, step.force),
        "run: forces": (of_runs(force=None), force, run.force),
        "run: masses": (of_runs(mass=None), mass, run.mass.sum(axis=0)),
        "run: frictions": (of_runs(friction=None), mu, run.friction.sum(axis=0)),
        "run: poses of parts": (of_runs(parts_pose=None), parts, by_parts.sum(axis=0)),
        "run, by the time of impact: forces": (of_runs(force=None, impacts="time_of_impact"), force, late.force),
        "system: velocities": (None, system["velocity"], dense.vjp(velocity=1.0).velocity),
    }


def m_where(m: Any, kept: Any, time: Any) -> Any:
    """Times that have a derivative, without the NaN of the others."""
    if m is on_jax:
        return jax.numpy.where(kept > 0, time, 0)
    return torch.where(torch.as_tensor(kept > 0), time, torch.zeros_like(time))


def gradient(way: str, f: Callable[[Any, Any], Any], x: Any) -> Any:
    """The gradient in one way of calling; under vmap of two equal arrays, the first."""
    if way in ("PyTorch", "torch.compile"):
        torch._dynamo.reset()
        leaf = torch.tensor(x, requires_grad=True)

        def scalar(y: Any) -> Any:
            return f(on_torch, y)

        if way == "torch.compile":
            scalar = torch.compile(scalar, fullgraph=True, backend="aot_eager")
        scalar(leaf).backward()
        return leaf.grad.numpy()
    by = jax.grad(lambda y: f(on_jax, y))
    if way == "jax.vmap":
        return np.asarray(jax.vmap(by)(np.stack([x, x])))[1]
    return np.asarray((jax.jit(by) if way == "jax.jit" else by)(x))


def test_support_matrix(engine: cl.Engine) -> None:
    """Every gradient is that of the library, to 1e-9 of the largest, and the page says so."""
    full("test_torch, test_torch_compile and test_jax compare the same gradients")
    jax.config.update("jax_enable_x64", True)
    try:
        lines = [
            "# Gradients by language",
            "",
            "Written by python/tests/test_support.py from what it ran; do not edit. To write it anew, in `python/`:",
            "",
            "    CLEARANCE_TESTS=all CLEARANCE_UPDATE=1 python -m pytest tests/test_support.py",
            "",
            "✓: the gradient in double precision is that of the library (column NumPy, `vjp` of the result) to 1e-9 of",
            "its largest number; –: there is no such function. On the CPU; `torch.compile` with `fullgraph=True`.",
            "",
            f"| function: by | {' | '.join(WAYS)} |",
            f"|---|{'---|' * len(WAYS)}",
        ]
        for name, (f, x, want) in rows(engine).items():
            assert np.abs(want).max() > 1e-6, name
            cells = ["✓"]
            for way in WAYS[1:]:
                if f is None:
                    cells.append("–")
                    continue
                np.testing.assert_allclose(
                    gradient(way, f, x), want, rtol=0, atol=1e-9 * np.abs(want).max(), err_msg=f"{name}, {way}"
                )
                cells.append("✓")
            lines.append(f"| {name} | {' | '.join(cells)} |")
    finally:
        jax.config.update("jax_enable_x64", False)
    text = "\n".join(lines) + "\n"
    if os.environ.get("CLEARANCE_UPDATE"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "run it with CLEARANCE_UPDATE=1"
