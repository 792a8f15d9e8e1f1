"""Clearance: collision queries between millions of pairs of convex shapes, with a bound on the error of every answer.

    import clearance as cl

    lib = cl.Library()
    box, ball = lib.box([1, 1, 1]), lib.sphere(0.5)
    eng = cl.Engine()
    r = eng.distance(lib, a, b, Ta, Tb)  # poses as matrices [N,4,4], pin.SE3, pairs (position, quaternion), ...

Modules are attributes of the package, imported when they are first used: ``cl.contact``, ``cl.mujoco``, ``cl.urdf``,
``cl.torch``, ``cl.jax``, ``cl.ray``, ``cl.pinocchio``. Lengths are in metres, normals point from A to B, quaternions
are in the order that the caller states. Every answer is an interval: the true value lies in ``r.distance`` ± ``r.gap``.
A row that fails says so in ``r.status`` and never reads as free.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._bodies import Body, Part
from ._derivatives import distance_gradient
from ._engine import Engine
from ._errors import (
    ArrayError,
    CallError,
    ClearanceError,
    ClosedError,
    ConcaveError,
    CopyError,
    FileError,
    ForkError,
    NoBackendError,
    NotFoundError,
    OptionError,
    PlacementError,
    RefusedError,
    RefutedError,
    RowError,
    ShapeError,
    StillError,
)
from ._inputs import transforms
from ._library import Library
from ._load import load
from ._meshes import decompose
from ._page import View
from ._picture import Camera, Film, Picture, PictureOptions, Segment
from ._placements import Placements
from ._regions import BoxRegion, SurfaceRegion
from ._result import (
    INVALID,
    PENETRATING,
    SEPARATED,
    TOUCHING,
    UNDECIDED,
    Poses,
    Report,
    Result,
    SceneResult,
    Tangent,
)
from ._rollout import Rollout, SceneRollout
from ._scene import Scene, SkipProposal
from ._score import FileReport, audit_file, pair_rows, score_file
from ._shape import Shape
from ._show import show
from ._stream import ScoreStream, score_stream
from ._sweep import CONTACT, FREE, SweepResult
from ._twists import move_poses
from ._version import __version__
from ._worlds import (
    Worlds,
    audit_rollout_file,
    audit_sweep_file,
    read_worlds,
    rollout_file,
    sweep_file,
    write_worlds,
)

if TYPE_CHECKING:
    from . import (
        contact as contact,
    )
    from . import (
        gymnasium as gymnasium,
    )
    from . import (
        jax as jax,
    )
    from . import (
        mujoco as mujoco,
    )
    from . import (
        pinocchio as pinocchio,
    )
    from . import (
        ray as ray,
    )
    from . import (
        torch as torch,
    )
    from . import (
        urdf as urdf,
    )

# Modules that are attributes, and what a module asks for that the package does not install.
_MODULES = {
    "contact": "",
    "gymnasium": "gymnasium",
    "jax": "jax",
    "mujoco": "mujoco",
    "pinocchio": "pin",
    "ray": "ray pyarrow",
    "torch": "torch",
    "urdf": "",
}


if not TYPE_CHECKING:  # a checker would take any name for a module

    def __getattr__(name: str) -> Any:
        """A module of the package, imported when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'clearance' has no attribute {name!r}")
        try:
            return importlib.import_module(f"clearance.{name}")
        except ImportError as e:  # as AttributeError, so that hasattr and inspection go on
            need = f" (pip install {_MODULES[name]})" if _MODULES[name] and "pip install" not in str(e) else ""
            raise AttributeError(f"clearance.{name} cannot be imported{need}: {e}") from e


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})


__all__ = [
    "CONTACT",
    "FREE",
    "INVALID",
    "PENETRATING",
    "SEPARATED",
    "TOUCHING",
    "UNDECIDED",
    "ArrayError",
    "Body",
    "BoxRegion",
    "CallError",
    "Camera",
    "ClearanceError",
    "ClosedError",
    "ConcaveError",
    "CopyError",
    "Engine",
    "FileError",
    "FileReport",
    "Film",
    "ForkError",
    "Library",
    "NoBackendError",
    "NotFoundError",
    "OptionError",
    "Part",
    "Picture",
    "PictureOptions",
    "PlacementError",
    "Placements",
    "Poses",
    "RefusedError",
    "RefutedError",
    "Report",
    "Result",
    "Rollout",
    "RowError",
    "Scene",
    "SceneResult",
    "SceneRollout",
    "ScoreStream",
    "Segment",
    "Shape",
    "ShapeError",
    "SkipProposal",
    "StillError",
    "SurfaceRegion",
    "SweepResult",
    "Tangent",
    "View",
    "Worlds",
    "__version__",
    "audit_file",
    "audit_rollout_file",
    "audit_sweep_file",
    "decompose",
    "distance_gradient",
    "load",
    "move_poses",
    "pair_rows",
    "read_worlds",
    "rollout_file",
    "score_file",
    "score_stream",
    "show",
    "sweep_file",
    "transforms",
    "write_worlds",
]
