"""What a compiled MuJoCo model says of its bodies and geoms: names, frames, and the pairs that MuJoCo collides."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ._arrays import Array
from ._errors import FileError, OptionError
from ._kinematics import unit

# mjtGeom
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)

# mjtSameFrame
_BODY, _INERTIA, _BODY_AXES, _INERTIA_AXES = range(1, 5)

_IDENTITY: Final = (1.0, 0.0, 0.0, 0.0)


def package() -> Any:
    """The package mujoco."""
    try:
        return importlib.import_module("mujoco")
    except ImportError as e:
        raise ImportError("MuJoCo models are compiled by mujoco: pip install mujoco") from e


def compiled(model: Any) -> Any:
    """The MjModel of an MjModel, an MjSpec, or a file: MJCF, URDF or, by the ending ``.mjb``, a compiled model."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        load = package().MjModel
        load = load.from_binary_path if path.lower().endswith(".mjb") else load.from_xml_path
        return _without_error(path, lambda: load(path))
    if hasattr(model, "compile"):
        return _without_error(f"MjSpec {getattr(model, 'modelname', '')!r}", model.compile)
    if not hasattr(model, "nq"):
        raise OptionError(f"model: {model!r:.60}, want an MjModel, an MjSpec or the path of a file")
    return model


def _without_error(what: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ValueError as e:  # that of MuJoCo names the line and the element
        raise FileError(f"{what}: {' '.join(str(e).split())}") from e


def name_of(model: Any, what: str, index: int) -> str:
    """The name of an object of the model, or what and its index."""
    at = int(getattr(model, f"name_{what}adr")[index])
    names = bytes(model.names)
    return names[at : names.index(b"\0", at)].decode() or f"{what} {index}"


def _same_frame(code: int, pose: tuple[Array, Array], inertia: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """A pose in the frame of a body as mj_local2Global has it. By its code, mjtSameFrame, a frame that the compiler
    found to be that of the body, or of its inertia, takes the position or the axes of these, however far the numbers of
    the model are from them (up to 1e-6)."""
    position, rotation = pose
    if code == _BODY:
        return np.zeros(3), np.array(_IDENTITY)
    if code == _BODY_AXES:
        return position, np.array(_IDENTITY)
    if inertia is not None and code == _INERTIA:
        return inertia
    if inertia is not None and code == _INERTIA_AXES:
        return position, inertia[1]
    return position, rotation


def inertia_pose(model: Any, body: int) -> tuple[Array, Array]:
    """The pose of the inertial frame of a body in the frame of the body."""
    given = np.array(model.body_ipos[body]), np.array(model.body_iquat[body])
    return _same_frame(int(model.body_sameframe[body]), given, None)


def geom_pose(model: Any, geom: int) -> tuple[Array, Array]:
    """The pose of a geom in the frame of its body, where mj_kinematics has it."""
    given = np.array(model.geom_pos[geom]), np.array(model.geom_quat[geom])
    return _same_frame(int(model.geom_sameframe[geom]), given, inertia_pose(model, int(model.geom_bodyid[geom])))


def body_pose(model: Any, body: int) -> tuple[Array, Array]:
    """The pose of a body in the frame of its parent."""
    return np.array(model.body_pos[body]), unit(model.body_quat[body])


class Filter:
    """Which pairs of groups of geoms MuJoCo collides: contype and conaffinity, the bodies, what is excluded, and the
    flags that disable all of it."""

    def __init__(self, model: Any) -> None:
        # The bits are not those of every version of MuJoCo.
        disabled, bits = int(model.opt.disableflags), package().mjtDisableBit
        self.off = bool(disabled & (int(bits.mjDSBL_CONTACT) | int(bits.mjDSBL_CONSTRAINT)))
        self.weld = np.array(model.body_weldid, np.int64)
        self.above = self.weld[np.array(model.body_parentid, np.int64)[self.weld]]
        # The world, what is welded to it, and mocap bodies with what is welded to these. MuJoCo 3.16 and before have
        # them all as one weld; since then a mocap body begins one of its own.
        self.fixed = np.array(model.body_dofnum)[self.weld] == 0
        self.parents = not disabled & int(bits.mjDSBL_FILTERPARENT)
        self.excluded: dict[int, list[int]] = {}
        for signature in model.exclude_signature:
            a, b = divmod(int(signature), 1 << 16)
            self.excluded.setdefault(a, []).append(b)
            self.excluded.setdefault(b, []).append(a)

    def collides(self, body: Any, bodies: Array) -> Array:
        """Whether a body collides with each of others, whatever their geoms: filterBodyPair and exclude."""
        if self.off:
            return np.zeros(len(bodies), bool)
        weld, welds = self.weld[body], self.weld[bodies]
        kept = (welds != weld) & ~(self.fixed[body] & self.fixed[bodies])
        if self.parents and weld:
            kept &= (welds == 0) | ((self.above[welds] != weld) & (welds != self.above[weld]))
        kept &= ~np.isin(bodies, self.excluded.get(int(body), []))
        found: Array = kept
        return found
