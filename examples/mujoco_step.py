"""A time step of a MuJoCo model by the contact problem of this project, and its derivative.

MuJoCo computes the mass matrix (mj_fullM), accelerations without contacts (qacc_smooth) and Jacobians (mj_jac); contact
points, impulses and gradients by all of these come from here. A box lies on a sliding platform, which a force pulls.
The picture mujoco_step.png has the velocities of both.

python examples/mujoco_step.py   (needs mujoco)
"""

from typing import Any

import matplotlib.pyplot as plt
import mujoco
import numpy as np

import clearance as cl
from clearance import contact
from clearance.mujoco import from_model

XML = """
<mujoco><option timestep="0.005"/><worldbody>
  <body name="platform" pos="0 0 0.1">
    <joint type="slide" axis="1 0 0"/><geom type="box" size="1 1 0.1" mass="5"/>
  </body>
  <body name="box" pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
</worldbody></mujoco>
"""
model = mujoco.MjModel.from_xml_string(XML)
scene, engine, dt = from_model(model), cl.Engine("cpu", "double"), model.opt.timestep


def solve(data: Any) -> contact.SystemSolution:
    """The velocities after a step and the impulses, by M, J, the velocity without contacts, friction and targets."""
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    found = engine.scene_contacts(scene, scene.poses(data), max_gap=0.01)
    rows, free = scene.contact_jacobian(data, found), data.qvel + dt * data.qacc_smooth
    target = np.where(found.gap > 0, -found.gap / dt, -0.1 * found.gap / dt)  # a gap may close, a tenth of overlap goes
    friction = np.full((1, len(found)), 0.5)
    solution = contact.solve_system(mass[None], rows[None], free[None], friction, target[None], tolerance=1e-9)
    solution.raise_if_failed()
    return solution


if __name__ == "__main__":
    data, velocity = mujoco.MjData(model), []
    data.qfrc_applied[0] = 12.0  # N, which accelerates both as one: 2 m/s²
    for _ in range(100):
        solution = solve(data)
        data.qvel[:] = solution.velocity[0]
        mujoco.mj_integratePos(model, data.qpos, data.qvel, dt)
        velocity.append(data.qvel[:2].copy())
    plt.plot(velocity)
    plt.gca().set(xlabel="step", ylabel="velocity of platform and box (m/s)")
    plt.savefig("mujoco_step.png")
    # The velocity of the box after a step by that of the platform before it: they stick, and share momentum 5 to 1.
    slope, (platform, box) = solution.vjp(velocity=np.eye(model.nv)[None, 1]).velocity[0, 0], velocity[-1]
    print(f"Both reach 1 m/s: {platform:.6f} and {box:.6f}; the derivative is 5/6 = {5 / 6:.6f}: {slope:.6f}.")
