"""The picture at the head of the README: a Panda arm that has pushed the rod in its hand through a shelf, among other
obstacles, with the distances that Clearance and MuJoCo's ``mj_geomDistance`` state.

    pip install mujoco example-robot-data pillow
    python lab/python/head_picture.py [FILE.webp]

All numbers are computed here, and the picture is refused if the two agree. A capsule that goes through a thin box has a
depth that MuJoCo 4.0.0 takes for a distance: it finds the closest features of the segment and the box without noting
that the segment crosses it.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from PIL import Image

import clearance as cl

ARM = "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
JOINTS = [0.25, 0.12, 0.05, -2.0, 0.25, 1.75, 0.9, 0.02]  # radians; the fingers, metres
ROD = (0.014, 0.13)  # radius and half-length, metres
SHELF = (0.17, 0.3, 0.011)  # half-extents, metres


def rotated(q: Any, v: Any) -> Any:
    """A vector rotated by a unit quaternion, "wxyz"."""
    t = 2 * np.cross(q[1:], v)
    return np.asarray(v) + q[0] * t + np.cross(q[1:], t)


def mujoco_distance(shelf: Any, rod: Any) -> tuple[float, Any]:
    """The signed distance of shelf and rod at poses [7] by MuJoCo, in metres, and its two points [2,3]."""
    text = f"""<mujoco><worldbody>
      <geom name="shelf" type="box" size="{SHELF[0]} {SHELF[1]} {SHELF[2]}" pos="{" ".join(map(str, shelf[:3]))}"
       quat="{" ".join(map(str, shelf[3:]))}"/>
      <geom name="rod" type="capsule" size="{ROD[0]} {ROD[1]}" pos="{" ".join(map(str, rod[:3]))}"
       quat="{" ".join(map(str, rod[3:]))}"/></worldbody></mujoco>"""
    model: Any = mujoco.MjModel.from_xml_string(text)  # pyright: ignore
    data: Any = mujoco.MjData(model)  # pyright: ignore
    mujoco.mj_kinematics(model, data)  # pyright: ignore
    ends = np.zeros(6)
    distance = mujoco.mj_geomDistance(model, data, 0, 1, 10.0, ends)  # pyright: ignore
    return float(distance), ends.reshape(2, 3)


def main(out: Path) -> None:
    arm: Any = cl.load(ARM, concave="hull")
    links = len(arm.bodies)
    hand = arm.forward([JOINTS])[0, arm.link_names.index("panda_hand")]
    middle = hand[:3] + rotated(hand[3:], [0, 0, 0.2])
    lib, leg = arm.library, 0.5 * middle[2] - 0.02
    things = {  # shape, position
        "rod": (lib.capsule(*ROD), middle),
        "shelf": (lib.box(SHELF), np.add(middle, [0.03, 0.02, -0.03])),
        "wall": (lib.box([0.17, 0.012, 0.26]), [middle[0] + 0.03, middle[1] + 0.33, 0.26]),
        "leg": (lib.box([0.02, 0.02, leg]), [middle[0] + 0.18, middle[1] - 0.26, leg]),
        "mug": (lib.cylinder(0.045, 0.055), np.add(middle, [0.06, -0.19, 0.037])),
        "ball": (lib.sphere(0.06), np.add(middle, [0.02, 0.2, 0.042])),
    }
    others = []
    for name, (shape, place) in things.items():
        arm.add(shape, name=name)
        others.append([*place, *(hand[3:] if name == "rod" else [1, 0, 0, 0])])
    body = {name: links + i for i, name in enumerate(things)}
    fingers = arm.index("panda_hand")
    asked = [(body["rod"], body["shelf"]), (fingers, body["mug"]), (fingers, body["ball"])]
    arm.pairs = asked
    with cl.Engine("cpu") as engine, engine.rollout(arm, worlds=1, precision="double") as roll:
        ours = roll(arm.poses([JOINTS], others=others))
    ours.raise_if_failed()
    depth, gap = float(ours.distance[0, 0]), float(ours.gap[0, 0])
    theirs, ends = mujoco_distance(np.array(others[1]), np.array(others[0]))
    if abs(theirs - depth) < 1e-3:
        raise SystemExit(f"MuJoCo {mujoco.__version__} agrees: {theirs:.6f} m")
    print(f"rod and shelf: {1e3 * depth:.2f} mm ± {gap:.1e} m; MuJoCo {mujoco.__version__}: {1e3 * theirs:.2f} mm")
    wrong = cl.Segment(ends[0], ends[1], (0.72, 0.1, 0.6), f"MuJoCo: {1e3 * theirs:+.1f} mm")
    picture = arm.picture(
        JOINTS, others=others, size=(1080, 640), camera=cl.Camera(-24, 8, 1.04), tint=False, segments=[wrong]
    )
    Image.open(BytesIO(picture.png)).convert("RGB").save(out, quality=90, method=6)


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs/pictures/arm.webp")
