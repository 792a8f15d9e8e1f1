"""Objects that are attached to bodies and detached have the answers of a scene that was made so, bit for bit."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_growing import add, engine

import clearance as cl
from clearance import urdf

__all__ = ["engine"]  # a fixture: cpu, ref and vulkan

HALF = np.sqrt(0.5)


def made(shapes: int = 6, *, all_pairs: bool = True) -> cl.Scene:
    """A scene of a body of each shape, the first of two parts."""
    scene = cl.Scene()
    for k in range(shapes):
        add(scene.library, k)
    scene.add(cl.Part(0), cl.Part(1, (0.5, 0, 0), (0.8, 0, 0.6, 0)), name="hand")
    for k in range(1, shapes):
        scene.add(k, name=f"body{k}")
    if all_pairs:
        scene.all_pairs()
    return scene


def worlds(scene: cl.Scene, count: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    poses = rng.normal(size=(count, len(scene.bodies), 7))
    poses[..., :3] *= 1.5
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    return poses


def answered(engine: cl.Engine, scene: cl.Scene, poses: Any, **options: Any) -> dict[tuple[int, int], list[bytes]]:
    """All that a rollout says of each pair of a scene."""
    with engine.rollout(scene, worlds=len(poses), **options) as roll:
        r = roll(poses, quat="wxyz")
    columns = [r.status, r.distance, r.gap, r.normal, r.witness_a, r.witness_b, r.part_a, r.part_b]
    return {pair: [np.ascontiguousarray(c[:, p]).tobytes() for c in columns] for p, pair in enumerate(scene.pairs)}


def test_random_changes(engine: cl.Engine) -> None:
    """After any sequence of attach, detach, add and skip the answers are those of a new scene in which the same bodies
    are attached in one go, and the pairs are those that a plain list of rules leaves."""
    rng = np.random.default_rng(7)
    held: dict[int, tuple[int, Any, frozenset[int]]] = {}
    scene, shapes, skipped = made(), 6, set[frozenset[int]]()
    for step in range(14):
        kind, free = int(rng.integers(0, 5)), [b for b in range(1, len(scene.bodies)) if b not in held]
        links = {link for link, _, _ in held.values()}
        if kind == 0 and held:
            body = int(rng.choice(list(held)))
            assert scene.detach(scene.bodies[body].name) == body
            del held[body]
        elif kind == 1:
            add(scene.library, shapes)
            body = scene.add(shapes, name=f"body{shapes}")
            scene.pairs.extend((i, body) for i in range(body))
            shapes += 1
        elif kind == 2:
            asked = [p for p in scene.pairs if rng.random() < 0.1][:2]
            scene.skip(asked)
            skipped |= {frozenset(p) for p in asked}
        elif movable := [b for b in free if b not in links]:
            body = movable[0]
            link = 0 if rng.integers(0, 2) else int(rng.choice([b for b in free if b != body]))
            pose, skip = (
                worlds(scene, 1, step)[0, 0],
                frozenset(rng.integers(0, len(scene.bodies), 1).tolist()) - {body},
            )
            scene.attach(body, scene.bodies[link].name, pose, skip=skip)
            held[body] = link, pose, skip
        carrier = {b: held[b][0] if b in held else b for b in range(len(scene.bodies))}
        every = {(i, j) for j in range(len(scene.bodies)) for i in range(j)}
        touch = {frozenset((b, s)) for b, (_, _, skip) in held.items() for s in skip}
        wanted = {p for p in every if carrier[p[0]] != carrier[p[1]]
                  and frozenset(p) not in skipped | touch}  # fmt: skip
        assert set(scene.pairs) == wanted and len(scene.pairs) == len(wanted)
        if step % 3:
            continue
        fresh = made(shapes, all_pairs=False)
        for b, (link, pose, skip) in held.items():
            fresh.attach(b, link, pose, skip=skip)
        fresh.pairs = sorted(wanted)
        poses = worlds(scene, 3, step)
        garbled = poses.copy()
        garbled[:, list(held)] = np.nan  # which nobody reads
        assert answered(engine, scene, garbled) == answered(engine, fresh, poses)
        with engine.rollout(fresh, worlds=3, reduce="world") as roll:
            least = roll(poses, quat="wxyz").distance
        with engine.rollout(scene, worlds=3, reduce="world") as roll:
            assert roll(garbled, quat="wxyz").distance.tobytes() == least.tobytes()


def test_an_object_moves_with_its_link(engine: cl.Engine) -> None:
    """Distances are those of a body that the caller places where the link holds it, to rounding; pose forms agree."""
    scene, free = made(), made()
    pose = [0.1, 0.2, 0.9, HALF, 0, HALF, 0]
    held = scene.attach("body3", "hand", pose, skip=["body1"])
    assert (0, 3) not in scene.pairs and (1, 3) not in scene.pairs and (2, 3) in scene.pairs
    free.pairs = list(scene.pairs)
    poses = worlds(scene, 5)
    placed = scene.placed(poses, quat="wxyz")
    got, want = (engine.rollout(s, worlds=5)(p, quat="wxyz") for s, p in ((scene, poses), (free, placed)))
    assert (got.status == want.status).all()
    np.testing.assert_allclose(
        got.distance, want.distance, rtol=0, atol=3e-6
    )  # twice the tolerance of single precision
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], pose[:3]

    class Frame:
        rotation, translation = matrix[:3, :3], matrix[:3, 3]

    for form in (matrix, Frame(), (pose[:3], pose[3:])):
        held.move(form)
        np.testing.assert_allclose(held.pose, pose, atol=1e-12)
        np.testing.assert_allclose(scene.placed(poses, quat="wxyz")[..., 3, :3], placed[..., 3, :3], atol=1e-12)


def test_gradients_are_those_of_the_link() -> None:
    """Gradients, products and changes of an attached body belong to its link."""
    scene, poses = made(), worlds(made(), 4)
    scene.attach(3, "hand", [0.4, 0, 0, 1, 0, 0, 0])
    poses[:, 3] = np.nan
    free = made()
    free.pairs = list(scene.pairs)
    placed = scene.placed(np.where(np.isnan(poses), 0.0, poses), quat="wxyz")
    with cl.Engine("cpu") as engine:
        options: Any = {"worlds": 4, "precision": "double"}
        held, loose = engine.rollout(scene, **options), engine.rollout(free, **options)
        weights = np.random.default_rng(2).normal(size=(4, len(scene.pairs)))
        got, want = held(poses, quat="wxyz", grad=True), loose(placed, quat="wxyz", grad=True)

        def moved(apart: Any) -> Any:
            """Gradients of the free body moved to the link: a force f at an arm r has the torque r×f about it."""
            arm = placed[:, 3, :3] - placed[:, 0, :3]
            apart[:, 0, :3] += apart[:, 3, :3]
            apart[:, 0, 3:] += apart[:, 3, 3:] + np.cross(arm, apart[:, 3, :3])
            apart[:, 3] = 0
            return apart

        twists = got.vjp(distance=weights)
        assert not twists[:, 3].any()
        np.testing.assert_allclose(twists, moved(want.vjp(distance=weights)), atol=1e-9)
        alone = held.vjp(poses, quat="wxyz", distance=weights)
        np.testing.assert_allclose(alone, moved(loose.vjp(placed, quat="wxyz", distance=weights)), atol=1e-9)
        by_poses = got.vjp(distance=weights, wrt="poses")
        assert np.isfinite(by_poses).all() and not by_poses[:, 3].any()
        change = np.random.default_rng(3).normal(size=(4, len(scene.bodies), 6))
        forward = got.jvp(twists=change).distance
        np.testing.assert_allclose((forward * weights).sum(), (twists * change).sum(), rtol=1e-9)


def test_held_in_some_worlds() -> None:
    """A place has the held body in some worlds, and the free one in others."""
    scene = made()
    held = scene.attach(cl.Part(3), "hand", [0, 0, 1, 1, 0, 0, 0], name="held body3")
    assert scene.pairs[-1] == (5, 6) and (0, 6) not in scene.pairs
    poses, places = worlds(made(), 6), np.tile(np.arange(6, dtype=np.int32), (6, 1))
    grasped = [1, 2, 4]
    places[grasped, 3] = held.body
    scene.pairs = [(0, 1), (0, 3), (1, 3), (3, 4)]
    with cl.Engine("cpu") as engine:
        r = engine.rollout(scene, worlds=6, bodies=places)(poses, quat="wxyz")
        as_free = engine.rollout(scene, worlds=6, bodies=np.arange(6))(poses, quat="wxyz")
        poses[grasped, 3] = poses[grasped, 0]
        scene.detach(held)
        scene.pairs.remove((0, 6))
        scene.bodies[held.body] = cl.Body((cl.Part(3, (0, 0, 1)),))
        as_held = engine.rollout(scene, worlds=6, bodies=places)(poses, quat="wxyz")
    for w in range(6):
        want = as_held if w in grasped else as_free
        for p in range(4):
            if p == 1 and w in grasped:  # of the link and what it holds
                assert np.isinf(r.distance[w, p]) and r.status[w, p] == cl.SEPARATED
            else:
                assert r.distance[w, p] == want.distance[w, p]


def test_all_pairs_and_sweeps() -> None:
    """All pairs leave out those of one carrier; sweeps move an object rigidly with its link."""
    scene, free = made(), made()
    scene.attach(3, 0, [0.4, 0, 0, 1, 0, 0, 0], skip=[1])
    free.bodies[3] = scene.bodies[3]
    free.pairs = list(scene.pairs)
    poses = worlds(scene, 3)
    moving = np.stack([poses, worlds(scene, 3, 2)], axis=1)
    with cl.Engine("cpu") as engine:
        found = engine.rollout(scene, worlds=3, pairs="all", max_distance=1.0)(poses, quat="wxyz")
        listed = engine.rollout(scene, worlds=3, max_distance=1.0)(poses, quat="wxyz")
        assert not {(0, 3), (1, 3)} & {tuple(sorted(p)) for p in zip(found.body_a, found.body_b, strict=True)}
        assert np.isclose(np.sort(found.distance)[:5], np.sort(listed.distance, axis=None)[:5]).all()
        points = engine.scene_contacts(scene, poses, max_gap=1.0, quat="wxyz")
        assert len(points.pair)
        got = engine.sweep(scene, moving, quat="wxyz")
        moving[:, :, 3] = moving[:, :, 0]
        want = engine.sweep(free, moving, quat="wxyz")
        same = engine.scene_contacts(free, moving[:, 0], max_gap=1.0, quat="wxyz")
    assert points.position.tobytes() == same.position.tobytes()
    assert (got.state == want.state).all() and got.t0.tobytes() == want.t0.tobytes()


def test_mistakes_are_named(tmp_path: Path) -> None:
    scene = made()
    other = made()
    held = scene.attach(3, "hand")
    before = list(scene.pairs)
    wrong: Any
    number: Any = 2.5
    for wrong, error, words in (
        (lambda: scene.attach(2, "gripper"), cl.NotFoundError, "link: .*'gripper'"),
        (lambda: scene.attach(2, 9), cl.NotFoundError, "link: 9.*0 to 5"),
        (lambda: scene.attach("cup", 0), cl.NotFoundError, "body: .*'cup'"),
        (lambda: scene.attach(3, 1), cl.OptionError, r"body 3 \('body3'\) is attached to body 0 \('hand'\); detach"),
        (lambda: scene.attach(2, 3), cl.OptionError, "link: body 3 .*is itself attached to body 0"),
        (lambda: scene.attach(0, 2), cl.OptionError, "body 0 .*carries body 3"),
        (lambda: scene.attach(2, 2), cl.OptionError, "body 2 .*itself"),
        (lambda: scene.attach(2, 0, [1, 2, 3]), cl.ArrayError, "pose.*want"),
        (lambda: scene.attach(2, 0, [0, 0, 0, 0, 0, 0, 0]), cl.OptionError, "pose: .*quaternion"),
        (lambda: scene.attach(2, 0, [np.nan, 0, 0, 1, 0, 0, 0]), cl.OptionError, "pose: .*finite"),
        (lambda: scene.attach(2, 0, skip=[8]), cl.NotFoundError, "skip: 8"),
        (lambda: scene.attach(2, 0, skip="hand"), cl.OptionError, "skip: 'hand', want a list"),
        (lambda: scene.attach(2, 0, name="cup"), cl.OptionError, "name, against"),
        (lambda: scene.attach(cl.Part(77), 0), cl.ShapeError, "shape 77 of a part"),
        (lambda: scene.attach(number, 0), cl.OptionError, "body: 2.5"),
        (lambda: scene.detach(2), cl.OptionError, r"detach: body 2 \('body2'\) is not attached"),
        (lambda: scene.detach("cup"), cl.NotFoundError, "detach: .*'cup'"),
        (lambda: other.detach(held), cl.OptionError, "another scene"),
    ):
        with pytest.raises(error, match=words):
            wrong()
    assert scene.pairs == before and len(scene.bodies) == 6 and set(scene.attachments) == {3}
    again = pickle.loads(pickle.dumps(scene))
    assert again.attachments[3].attached and again.pairs == scene.pairs
    scene.save(tmp_path / "shapes.json")
    read = cl.Scene.load(tmp_path / "shapes.json")
    assert set(read.pairs) == set(made().pairs) and read.bodies[3].parts[0].position == (0, 0, 0)
    with pytest.raises(cl.OptionError, match=r"regions: body 3 .*is attached, and moves with its link"):
        scene.free_placements(2, regions={3: {}}, margin=0.0)
    with cl.Engine("cpu") as engine, pytest.raises(cl.OptionError, match=r"'body3'.* stands at 0 places of world 0"):
        engine.rollout(scene, worlds=1, bodies=[-1, 1, 2, 3, 4, 5])
    assert repr(held) == "body 3 ('body3') attached to body 0 ('hand')" and held.detach() == 3
    for ended in (held.detach, lambda: held.move(None), lambda: scene.detach(held)):
        with pytest.raises(cl.OptionError, match=r"attachment of body 3 \('body3'\) has ended"):
            ended()
    assert set(scene.pairs) == set(made().pairs) and not held.attached
    scene.all_pairs()
    new = scene.attach([cl.Part(0)], 1, against=["hand", 2], name="tool")
    assert scene.pairs[-2:] == [(0, 6), (2, 6)] and new.body == 6
    scene.all_pairs()
    assert (1, 6) not in scene.pairs and (5, 6) in scene.pairs


ROBOT = """<robot name="r"><link name="base"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
<link name="arm"><collision><origin xyz="0 0 0.5"/><geometry><box size="0.1 0.1 1"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>"""


def test_a_robot_that_holds() -> None:
    """The gradient by the joint is the difference of distances of what the arm holds."""
    scene = urdf.load(ROBOT)
    wall = scene.add(scene.library.box([0.1, 2, 2]), name="wall")
    ball = scene.library.sphere(0.2)
    scene.attach(cl.Part(ball), "arm", [0, 0, 1.2, 1, 0, 0, 0], against=[wall], name="ball")
    others = [[3.0, 0, 0, 1, 0, 0, 0]]
    all_others = [*others, [9.0, 9, 9, 1, 0, 0, 0]]  # with a pose of the ball, which nobody reads
    q = np.array([[0.3], [0.9]])
    with cl.Engine("cpu") as engine:
        roll = engine.rollout(scene, worlds=2, precision="double")
        r, gradient = scene.gradient(roll, q, others=others)
        assert (roll(scene.poses(q, others=all_others)).distance == r.distance).all()
        np.testing.assert_allclose(r.distance[:, -1], 3 - 0.1 - 0.2 - 1.2 * np.sin(q[:, 0]), atol=1e-9)
        np.testing.assert_allclose(gradient[:, -1, 0], -1.2 * np.cos(q[:, 0]), atol=1e-9)
