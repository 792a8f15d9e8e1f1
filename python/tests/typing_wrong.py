"""Mistakes that a type checker must see, each on a line that ends with "# wrong"; no other line has one."""

import numpy as np
from numpy.typing import NDArray

import clearance as cl
from clearance import contact, urdf

lib = cl.Library()
ball = lib.sphere(0.5)
eng = cl.Engine("cpu")
at, q = np.zeros((4, 3)), [1.0, 0.0, 0.0, 0.0]
scene = cl.Scene(lib)
sim = contact.Simulation(lib, [ball], mass=1.0)
r = eng.distance(lib, ball, ball, at, q, at, q, quat="wxyz")
roll = eng.rollout(scene, worlds=4)
step = roll(at, quat="wxyz")
sweep = eng.sweep(scene, at, quat="wxyz")
run = sim.run(steps=3)
solved = contact.solve([[1.0]], at, at, [1], [[-1]], [[0]], at, at, at, [[0.5]], grad=True)

s: str = r.distance  # wrong
t: str = r.status  # wrong
n: int = r.hit  # wrong
m: NDArray[np.bool_] = r.distance  # wrong
b: list[float] = r.lower  # wrong
r.distanse.min()  # wrong
r.normal.lenght()  # wrong
_ = r.distance + "m"  # wrong
_ = step.contact  # wrong
w: str = step.pair  # wrong
_ = sweep.distance  # wrong
v: str = sweep.t0  # wrong
u: str = run.position  # wrong
_ = run.poses  # wrong
eng.distance(lib, ball, ball, "here", q, at, q, quat="wxyz")  # wrong
eng.distance(lib, ball, ball, None, q, at, q, quat="wxyz")  # wrong
eng.distance(lib, ball, ball, at, q, at, q, quat="zyxw")  # wrong
eng.distance(lib, ball, ball, at, q, at, q, quat="wxyz", precision="half")  # wrong
eng.distance(lib, ball, ball, at, q, at, q, quat="wxyz", columns=3)  # wrong
eng.distance(lib, ball, ball, np.eye(4), "there")  # wrong
eng.distance(lib, ball, ball, np.eye(4), lib)  # wrong
eng.distance(lib, ball, ball, pose_a=np.eye(4), pose_c=np.eye(4))  # wrong
eng.contacts(lib, ball, ball, None, np.eye(4), max_gap=0.1)  # wrong
_ = cl.contacts  # wrong
cl.contact.Simulation(lib, [ball], model="lcp")  # wrong
eng.distance(scene, ball, ball, at, q, at, q, quat="wxyz")  # wrong
eng.vjp("distance", lib, ball, ball, at, q, at, q, quat="wxyz", wrt="pose")  # wrong
eng.query("distances", lib, ball, ball, at, q, at, q, quat="wxyz")  # wrong
eng.rollout(scene, worlds=4, reduce="worlds")  # wrong
eng.rollout(scene, worlds=4, pairs="every")  # wrong
eng.sweep(scene, "poses", quat="wxyz")  # wrong
cl.Engine("gpu")  # wrong
roll("poses", quat="wxyz")  # wrong
sim.run("position", steps=3)  # wrong
sim.run(steps=3, quat="zyxw")  # wrong
contact.Simulation(lib, [ball], model="lcp")  # wrong
urdf.load("robot.urdf", concave="convex")  # wrong
sweep.vjp(1.0)  # wrong
sweep.vjp(time=1.0, wrt="pose")  # wrong
solved.vjp(speed=1.0)  # wrong
x: str = solved.vjp(velocity=1.0).friction  # wrong
