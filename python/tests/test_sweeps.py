"""Sweeps of worlds and of all pairs: they say what the sweep of every pair says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_scene import make_scene

import clearance as cl
from clearance import _sweep

W, T = 20, 3
ROWS = ("state", "lower", "upper", "closest", "t0", "t1", "part_a", "part_b", "evaluations")


@pytest.fixture(params=[1 << 18, 7, 3], ids=["one block", "pairs of a world", "some pairs"])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers do not depend on the rows that are in memory at a time."""
    monkeypatch.setattr(_sweep, "BLOCK_ROWS", request.param)


def motions(seed: int = 3) -> tuple[cl.Scene, Any, Any]:
    """The bodies of test_scene on their ways: some worlds lack bodies, some are free, one has a bad pose."""
    rng = np.random.default_rng(seed)
    scene = make_scene()
    bodies = np.tile(np.arange(4, dtype=np.int32), (W, 1))
    bodies[5, 1], bodies[6, 1:] = -1, -1
    poses = rng.normal(0, 1.2, (W, T, 4, 7))
    poses[2:6, ..., :3] *= 10
    poses[6, 1, 2, 0] = np.nan  # of a body that is absent
    poses[7, 1, 2, 0] = np.nan
    scene.all_pairs()
    return scene, bodies, poses


def world_of(r: Any, w: int, tolerance: float) -> dict[str, Any]:
    """What the rows [W,P] of a sweep say of a world, by a loop."""
    rows = [{name: getattr(r, name)[w, p] for name in ROWS} for p in range(r.state.shape[1])]
    evaluations = sum(int(x["evaluations"]) for x in rows)
    found = {
        "contacts": sum(x["state"] == cl.CONTACT for x in rows),
        "failures": sum(x["state"] > cl.CONTACT for x in rows),
        "evaluations": evaluations,
    }
    if any(x["state"] == 3 for x in rows):
        nothing = dict.fromkeys(("lower", "upper", "closest", "t0", "t1"), np.nan)
        return found | nothing | {"state": 3, "pair": -1, "part_a": -1, "part_b": -1}
    hits = [x for x in rows if x["state"] != cl.FREE]
    known = [p for p, x in enumerate(rows) if not np.isnan(x["t1"])]
    nearest = min(range(len(rows)), key=lambda p: rows[p]["upper"])
    named = min(known, key=lambda p: rows[p]["t1"]) if known else nearest
    if not known and np.isinf(rows[nearest]["upper"]):
        named = -1
    found |= {"upper": rows[nearest]["upper"], "pair": named, "t0": min((x["t0"] for x in hits), default=T - 1)}
    found["closest"] = np.nan if np.isinf(rows[nearest]["upper"]) else rows[nearest]["closest"]
    found["t1"] = rows[named]["t1"] if known else np.nan
    found["lower"] = 0 if hits else min(x["lower"] for x in rows)
    for part in ("part_a", "part_b"):
        found[part] = rows[named][part] if named >= 0 else -1
    decided = known and found["t1"] - found["t0"] <= tolerance
    return found | {"state": cl.FREE if not hits else cl.CONTACT if decided else 2}


@pytest.mark.parametrize("evaluations", [None, 12], ids=["decided", "few evaluations"])
def test_worlds(engine: cl.Engine, blocks: None, evaluations: int | None) -> None:
    scene, bodies, poses = motions()
    asked: dict[str, Any] = {"quat": "wxyz", "bodies": bodies, "max_evaluations": evaluations}
    rows = engine.sweep(scene, poses, **asked)
    worlds = engine.sweep(scene, poses, reduce="world", **asked)
    states = set()
    for w in range(W):
        for name, value in world_of(rows, w, 1e-6).items():
            got = getattr(worlds, name)[w]
            assert got == value or (np.isnan(got) and np.isnan(value)), (w, name, got, value)
        states.add(int(worlds.state[w]))
    assert {cl.FREE, 3, cl.CONTACT if evaluations is None else 2} <= states
    assert (worlds.hit == (worlds.state != cl.FREE)).all() and worlds.hit.shape == (W,)
    assert list(worlds.counts.values()) == np.bincount(worlds.state, minlength=4).tolist()
    with pytest.raises(cl.RowError, match=r"poses\[7\]: body 2: way point 1"):
        worlds.raise_if_failed()
    again = engine.sweep(scene, poses, reduce="world", out=worlds, **asked)
    assert again.state is worlds.state and again.pair is worlds.pair
    everything = engine.sweep(scene, poses, reduce="world", pairs="all", **asked)
    for name in (*ROWS, "contacts", "failures"):
        assert np.array_equal(getattr(everything, name), getattr(worlds, name), equal_nan=True), name
    at = [scene.pairs[p] if p >= 0 else (-1, -1) for p in worlds.pair]
    assert list(zip(everything.body_a.tolist(), everything.body_b.tolist(), strict=True)) == at


