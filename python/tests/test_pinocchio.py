"""Steps of robots: closed forms, gradients against central differences, batches, and what is refused.

Robots are those of example-robot-data. Central differences have an error of h² times the third derivative, which grows
with 1/Δt by q, and of the tolerance of the contact problem over h: so the steps are 1e-7 by q, 1e-6 by v and 1e-4 by τ.
Gradients are compared relative to the largest number of each.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import contact

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install pin to run this test")
coal = pytest.importorskip("coal")

from clearance.pinocchio import Result, Step, load  # noqa: E402

SOLO = "solo_description/robots/solo12.urdf", "solo_description/srdf/solo.srdf"
TALOS = "talos_data/robots/talos_reduced.urdf", "talos_data/srdf/talos.srdf"
PANDA = "panda_description/urdf/panda.urdf", "panda_description/srdf/panda.srdf"


def robot(name: tuple[str, str], base: Any = None) -> tuple[Any, Any]:
    """A model with its geometry and the pairs that its SRDF leaves."""
    urdf, srdf = name
    try:
        listed = files("example-robot-data") or []
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed: pip install example-robot-data to run this test")
    path = next(Path(str(p.locate())) for p in listed if str(p).endswith(urdf)).resolve()
    folder = path.parents[len(Path(urdf).parts) - 1]
    model = pin.buildModelFromUrdf(str(path), base) if base is not None else pin.buildModelFromUrdf(str(path))
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.COLLISION, package_dirs=[str(folder.parents[1])])
    geometry.addAllCollisionPairs()
    pin.removeCollisionPairs(model, geometry, str(folder / srdf))
    pin.loadReferenceConfigurations(model, str(folder / srdf))
    return model, geometry


def without(geometry: Any, step: Step, found: Result) -> Any:
    """The geometry without the pairs that are in contact: hulls of links may overlap where the meshes do not."""
    touching = {tuple(step.names[i] for i in step.pairs[k]) for k in found.pair[found.pair >= 0]}
    out = pin.GeometryModel(geometry)
    out.removeAllCollisionPairs()
    for p in geometry.collisionPairs:
        if tuple(geometry.geometryObjects[i].name for i in (p.first, p.second)) not in touching:
            out.addCollisionPair(p)
    return out


def on_ground(step: Step, q: Any, gap: float) -> Any:
    """A configuration of a free flyer whose lowest point is at z = gap."""
    reach = Step(step.model, step_geometry(step), step.dt, max_gap=2.0)
    r = reach(q, np.zeros(step.model.nv))
    q = q.copy()
    q[2] += gap - r.gap[r.pair >= 0].min()
    return q


def step_geometry(step: Step) -> Any:
    """The geometry that a test made a step of, without its pairs."""
    bare = pin.GeometryModel(step.source)  # type: ignore[attr-defined]
    bare.removeAllCollisionPairs()
    return bare


def made(model: Any, geometry: Any, **options: Any) -> Step:
    """A step whose contact problems are solved as well as differences of it need."""
    step = Step(model, geometry, tolerance=1e-12, **options)
    step.source = geometry  # type: ignore[attr-defined]
    return step


def differences(step: Step, q: Any, v: Any, tau: Any, seed: int) -> tuple[Result, list[float]]:
    """A step, and the errors of its gradients by q, v and τ against central differences, all in one batch, relative
    to the largest entry of each."""
    model, rng = step.model, np.random.default_rng(seed)
    nv = model.nv
    q_bar, v_bar = rng.normal(size=nv), rng.normal(size=nv)
    r = step(q, v, tau)
    r.raise_if_failed()
    g = r.vjp(q=q_bar[None], v=v_bar[None])
    errors = []
    for name, h, moves in (("q", 1e-7, (1, 0, 0)), ("v", 1e-6, (0, 1, 0)), ("tau", 1e-4, (0, 0, 1))):
        offsets = h * np.concatenate([np.eye(nv), -np.eye(nv)])
        dq, dv, dt = (k * offsets for k in moves)
        near = step(np.array([pin.integrate(model, q, d) for d in dq]), v + dv, tau + dt)
        near.raise_if_failed()
        values = np.array([pin.difference(model, r.q[0], x) for x in near.q]) @ q_bar + near.v @ v_bar
        want = (values[:nv] - values[nv:]) / (2 * h)
        errors.append(float(np.abs(getattr(g, name)[0] - want).max() / np.abs(want).max()))
    return r, errors


def ball(*joints: Any) -> tuple[Any, Any]:
    """A ball of 0.1 m that hangs on the joints."""
    model, at = pin.Model(), 0
    for i, joint in enumerate(joints):
        at = model.addJoint(at, joint, pin.SE3.Identity(), f"joint{i}")
    model.appendBodyToJoint(at, pin.Inertia(2.0, np.zeros(3), 0.008 * np.eye(3)), pin.SE3.Identity())
    geometry = pin.GeometryModel()
    geometry.addGeometryObject(pin.GeometryObject("ball", at, 0, pin.SE3.Identity(), coal.Sphere(0.1)))
    return model, geometry


def test_pendulum() -> None:
    """A point mass at a length l: v⁺ = v + Δt(τ/ml² - g/l·sin q), q⁺ = q + Δt·v⁺, with their derivatives."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    mass, length, dt = 1.5, 0.7, 1e-2
    model.appendBodyToJoint(joint, pin.Inertia(mass, np.array([0, 0, -length]), np.zeros((3, 3))), pin.SE3.Identity())
    q, v, tau = np.array([[0.4], [-1.1]]), np.array([[0.3], [2.0]]), np.array([[0.1], [-0.5]])
    r = Step(model, dt=dt)(q, v, tau)
    want = v + dt * (tau / (mass * length**2) - 9.81 / length * np.sin(q))
    np.testing.assert_allclose(r.v, want, rtol=1e-14)
    np.testing.assert_allclose(r.q, q + dt * want, rtol=1e-14)
    g = r.vjp(q=np.ones((2, 1)), v=np.full((2, 1), 3.0))
    total = 3.0 + dt
    np.testing.assert_allclose(g.q, 1 - total * dt * 9.81 / length * np.cos(q), rtol=1e-13)
    np.testing.assert_allclose(g.v, np.full((2, 1), total), rtol=1e-13)
    np.testing.assert_allclose(g.tau, np.full((2, 1), total * dt / (mass * length**2)), rtol=1e-13)


