"""Ctrl-C in calls of the native library that run in no job of an engine, and pages that would be too large."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from conftest import Pairs, run_python

import clearance as cl
from clearance import _held, _jobs, _library, contact

pytestmark = pytest.mark.usefixtures("page_without_script")


def ran(code: str) -> None:
    run = run_python("import os, signal, sys, threading, time\nimport numpy as np, clearance as cl\n" + code)
    assert run.returncode == 0, f"exit {run.returncode}\n{run.stdout}\n{run.stderr}"


@pytest.mark.parametrize("force", [False, True])
def test_an_interrupted_step_advances_no_world(force: bool) -> None:
    """The signal comes while a step is at work, as its progress says, and the next step has the bits of another run."""
    ran(f"""
from clearance import contact, _jobs
lib = cl.Library()
ball = lib.sphere(0.5)
def simulation():
    sim = contact.Simulation(lib, [ball] * 4, mass=1.0, workers=1)
    position = np.zeros((20_000, 4, 3))
    position[..., 2] = 0.5 + 0.999 * np.arange(4)
    position[..., 0] = 0.01 * np.arange(4)
    sim.start(position, np.broadcast_to([1.0, 0, 0, 0], (20_000, 4, 4)), quat="wxyz")
    return sim
force = np.ones((20_000, 4, 6)) if {force} else None
sim, other = simulation(), simulation()
def interrupt():
    while not _jobs._alive:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
for _ in range(3):
    before = sim.views.position.copy()
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        sim.step(force)
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        pass
    assert not sim.views.steps.any() and np.array_equal(sim.views.position, before)
assert np.array_equal(sim.step(force).position, other.step(force).position) and sim.views.steps.all()
assert sim.step(force).position.tobytes() == other.step(force).position.tobytes()
""")


def test_long_steps_have_the_bits_of_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    lib = cl.Library()
    ball = lib.sphere(0.5)

    def states(long: bool, quat: Any) -> list[bytes]:
        monkeypatch.setattr(_held, "_BODIES", -1 if long else 1 << 60)
        monkeypatch.setattr(_held, "_LONG", 0.0 if long else 1e9)
        monkeypatch.setattr(_held, "_SHORT", 0.0 if long else 1e9)
        sim = contact.Simulation(lib, [ball, ball], mass=1.0)
        position = np.array([[[0.0, 0, 0.49], [0.1, 0, 1.47]], [[0, 0, 2], [3, 0, 2]]])
        sim.start(position, np.broadcast_to(np.eye(4)[0 if quat == "wxyz" else 3], (2, 2, 4)), quat=quat)
        found = []
        for k in range(6):
            views = sim.step(None if k % 2 else np.full((2, 2, 6), 0.25))
            found += [np.ascontiguousarray(getattr(views, f.name)).tobytes() for f in dataclasses.fields(views)]
        assert sim._hold()._long == long
        return found

    for quat in ("wxyz", "xyzw"):
        assert states(True, quat) == states(False, quat)


def test_a_long_step_after_short_ones_is_interrupted() -> None:
    """Its length is not known before: it goes on as a job, and ends where a world of many contacts is solved."""
    ran("""
from clearance import contact, _held, _jobs
lib = cl.Library()
ball = lib.sphere(0.5)
n = 120
def simulation():
    sim = contact.Simulation(lib, [ball] * n, mass=1.0, workers=1, max_gap=2.0)
    position = np.zeros((1, n, 3))
    position[..., 0] = 9 * np.arange(n)
    position[..., 2] = 50
    sim.start(position, np.broadcast_to([1.0, 0, 0, 0], (1, n, 4)), quat="wxyz")
    return sim
sim, other = simulation(), simulation()
heap = np.zeros((1, n, 3))
heap[0] = np.random.default_rng(1).normal(size=(n, 3)) * 0.3 + [0, 0, 2]
for s in (sim, other):
    for _ in range(3):
        assert s.step().status[0] == 1
    assert not s._hold()._long
    s.reset([0], heap, np.broadcast_to([1.0, 0, 0, 0], (1, n, 4)), quat="wxyz")
before, steps = sim.views.position.copy(), sim.views.steps.copy()
def interrupt():
    while not _jobs._alive:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    sim.step()
    sys.exit("not interrupted")
except KeyboardInterrupt:
    pass
