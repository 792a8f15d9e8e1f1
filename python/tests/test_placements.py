"""Overlap-free placements: what is filled is checked by other queries and by MuJoCo, and what cannot be is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import _placements, urdf
from clearance._regions import philox, uniforms


def table_scene(objects: int = 8) -> tuple[cl.Scene, dict[Any, Any], Any]:
    """Objects on a table, their regions, and the poses at which bodies stand."""
    scene, rng = cl.Scene(), np.random.default_rng(0)
    lib = scene.library
    kinds = [lib.box([0.03, 0.04, 0.05]), lib.cylinder(0.03, 0.05), lib.capsule(0.025, 0.05)]
    kinds.append(lib.convex(rng.normal(0, 0.03, (30, 3))))
    names = [f"object {i}" for i in range(objects)]
    for i, name in enumerate(names):
        scene.add(kinds[i % 4], name=name)
    scene.add(lib.box([0.5, 0.5, 0.02]), name="table")
    scene.all_pairs()
    stand = np.tile([0, 0, 0, 1.0, 0, 0, 0], (objects + 1, 1))
    stand[-1, 2] = -0.02
    regions = {n: cl.SurfaceRegion([-0.2, -0.2], [0.2, 0.2], rotation="any" if n[-1] == "0" else "yaw") for n in names}
    return scene, regions, stand


def test_random_numbers_are_those_of_random123() -> None:
    """The known answers of philox4x32-10 of the Random123 library."""
    ones, pi = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    for key, counter, want in (
        (0, (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, (ones,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (0x299F31D0A4093822, pi, (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    ):
        assert tuple(int(x) for x in philox(key, counter)) == want
    u = uniforms(3, np.arange(20000, dtype=np.uint32), 0, np.zeros(20000, np.int64), 3)
    # The mean of n uniform numbers has the standard deviation 1/√(12 n); 5 of them.
    assert (abs(u.mean(axis=0) - 0.5) < 5 / np.sqrt(12 * len(u))).all() and u.min() >= 0 and u.max() < 1


def test_every_world_of_a_table_is_free(engine: Any) -> None:
    scene, regions, stand = table_scene()
    found = scene.free_placements(200, regions, others=stand, margin=0.005, seed=1, engine=engine)
    assert found.filled.all() and (found.blocked == -1).all() and found.poses.order == "wxyz"
    with engine.rollout(scene, worlds=200, precision="double") as roll:
        r = roll(found.poses)
    # A query of its own, of every pair: its intervals cannot lie below the margin, and are narrower than these bounds.
    assert r.ok.all() and (r.upper >= 0.005).all() and (r.upper.min(axis=1) >= found.lower).all()
    assert (found.lower >= 0.005).all() and (found.tries >= 8).all() and "200 of 200" in repr(found)
    assert (abs(found.poses[:, :8, :2]) <= 0.2).all() and (found.poses[:, 8] == stand[8]).all()
    # The lowest points stand 0.1 mm above the margin, to the bounds of the answers.
    on = np.array([j == 8 for _, j in scene.pairs])
    assert (r.lower[:, on] <= 0.0051).all() and (r.upper[:, on] >= 0.0051).all()


def test_worlds_do_not_depend_on_each_other(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, regions, stand = table_scene()
    options: dict[str, Any] = {"others": stand, "margin": 0.005, "seed": 2}
    every = scene.free_placements(60, regions, engine=engine, **options)
    some = scene.free_placements([50, 7, 31], regions, engine=engine, **options)
    monkeypatch.setattr(_placements, "_BLOCK", 7)
    with cl.Engine("cpu", workers=1) as one:
        small = scene.free_placements(60, regions, engine=one, **options)
    for name in ("poses", "tries", "undecided", "blocked"):
        assert (getattr(small, name) == getattr(every, name)).all(), name
        assert (getattr(some, name) == getattr(every, name)[[50, 7, 31]]).all(), name
    other = scene.free_placements(60, regions, engine=engine, **{**options, "seed": 3})
    assert (other.poses[:, :8, :2] != every.poses[:, :8, :2]).all()


def balls(count: int, radius: float = 0.5) -> cl.Scene:
    scene = cl.Scene()
    ball = scene.library.sphere(radius)
    for i in range(count):
        scene.add(ball, name=f"ball {i}")
    scene.all_pairs()
    return scene


def test_worlds_that_cannot_be_filled_are_named(engine: Any) -> None:
    """Three balls of diameter 1 on a line of 1.5: two fit, and the third never does."""
    scene = balls(3)
    line = {f"ball {i}": cl.BoxRegion([0, 0, 0], [1.5, 0, 0], rotation="none") for i in range(3)}
    options: dict[str, Any] = {"tries": 50, "restarts": 1, "engine": engine}
    with pytest.raises(
        cl.PlacementError, match=r"5 of 5 worlds are not filled, the first is world 0: body 'ball 2'"
    ) as e:
        scene.free_placements(5, line, **options)
    assert not e.value.placements.filled.any()
    found = scene.free_placements(5, line, unfilled="mask", **options)
    assert not found.filled.any() and np.isnan(found.poses).all() and (found.lower == -np.inf).all()
    assert (found.tries > 100).all() and set(found.blocked) <= {1, 2}
    # With two of them some worlds are filled where an attempt has few draws, and the rest is masked.
    two = balls(2)
    line.popitem()
    found = two.free_placements(400, line, tries=2, restarts=0, unfilled="mask", engine=engine)
    assert 0 < found.filled.sum() < 400 and (np.isnan(found.poses).any(axis=(1, 2)) == ~found.filled).all()
    apart = abs(found.poses[found.filled, 0, 0] - found.poses[found.filled, 1, 0])
    assert (apart > 1).all() and (found.tries <= 3).all() and (found.blocked[~found.filled] == 1).all()


def test_the_distribution_is_the_one_that_is_stated(engine: Any) -> None:
    """Two balls of diameter 1 on a line of length 4. In sequence, the first is uniform. Together, its density is as the
    length that it leaves to the other: 3 - x for x < 1, 2 for 1 ≤ x ≤ 3, x - 1 beyond."""
    line = {f"ball {i}": cl.BoxRegion([0, 0, 0], [4, 0, 0], rotation="none") for i in range(2)}
    n = 4000
    for together, middle in ((False, 2 / 4), (True, 4 / 9)):  # the share of 1 ≤ x ≤ 3
        x = balls(2).free_placements(n, line, together=together, engine=engine).poses[:, 0, 0]
        share = ((x >= 1) & (x <= 3)).mean()
        assert abs(share - middle) < 4 * np.sqrt(middle * (1 - middle) / n), (together, share)  # 4 standard deviations


def test_what_is_undecided_is_never_free(engine: Any) -> None:
    """Two boxes whose distance is the margin but for rounding: no bound proves it, whichever way."""
    scene = cl.Scene()
    box = scene.library.convex(np.random.default_rng(5).normal(0, 0.5, (40, 3)))
    scene.add(box, name="a")
    scene.add(box, name="b")
    scene.all_pairs()
    stand = np.tile([0, 0, 0, 1.0, 0, 0, 0], (2, 1))
    stand[1, :3] = 3, 0.1, 0.2
    with engine.rollout(scene, worlds=1, precision="double") as roll:
        margin = float(roll(stand[None], quat="wxyz").distance[0, 0])
    options: dict[str, Any] = {"others": stand, "tries": 10, "restarts": 0, "engine": engine}
    found = scene.free_placements(3, {"b": {}}, margin=margin, unfilled="mask", **options)
    assert not found.filled.any() and (found.undecided == 10).all() and (found.tries == 10).all()
    with pytest.raises(cl.PlacementError, match="of which 10 were undecided"):
        scene.free_placements(3, {"b": {}}, margin=margin, **options)
    assert scene.free_placements(3, {"b": {}}, margin=margin - 1e-4, **options).filled.all()


def test_bodies_that_stand_too_near_are_named(engine: Any) -> None:
    scene = balls(3)
    stand = np.tile([0, 0, 0, 1.0, 0, 0, 0], (2, 3, 1))
    stand[:, 1, 0], stand[0, 2, 0] = [0.5, 2], 5
    region: dict[Any, Any] = {2: {"x": (5, 9), "yaw": (-1, 1)}}
    found = scene.free_placements(2, region, others=stand, unfilled="mask", engine=engine)
    assert found.filled.tolist() == [False, True] and found.blocked.tolist() == [-2, -1] and found.tries[0] == 0
    with pytest.raises(cl.PlacementError, match="the first is world 0: bodies that nothing places"):
        scene.free_placements(2, region, others=stand, engine=engine)
    stand[1, 0, 0] = np.nan
    assert not scene.free_placements(2, region, others=stand, unfilled="mask", engine=engine).filled.any()


def test_ranges_are_offsets_of_the_pose(engine: Any) -> None:
    scene = balls(1)
    tilted = np.array([[1, 2, 3, 0.5, 0.5, 0.5, 0.5]])
    fixed = scene.free_placements(1, {0: {"yaw": (0.3, 0.3), "x": (1, 1)}}, others=tilted, engine=engine).poses[0, 0]
    # (1, 1, 1, 1)/2 times a rotation of 0.3 about z, by hand: (c - s, c + s, c - s, c + s)/2.
    c, s = np.cos(0.15) / 2, np.sin(0.15) / 2
    assert np.allclose(fixed, [2, 2, 3, c - s, c + s, c - s, c + s], atol=1e-15)  # sums of a few products near 1


def test_orientations_are_uniform(engine: Any) -> None:
    found = balls(1).free_placements(4000, {0: cl.BoxRegion([0, 0, 0], [0, 0, 0], rotation="any")}, engine=engine)
    q = found.poses[:, 0, 3:]
    assert np.allclose(np.linalg.norm(q, axis=1), 1, atol=1e-14)
    # Of uniform rotations E[q qᵀ] is the unit matrix over 4; entries have standard deviations below 0.2/√4000.
    assert np.abs(q.T @ q / len(q) - np.eye(4) / 4).max() < 4 * 0.2 / np.sqrt(4000)


def test_robot_among_obstacles(engine: Any) -> None:
    """Configurations of an arm of two links, which has to stay clear of itself and of a ball that is placed, too."""
    links = "".join(
        f'<link name="{n}"><collision><origin xyz="0.25 0 0"/><geometry><box size="0.5 0.1 0.1"/></geometry>'
        "</collision></link>"
        for n in ("a", "b", "c")
    )
    joints = "".join(
        f'<joint name="{n}" type="revolute"><parent link="{p}"/><child link="{c}"/><origin xyz="0.6 0 0"/>'
        '<axis xyz="0 0 1"/><limit effort="1" lower="-3" upper="3" velocity="1"/></joint>'
        for n, p, c in (("j", "a", "b"), ("k", "b", "c"))
    )
    scene = urdf.load(f'<robot name="arm">{links}{joints}</robot>')
    ball = scene.add(scene.library.sphere(0.2), name="ball")
    scene.pairs += [(i, ball) for i in range(3)]
    region = {"ball": cl.BoxRegion([-1.5, -1.5, 0], [1.5, 1.5, 0])}
    found = scene.free_placements(300, region, ranges="limits", margin=0.01, seed=4, engine=engine)
    q = found.configuration
    assert q is not None and q.shape == (300, 2) and (abs(q) <= 3).all() and (found.poses[:, 3] != 0).any()
    with engine.rollout(scene, worlds=300, precision="double", reduce="world") as roll:
        r = roll(scene.poses(q, others=found.poses[:, 3:]))
    assert (r.upper >= found.lower).all() and (found.lower >= 0.01).all() and not r.hit.any()
    with engine.rollout(scene, worlds=300, reduce="world") as roll:  # without placements many are in contact
        assert roll(scene.poses(scene.random_joints(300), others=found.poses[:, 3:])).hit.sum() > 10
    far = [[9, 0, 0, 1, 0, 0, 0]]
    bent: dict[str, Any] = {"ranges": {"k": (0.5, 1.0)}, "configuration": [0.25, 9], "others": far}
    one = scene.free_placements(20, margin=0.01, engine=engine, **bent)
    assert one.configuration is not None and (one.configuration[:, 0] == 0.25).all()
    assert ((one.configuration[:, 1] >= 0.5) & (one.configuration[:, 1] <= 1)).all()
    with pytest.raises(cl.PlacementError, match="joints k found no place in 20 draws"):
        scene.free_placements(
            2, tries=20, engine=engine, **{**bent, "configuration": [3, 0], "ranges": {"k": (3.0, 3.1)}}
        )
    with pytest.raises(cl.PlacementError, match="bodies that nothing places"):  # the ball stands in the first link
        scene.free_placements(2, engine=engine, **{**bent, "others": None})


FREE_BODIES = """<mujoco><worldbody>
<geom type="plane" size="1 1 0.1"/>
<body name="arm" pos="0 0 0.2"><joint name="swing" axis="0 0 1" range="-180 180"/>
  <geom type="capsule" fromto="0.05 0 0 0.4 0 0" size="0.03"/></body>