@pytest.mark.parametrize("model_name", contact.MODELS)
def test_ball_is_that_of_simulations(model_name: Any) -> None:
    """Steps of a ball that slides and spins on the ground have the state of contact.Simulation. Its root is a
    translation and a spherical joint, whose velocities are those of a free body; the angular one is in its frame."""
    model, geometry = ball(pin.JointModelTranslation(), pin.JointModelSpherical())
    dt, friction = 5e-3, 0.4
    step = Step(model, geometry, dt, friction=friction, contact_model=model_name, compliance=0, max_gap=0.02)
    lib = cl.Library()
    sim = contact.Simulation(
        lib, [lib.sphere(0.1)], mass=2.0, inertia=[[0.008, 0.008, 0.008, 0, 0, 0]], center=[[0, 0, 0]], dt=dt,
        model=model_name, friction=friction, restitution=0.0, tolerance=1e-9, max_gap=0.02,
    )  # fmt: skip
    level, velocity, spin = 0.101, np.array([0.8, -0.3, -0.4]), np.array([2.0, 1.0, -3.0])
    run = sim.run([[[0, 0, level]]], [[[1, 0, 0, 0]]], [[velocity]], [[spin]], steps=40, quat="wxyz")
    run.raise_if_failed()
    q, v = np.array([[0, 0, level, 0, 0, 0, 1.0]]), np.concatenate([velocity, spin])[None]
    for k in range(40):
        r = step(q, v)
        r.raise_if_failed()
        q, v = r.q, r.v
        rotation = pin.XYZQUATToSE3(q[0]).rotation
        np.testing.assert_allclose(q[0, :3], run.position[k, 0, 0], atol=1e-9)
        np.testing.assert_allclose(v[0, :3], run.velocity[k, 0, 0], atol=1e-7)
        np.testing.assert_allclose(rotation @ v[0, 3:], run.spin[k, 0, 0], atol=1e-6)
    assert r.count[0] == 1 and r.impulse[0, 0, 2] > 0


