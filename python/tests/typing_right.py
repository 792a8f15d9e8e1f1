"""Correct uses of the package, which a type checker must accept. No test runs it: test_typing.py has mypy check it."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import clearance as cl
from clearance import contact

lib = cl.Library()
ball = lib.sphere(0.5)
eng = cl.Engine("cpu", "double")
at, q = np.zeros((4, 3)), [1.0, 0.0, 0.0, 0.0]
there = [[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0], [5.0, 0.0, 0.0]]
r = eng.distance(lib, ball, np.full(4, ball), at, q, there, q, quat="wxyz", columns=("distance", "gap", "normal"))
least: float = float(r.distance.min())
floats: NDArray[np.floating[Any]] = r.distance + r.gap
contacts: NDArray[np.bool_] = r.hit
codes: NDArray[np.integer[Any]] = r.status
total = 0 if r.iterations is None else int(r.iterations.sum())
tensor: Any = cast("Any", r.distance)
eng.vjp("distance", lib, 0, 0, at, q, there, q, quat="wxyz", distance=1.0, wrt="poses")
matrices = np.tile(np.eye(4), (4, 1, 1))
eng.distance(lib, ball, ball, matrices, (at, q), quat="xyzw")
eng.collide(lib, 0, 0, pose_a=np.eye(4), pose_b=matrices)
eng.growth(lib, 0, 0, pos_a=at, quat_a=q, pos_b=at, quat_b=q, quat="wxyz", max_factor=2.0)


class Frame:
    """An object with rotation and translation."""

    rotation = np.eye(3)
    translation = np.zeros(3)


eng.contacts(lib, 0, 0, Frame(), [Frame(), Frame()], max_gap=0.1)
error: float = r.report.rotation_error
model: cl.contact.Simulation = cl.contact.Simulation(lib, [ball])

scene = cl.Scene(lib)
scene.add(ball)
scene.add(ball)
scene.all_pairs()
names = ["distance", "gap"]
roll = eng.rollout(scene, worlds=4, reduce="world", pairs="all", columns=names)
roll([[Frame(), Frame()]] * 4)
eng.sweep(scene, np.zeros((4, 2, 2, 4, 4)))
step = roll(np.zeros((4, 2, 7)), quat="wxyz")
first: int = int(step.pair[0])
sweep = eng.sweep(scene, np.zeros((4, 2, 2, 7)), quat="xyzw")
times: NDArray[np.floating[Any]] = sweep.t0[sweep.hit]
eng.sweep(scene, np.zeros((4, 2, 2, 7)), quat="xyzw", grad=True).vjp(time=1.0, wrt="poses")

sim = contact.Simulation(lib, [ball], mass=1.0, model="ccp")
run = sim.run([[[0.0, 0.0, 1.0]]], [[q]], quat="wxyz", steps=3)
top: float = float(run.position[-1, 0, 0, 2])
energy: NDArray[np.floating[Any]] = run.energy

solved = contact.solve([[1.0]], at, at, [1], [[-1]], [[0]], at, at, at, [[0.5]], grad=True)
gradient = solved.vjp(velocity=1.0)
by_friction: NDArray[np.floating[Any]] = gradient.friction[solved.smooth]
