"""Simulations in steps: materials, contacts as results, forces per step, held simulations and their states."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import contact

GRAVITY = 9.81
STILL = np.array([1.0, 0, 0, 0])


def boxes(count: int, apart: float = 5.0, z: float = 0.1, **options: Any) -> tuple[contact.Simulation, Any, Any]:
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.box([0.1, 0.1, 0.1])] * count, **{"mass": 1.0, "dt": 1e-3, **options})
    position = np.zeros((1, count, 3))
    position[0, :, 1], position[0, :, 2] = apart * np.arange(count), z
    return sim, position, np.tile(STILL, (1, count, 1))


@pytest.mark.parametrize(
    ("options", "friction"),
    [
        ({"friction": [0.2, 0.8]}, [0.2, 0.8]),
        ({"friction": [0.2, 0.8], "ground_friction": 0.45}, [0.3, 0.6]),
        ({"friction": [0.2, 0.8], "ground_friction": 0.4, "friction_rule": "minimum"}, [0.2, 0.4]),
        ({"friction": [0.2, 0.8], "ground_friction": 0.4, "friction_rule": "mean"}, [0.3, 0.6]),
        ({"friction": [0.2, 0.8], "ground_friction": 0.5, "friction_rule": "product"}, [0.1, 0.4]),
        ({"friction": 0.5, "surfaces": [contact.Surface(2, 0, friction=0.1)]}, [0.1, 0.5]),
        ({"friction": 0.5, "surfaces": [contact.Surface(1, 2, friction=0.1, part_a=0)]}, [0.5, 0.1]),
    ],
)
def test_friction_of_pairs(options: dict[str, Any], friction: list[float]) -> None:
    """Each body is braked by the friction of its own pair with the ground."""
    sim, position, rotation = boxes(2, **options)
    velocity = np.zeros((1, 2, 3))
    velocity[..., 0] = 2
    r = sim.run(position, rotation, velocity, quat="wxyz", steps=40)
    r.raise_if_failed()
    np.testing.assert_allclose(r.velocity[-1, 0, :, 0], 2 - np.array(friction) * GRAVITY * 0.04, atol=1e-4)


def test_restitution_of_pairs() -> None:
    """A ball without restitution does not bounce beside one that does."""
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.1)] * 2, 1.0, dt=1e-3, restitution=[0, 0.9], gravity=(0, 0, 0))
    position = np.array([[[0, 0, 0.1005], [5, 0, 0.1005]]])
    velocity = np.array([[[0, 0, -1.0], [0, 0, -1.0]]])
    r = sim.run(position, np.tile(STILL, (1, 2, 1)), velocity, quat="wxyz", steps=3)
    r.raise_if_failed()
    np.testing.assert_allclose(r.velocity[-1, 0, :, 2], [0, 0.9], atol=1e-3)


@pytest.mark.parametrize("law", ["bounded", "newton"])
def test_restitution_law(law: contact.RestitutionLaw) -> None:
    """A tilted box gains energy by Newton's law with friction, and none by the bounded law, which is the default."""
    lib = cl.Library()
    half, angle = np.array([0.2, 0.1, 0.1]), np.radians(25)
    options: dict[str, Any] = {} if law == "bounded" else {"restitution_law": law}
    box = lib.box(half)
    sim = contact.Simulation(lib, [box], 1.0, dt=1e-3, restitution=1.0, friction=0.5, gravity=(0, 0, 0), **options)
    low = half[0] * np.sin(angle) + half[2] * np.cos(angle)
    rotation = np.array([[[np.cos(angle / 2), 0, np.sin(angle / 2), 0]]])
    r = sim.run([[[0, 0, low + 1e-4]]], rotation, [[[-0.5, 0, -1.0]]], quat="wxyz", steps=1)
    r.raise_if_failed()
    inertia = (half[0] ** 2 + half[2] ** 2) / 3  # about y, the axis of the spin
    after = np.sum(r.velocity[-1, 0, 0] ** 2) + inertia * np.sum(r.spin[-1, 0, 0] ** 2)
    gain = after / (0.5**2 + 1)
    assert 0.98 < gain <= 1 + 1e-9 if law == "bounded" else gain > 1.15