def test_ball_gradients() -> None:
    """A ball as a free flyer: apart, sticking, sliding and in penetration, with a center of mass of its own."""
    model, geometry = ball(pin.JointModelFreeFlyer())
    model.inertias[1] = pin.Inertia(1.3, np.array([0.01, 0.02, -0.03]), np.diag([0.02, 0.03, 0.04]))
    step = Step(model, geometry, 1e-2, friction=0.5)
    start = pin.integrate(model, pin.neutral(model), np.array([0, 0, 0, 0.3, 0.2, -0.4]))
    fast, slow = np.array([0.3, 0.1, -1.0, 0.5, 0.2, 0.3]), np.array([0.003, 0.001, -1.0, 0.005, 0.002, 0.003])
    for level, v, contacts in ((0.3, fast, 0), (0.102, fast, 1), (0.102, slow, 1), (0.0995, fast, 1)):
        q = start.copy()
        q[2] = level
        r, errors = differences(step, q, v, np.zeros(6), 0)
        assert r.count[0] == contacts
        assert max(errors) < 1e-7, (level, errors)


def test_friction_gradient() -> None:
    """The gradient by the friction of a ball that slides, as a number and by pairs."""
    model, geometry = ball(pin.JointModelTranslation())
    q, v = np.array([[0, 0, 0.1]]), np.array([[1.0, 0.5, -0.1]])
    bar = np.array([[0.3, -0.2, 0.7]])

    def value(mu: float) -> float:
        return float((Step(model, geometry, 1e-2, friction=mu)(q, v).v * bar).sum())

    g = Step(model, geometry, 1e-2, friction=0.3)(q, v).vjp(v=bar)
    want = (value(0.3 + 1e-6) - value(0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(g.friction, [want], rtol=1e-7)
    pairs = Step(model, geometry, 1e-2, friction=[0.3])(q, v).vjp(v=bar)
    np.testing.assert_array_equal(pairs.friction, [g.friction])


def test_solo_gradients() -> None:
    """Solo-12 in the air, on its legs, and with one that slides."""
    model, geometry = robot(SOLO, pin.JointModelFreeFlyer())
    q, rest = np.array(model.referenceConfigurations["standing"]), np.zeros(18)
    first = made(model, geometry)
    step = made(model, without(geometry, first, first(q, rest)))
    rng = np.random.default_rng(3)
    tau = np.concatenate([np.zeros(6), rng.normal(size=12)])
    falling = q.copy()
    falling[2] += 0.2
    r, errors = differences(step, falling, rng.normal(size=18), tau, 1)
    assert r.count[0] == 0
    assert max(errors) < 1e-6, errors
    for speed, friction in ((0.01, 0.8), (0.3, 0.2)):
        step = made(model, step.source, friction=friction)  # type: ignore[attr-defined]
        near = pin.integrate(model, q, 1e-3 * rng.normal(size=18))
        v = speed * rng.normal(size=18)
        v[2] -= 0.2
        r, errors = differences(step, on_ground(step, near, -3e-4), v, tau, 2)
        assert np.count_nonzero(r.impulse[0, :, 2]) >= 2
        assert max(errors) < 1e-6, (speed, errors)


def test_talos_gradients() -> None:
    """Talos on both of its legs, with 38 velocities and the pairs of its links that the SRDF leaves."""
    model, geometry = robot(TALOS, pin.JointModelFreeFlyer())
    q, rest = np.array(model.referenceConfigurations["half_sitting"]), np.zeros(model.nv)
    step = made(model, geometry)
    rng = np.random.default_rng(0)
    q = on_ground(step, pin.integrate(model, q, 1e-4 * rng.normal(size=model.nv)), -2e-4)
    v = 0.02 * rng.normal(size=model.nv)
    v[2] = -0.1
    r, errors = differences(step, q, v, rest, 4)
    assert np.count_nonzero(r.impulse[0, :, 2]) >= 3
    assert max(errors) < 1e-6, errors


def test_panda_gradients() -> None:
    """The hand of Panda on a box and against a ball of the environment, of which a finger touches each."""
    model, geometry = robot(PANDA)
    q = np.array(model.referenceConfigurations["default"])
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    tips = [geometry.geometryObjects[geometry.getGeometryId(f"panda_{side}finger_0")] for side in ("left", "right")]
    places = [data.oMi[t.parentJoint] * t.placement for t in tips]
    low = min(p.translation[2] for p in places) - 0.011
    table = pin.SE3(np.eye(3), np.array([places[0].translation[0], 0, low - 0.05]))
    geometry.addGeometryObject(pin.GeometryObject("table", 0, 0, table, coal.Box(0.6, 0.6, 0.1)))
    beside = places[1].translation + places[1].rotation @ np.array([0.011 + 0.03, 0, 0])
    geometry.addGeometryObject(pin.GeometryObject("ball", 0, 0, pin.SE3(np.eye(3), beside), coal.Sphere(0.0305)))
    objects = [o.name for o in geometry.geometryObjects]
    for i, name in enumerate(objects):
        if "finger" in name or "hand" in name:
            for other in ("table", "ball"):
                geometry.addCollisionPair(pin.CollisionPair(i, objects.index(other)))
    first = made(model, geometry, ground=False)
    rng = np.random.default_rng(5)
    q = pin.integrate(model, q, 1e-4 * rng.normal(size=9))
    v = 0.01 * rng.normal(size=9)
    r, errors = differences(first, q, v, rng.normal(size=9), 6)
    touched = {first.names[first.pairs[k][1]] for k, i in zip(r.pair[0], r.impulse[0], strict=True) if i.any()}
    assert "ball" in touched
    assert max(errors) < 1e-6, errors


def test_batches_are_worlds_one_by_one() -> None:
    """Worlds of a batch have the bits that they have alone, in states and gradients, whatever is beside them."""
    model, geometry = robot(SOLO, pin.JointModelFreeFlyer())
    geometry.removeAllCollisionPairs()
    step = made(model, geometry)
    rng = np.random.default_rng(7)
    stand = on_ground(step, np.array(model.referenceConfigurations["standing"]), 0.0)
    q = np.array([pin.integrate(model, stand, 2e-3 * rng.normal(size=18)) for _ in range(5)])
    v, tau = 0.1 * rng.normal(size=(5, 18)), np.zeros((5, 18))
    q_bar, v_bar = rng.normal(size=(2, 5, 18))
    v[3, 7] = np.nan
    r = step(q, v, tau)
    g = r.vjp(q=q_bar, v=v_bar)
    assert r.status.tolist() == [0, 0, 0, 3, 0]
    assert not g.q[3].any() and g.smoothness[3] == 3
    with pytest.raises(cl.RowError, match=r"world 3: v\[3,7\] is nan"):
        r.raise_if_failed()
    for w in range(5):
        one = step(q[w], v[w], tau[w])
        same = one.vjp(q=q_bar[w : w + 1], v=v_bar[w : w + 1])
        c = one.pair.shape[1]
        np.testing.assert_array_equal(r.q[w], one.q[0])
        np.testing.assert_array_equal(r.v[w], one.v[0])
        np.testing.assert_array_equal(r.impulse[w, :c], one.impulse[0])
        for name in ("q", "v", "tau"):
            np.testing.assert_array_equal(getattr(g, name)[w], getattr(same, name)[0])


def test_bad_input_is_named() -> None:
    """What cannot be used is named: arguments by their name, worlds by their status."""
    model, geometry = ball(pin.JointModelFreeFlyer())
    step = Step(model, geometry)
    q, v = pin.neutral(model), np.zeros(6)
    with pytest.raises(cl.ArrayError, match=r"v: has the shape \[1, 5\], want \[1, 6\]"):
        step(q, v[:5])
    with pytest.raises(cl.ArrayError, match=r"q: has the shape \[2, 6\]"):
        step(np.zeros((2, 6)), np.zeros((2, 6)))
    with pytest.raises(cl.OptionError, match="dt"):
        Step(model, geometry, 0.0)
    with pytest.raises(cl.OptionError, match=r"model: a str, want a pinocchio\.Model"):
        Step("robot.urdf", geometry)
    with pytest.raises(cl.OptionError, match="geometry: a Model"):
        Step(model, model)
    with pytest.raises(cl.ArrayError, match="friction"):
        Step(model, geometry, friction=[0.1, 0.2])
    with pytest.raises(cl.ArrayError, match="friction"):
        Step(model, geometry, friction=-1.0)
    long = q.copy()
    long[3] = 1.0
    r = step(long, v)
    with pytest.raises(cl.RowError, match=r"q\[0\] has a quaternion"):
        r.raise_if_failed()
    np.testing.assert_array_equal(r.q[0], long)
    odd, shape = ball(pin.JointModelSphericalZYX())
    with pytest.raises(cl.OptionError, match="joint 'joint0' is a JointModelSphericalZYX"):
        Step(odd, shape)
    plane = pin.GeometryModel()
    plane.addGeometryObject(pin.GeometryObject("wall", 0, 0, pin.SE3.Identity(), coal.Plane(0, 0, 1, 0)))
    with pytest.raises(cl.ShapeError, match="geometry object 'wall': a Plane"):
        Step(model, plane)


def test_shapes_of_geometry_objects() -> None:
    """Every kind of geometry object is the shape that coal has: distances to a ball far away agree."""
    points = np.random.default_rng(0).normal(size=(40, 3)) * 0.1
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(0, 40)
    mesh.addVertices(points)
    mesh.endModel()
    kinds = [
        coal.Sphere(0.2), coal.Box(0.2, 0.3, 0.4), coal.Capsule(0.1, 0.4), coal.Cylinder(0.1, 0.4), coal.Cone(0.1, 0.4),
        coal.Ellipsoid(0.1, 0.2, 0.3), mesh, coal.Halfspace(np.array([0.6, 0.0, 0.8]), 0.1),
    ]  # fmt: skip
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "probe")
    model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.05), pin.SE3.Identity())
    at = pin.SE3(pin.Quaternion(np.array([0.1, 0.2, 0.3, 0.9]) / np.sqrt(0.95)).matrix(), np.array([0.1, -0.2, 0.3]))
    mesh.buildConvexHull(False, "")
    for kind in kinds:
        geometry = pin.GeometryModel()
        geometry.addGeometryObject(pin.GeometryObject("probe", joint, 0, pin.SE3.Identity(), coal.Sphere(0.05)))
        geometry.addGeometryObject(pin.GeometryObject("object", 0, 0, at, kind))
        geometry.addCollisionPair(pin.CollisionPair(1, 0))
        step = Step(model, geometry, ground=False, max_gap=5.0)
        q = pin.neutral(model)
        q[:3] = [0.7, 0.9, 1.4]
        r = step(q, np.zeros(6))
        request, answer = coal.DistanceRequest(), coal.DistanceResult()
        placed = coal.Transform3s(at.rotation, at.translation), coal.Transform3s(np.eye(3), q[:3])
        want = coal.distance(
            mesh.convex if kind is mesh else kind, placed[0], coal.Sphere(0.05), placed[1], request, answer
        )
        np.testing.assert_allclose(r.gap[0, 0], want, atol=1e-5, err_msg=str(kind))