assert np.array_equal(sim.views.steps, steps) and np.array_equal(sim.views.position, before)
""")


def test_a_step_that_is_given_up_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step beyond the limit leaves the state as it was, and the job that follows makes it."""
    lib = cl.Library()
    ball = lib.sphere(0.5)
    w, m = 2000, 4
    position = np.zeros((w, m, 3))
    position[..., 2] = 0.5 + 0.999 * np.arange(m)
    rotation = np.broadcast_to([1.0, 0, 0, 0], (w, m, 4))

    def states(limited: bool) -> tuple[list[bytes], int]:
        monkeypatch.setattr(_held, "_BODIES", 1 << 60)
        monkeypatch.setattr(_held, "_LONG", 1e9)
        monkeypatch.setattr(_held, "_LIMIT_MS", 1 if limited else 0)
        sim = contact.Simulation(lib, [ball] * m, mass=1.0, workers=1)
        sim.start(position, rotation, quat="wxyz")
        jobs: list[int] = []
        run = _held.Held._job

        def job(held: _held.Held, number: int, forced: bool) -> None:
            jobs.append(number)
            run(held, number, forced)

        monkeypatch.setattr(_held.Held, "_job", job)
        found = []
        for k in range(5):
            views = sim.step(None if k % 2 else np.full((w, m, 6), 0.25))
            found += [np.ascontiguousarray(getattr(views, f.name)).tobytes() for f in dataclasses.fields(views)]
        monkeypatch.setattr(_held.Held, "_job", run)
        return found, len(jobs)

    (limited, jobs), (whole, none) = states(True), states(False)
    assert limited == whole and jobs > 0 and none == 0


def test_steps_of_a_closed_simulation_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_held, "_BODIES", -1)
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.5)], mass=1.0)
    with pytest.raises(cl.OptionError, match="takes a state"):
        sim.step()
    sim.start([[[0.0, 0, np.nan]]], [[[1.0, 0, 0, 0]]], quat="wxyz")
    with pytest.raises(contact.StillError):
        for _ in range(10):
            sim.step()
    sim.close()
    with pytest.raises(cl.OptionError, match="takes a state"):
        sim.step()


def test_a_call_aside_ends_alone() -> None:
    """Its exceptions are those of the caller; after an interrupt of the caller it goes on to its end."""
    assert _jobs.aside(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        _jobs.aside(lambda: 1 // 0)
    ran("""
from clearance import _jobs
begun, go, done = threading.Event(), threading.Event(), threading.Event()
def call():
    begun.set()
    go.wait()
    done.set()
def interrupt():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    _jobs.aside(call)
    sys.exit("not interrupted")
except KeyboardInterrupt:
    pass
assert not done.is_set()
go.set()
done.wait()
""")


def test_an_interrupted_reading_of_files(tmp_path: Path) -> None:
    """The signal comes while the native library reads a hull, or worlds, and is raised before they are read."""
    ran(f"""
from clearance import _library, _worlds
rng = np.random.default_rng(1)
lib = cl.Library()
points = rng.normal(size=(20_000, 3))
lib.convex(points / np.linalg.norm(points, axis=1)[:, None])
scene = cl.Scene(lib)
scene.add(0)
scene.save({str(tmp_path / "scene.json")!r})
poses = np.zeros((300_000, 1, 7))
poses[..., 3] = 1
cl.write_worlds({str(tmp_path / "worlds.parquet")!r}, scene, poses, quat="wxyz")
def held(call, begun, done):
    def read(*given):
        begun.set()
        try:
            return call(*given)
        finally:
            done.set()
    return read
for module, name, call in (
    (_library, "read_listed", lambda: cl.Scene.load({str(tmp_path / "scene.json")!r})),
    (_worlds, "_read", lambda: cl.read_worlds({str(tmp_path / "worlds.parquet")!r}, scene)),
):
    begun, done = threading.Event(), threading.Event()
    setattr(module, name, held(getattr(module, name), begun, done))
    def interrupt():
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        call()
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        assert not done.is_set()
    done.wait()
    call()
""")


def test_an_interrupted_page(monkeypatch: pytest.MonkeyPatch, pairs: Pairs, engine: cl.Engine) -> None:
    """Steps of a row are solved aside of the caller, and support points in blocks, with the same bits."""
    threads: list[threading.Thread] = []
    solved = cl._show._solved

    def watched(*given: Any) -> Any:
        threads.append(threading.current_thread())
        return solved(*given)

    r = engine.distance(*pairs.arrays(), quat="wxyz")
    want = cl.show(r, *pairs.arrays(), quat="wxyz", rows=[1, 2, 3], trace=[1, 2]).scene
    monkeypatch.setattr("clearance._show._solved", watched)
    monkeypatch.setattr(_library, "_PRODUCTS", 3)
    assert cl.show(r, *pairs.arrays(), quat="wxyz", rows=[1, 2, 3], trace=[1, 2]).scene == want
    assert len(threads) == 2 and threading.current_thread() not in threads
    directions = np.random.default_rng(1).normal(size=(50, 3))
    for i in range(len(pairs.library)):
        one = np.concatenate([pairs.library.support(i, d[None]) for d in directions])
        assert np.array_equal(pairs.library.support(i, directions), one)
    assert pairs.library.support(0, np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(cl.OptionError):
        pairs.library.support(99, np.zeros((0, 3)))


def run_of(steps: int, bodies: int = 1) -> tuple[contact.Simulation, contact.Trajectory]:
    """A simulation, and its first step as if it were so many."""
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.5)] * bodies, mass=1.0)
    position = np.zeros((1, bodies, 3))
    position[..., 2] = 2 * np.arange(1, bodies + 1)
    r = sim.run(position, np.broadcast_to([1.0, 0, 0, 0], (1, bodies, 4)), quat="wxyz", steps=1)
    long: dict[str, Any] = {
        f.name: np.repeat(value, steps, axis=0)
        for f in dataclasses.fields(r)
        if isinstance(value := getattr(r, f.name), np.ndarray)
    }
    return sim, dataclasses.replace(r, **long)