def test_friction_of_parts(tmp_path: Any) -> None:
    """The part that touches brakes; parts and surfaces are written to a file and read back."""
    scene = cl.Scene(cl.Library())
    box = scene.library.box([0.1, 0.1, 0.1])
    for low, high in ((0.1, 0.4), (0.4, 0.1)):
        scene.add(cl.Part(box, (0, 0, -0.1), friction=low), cl.Part(box, (0, 0, 0.1), friction=high, restitution=0.5))
    scene.surfaces.append(contact.Surface(0, 1, friction=0.3, part_b=1))
    scene.save(tmp_path / "s.json")
    back = cl.Scene.load(tmp_path / "s.json")
    assert [[p.friction for p in b.parts] for b in back.bodies] == [[0.1, 0.4], [0.4, 0.1]]
    assert back.bodies[0].parts[1].restitution == 0.5 and back.bodies[0].parts[0].restitution is None
    assert back.surfaces == scene.surfaces
    sim = contact.Simulation(back.library, back.bodies, 1.0, dt=1e-3, surfaces=back.surfaces)
    velocity = np.zeros((1, 2, 3))
    velocity[..., 0] = 2
    position = np.array([[[0, 0, 0.2], [0, 5, 0.2]]])
    r = sim.run(position, np.tile(STILL, (1, 2, 1)), velocity, quat="wxyz", steps=20)
    r.raise_if_failed()
    np.testing.assert_allclose(r.velocity[-1, 0, :, 0], 2 - np.array([0.1, 0.4]) * GRAVITY * 0.02, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"friction": np.nan}, "body 0: friction"),
        ({"restitution": [0.0, 1.5]}, "body 1: restitution"),
        ({"ground_friction": -1.0}, "body 2: friction"),
        ({"ground_restitution": 2.0}, "body 2: restitution"),
        ({"surfaces": [contact.Surface(0, 1, friction=-1.0)]}, "body 0: pair with body 1: friction"),
        ({"surfaces": [contact.Surface(0, 1, restitution=1.5)]}, "body 0: pair with body 1: restitution"),
        ({"surfaces": [contact.Surface(0, 9, friction=1.0)]}, "body 9"),
        ({"surfaces": [contact.Surface(0, 1, friction=1.0, part_a=3)]}, "part 3"),
        ({"friction_rule": "sum"}, "friction_rule"),
        ({"surfaces": [(0, 1)]}, "surfaces"),
        ({"surfaces": contact.Surface(0, 1)}, "surfaces: .*, want a list"),
        ({"ground": False, "ground_friction": 1.0}, "there is no ground"),
    ],
)
def test_materials_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(cl.OptionError, match=says):
        sim, position, rotation = boxes(2, **options)
        sim.run(position, rotation, quat="wxyz", steps=1)


def test_parts_refused() -> None:
    lib = cl.Library()
    part = cl.Part(lib.box([0.1, 0.1, 0.1]), friction=-0.5)
    sim = contact.Simulation(lib, [part], 1.0)
    with pytest.raises(cl.OptionError, match=r"body 0: part 0: friction: -0\.5"):
        sim.run(np.zeros((1, 1, 3)), STILL[None, None], quat="wxyz", steps=1)