def test_without_pinocchio() -> None:
    """Where Pinocchio is not installed the import says how to install it."""
    code = "import sys; sys.modules['pinocchio'] = None\nimport clearance.pinocchio"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: clearance.pinocchio needs Pinocchio, which is not installed: pip install pin" in done.stderr


def test_load_and_run() -> None:
    """Models are found by the names of packages, and the derivative of a run is the chain of those of its steps."""
    name = "package://example-robot-data/robots/"
    robot(SOLO)  # which skips where the package is not installed
    model, geometry = load(name + SOLO[0], name + SOLO[1], free_flyer=True)
    known, same = robot(SOLO, pin.JointModelFreeFlyer())
    assert model == known and len(geometry.collisionPairs) == len(same.collisionPairs) > 0
    alone, links = load(name + SOLO[0])
    assert alone.nq == model.nq - 7 and not len(links.collisionPairs)
    geometry.removeAllCollisionPairs()
    step = Step(model, geometry, 2e-3)
    rng, q = np.random.default_rng(0), np.tile(model.referenceConfigurations["standing"], (2, 1))
    q[:, 2] -= Step(model, geometry, max_gap=0.2)(q, np.zeros((2, model.nv))).gap.min()  # onto the ground
    v, tau = 0.1 * rng.normal(size=(2, model.nv)), rng.normal(size=(3, 2, model.nv))
    run = step.run(q, v, tau)
    bars = rng.normal(size=(2, 3, 2, model.nv))
    g = run.vjp(q=bars[0], v=bars[1])
    results: list[Result] = []
    at: Any = (q, v)
    for t in range(3):
        results.append(step(at[0], at[1], tau[t]))
        at = results[-1].q, results[-1].v
        np.testing.assert_array_equal(run.q[t], at[0])
    q_bar, v_bar = np.zeros((2, 2, model.nv))
    for t in (2, 1, 0):
        each = results[t].vjp(q=q_bar + bars[0, t], v=v_bar + bars[1, t])
        q_bar, v_bar = each.q, each.v
        np.testing.assert_array_equal(g.tau[t], each.tau)
        np.testing.assert_array_equal(g.margin[t], each.margin)
    np.testing.assert_array_equal(g.q, q_bar)
    assert repr(run) == "Run of 3 steps of 2 worlds" and (g.smoothness < 3).all()
    with pytest.raises(cl.ArrayError, match="tau: has the shape"):
        step.run(q, v, tau[0])
    with pytest.raises(cl.FileError, match=r"srdf: nowhere\.srdf is not a file"):
        load(name + SOLO[0], "nowhere.srdf")