@pytest.mark.parametrize("max_distance", [None, 0.5])
def test_all_pairs(engine: cl.Engine, blocks: None, max_distance: float | None) -> None:
    """The rows are those of a sweep of all pairs, without those that are proved free and far, and those to skip."""
    scene, bodies, poses = motions()
    skip = [(3, 1)]
    scene.all_pairs(skip=skip)
    asked: dict[str, Any] = {"quat": "wxyz", "bodies": bodies, "max_distance": max_distance}
    full = engine.sweep(scene, poses, **asked)
    r = engine.sweep(scene, poses, pairs="all", skip=skip, **asked)
    kept = full.hit if max_distance is None else full.hit | (full.lower <= max_distance)
    assert 0 < kept.sum() < kept.size
    for name in ROWS:
        assert np.array_equal(getattr(r, name), getattr(full, name)[kept], equal_nan=True), name
    world, pair = np.nonzero(kept)
    assert (r.world == world).all()
    assert list(zip(r.body_a.tolist(), r.body_b.tolist(), strict=True)) == [scene.pairs[p] for p in pair]
    for w in range(W):
        assert (r.world[r.of(w)] == w).all() and r.offsets[-1] == len(world)
    assert sum(r.counts.values()) == len(world)
    with pytest.raises(cl.OptionError, match="out"):
        engine.sweep(scene, poses, pairs="all", out=r, **asked)


def test_places_for_results(engine: cl.Engine) -> None:
    scene, bodies, poses = motions()
    first = engine.sweep(scene, poses, quat="wxyz", bodies=bodies)
    state = np.zeros_like(first.state)
    second = engine.sweep(scene, poses, quat="wxyz", bodies=bodies, out={"state": state})
    assert second.state is state and (state == first.state).all() and second.lower is not first.lower
    kept = {name: getattr(first, name).copy() for name in ROWS}
    moved = poses + np.array([1, 0, 0, 0, 0, 0, 0])
    third = engine.sweep(scene, moved, quat="wxyz", bodies=bodies, out=first)
    assert all(getattr(third, name) is getattr(first, name) for name in ROWS)
    fresh = engine.sweep(scene, poses, quat="wxyz", bodies=bodies, out=third)
    for name, value in kept.items():
        assert np.array_equal(getattr(fresh, name), value, equal_nan=True), name
    wrong: Any
    reduce: Any
    for wrong, reduce in (
        ({"distance": state}, None),
        (np.empty(3), None),
        ({"t0": first.t1, "t1": first.t1}, None),
        ({"state": state}, "world"),
        ({"lower": poses.reshape(-1)[:W]}, "world"),
        (dict.fromkeys(("t0", "t1"), np.empty(W)), "world"),
    ):
        with pytest.raises(cl.ClearanceError, match=r"out|overlap"):
            engine.sweep(scene, poses, quat="wxyz", bodies=bodies, reduce=reduce, out=wrong)
    for wrong in ({"pairs": "every"}, {"skip": [(0, 1)]}, {"pairs": "all", "skip": [(0, 4)]}, {"reduce": "body"}):
        with pytest.raises(cl.OptionError, match=r"pairs|skip|reduce"):
            engine.sweep(scene, poses, quat="wxyz", **wrong)


def test_nothing(engine: cl.Engine) -> None:
    """Worlds without pairs are free, and no worlds have no rows."""
    scene, _, poses = motions()
    scene.pairs = []
    r = engine.sweep(scene, poses, quat="wxyz", reduce="world")
    assert (r.state == cl.FREE).all() and (r.t0 == T - 1).all() and (r.pair == -1).all() and np.isinf(r.lower).all()
    for more in ({"reduce": "world"}, {"pairs": "all"}, {}):
        none = engine.sweep(scene, poses[:0], quat="wxyz", **more)  # type: ignore[arg-type]
        assert none.state.size == 0 and not none.failed.any() and "0" in repr(none)


@pytest.mark.parametrize("more", [{"reduce": "world"}, {"pairs": "all"}, {"reduce": "world", "pairs": "all"}], ids=str)
def test_pages(engine: cl.Engine, tmp_path: Path, more: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has the bodies of each row, their world, and the time of the contact."""
    scene, bodies, poses = motions()
    monkeypatch.setattr("clearance._page.script", lambda: "")
    r = engine.sweep(scene, poses, quat="wxyz", bodies=bodies, **more)
    page = cl.show(r, scene, poses, quat="wxyz")
    assert page.rows == min(100, r.state.size)
    row = int(np.flatnonzero(r.state == cl.CONTACT)[0])
    world = row if "reduce" in more else int(r.world[row])
    pair = scene.pairs[int(r.pair[row])] if "reduce" in more else (int(r.body_a[row]), int(r.body_b[row]))
    document = cl.show(r, scene, poses, quat="wxyz", rows=[row]).scene
    one = document["rows"]
    assert one["row"] == [row] and document["worlds"][one["world"][0]]["world"] == world
    assert (one["place_a"][0], one["place_b"][0]) == pair
    for place, body in zip(pair, (one["body_a"][0], one["body_b"][0]), strict=True):
        assert document["bodies"][body]["name"].startswith(f"body {bodies[world, place]}:")
    assert r.t0[row] <= one["time"][0] <= r.t1[row]