def test_many_contacts_move() -> None:
    """A body of seven boxes in a row and one of nine have more contacts than twelve a body, and slide by default."""
    for count in (7, 9):
        lib = cl.Library()
        box = lib.box([0.1, 0.1, 0.1])
        body = cl.Body(tuple(cl.Part(box, (0.25 * i, 0, 0)) for i in range(count)))
        for limit in (None, 20):
            sim = contact.Simulation(lib, [body], dt=5e-3, max_contacts=limit)
            velocity = np.array([[[1.0, 0, 0]]])
            args = (np.array([[[0, 0, 0.1]]]), STILL[None, None], velocity)
            if limit is None:
                r = sim.run(*args, quat="wxyz", steps=3)
                r.raise_if_failed()
                assert (r.contact_count == 4 * count).all()
                np.testing.assert_allclose(r.velocity[-1, 0, 0, 0], 1 - 0.5 * GRAVITY * 0.015, atol=1e-4)
                continue
            with pytest.raises(cl.StillError, match=r"no world advanced.*1 too_many_contacts") as caught:
                sim.run(*args, quat="wxyz", steps=100, every=2)
            r = caught.value.trajectory
            assert r is not None and r.step.tolist() == [2, 4, 6, 8, 10] and r.failed.all()
            assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
            sim.start(*args, quat="wxyz")
            for _ in range(9):
                assert contact.STEP_STATUSES[sim.step().status[0]] == "too_many_contacts"
            with pytest.raises(cl.StillError):
                sim.step()


def test_contacts_of_a_run() -> None:
    """Contacts carry the weight of a stack; sums on each body are those of the contacts."""
    sim, position, rotation = boxes(2, apart=0, dt=5e-3)
    position[0, 1, 2] = 0.3
    two = np.concatenate([position, position])
    two[1, 1, 0] = 3  # of the second world one falls
    r = sim.run(two, np.concatenate([rotation, rotation]), quat="wxyz", steps=6, every=3, contacts=True)
    r.raise_if_failed()
    for step in (3, 6):
        c = r.contacts(step)
        assert len(c) == 12 and c.world.tolist() == [0] * 8 + [1] * 4
        assert set(zip(c.body_a.tolist(), c.body_b.tolist(), strict=True)) == {(0, 1), (0, 2)}
        assert c.id.dtype == np.uint64 and not c.part_a.any() and (np.abs(c.gap) < 1e-4).all()
        np.testing.assert_allclose(np.linalg.norm(c.normal, axis=1), 1, atol=1e-12)
        total = np.zeros((2, 3, 3))
        np.add.at(total, (c.world, c.body_b), c.impulse / 5e-3)
        np.add.at(total, (c.world, c.body_a), -c.impulse / 5e-3)
        np.testing.assert_allclose(r.forces(step)[..., :3], total[:, :2], atol=1e-9)
        np.testing.assert_allclose(r.forces(step)[..., 2], [[GRAVITY] * 2, [GRAVITY, 0]], atol=1e-3)
        np.testing.assert_allclose(total[:, 2, 2], [-2 * GRAVITY, -GRAVITY], atol=1e-3)
    with pytest.raises(cl.OptionError, match="recorded steps are 3 to 6"):
        r.contacts(4)
    with pytest.raises(cl.OptionError, match="contacts: False"):
        sim.run(steps=1).contacts(1)
    last = sim.contacts()
    assert len(last) == 12
    sim.reset([0])
    assert sim.contacts().world.tolist() == [1] * 4


def test_forces_of_steps() -> None:
    sim, position, rotation = boxes(1, z=5.0, ground=False, gravity=(0, 0, 0), dt=0.5)
    force = np.zeros((3, 1, 1, 6))
    force[0, ..., 0], force[1, ..., 1], force[2, ..., 2] = 1, 2, 3
    r = sim.run(position, rotation, quat="wxyz", steps=3, force=force)
    np.testing.assert_allclose(r.velocity[:, 0, 0], [[0.5, 0, 0], [0.5, 1, 0], [0.5, 1, 1.5]])
    with pytest.raises(cl.ArrayError, match="force"):
        sim.run(steps=3, force=force[:2])


