"""Derivatives of the set-ups of learning_setups.py by the simulators that others have, each in its own way.

    Nimble      the derivative of its linear complementarity problem, by nimblephysics.timestep in PyTorch
    MuJoCo      mjd_transitionFD at each step, multiplied backwards; and central differences of the whole run
    MJX         jax.grad through its steps, and jax.jacfwd where that fails
    Brax        jax.grad through its pipelines: generalized, spring, positional
    Newton      its tape (Warp) through SolverSemiImplicit and SolverXPBD

Each is imported when it is needed, so absent ones are told from those that fail. Compliant simulators take the
stiffness of Zhong et al., 1e4 N/m for a mass of 1 kg, with the damping that gives the restitution.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from learning_setups import Setup

STIFFNESS: Final = 1e4  # customized_kn of Zhong et al.


@dataclass
class Answer:
    """The cost and its derivatives, and seconds of CPU time for a step and world, forwards and backwards."""

    cost: float
    x0: Any
    v0: Any
    u0: Any
    seconds: float
    note: str = ""


Method = Callable[[Setup], Answer]


def _damping(restitution: float) -> float:
    """ζ of a spring that returns a body with the restitution: e = exp(-πζ/√(1 - ζ²))."""
    e = abs(math.log(restitution)) / math.pi
    return e / math.sqrt(1 + e * e)


def in_nimble(s: Setup) -> Answer:
    """Reverse-mode through nimblephysics.timestep."""
    nimble, torch = importlib.import_module("nimblephysics"), importlib.import_module("torch")

    world = nimble.simulation.World()
    world.setGravity([0, s.gravity, 0])
    world.setTimeStep(s.dt)
    for _ in s.position:
        ball = nimble.dynamics.Skeleton()
        _, body = ball.createTranslationalJoint2DAndBodyNodePair()
        body.createShapeNode(nimble.dynamics.SphereShape(s.radius)).createCollisionAspect()
        body.setFrictionCoeff(0.0)
        body.setRestitutionCoeff(s.restitution)
        body.setMass(1)
        world.addSkeleton(ball)
    for n0, n1, d in s.planes:
        wall = nimble.dynamics.Skeleton()
        joint, body = wall.createWeldJointAndBodyNodePair()
        offset = nimble.math.Isometry3()
        offset.set_translation([n0 * (d - 0.5), n1 * (d - 0.5), 0])
        joint.setTransformFromParentBodyNode(offset)
        size = [1.0 if abs(n0) > 0.5 else 10.0, 1.0 if abs(n1) > 0.5 else 10.0, 5.0]
        body.createShapeNode(nimble.dynamics.BoxShape(size)).createCollisionAspect()
        body.setFrictionCoeff(0.0)
        body.setRestitutionCoeff(1.0)
        world.addSkeleton(wall)
    n = len(s.position)
    torch.set_num_threads(1)

    def run() -> tuple[Any, Any, Any]:
        start = torch.tensor(np.concatenate([s.position.ravel(), s.velocity.ravel()]), requires_grad=True)
        push = torch.zeros((s.steps, 2 * n), dtype=torch.float64)
        push[:, 0], push[:, 1] = s.force
        push.requires_grad = True
        state = start
        for k in range(s.steps):
            state = nimble.timestep(world, state, push[k])
        cost = s.cost(state[: 2 * n].reshape(n, 2))
        cost.backward()
        return cost, start.grad.numpy(), push.grad.numpy()[0, :2]

    run()
    began = time.process_time()
    cost, g, u = run()
    spent = (time.process_time() - began) / s.steps
    total = cost.item() + s.running * float(np.dot(s.force, s.force))
    return Answer(total, g[: 2 * n].reshape(n, 2), g[2 * n :].reshape(n, 2), u + s.running_slope(), spent)


def mujoco_xml(s: Setup, pyramid: bool = False) -> str:
    """A model of the set-up, in the plane of x and y. Without friction both cones are the same, but MJX and Brax have
    one without the other."""
    zeta, k = _damping(s.restitution), STIFFNESS
    ref = f'solref="-{k} -{2 * zeta * math.sqrt(k)}" solimp="0.9999 0.9999 0.001" condim="1"'

    def up(a: float, b: float) -> str:
        return f"{a} {b} 0"

    planes = "".join(
        f'<geom type="plane" size="20 20 1" pos="{up(n0 * d, n1 * d)}" zaxis="{up(n0, n1)}" {ref}/>'
        for n0, n1, d in s.planes
    )
    bodies = "".join(
        f'<body pos="{up(x, y)}"><joint name="x{i}" type="slide" axis="1 0 0"/>'
        f'<joint name="y{i}" type="slide" axis="{up(0, 1)}"/>'
        f'<geom type="sphere" size="{s.radius}" mass="1" {ref}/></body>'
        for i, (x, y) in enumerate(s.position)
    )
    cone = "pyramidal" if pyramid else "elliptic"
    return (
        f'<mujoco><option timestep="{s.dt}" gravity="{up(0, s.gravity)}" cone="{cone}" tolerance="1e-12"/>'
        f"<worldbody>{planes}{bodies}</worldbody>"
        '<actuator><motor joint="x0"/><motor joint="y0"/></actuator></mujoco>'
    )


def _mujoco_state(s: Setup) -> tuple[Any, Any, Any]:
    import mujoco

    m = mujoco.MjModel.from_xml_string(mujoco_xml(s))
    d = mujoco.MjData(m)
    d.qvel[:] = s.velocity.ravel()
    d.ctrl[:] = s.force
    return mujoco, m, d


def mujoco_transition(s: Setup) -> Answer:
    """mjd_transitionFD, centred, ε = 1e-6, at each step; the products are taken backwards."""
    mujoco, m, d = _mujoco_state(s)
    n = len(s.position)
    began = time.process_time()
    steps = []
    for _ in range(s.steps):
        a, b = np.zeros((4 * n, 4 * n)), np.zeros((4 * n, 2))
        mujoco.mjd_transitionFD(m, d, 1e-6, True, a, b, None, None)
        mujoco.mj_step(m, d)
        steps.append((a, b))
    at = s.position + d.qpos.reshape(n, 2)
    g = np.concatenate([s.slope(at).ravel(), np.zeros(2 * n)])
    for a, b in reversed(steps):
        u = b.T @ g
        g = a.T @ g
    spent = (time.process_time() - began) / s.steps
    total = float(s.cost(at)) + s.running * float(np.dot(s.force, s.force))
    return Answer(total, g[: 2 * n].reshape(n, 2), g[2 * n :].reshape(n, 2), u + s.running_slope(), spent)


def mujoco_run(s: Setup) -> Answer:
    """Central differences of the whole run, by 1e-6: the true derivative of MuJoCo's softer motion."""
    mujoco, m, d = _mujoco_state(s)
    n = len(s.position)

    def at(z: Any) -> float:
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:] = z[: 2 * n], z[2 * n : 4 * n] + s.velocity.ravel()
        for k in range(s.steps):
            d.ctrl[:] = np.asarray(s.force) + (z[4 * n :] if k == 0 else 0)
            mujoco.mj_step(m, d)
        return float(s.cost(s.position + d.qpos.reshape(n, 2)))

    began = time.process_time()
    g = np.array([(at(1e-6 * e) - at(-1e-6 * e)) / 2e-6 for e in np.eye(4 * n + 2)])
    spent = (time.process_time() - began) / s.steps
    total = at(np.zeros(4 * n + 2)) + s.running * float(np.dot(s.force, s.force))
    x0, v0 = g[: 2 * n].reshape(n, 2), g[2 * n : 4 * n].reshape(n, 2)
    return Answer(total, x0, v0, g[4 * n :] + s.running_slope(), spent)