<body name="mug" pos="0.3 0 0.5"><freejoint/><geom type="cylinder" size="0.04 0.05"/>
  <body name="handle" pos="0.06 0 0"><joint name="lid" axis="0 1 0" range="-20 20"/>
    <geom type="box" size="0.02 0.01 0.03"/></body></body>
<body name="block" pos="0.3 0.3 0.5"><freejoint/><geom type="box" size="0.03 0.04 0.2"/></body>
</worldbody></mujoco>"""


def test_free_bodies_of_mujoco(engine: Any) -> None:
    """The configurations are qpos, whose poses MuJoCo finds free, too."""
    mujoco = pytest.importorskip("mujoco")
    from clearance.mujoco import from_model

    model = mujoco.MjModel.from_xml_string(FREE_BODIES)
    scene = from_model(model)
    flat = cl.SurfaceRegion([-0.25, -0.25], [0.25, 0.25])
    regions = {"mug": cl.BoxRegion([-0.25, -0.25, 0.1], [0.25, 0.25, 0.3], rotation="any"), "block": flat}
    found = scene.free_placements(64, regions, ranges="limits", margin=0.002, seed=5, engine=engine)
    data, least = mujoco.MjData(model), np.inf
    assert found.configuration is not None and found.items[0] == "joints swing, lid"
    for w, q in enumerate(found.configuration):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        assert data.ncon == 0
        assert np.allclose(scene.poses(data)[0], found.poses[w], atol=1e-12)  # a few products of numbers near 1
        pairs = [(i, j) for i in range(5) for j in range(i) if {i, j} != {2, 3}]  # the mug has its handle
        least = min(least, *(mujoco.mj_geomDistance(model, data, i, j, 1, None) for i, j in pairs))
    assert least > 0.0019  # MuJoCo's solver ends at a tolerance of 1e-6
    stand = model.jnt_qposadr[[i for i in range(model.njnt) if model.joint(i).name == ""][1]] + [2, 4, 5]
    fixed = np.ptp(found.configuration, axis=0) == 0
    assert np.flatnonzero(fixed).tolist() == stand.tolist()  # z, and rotation about x and y, of the block
    for key, message in (("arm", "has no free joint"), ("handle", "has no free joint"), ("cup", "0 bodies")):
        with pytest.raises((cl.OptionError, cl.NotFoundError), match=message):
            scene.free_placements(1, {key: flat}, engine=engine)


def test_mistakes(engine: Any) -> None:
    scene, regions, stand = table_scene(2)
    half = scene.add(scene.library.halfspace(), name="floor")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"regions": {}}, "nothing is to be placed"),
        ({"regions": {"cup": {}}}, "0 bodies have the name 'cup'"),
        ({"regions": {9: {}}}, "a body: 9"),
        ({"regions": {"table": 3}}, "want a BoxRegion, a SurfaceRegion, or ranges"),
        ({"regions": {"table": {"yaww": (0, 1)}}}, "did you mean yaw"),
        ({"regions": {"table": {"x": (1, 0)}}}, "the lower one first"),
        ({"regions": {"table": {}, 2: {}}}, "'table'.*has two"),
        ({"regions": {half: cl.SurfaceRegion([0, 0], [1, 1])}}, "is a half-space, which has no lowest point"),
        ({"ranges": "limits"}, "no model with joints"),
        ({"configuration": [0.0]}, "this scene has none"),
        ({"others": stand[:1]}, r"want \[4, 7\]"),
        ({"margin": -1}, "margin"),
        ({"tries": 0}, "tries"),
        ({"tries": 2**31 - 1, "restarts": 9}, "tries × "),
        ({"unfilled": "skip"}, "unfilled"),
        ({"worlds": [[1]]}, "worlds"),
        ({"worlds": [1, -1]}, r"worlds\[1\]: is -1"),
        ({"slides": (0, 1)}, "no joints are sampled"),
    ]
    for change, message in cases:
        with pytest.raises(cl.ClearanceError, match=message):
            scene.free_placements(**{"worlds": 1, "regions": regions, "engine": engine, **change})
    roll: Any = "roll"
    for make, message in (
        (lambda: cl.BoxRegion([0, 0], [1, 1]), "want 3 numbers"),
        (lambda: cl.BoxRegion([0, 0, 2], [1, 1, 1]), "axis z"),
        (lambda: cl.BoxRegion([0, 0, 0], [1, 1, 1], rotation=roll), "want one of none, yaw, any"),
        (lambda: cl.BoxRegion([0, 0, 0], [1, 1, 1], quat=[0, 0, 0, 0]), "is no rotation"),
        (lambda: cl.SurfaceRegion([0, 0], [1, 1], pose=[0, 0, 1]), "want 7 numbers"),
        (lambda: cl.SurfaceRegion([0, 0], [1, 1], gap=np.nan), "gap"),
    ):
        with pytest.raises(cl.OptionError, match=message):
            make()
    assert len(scene.free_placements(0, regions, engine=engine)) == 0


def test_attached_bodies_move_with_their_links(engine: Any) -> None:
    """A ball with a long stick that is attached to it, and a ball that stands: the stick has to stay clear, too."""
    scene = balls(2, 0.1)
    stick = scene.add(scene.library.capsule(0.05, 0.5), name="stick")
    scene.all_pairs()
    scene.attach(stick, "ball 0", pose=[0.7, 0, 0, np.sqrt(0.5), 0, np.sqrt(0.5), 0])
    region = {"ball 0": cl.BoxRegion([-1, -1, 0], [1, 1, 0])}
    found = scene.free_placements(300, region, margin=0.01, seed=2, engine=engine)
    with engine.rollout(scene, worlds=300, precision="double") as roll:
        r = roll(found.poses)
    assert (r.upper >= 0.01).all() and (found.lower >= 0.01).all() and found.tries.max() > 1
    assert (r.upper.min(axis=1) >= found.lower).all()
    assert (found.poses == scene.placed(found.poses)).all()
    with pytest.raises(cl.OptionError, match=r"'stick'.* is attached"):
        scene.free_placements(1, {"stick": {}}, engine=engine)
    with pytest.raises(cl.PlacementError, match="body 'ball 1' found no place"):  # it is drawn onto the stick
        scene.free_placements(1, {"ball 1": cl.BoxRegion([0.4, 0, 0], [0.9, 0, 0])}, engine=engine)