@pytest.mark.parametrize("quat", ["wxyz", "xyzw"])
def test_steps_are_those_of_a_run(quat: Any) -> None:
    """Steps have the bits of a run, views are overwritten, and cannot be written."""
    sim, position, rotation = boxes(3, apart=0.0, dt=5e-3)
    position[0, :, 2] = 0.1, 0.3, 0.7
    if quat == "xyzw":
        rotation = rotation[..., [1, 2, 3, 0]]
    force = np.random.default_rng(1).normal(size=(12, 1, 3, 6))
    spin = np.full((1, 3, 3), 0.2)
    r = sim.run(position, rotation, None, spin, quat=quat, steps=12, force=force, contacts=True)
    sim.start(position, rotation, None, spin, quat=quat)
    views = sim.views
    assert views.status.tolist() == [0]
    np.testing.assert_array_equal(views.position, position)
    for i in range(12):
        assert sim.step(force[i]) is views
        for name in ("position", "rotation", "velocity", "spin", "status", "contact_count", "energy", "residual"):
            np.testing.assert_array_equal(getattr(views, name), getattr(r, name)[i], err_msg=name)
        np.testing.assert_array_equal(views.force, r.forces(i + 1))
        np.testing.assert_array_equal(sim.contacts().impulse, r.contacts(i + 1).impulse)
    assert views.steps.tolist() == [12]
    with pytest.raises(ValueError, match="read-only"):
        views.position[0] = 0
    with pytest.raises(cl.ArrayError, match="force"):
        sim.step(np.zeros((1, 2, 6)))
    kept = views.position.copy()
    sim.step(force[0].astype(np.float32))
    assert (views.position != kept).any()
    last = views.position.copy()
    sim.close()
    np.testing.assert_array_equal(views.position, last)
    with pytest.raises(cl.OptionError, match="takes a state"):
        sim.step()


def test_states_are_complete() -> None:
    """Steps after a state that was set have the same bits, also in another simulation and after a pickle."""
    sim, position, rotation = boxes(3, apart=0.0, dt=5e-3)
    position = np.concatenate([position, position])
    position[:, :, 2] = 0.1, 0.3, 0.5
    position[1, 2, 0] = 0.04
    rotation = np.tile(STILL, (2, 3, 1))
    sim.run(position, rotation, quat="wxyz", steps=7)
    state = pickle.loads(pickle.dumps(sim.state()))
    assert state.warm_count.tolist() == [12, 12] and state.steps.tolist() == [7, 7]
    want = [sim.step().position.copy() for _ in range(5)]
    for other in (sim, boxes(3, dt=5e-3)[0]):
        views = other.set_state(state)
        assert views.steps.tolist() == [7, 7] and views.status.tolist() == [1, 1] and len(other.contacts()) == 0
        for p in want:
            np.testing.assert_array_equal(other.step().position, p)
    with pytest.raises(cl.OptionError, match="state"):
        sim.set_state(1)  # type: ignore[arg-type]
    with pytest.raises(cl.ClearanceError):
        boxes(2)[0].set_state(state)


def test_states_have_the_steps_without_an_advanced_world() -> None:
    """A simulation that is given a state gives up after as many steps as the one whose state it is."""
    sims = [boxes(1, dt=5e-3)[0] for _ in range(2)]
    position = np.full((1, 1, 3), np.nan)
    sims[0].start(position, STILL[None, None], quat="wxyz")
    for _ in range(6):
        assert contact.STEP_STATUSES[sims[0].step().status[0]] == "invalid"
    state = pickle.loads(pickle.dumps(sims[0].state()))
    assert state.still.tolist() == [6]
    sims[1].set_state(state)
    for sim in sims:
        for _ in range(3):
            sim.step()
        with pytest.raises(cl.StillError, match="no world advanced in the last 10 steps"):
            sim.step()


