"""Contact problems, contact points and time steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import contact

GRAVITY, DT = 9.81, 0.01


def sliding_box(worlds: int, mu: float = 0.3, speed: float = 2.0) -> dict[str, Any]:
    """A cube of 2 kg that slides on the ground along x, after a step of gravity."""
    mass, half = 2.0, 0.1
    corners = np.array([[sx * half, sy * half, -half] for sx in (-1, 1) for sy in (-1, 1)])
    inertia = mass / 3 * 2 * half**2
    return {
        "mass": np.full((worlds, 1), mass),
        "inertia": np.tile([inertia] * 3 + [0.0] * 3, (worlds, 1, 1)),
        "velocity": np.tile([speed, 0, -GRAVITY * DT, 0, 0, 0], (worlds, 1, 1)),
        "count": np.full(worlds, 4),
        "body_a": np.full((worlds, 4), -1),
        "body_b": np.zeros((worlds, 4), int),
        "arm_a": np.zeros((worlds, 4, 3)),
        "arm_b": np.tile(corners, (worlds, 1, 1)),
        "frame": np.tile(np.eye(3), (worlds, 4, 1, 1)),
        "friction": np.full((worlds, 4), mu),
    }


def test_solve_closed_form() -> None:
    """A cube that slides is slowed by μg·dt, and its impulses carry its weight; under the ccp it is lifted by μ times
    the slip."""
    problem = sliding_box(3)
    r = contact.solve(**problem, tolerance=1e-10)
    assert r.ok.all() and (r.residual <= 1e-9).all()
    np.testing.assert_allclose(r.velocity[:, 0, 0], 2 - 0.3 * GRAVITY * DT, atol=1e-7)
    np.testing.assert_allclose(r.impulse[:, :, 2].sum(axis=1), 2 * GRAVITY * DT, atol=1e-8)
    c = contact.solve(**problem, model="ccp", bound=True, tolerance=1e-10)
    assert c.ok.all() and (c.velocity[:, 0, 2] > 0.1).all() and (c.bound < 1e-3).all()
    again = contact.solve(**problem, tolerance=1e-10, warm=r.impulse)
    assert (again.sweeps == 0).all()
    alone = contact.solve(**{k: v[:1] for k, v in problem.items()}, tolerance=1e-10)
    np.testing.assert_array_equal(alone.impulse[0], r.impulse[2])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("mass", 0.0, "body 0: mass: 0 kg"),
        ("mass", -1.0, "body 0: mass: -1 kg"),
        ("inertia", np.array([1.0, 1, 3, 0, 0, 0]), "exceeds the sum of the other two"),
        ("friction", -0.5, "friction: -0.5"),
        ("velocity", np.nan, "velocity"),
        ("body_b", 7, "body 7 is absent"),
        ("frame", np.zeros((3, 3)), "singular frame"),
        ("count", 5, "5 contacts"),
    ],
)
def test_invalid_world(name: str, value: Any, says: str) -> None:
    """A world of bad input is invalid and says why; the others are answered."""
    problem = sliding_box(3)
    array = problem[name]
    if name in ("frame", "inertia"):
        array[1, 0] = value
    else:
        array[1] = value
    r = contact.solve(**problem)
    assert r.status.tolist() == [0, 2, 0]
    assert np.isnan(r.velocity[1]).all()
    with pytest.raises(cl.RowError, match="world 1") as e:
        r.raise_if_failed()
    assert says in str(e.value)


def test_refused_arguments() -> None:
    problem = sliding_box(2)
    wrong: Any
    for wrong in ({"tolerance": 0}, {"model": "lcp"}, {"relaxation": -1}, {"workers": 0}):
        with pytest.raises(cl.OptionError, match=next(iter(wrong))):
            contact.solve(**problem, **wrong)
    with pytest.raises(cl.OptionError, match="relaxation"):
        contact.solve(**problem, relaxation=2.5)
    with pytest.raises(cl.ArrayError, match="arm_b"):
        contact.solve(**{**problem, "arm_b": np.zeros((2, 3, 3))})


def crates(count: int, **options: Any) -> tuple[contact.Simulation, Any, Any]:
    lib = cl.Library()
    box = lib.box([0.1, 0.1, 0.1])
    sim = contact.Simulation(lib, [box] * count, mass=1.0, **options)
    position = np.zeros((2, count, 3))
    position[:, :, 2] = 0.1 + 0.2 * np.arange(count)
    rotation = np.tile([1.0, 0, 0, 0], (2, count, 1))
    return sim, position, rotation


def test_stack_stands_and_ball_falls() -> None:
    sim, position, rotation = crates(3)
    r = sim.run(position, rotation, quat="wxyz", steps=40, every=20)
    assert r.step.tolist() == [20, 40] and r.ok.all()
    np.testing.assert_allclose(r.position[-1], position, atol=1e-4)
    assert (np.abs(r.energy) < 1e-4).all() and (r.contact_count == 12).all() and (r.residual < 1e-5).all()
    more = sim.run(steps=5)
    np.testing.assert_allclose(more.position[-1], position, atol=1e-4)
    fall, position, rotation = crates(1, ground=False, dt=1e-3)
    spin = np.zeros((2, 1, 3))
    spin[:, :, 2] = 2
    r = fall.run(position, rotation[..., [1, 2, 3, 0]], spin=spin, quat="xyzw", steps=100)
    np.testing.assert_allclose(r.velocity[-1, :, 0, 2], -GRAVITY * 0.1, atol=1e-12)
    np.testing.assert_allclose(r.spin[-1, :, 0], [[0, 0, 2]] * 2, atol=1e-12)
    np.testing.assert_allclose(r.rotation[-1, 0, 0], [0, 0, np.sin(0.1), np.cos(0.1)], atol=1e-9)


def test_compliant_crate_sinks() -> None:
    """By ρgΔt²/(0.1·4) more than the slop; twice ρ, twice that."""
    depth = []
    for rho in (0.02, 0.04):
        sim, position, rotation = crates(1, dt=2e-3, compliance=rho)
        position[..., 2] -= 2e-5  # about the slop
        depth.append(0.1 - sim.run(position, rotation, quat="wxyz", steps=200).position[-1, 0, 0, 2])
    assert np.diff(depth) == pytest.approx(0.02 * GRAVITY * 4e-6 / 0.4, rel=0.01)
    with pytest.raises(cl.OptionError, match="compliance"):
        crates(1, compliance=-1.0)


def test_thrown_needles_stay_above_the_ground() -> None:
    lib = cl.Library()
    half, worlds, steps = np.array([0.2, 0.01, 0.01]), 40, 60
    sim = contact.Simulation(lib, [lib.ellipsoid(half)], dt=0.01, friction=0.4)
    rng = np.random.default_rng(44)
    position = np.tile([0.0, 0, 0.5], (worlds, 1, 1))
    rotation = rng.normal(size=(worlds, 1, 4))
    rotation /= np.linalg.norm(rotation, axis=-1, keepdims=True)
    velocity, spin = rng.normal(scale=5, size=(2, worlds, 1, 3))
    r = sim.run(position, rotation, velocity=velocity, spin=10 * spin, quat="wxyz", steps=steps)
    names = np.array(contact.STEP_STATUSES)[r.status]
    assert set(np.unique(names)) == {"advanced", "advanced_in_parts"} and r.ok.all()
    np.testing.assert_array_equal(r.parts > 1, names == "advanced_in_parts")
    assert r.solves.shape == r.parts.shape == (steps, worlds) and (r.solves >= 1).all() and (r.solves > 1).any()
    # The lowest point of an ellipsoid is that of its support function.
    w, x, y, z = np.moveaxis(r.rotation[:, :, 0], -1, 0)
    row = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    lowest = r.position[:, :, 0, 2] - np.linalg.norm(row * half, axis=-1)
    assert lowest.min() > -0.01 * 0.02


def test_resumed_run_has_the_same_bits() -> None:
    sim, position, rotation = crates(3)
    position[1, 1, 0] += 0.02
    whole = sim.run(position, rotation, quat="wxyz", steps=20)
    other, _, _ = crates(3, workers=1)
    first = other.run(position, rotation, quat="wxyz", steps=8)
    second = other.run(steps=12)
    np.testing.assert_array_equal(np.concatenate([first.position, second.position]), whole.position)


def test_force_and_bad_worlds() -> None:
    sim, position, rotation = crates(1)
    force = np.zeros((2, 1, 6))
    force[0, 0, 0] = 100
    force[1, 0, 2] = np.nan
    position = np.concatenate([position, position[:1]])
    rotation = np.concatenate([rotation, rotation[:1]])
    position[2] = np.nan
    force = np.concatenate([force, force[:1]])
    r = sim.run(position, rotation, quat="wxyz", steps=4, force=force)
    assert [contact.STEP_STATUSES[s] for s in r.status[-1]] == ["advanced", "invalid", "invalid"]
    assert r.velocity[-1, 0, 0, 0] > 1 and (r.velocity[-1, 1] == 0).all()
    with pytest.raises(cl.RowError, match="invalid"):
        r.raise_if_failed()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mass": 0.0}, "body 0: mass"),
        ({"mass": -1.0}, "body 0: mass"),
        ({"mass": np.nan}, "body 0: mass"),
        ({"inertia": [[1.0, 1, 3, 0, 0, 0]]}, "body 0: inertia"),
        ({"friction": -0.1}, "body 0: friction"),
        ({"restitution": 1.5}, "body 0: restitution"),
    ],
)
def test_simulation_refuses(options: dict[str, Any], says: str) -> None:
    lib = cl.Library()
    shapes = [lib.box([0.1, 0.1, 0.1])]
    sim = contact.Simulation(lib, shapes, **{"mass": 1.0, **options})
    with pytest.raises(cl.OptionError, match=says):
        sim.run(np.zeros((1, 1, 3)), np.tile([1.0, 0, 0, 0], (1, 1, 1)), quat="wxyz", steps=1)


def test_bodies_and_libraries_of_a_wrong_kind() -> None:
    lib = cl.Library()
    ball = lib.sphere(0.1)
    alone: list[Any] = [ball, cl.Part(ball), cl.Body((cl.Part(ball),))]
    for call in (contact.Simulation, contact.mass_properties):
        for one in alone:
            with pytest.raises(cl.OptionError, match=r"(shapes|bodies): .*, want a list of bodies"):
                call(lib, one)
        with pytest.raises(cl.OptionError, match="library: a str, want a Library"):
            call("shapes.json", [ball])  # type: ignore[arg-type]


def test_mass_of_bodies() -> None:
    lib = cl.Library()
    mass, center, inertia = contact.mass_properties(lib, [lib.sphere(0.5), lib.box([0.1, 0.2, 0.3])], density=10)
    np.testing.assert_allclose(mass, [10 * 4 / 3 * np.pi / 8, 0.48], rtol=1e-12)
    np.testing.assert_allclose(center, 0, atol=1e-15)
    np.testing.assert_allclose(inertia[0, :3], 0.4 * mass[0] * 0.25, rtol=1e-12)
    with pytest.raises(cl.ClearanceError, match="half-space"):
        contact.mass_properties(lib, [lib.halfspace()])


def test_physics_of_bodies(tmp_path: Any) -> None:
    """What bodies state is written to a file, read back, and used."""
    scene = cl.Scene(cl.Library())
    box = scene.library.box([0.1, 0.1, 0.1])
    scene.bodies += [
        cl.Body((cl.Part(box),), "heavy", {"mass": 5.0, "friction": 0.0}),
        cl.Body(
            (cl.Part(box),),
            "given",
            {"mass": 2, "inertia": np.array([1.0, 1, 1, 0, 0, 0]), "center_of_mass": [0, 0, 0.01]},
        ),
        cl.Body((cl.Part(box),), "fixed", {"fixed": True}),
        cl.Body((cl.Part(box),), "light", {"density": 10.0}),
        cl.Body((cl.Part(box),), "plain"),
    ]
    scene.save(tmp_path / "s.json")
    back = cl.Scene.load(tmp_path / "s.json")
    assert back.bodies[0].physics == {"mass": 5.0, "friction": 0.0} and not back.bodies[4].physics
    sim = contact.Simulation(back.library, back.bodies, density=1000)
    arrays: Any = sim._arrays
    np.testing.assert_allclose(arrays["mass"], [5, 2, np.inf, 0.08, 8, np.inf])
    np.testing.assert_allclose(arrays["friction"], [0, 0.5, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(arrays["center"][1], [0, 0, 0.01])
    position = np.zeros((1, 5, 3))
    position[0, :, 0], position[0, :, 2] = np.arange(5), 0.1
    velocity = np.zeros((1, 5, 3))
    velocity[0, 0, 0] = velocity[0, 4, 0] = 0.2
    r = sim.run(position, np.tile([1.0, 0, 0, 0], (1, 5, 1)), velocity, quat="wxyz", steps=20)
    r.raise_if_failed()
    np.testing.assert_allclose(r.velocity[-1, 0, [0, 4], 0], [0.2, 0], atol=1e-6)
    scene.bodies[4] = cl.Body((cl.Part(box),), "bad", {"weight": 1})
    with pytest.raises(cl.OptionError, match="weight"):
        scene.save(tmp_path / "t.json")


def test_contact_points(engine: cl.Engine) -> None:
    """A box on a box has four points, capsules side by side two, balls one, separated boxes none."""
    lib = cl.Library()
    box, rod, ball = lib.box([0.1, 0.1, 0.1]), lib.capsule(0.1, 0.4), lib.sphere(0.1)
    a, b = np.array([box, rod, ball, box, box]), np.array([box, rod, ball, box, 9])
    pos_a, pos_b = np.zeros((5, 3)), np.zeros((5, 3))
    pos_b[0, 2], pos_b[1, 0], pos_b[2, 1], pos_b[3, 2] = 0.199, 0.2, 0.2005, 0.5
    identity = np.tile([1.0, 0, 0, 0], (5, 1))
    world = np.array([3, 4, 5, 6, 7])
    r = engine.contacts(lib, a, b, pos_a, identity, pos_b, identity, quat="wxyz", max_gap=1e-3, world=world)
    assert r.count.tolist() == [4, 2, 1, 0, 0] and r.status.tolist() == [1, 1, 1, 0, 3]
    assert r.pair.tolist() == [0, 0, 0, 0, 1, 1, 2] and r.world is not None and r.world.tolist() == [3] * 4 + [4, 4, 5]
    assert len(r) == 7 and r.failed.tolist() == [False] * 4 + [True]
    np.testing.assert_allclose(r.gap, [-1e-3] * 4 + [0, 0, 5e-4], atol=1e-9)
    assert (r.lower <= r.gap).all()
    np.testing.assert_allclose(np.abs(r.position[:4, :2]), 0.1, atol=1e-12)
    np.testing.assert_allclose(r.normal[0], [0, 0, 1], atol=1e-12)
    pos_b[0, :2] = 0.03, 0.05  # so that no corner lies above an edge
    moved = [
        engine.contacts(lib, box, box, pos_a[0], identity[:1], pos_b[:1] + d, identity[0], quat="wxyz", max_gap=1e-3)
        for d in (0, 1e-6)
    ]
    assert len(moved[0]) == 4
    np.testing.assert_array_equal(moved[0].id, moved[1].id)
    with pytest.raises(cl.OptionError, match="max_gap"):
        engine.contacts(lib, a, b, pos_a, identity, pos_b, identity, quat="wxyz", max_gap=-1)


def test_contact_points_gradient(engine: cl.Engine) -> None:
    """Gradients with respect to poses, with quaternions of any length, are those of differences."""
    rng = np.random.default_rng(48)
    lib = cl.Library()
    box, ball, can = lib.box([0.1, 0.2, 0.15]), lib.sphere(0.1), lib.cylinder(0.1, 0.2)
    table, ground = lib.box([0.9, 0.8, 0.1]), lib.halfspace()
    a, b = np.array([table, ground, table, ground, table]), np.array([box, box, ball, can, can])
    quat_a = np.tile([1.0, 0, 0, 0], (5, 1)) * [[1], [2], [0.5], [1], [3]]
    quat_b = np.array([1.0, 1e-2, 2e-2, 0.3]) + np.zeros((5, 4))
    pos_a, pos_b = np.zeros((5, 3)), np.array([[0.01, 0.02, z] for z in (0.245, 0.147, 0.2, 0.2, 0.3)])

    def at(*poses: Any) -> Any:
        return engine.contacts(lib, a, b, *poses, quat="wxyz", max_gap=0.01, grad=True)

    poses = [pos_a, quat_a, pos_b, quat_b]
    found = at(*poses)
    assert (found.count > 0).all()
    bars = rng.normal(size=found.position.shape), rng.normal(size=found.normal.shape), rng.normal(size=len(found))

    def value(*moved: Any) -> float:
        r = at(*moved)
        np.testing.assert_array_equal(r.id, found.id)
        return float(np.sum(bars[0] * r.position) + np.sum(bars[1] * r.normal) + np.sum(bars[2] * r.gap))

    g = found.vjp(position=bars[0], normal=bars[1], gap=bars[2], wrt="poses")
    assert g.poses is not None and g.twists.shape == (5, 12)
    assert set(g.smoothness_names) <= {"smooth", "unique features"}, g.smoothness_names
    for k, gradient in enumerate(g.poses):
        change, step = rng.normal(size=gradient.shape), 1e-6
        ends = [value(*poses[:k], poses[k] + h * change, *poses[k + 1 :]) for h in (step, -step)]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(np.sum(gradient * change), slope, rtol=1e-6, atol=1e-7 * np.abs(gradient).max())
    np.testing.assert_allclose(g.poses.pos_a, g.twists[:, :3])
    np.testing.assert_array_equal(found.vjp(gap=bars[2]).poses, None)
    plain = engine.contacts(lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz", max_gap=0.01)
    with pytest.raises(cl.OptionError, match="grad=True"):
        plain.vjp(gap=bars[2])
    with pytest.raises(cl.OptionError, match="cotangent"):
        found.vjp()
    matrix = np.tile(np.eye(3), (5, 1, 1))
    rotated = engine.contacts(lib, a, b, pos_a, matrix, pos_b, matrix, quat="matrix", max_gap=0.01, grad=True)
    assert rotated.vjp(gap=np.ones(len(rotated))).twists.shape == (5, 12)
    with pytest.raises(cl.OptionError, match="matrix"):
        rotated.vjp(gap=np.ones(len(rotated)), wrt="poses")


def test_contact_points_of_a_scene(engine: cl.Engine) -> None:
    """Every pair of parts that touches has points, with their world, pair and parts."""
    scene = cl.Scene(cl.Library())
    box = scene.library.box([0.1, 0.1, 0.1])
    scene.add(cl.Part(box, (0, 0, 0)), cl.Part(box, (1, 0, 0)), name="bar")
    scene.add(box, name="crate")
    scene.add(box, name="other")
    scene.all_pairs()
    poses = np.zeros((2, 3, 7))
    poses[..., 3] = 1
    poses[0, 1, :3] = 0.03, 0.05, 0.2
    poses[0, 2, :3] = 1.03, 0.05, 0.2
    poses[1, 1, :3], poses[1, 2, :3] = (5, 0, 0), (5.03, 0.05, 0.2)
    poses[1, 0, 3:] = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]
    r = engine.scene_contacts(scene, poses, quat="wxyz", max_gap=1e-3)
    with pytest.raises(cl.OptionError, match="contact points of scenes have no derivatives"):
        engine.scene_contacts(scene, poses, quat="wxyz", max_gap=1e-3, grad=True)
    assert r.world is not None and r.part_a is not None and r.part_b is not None
    assert list(zip(r.world.tolist(), r.pair.tolist(), r.part_a.tolist(), strict=True)) == (
        [(0, 0, 0)] * 4 + [(0, 1, 1)] * 4 + [(1, 2, 0)] * 4
    )
    assert (r.part_b == 0).all() and not r.failed.any()
    np.testing.assert_allclose(r.gap, 0, atol=1e-9)
    moved = engine.scene_contacts(scene, poses[..., [0, 1, 2, 4, 5, 6, 3]], quat="xyzw", max_gap=1e-3)
    np.testing.assert_array_equal(moved.position, r.position)
    with pytest.raises(cl.ArrayError, match="poses"):
        engine.scene_contacts(scene, poses[0], quat="wxyz", max_gap=1e-3)
    # Poses that are none make their own pairs invalid, without a warning of NumPy; quaternions may have any length.
    poses[0, 1, 3:], poses[0, 2, 3:], poses[1, 0, 3:] = 0, np.inf, poses[1, 0, 3:] * 1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bad = engine.scene_contacts(scene, poses, quat="wxyz", max_gap=1e-3)
    assert bad.status.reshape(2, -1)[0].tolist() == [3] * 5 and not bad.failed.reshape(2, -1)[1].any()
    assert bad.world is not None
    np.testing.assert_allclose(bad.position[bad.world == 1], r.position[r.world == 1], atol=1e-12)


MODEL = """<mujoco><option timestep="0.004" gravity="0 0 -9.81"/><worldbody>
<geom name="floor" type="plane" size="1 1 1" friction="0.4 0 0"/>
<body name="crate" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2" friction="0.4 0 0"/></body>
<body name="ball" pos="1 0 0.5"><freejoint/><geom type="sphere" size="0.1" mass="1" friction="0.9 0 0"/>
<body name="knob" pos="0 0 0.1"><geom type="sphere" size="0.05" mass="0.5" friction="0.9 0 0"/></body></body>
</worldbody></mujoco>"""


def test_mujoco_bodies() -> None:
    """Free bodies of a model with their masses and pairs; joints are refused by name."""
    mujoco: Any = pytest.importorskip("mujoco")
    bodies = contact.from_mujoco(mujoco.MjModel.from_xml_string(MODEL))
    assert bodies.options["friction"].tolist() == [0.4, 0.4, 0.9] and bodies.options["surfaces"] == []
    assert [b.name for b in bodies.bodies] == ["world", "crate", "ball"]
    np.testing.assert_allclose(bodies.mass, [np.inf, 2, 1.5])
    np.testing.assert_allclose(bodies.center[2], [0, 0, 0.1 * 0.5 / 1.5])
    np.testing.assert_allclose(bodies.inertia[1], [2 / 3 * 0.02] * 3 + [0] * 3, atol=1e-12)
    reduced = 1 * 0.5 / 1.5 * 0.01
    ball = 0.4 * 0.01 + 0.4 * 0.5 * 0.0025
    np.testing.assert_allclose(bodies.inertia[2, :3], [ball + reduced, ball + reduced, ball], rtol=1e-9)
    sim = contact.Simulation.of(bodies)
    r = sim.run(bodies.position[None], bodies.rotation[None], quat="wxyz", steps=25)
    r.raise_if_failed()
    np.testing.assert_allclose(r.position[-1, 0, 1], [0, 0, 0.1], atol=1e-4)
    np.testing.assert_allclose(r.velocity[-1, 0, 2, 2], -GRAVITY * 0.1, atol=1e-9)
    hinged = MODEL.replace('<body name="knob" pos="0 0 0.1">', '<body name="knob"><joint name="elbow"/>')
    with pytest.raises(cl.OptionError, match="elbow"):
        contact.from_mujoco(mujoco.MjModel.from_xml_string(hinged))


URDF = """<robot name="r"><link name="base"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="tip"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<joint name="weld" type="fixed"><parent link="base"/><child link="tip"/><origin xyz="0 0 0.4"/></joint></robot>"""


def test_urdf_bodies(tmp_path: Any) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    bodies = contact.from_urdf([path, path])
    np.testing.assert_allclose(bodies.mass, [3, 3])
    np.testing.assert_allclose(bodies.center[0], [0, 0, 0.2])
    np.testing.assert_allclose(bodies.inertia[0, :3], [0.2 + 0.06, 0.2 + 0.06, 0.2], rtol=1e-12)
    assert len(bodies.bodies[0].parts) == 2
    position = np.array([[[0, 0, 0.1], [1, 0, 0.1]]])
    r = contact.Simulation.of(bodies, dt=0.01).run(position, bodies.rotation[None], quat="wxyz", steps=10)
    r.raise_if_failed()
    np.testing.assert_allclose(r.position[-1], position, atol=1e-4)
    path.write_text(URDF.replace('type="fixed"', 'type="continuous"'))
    with pytest.raises(cl.OptionError, match="weld"):
        contact.from_urdf(path)


def test_page(tmp_path: Any) -> None:
    """A page that plays a run has its steps."""
    sim, position, rotation = crates(2)
    r = sim.run(position, rotation, quat="wxyz", steps=30, every=3)
    try:
        view = sim.show(r, world=1, path=tmp_path / "run.html")
    except cl.FileError as e:  # the script of pages is built where npm is
        pytest.skip(str(e))
    assert view.rows == 10 and (tmp_path / "run.html").exists()
    world = view.scene["worlds"][0]
    assert len(world["bodies"]) == 3 and len(world["times"]) == 10 and view.scene["time_unit"] == "s"
    np.testing.assert_allclose(np.array(world["times"]) / sim.dt, r.step, rtol=1e-12)
