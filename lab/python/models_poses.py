"""Poses of all links of URDF models at random configurations, beside pinocchio's or MuJoCo's; see models.py."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import clearance as cl
from clearance import urdf
from clearance._kinematics import rotated
from clearance._urdf_xml import JointElement, Robot, read
from clearance._xml import Notes, Source

# Positions [L,3] and rotations [L,3,3] of links by name, of the values of joints by name.
Peer = Any

ALLOWED = 1e-14


def _robot(path: Path) -> Robot:
    return read(Source.of(path, "urdf"), (), Notes())


def values(scene: urdf.UrdfScene, joints: list[JointElement], q: np.ndarray) -> dict[str, float]:
    """The value of every joint that moves, also of those that mimic another."""
    number = {name: i for i, name in enumerate(scene.link_names)}
    by_child = {j.child: j for j in scene.tree.joints}
    found = {}
    for j in joints:
        made = by_child[number[j.child]]
        if made.index >= 0:
            found[j.name] = float(made.multiplier * q[made.index] + made.offset)
    return found


def configurations(scene: urdf.UrdfScene, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random configurations, also of joints whose limits are none or the wrong way round."""
    low, high = scene.limits.min(axis=1), scene.limits.max(axis=1)
    free = np.where([k == "prismatic" for k in scene.tree.kinds], 1.0, np.pi)
    bounded = np.isfinite(low) & np.isfinite(high)
    return rng.uniform(np.where(bounded, low, -free), np.where(bounded, high, free), (count, len(low)))


class ByPinocchio:
    """Poses by pinocchio, which reads the file by urdfdom."""

    def __init__(self, path: Path) -> None:
        self.pin: Any = importlib.import_module("pinocchio")
        self.model = self.pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()

    def poses(self, at: dict[str, float]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        model, q = self.model, self.pin.neutral(self.model)
        for i in range(1, model.njoints):
            first, value = model.joints[i].idx_q, at[model.names[i]]
            if model.joints[i].nq == 2:  # a continuous joint is a point of the unit circle
                q[first], q[first + 1] = np.cos(value), np.sin(value)
            else:
                q[first] = value
        self.pin.framesForwardKinematics(model, self.data, q)
        body = self.pin.FrameType.BODY
        placed = {f.name: self.data.oMf[k] for k, f in enumerate(model.frames) if f.type == body}
        return {name: (np.array(m.translation), np.array(m.rotation)) for name, m in placed.items()}


class ByMujoco:
    """Poses by MuJoCo, which is given the links and joints of the file without geometries, all of mass 1."""

    def __init__(self, path: Path) -> None:
        self.mujoco: Any = importlib.import_module("mujoco")
        root = ElementTree.parse(path).getroot()
        for child in list(root):
            if child.tag == "link":
                child[:] = [ElementTree.fromstring(_MASS)]
            elif child.tag == "joint":
                child[:] = [c for c in child if c.tag in ("origin", "parent", "child", "axis")]
                child.tail = None
            else:
                root.remove(child)
        root.append(ElementTree.fromstring('<mujoco><compiler fusestatic="false" strippath="false"/></mujoco>'))
        root.set("name", root.get("name") or "robot")
        self.model = self.mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
        self.data = self.mujoco.MjData(self.model)
        children = {c.get("link") for c in root.iter("child")}
        self.root = next(link.get("name", "") for link in root.iter("link") if link.get("name") not in children)

    def poses(self, at: dict[str, float]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        model, data = self.model, self.data
        for j in range(model.njnt):
            data.qpos[model.jnt_qposadr[j]] = at[model.joint(j).name]
        self.mujoco.mj_kinematics(model, data)
        found = {
            model.body(b).name: (data.xpos[b].copy(), data.xmat[b].reshape(3, 3).copy()) for b in range(model.nbody)
        }
        found[self.root] = np.zeros(3), np.eye(3)  # which is a part of the world
        return found


_MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def compare(paths: list[Path], by: str, count: int) -> None:
    """Print the largest differences of positions, relative to the size of the model where that is above a metre, and of
    entries of rotations. The size is the largest distance of a link from the root in the configuration."""
    rng = np.random.default_rng(1)
    models, links, rows, refused, without = 0, 0, 0, 0, list[str]()
    worst, tilted = (0.0, ""), (0.0, "")
    beyond = 0
    for path in paths:
        try:
            scene = urdf.load(path, concave="hull")
        except cl.ClearanceError:
            refused += 1
            continue
        try:
            peer = (ByPinocchio if by == "pinocchio" else ByMujoco)(path)
        except Exception as e:  # of other libraries
            without.append(f"{path.name}: {str(e).splitlines()[0][:160] if str(e) else type(e).__name__}")
            continue
        joints = _robot(path).joints
        models, links = models + 1, links + len(scene.link_names)
        largest = (0.0, "")
        for q in configurations(scene, count, rng):
            ours = scene.forward(q[None])[0]
            theirs = peer.poses(values(scene, joints, q))
            size = max(1.0, float(np.linalg.norm(ours[:, :3], axis=1).max()))
            for k, name in enumerate(scene.link_names):
                if name not in theirs:
                    without.append(f"{path.name}: no link {name!r}")
                    continue
                rows += 1
                position, rotation = theirs[name]
                off = float(np.abs(ours[k, :3] - position).max()) / size
                axes = np.stack([rotated(ours[k, 3:], e) for e in np.eye(3)], axis=-1)
                tilt = float(np.abs(axes - rotation).max())
                worst, tilted = max(worst, (off, f"{path.name} {name}")), max(tilted, (tilt, f"{path.name} {name}"))
                largest = max(largest, (max(off, tilt), name))
        if largest[0] > ALLOWED:
            beyond += 1
            print(f"  {path}: {largest[1]} differs by {largest[0]:.1e}", flush=True)
    version = importlib.import_module(by).__version__
    print(f"\n{by} {version}: {models:,} models of {links:,} links, {count} configurations, {rows:,} poses of links")
    print(f"- positions to {worst[0]:.1e} ({worst[1]}), relative to the size above 1 m")
    print(f"- axes to {tilted[0]:.1e} ({tilted[1]})")
    print(f"- {beyond} models with a difference above {ALLOWED:g}; {refused} are refused here, {len(without)} by {by}:")
    for line in without:
        print(f"  - {line}")