def test_pages_of_simulations_have_limits(tmp_path: Path) -> None:
    sim, r = run_of(100_001)
    with pytest.raises(cl.OptionError, match=r"most: 250000, want .*100000"):
        sim.show(r, most=250_000, path=tmp_path / "page.html")
    assert sim.show(r, most=5).rows == 5
    crowd, r = run_of(20_000, 60)
    with pytest.raises(cl.OptionError, match=r"1,220,000 poses of bodies along time, and a page has at most 1,000,000"):
        crowd.show(r, most=20_000, path=tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
    with pytest.raises(cl.OptionError, match="trajectory: None, want that of"):
        sim.show(None)  # type: ignore[arg-type]


def test_pages_of_trajectories_have_limits(engine: cl.Engine) -> None:
    """All steps of a trajectory are on its page, whatever its rows."""
    lib = cl.Library()
    ball = lib.sphere(0.5)
    scene = cl.Scene(lib)
    for name in ("a", "b"):
        scene.add(ball, name=name)
    scene.all_pairs()
    poses = np.zeros((500_001, 2, 7))
    poses[..., 3] = 1
    poses[:, 1, 0] = 2
    r = engine.rollout(scene, worlds=len(poses))(poses, quat="wxyz")
    assert cl.show(r, scene, poses, quat="wxyz", most=3).rows == 3
    with pytest.raises(cl.OptionError, match="1,000,002 poses of bodies along time"):
        cl.show(r, scene, poses, quat="wxyz", most=3, dt=0.01)
    motions = np.broadcast_to(poses[0], (1, 500_001, 2, 7))
    s = engine.sweep(scene, motions, quat="wxyz", max_distance=0.1)
    with pytest.raises(cl.OptionError, match="1,000,002 poses of bodies along time"):
        cl.show(s, scene, motions, quat="wxyz")


def test_what_a_simulation_refuses_before_it_has_a_state() -> None:
    """Every call of one without a state is an error of the package."""
    _, r = run_of(2)
    lib = cl.Library()
    sim = contact.Simulation(lib, [lib.sphere(0.5)], mass=1.0)
    calls: list[Any] = [
        lambda: sim.show(r), lambda: sim.step(), lambda: sim.views, lambda: sim.contacts(), lambda: sim.state(),
        lambda: sim.reset([0]), lambda: sim.run(steps=1), lambda: sim.set_state(cast(Any, r)),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(cl.OptionError, match=r"takes a state|want that of Simulation|position: None"):
            call()
    assert "0 worlds of 1 bodies" in repr(sim)
    sim.close()