def test_reset_of_some_worlds() -> None:
    sim, position, rotation = boxes(1, dt=5e-3)
    position = np.repeat(position, 3, axis=0)
    position[:, 0, 2] = 1, 2, 3
    velocity = np.zeros((3, 1, 3))
    velocity[..., 0] = [[1], [2], [3]]
    sim.start(position, np.repeat(rotation, 3, axis=0), velocity, quat="wxyz")
    first = sim.step().position.copy()
    second = sim.step().position.copy()
    views = sim.reset([False, True, False])
    np.testing.assert_array_equal(views.position[1], position[1])
    assert views.steps.tolist() == [2, 0, 2] and views.velocity[1, 0, 0] == 2
    sim.step()
    np.testing.assert_array_equal(views.position[1], first[1])
    assert (views.position[[0, 2]] != second[[0, 2]]).any()
    views = sim.reset([2, 0], position=np.array([[[0, 0, 7.0]], [[0, 0, 8.0]]]), velocity=np.zeros((1, 3)))
    assert views.position[:, 0, 2].tolist()[::2] == [8, 7] and views.velocity[:, 0, 0].tolist()[::2] == [0, 0]
    rotated = sim.reset([0], rotation=np.array([[0, 0, 1.0, 0]]), quat="xyzw")
    assert rotated.rotation[0, 0].tolist() == [0, 0, 0, 1]
    for bad in ([3], [-1], np.zeros(2, bool), [0, 2, 0]):
        with pytest.raises(cl.ClearanceError, match="mask"):
            sim.reset(bad)
    with pytest.raises(cl.ArrayError, match="position"):
        sim.reset([0], position=np.zeros((2, 1, 3)))


@pytest.mark.parametrize("limit", [10**5, 10**7, 2**31 - 1])
def test_limits_of_contacts_take_no_memory(limit: int) -> None:
    sim, position, rotation = boxes(2, max_contacts=limit)
    r = sim.run(position, rotation, quat="wxyz", steps=5)
    r.raise_if_failed()
    assert (r.contact_count == 8).all()


KERNELS = """
import numpy as np
from clearance import ClearanceError, Library, contact

lib, q = Library(), [[[1.0, 0, 0, 0]]]
sim = contact.Simulation(lib, [lib.box([0.1, 0.1, 0.1])], 1.0)
problem = dict(mass=[[1.0]], inertia=[[[1, 1, 1, 0, 0, 0]]], velocity=[[[0, 0, -1.0, 0, 0, 0]]], count=[1],
               body_a=[[-1]], body_b=[[0]], arm_a=[[[0, 0, 0]]], arm_b=[[[0, 0, 0]]], frame=[[np.eye(3)]],
               friction=[[0.5]])
for call in (
    lambda: sim.start([[[0, 0, 0.1]]], q, quat="wxyz"),
    lambda: sim.run([[[0, 0, 0.1]]], q, quat="wxyz", steps=2).raise_if_failed(),
    lambda: contact.solve(**problem).raise_if_failed(),
):
    try:
        call()
        print("ok")
    except ClearanceError as e:
        print(e)
"""


@pytest.mark.parametrize("name", ["bogus", "AVX2", "off", "portable"])
def test_kernels_of_an_option(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option ``simd`` of simulations and of contact problems names kernels, whatever the environment names."""
    monkeypatch.setenv("CLEARANCE_SIMD", "portable")
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.1)], mass=1.0, simd=name)
    start = [[[0, 0, 0.099]]], [[[1.0, 0, 0, 0]]]
    if name in ("off", "portable"):
        sim.run(*start, quat="wxyz", steps=2).raise_if_failed()
        return
    with pytest.raises(cl.OptionError, match=f'unknown SIMD variant "{name}", want one of avx512'):
        sim.run(*start, quat="wxyz", steps=2)
    one = np.ones((1, 1))
    with pytest.raises(cl.OptionError, match=f'unknown SIMD variant "{name}", want one of avx512'):
        contact.solve(
            one, [[[1, 1, 1, 0, 0, 0]]], np.zeros((1, 1, 6)), [1], [[-1]], [[0]], np.zeros((1, 1, 3)),
            np.zeros((1, 1, 3)), [[np.eye(3)]], one, simd=name,
        )  # fmt: skip


@pytest.mark.parametrize(("name", "known"), [("bogus", False), ("AVX2", False), ("off", True), ("portable", True)])
def test_kernels_of_the_environment(name: str, known: bool) -> None:
    """A name of kernels that there are none of is an error of simulations and of contact problems, at their start."""
    done = subprocess.run(
        [sys.executable, "-c", KERNELS], env={**os.environ, "CLEARANCE_SIMD": name}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line == "ok" if known else f'CLEARANCE_SIMD: unknown SIMD variant "{name}", want one of avx512' in line