def in_mjx(s: Setup) -> Answer:
    """jax.grad through MJX, else jax.jacfwd; double precision."""
    import mujoco

    jax = importlib.import_module("jax")
    mjx = importlib.import_module("mujoco.mjx")

    jax.config.update("jax_enable_x64", True)
    model = mjx.put_model(mujoco.MjModel.from_xml_string(mujoco_xml(s, pyramid=True)))
    data = mjx.make_data(model)
    n = len(s.position)

    def cost(z: Any) -> Any:
        d = data.replace(qpos=z[: 2 * n], qvel=z[2 * n : 4 * n] + s.velocity.ravel())
        d = mjx.step(model, d.replace(ctrl=z[4 * n :] + np.asarray(s.force)))
        d = d.replace(ctrl=jax.numpy.asarray(s.force))
        d, _ = jax.lax.scan(lambda d, _: (mjx.step(model, d), None), d, None, length=s.steps - 1)
        return s.cost(s.position + d.qpos.reshape(n, 2))

    note, z = "jax.grad", jax.numpy.zeros(4 * n + 2)
    try:
        f = jax.jit(jax.grad(cost))
        g = np.asarray(f(z))
    except ValueError as e:
        note = f"jax.jacfwd; jax.grad: {str(e).splitlines()[0][:90]}"
        f = jax.jit(jax.jacfwd(cost))
        g = np.asarray(f(z))
    began = time.process_time()
    f(z).block_until_ready()
    spent = (time.process_time() - began) / s.steps
    total = float(jax.jit(cost)(z)) + s.running * float(np.dot(s.force, s.force))
    x0, v0 = g[: 2 * n].reshape(n, 2), g[2 * n : 4 * n].reshape(n, 2)
    return Answer(total, x0, v0, g[4 * n :] + s.running_slope(), spent, note)


