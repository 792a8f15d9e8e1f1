"""A time step of a MuJoCo model by the contact problem of this project, and its derivative.

MuJoCo computes the mass matrix (mj_fullM), accelerations without contacts (qacc_smooth) and Jacobians (mj_jac); contact
points, impulses and gradients by all of these come from here. A box lies on a sliding platform, which a force pulls.

pip install mujoco
python examples/mujoco_step.py
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import clearance as cl
from clearance import contact
from clearance.mujoco import from_model

XML = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <body name="platform" pos="0 0 0.1">
      <joint type="slide" axis="1 0 0"/>
      <geom type="box" size="1 1 0.1" mass="5"/>
    </body>
    <body name="box" pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def problem(model: Any, data: Any, scene: Any, engine: cl.Engine, friction: float) -> dict[str, Any]:
    """The contact problem of a state: M, J, free velocity, friction and targets, for one world."""
    dt, nv = model.opt.timestep, model.nv
    mujoco.mj_forward(model, data)
    mass = np.zeros((nv, nv))
    mujoco.mj_fullM(model, data, mass)
    found = engine.scene_contacts(scene, scene.poses(data), max_gap=0.01)
    rows = np.zeros((len(found), 3, nv))
    for k in range(len(found)):
        first, second = (scene.body_ids[i] for i in scene.pairs[found.pair[k]])
        normal = found.normal[k]
        t1 = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        t1 /= np.linalg.norm(t1)
        for body, sign in ((first, -1.0), (second, 1.0)):
            at_point = np.zeros((3, nv))
            mujoco.mj_jac(model, data, at_point, None, found.position[k], body)
            rows[k] += sign * np.array([t1, np.cross(normal, t1), normal]) @ at_point
    return {
        "mass": mass[None],
        "jacobian": rows[None],
        "velocity": (data.qvel + dt * data.qacc_smooth)[None],
        "friction": np.full((1, len(found)), friction),
        "target": np.where(found.gap > 0, -found.gap / dt, -0.1 * found.gap / dt)[None],
    }


def main() -> None:
    model = mujoco.MjModel.from_xml_string(XML)
    data, engine = mujoco.MjData(model), cl.Engine("cpu", "double")
    scene = from_model(model)
    data.qfrc_applied[0] = 12.0  # N, which accelerates both as one: 2 m/s²
    for _ in range(100):
        solution = contact.solve_system(**problem(model, data, scene, engine, friction=0.5), tolerance=1e-9)
        solution.raise_if_failed()
        data.qvel[:] = solution.velocity[0]
        mujoco.mj_integratePos(model, data.qpos, data.qvel, model.opt.timestep)
    print(f"after 0.5 s: platform {data.qvel[0]:.6f} m/s, box {data.qvel[1]:.6f} m/s, want 1 and 1")
    # The velocity of the box after a step by that of the platform before it: they stick, so momentum is shared 5 to 1.
    g = solution.vjp(velocity=np.eye(model.nv)[None, 1])
    print(f"d(box)/d(platform) = {g.velocity[0, 0]:.6f}, want {5 / 6:.6f}; smooth: {bool(g.smooth[0])}")


if __name__ == "__main__":
    main()
