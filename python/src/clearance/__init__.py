"""Clearance: collision queries between millions of pairs of convex shapes, with a bound on the error of every answer.

    import clearance as cl

    lib = cl.Library()
    box, ball = lib.box([1, 1, 1]), lib.sphere(0.5)
    eng = cl.Engine()
    r = eng.distance(lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")

Lengths are in metres, normals point from A to B, quaternions are in the order that the caller states. Every answer is
an interval: the true value lies in ``r.distance`` ± ``r.gap``. A row that fails says so in ``r.status`` and never reads
as free.
"""

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