def in_brax(s: Setup, pipeline: str) -> Answer:
    """jax.grad through a pipeline of Brax; double precision."""
    jax = importlib.import_module("jax")
    mjcf = importlib.import_module("brax.io.mjcf")
    engine = importlib.import_module(f"brax.{pipeline}.pipeline")
    jax.config.update("jax_enable_x64", True)
    system = mjcf.loads(mujoco_xml(s, pyramid=True))
    system = system.replace(elasticity=jax.numpy.full(np.shape(system.elasticity), s.restitution))
    n = len(s.position)

    def cost(z: Any) -> Any:
        state = engine.init(system, z[: 2 * n], z[2 * n : 4 * n] + s.velocity.ravel())
        state = engine.step(system, state, z[4 * n :] + np.asarray(s.force))
        force = jax.numpy.asarray(s.force)
        state, _ = jax.lax.scan(lambda t, _: (engine.step(system, t, force), None), state, None, length=s.steps - 1)
        return s.cost(s.position + state.q.reshape(n, 2))

    z = jax.numpy.zeros(4 * n + 2)
    f = jax.jit(jax.value_and_grad(cost))
    jax.block_until_ready(f(z))
    began = time.process_time()
    value, g = jax.block_until_ready(f(z))
    spent = (time.process_time() - began) / s.steps
    g = np.asarray(g)
    total = float(value) + s.running * float(np.dot(s.force, s.force))
    x0, v0 = g[: 2 * n].reshape(n, 2), g[2 * n : 4 * n].reshape(n, 2)
    return Answer(total, x0, v0, g[4 * n :] + s.running_slope(), spent)


def in_newton(s: Setup, solver: str) -> Answer:
    """A tape of Warp through Newton's steps, with its own collisions, on the CPU."""
    newton, wp = importlib.import_module("newton"), importlib.import_module("warp")
    wp.config.quiet = True
    builder = newton.ModelBuilder(gravity=(0.0, s.gravity, 0.0), up_axis=newton.Axis.Y)
    e = _damping(s.restitution)
    about = newton.ModelBuilder.ShapeConfig(
        ke=STIFFNESS, kd=2 * e * math.sqrt(STIFFNESS), kf=0.0, mu=0.0, restitution=s.restitution, density=0.0
    )
    for x, y in s.position:
        inertia = 0.4 * s.radius**2
        body = builder.add_body(
            xform=wp.transform((x, y, 0.0), wp.quat_identity()), mass=1.0,
            inertia=wp.mat33(inertia, 0, 0, 0, inertia, 0, 0, 0, inertia),
        )  # fmt: skip
        builder.add_shape_sphere(body, radius=s.radius, cfg=about)
    for n0, n1, d in s.planes:
        builder.add_shape_plane(plane=(n0, n1, 0.0, -d), width=0.0, length=0.0, cfg=about)
    with wp.ScopedDevice("cpu"):
        model = builder.finalize(requires_grad=True)
        kind = getattr(newton.solvers, solver)
        engine = kind(model, enable_restitution=True) if solver == "SolverXPBD" else kind(model)
        pipeline = newton.CollisionPipeline(model, requires_grad=True)
        n, control = len(s.position), model.control()

        def run() -> tuple[Any, Any, float]:
            states = [model.state(requires_grad=True) for _ in range(s.steps + 1)]
            found = [pipeline.contacts() for _ in range(s.steps)]
            states[0].body_qd.assign(np.array([[*v, 0, 0, 0, 0] for v in s.velocity], np.float32))
            for state in states[:-1]:
                state.body_f.assign(np.array([[*s.force, 0, 0, 0, 0]] + [[0] * 6] * (n - 1), np.float32))
            began = time.process_time()
            tape = wp.Tape()
            with tape:
                for before, after, contacts in zip(states[:-1], states[1:], found, strict=True):
                    pipeline.collide(before, contacts)
                    engine.step(before, after, control, contacts, s.dt)
            at = states[-1].body_q.numpy()[:, :2]
            seed = np.zeros((n, 7), np.float32)
            seed[:, :2] = s.slope(at)
            tape.backward(grads={states[-1].body_q: wp.array(seed, dtype=wp.transform)})
            spent = (time.process_time() - began) / s.steps
            return at, [a.grad.numpy() for a in (states[0].body_q, states[0].body_qd, states[0].body_f)], spent

        run()
        at, (x0, v0, f0), spent = run()
    total = float(s.cost(at)) + s.running * float(np.dot(s.force, s.force))
    return Answer(total, x0[:, :2], v0[:, :2], f0[0, :2] + s.running_slope(), spent, "single precision")


METHODS: Final[dict[str, tuple[str, Method]]] = {
    "Nimble": ("nimblephysics", in_nimble),
    "MuJoCo, mjd_transitionFD": ("mujoco", mujoco_transition),
    "MuJoCo, differences of the run": ("mujoco", mujoco_run),
    "MJX": ("mujoco-mjx", in_mjx),
    "Brax, generalized": ("brax", lambda s: in_brax(s, "generalized")),
    "Brax, spring": ("brax", lambda s: in_brax(s, "spring")),
    "Brax, positional": ("brax", lambda s: in_brax(s, "positional")),
    "Newton, SolverSemiImplicit": ("newton", lambda s: in_newton(s, "SolverSemiImplicit")),
    "Newton, SolverXPBD": ("newton", lambda s: in_newton(s, "SolverXPBD")),
}


def version(package: str, python: str) -> str:
    """The version of a package for an interpreter, or "" where it is not installed."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()
