"""Files of worlds and motions: written, read, and answered as ``batchbench rollout`` and ``sweep`` answer them."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Unpack, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, take
from ._attach import carried
from ._bodies import Table, listed_pairs, pair_arrays
from ._columns import QueryName
from ._engine import Engine
from ._errors import ArrayError, OptionError
from ._inputs import check_scene, places_of, reduction
from ._library import Library
from ._options import (
    Order,
    Precision,
    SolverOptions,
    defaults,
    filled,
    flag,
    order_of,
    path_bytes,
    real,
    to_wxyz,
    with_order,
)
from ._poses import seven
from ._result import report_of
from ._scene import Scene
from ._score import FileReport, opened_or, run_file
from ._score import part as range_of
from ._sweep import SweepOptions

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds of a file, or its motions.

    ``poses`` are [W,M,7], of motions [W,T,M,7]: position, then quaternion w, x, y, z. ``bodies`` are the bodies of the
    scene at the places, int32 [M] or [W,M], -1 for none. ``pairs`` [P,2] are the pairs of places that all worlds share;
    None stands for all pairs but those in ``skip`` [S,2].
    """

    poses: Array
    bodies: Array
    pairs: Array | None
    skip: Array

    def __repr__(self) -> str:
        what = "worlds" if self.poses.ndim == 3 else f"motions of {self.poses.shape[1]} way points"
        pairs = "all pairs" if self.pairs is None else f"{len(self.pairs):,} pairs"
        return f"{len(self.poses):,} {what} of {self.bodies.shape[-1]:,} bodies, {pairs}"


def write_worlds(
    path: Path,
    scene: Scene,
    poses: Any,
    *,
    quat: Order | None = None,
    bodies: Any = None,
    pairs: Literal["all"] | None = None,
    skip: Iterable[tuple[int, int]] = (),
) -> None:
    """Write worlds [W,M,7] of a scene, or motions [W,T,M,7], as a file (.parquet, .npz) for :func:`rollout_file` and
    :func:`sweep_file`, and for ``batchbench rollout`` and ``sweep``. Four axes are always motions: worlds of several
    leading axes are reshaped to [W,M,7] first. Poses may have any form that :meth:`Rollout.__call__` takes.

    The pairs are those of the scene or, of worlds, with ``pairs="all"`` all but those in ``skip``. ``bodies`` int32 [M]
    or [W,M] are the bodies at the places, as in :meth:`Engine.rollout`. ``scene.save`` writes the scene.
    """
    check_scene(scene)
    n = nat.native()
    poses, quat, _ = seven("poses", poses, quat)
    quat = order_of(quat, poses)
    array = host("poses", poses, True)
    if array.ndim not in (3, 4):
        raise ArrayError("poses", f"has the shape {list(array.shape)}, want [W, M, 7] or [W, T, M, 7]")
    skipped = listed_pairs("skip", skip)
    if pairs not in (None, "all") or (pairs is None and skipped):
        raise OptionError(f'pairs: {pairs!r}, want None or "all", which pairs to skip need')
    if pairs and array.ndim == 4:
        raise OptionError("pairs: files of motions list their pairs, so want None; scene.all_pairs() lists all")
    points = array.shape[1:-2]
    places, per_world = places_of(scene, bodies, len(array))
    m = places.shape[-1]
    array = take("poses", array, np.float64, (*points, m, 7), len(array), True)
    array = carried(scene.attachments, places, to_wxyz(array, quat))
    first, second = scene.pair_arrays() if pairs is None else pair_arrays("skip", skipped)
    if points and points[0] < 2:
        raise ArrayError("poses", f"has the shape {list(array.shape)}, want at least 2 way points")
    table, error = Table(scene.library, scene.bodies), nat.Error()  # which live until the call has ended
    record = nat.Motions(table.number, len(array), m, points[0] if points else 1, len(first))
    record.bodies, record.template_a, record.template_b, record.poses = map(address, (places, first, second, array))
    record.per_world, record.all_pairs = int(per_world), int(pairs == "all")
    n.raise_for(n.worlds_write(record, path_bytes("path", path), error), error)


def read_worlds(path: Path, scene: Scene) -> Worlds:
    """Read a file of worlds or motions of the bodies of a scene; an error names the file and the place."""
    check_scene(scene)
    table, name = Table(scene.library, scene.bodies), path_bytes("path", path)
    return _jobs.aside(lambda: _read(table, name))


def _read(table: Table, name: bytes) -> Worlds:
    n, number, about, error = nat.native(), ctypes.c_uint64(), nat.Motions(), nat.Error()
    n.raise_for(n.worlds_read(table.number, name, about, number, error), error)
    try:
        w, t, m = int(about.worlds), int(about.way_points), int(about.places)
        bodies = np.empty((w, m) if about.per_world else m, np.int32)
        first, second = np.empty(about.templates, np.int32), np.empty(about.templates, np.int32)
        poses = np.empty((w, m, 7) if t == 1 else (w, t, m, 7))
        n.raise_for(n.worlds_copy(number, *map(address, (bodies, first, second, poses)), error), error)
    finally:
        n.worlds_free(number, None)
    pairs, none = np.stack([first, second], axis=1), np.zeros((0, 2), np.int32)
    known = with_order(poses, "wxyz")
    return Worlds(known, bodies, None, pairs) if about.all_pairs else Worlds(known, bodies, pairs, none)


def _scene_record(max_distance: float | None, reduce: str | None, pairs: str | None) -> nat.Scene:
    """What a call on a file of worlds asks; the bodies and the workers are set by the caller."""
    if pairs not in (None, "all"):
        raise OptionError(f'pairs: {pairs!r}, want None or "all", in place of the pairs of the file')
    farthest = None if max_distance is None else real("max_distance", max_distance, 0)
    record = nat.Scene(reduce=reduction(reduce), all_pairs=int(pairs == "all"))
    record.has_max_distance, record.max_distance = int(farthest is not None), farthest or 0.0
    return record


def _run(
    engine: Engine,
    call: str,
    records: tuple[Any, ...],
    shapes: Any,
    source: tuple[str, Path],
    results: tuple[str, Path],
    part: tuple[int, int] | None,
    progress: bool | Callable[[int, int], object] = False,
) -> Any:
    """Run a call of the library on a file of worlds or motions and its results, each with the name of its argument."""
    names = (shapes, path_bytes(*source), *range_of(part, "part"), path_bytes(*results))

    def submit(job: Any, error: nat.Error) -> int:
        return cast(int, getattr(engine._native, call)(engine._number, *records, *names, job, error))

    return run_file(submit, (*records, names), progress, "rows")


def rollout_file(
    worlds: Path,
    out: Path,
    *,
    scene: Scene | Path,
    query: QueryName = "distance",
    max_distance: float | None = None,
    reduce: Literal["world"] | None = None,
    pairs: Literal["all"] | None = None,
    culling: bool = True,
    part: tuple[int, int] | None = None,
    progress: bool | Callable[[int, int], object] = False,
    engine: Engine | None = None,
    **options: Unpack[SolverOptions],
) -> FileReport:
    """Answer the worlds of a file (.parquet, .npz) into another, as ``batchbench rollout`` does, byte for byte.

    ``scene`` is a Scene or the path of a shapes.json. The pairs are those of the file, or with ``pairs="all"`` all of
    them. Other options are those of :meth:`Engine.rollout` and :func:`score_file`. The files are streamed. ``out``
    appears under its name once it is complete: an interrupted call leaves no file. :func:`audit_rollout_file` and
    ``batchbench verify rollout`` audit the results. ``part`` (lo, hi), hi not included, answers these worlds alone,
    with the bits that they have in the results of the whole; worlds of errors, and of rows of all pairs, are counted
    from the start of the file.
    """
    record = _scene_record(max_distance, reduce, pairs)
    record.no_culling = int(not flag("culling", culling))
    with opened_or(engine) as opened, _bodies(scene) as (table, shapes, library):
        q = opened._query(query, library, filled("files of worlds", SolverOptions, options))
        record.table, record.workers = table, opened._workers
        report = _run(opened, "rollout_file", (q, record), shapes, ("worlds", worlds), ("out", out), part, progress)
    return FileReport(os.fspath(out), report_of(report), None)


def sweep_file(
    motions: Path,
    out: Path,
    *,
    scene: Scene | Path,
    max_distance: float | None = None,
    time_tolerance: float | None = None,
    tolerance: float | None = None,
    max_evaluations: int | None = None,
    part: tuple[int, int] | None = None,
    progress: bool | Callable[[int, int], object] = False,
    engine: Engine | None = None,
) -> FileReport:
    """Find the first contacts of the motions of a file (.parquet, .npz), as ``batchbench sweep`` does, byte for byte.

    The options are those of :meth:`Engine.sweep` and :func:`rollout_file`. Contacts are counted as penetrating, and
    free rows as separated. :func:`audit_sweep_file` and ``batchbench verify sweep`` audit the results.
    """
    options = SweepOptions(max_distance, time_tolerance, tolerance, max_evaluations)
    options.motions(0)  # which checks them
    with opened_or(engine) as opened, _bodies(scene) as (table, shapes, _):
        record = options.motions(table)
        record.workers = opened._workers
        report = _run(opened, "sweep_file", (record,), shapes, ("motions", motions), ("out", out), part, progress)
    return FileReport(os.fspath(out), report_of(report), None)


def audit_rollout_file(
    worlds: Path,
    results: Path,
    *,
    scene: Scene | Path,
    query: QueryName = "distance",
    max_distance: float | None = None,
    reduce: Literal["world"] | None = None,
    pairs: Literal["all"] | None = None,
    precision: Precision | None = None,
    tolerance: float | None = None,
    part: tuple[int, int] | None = None,
    engine: Engine | None = None,
) -> tuple[int, int]:
    """Audit results of worlds from the shapes alone: the numbers of rows, of all pairs that of pairs, (audited,
    refuted).

    The reference solves every pair of parts of the worlds of ``part``, by default all; the results may be of more. The
    options are those that the answers have to meet. Nothing of the file is believed, and its solver takes no part.
    """
    record = _scene_record(max_distance, reduce, pairs)
    with opened_or(engine) as opened, _bodies(scene) as (table, shapes, library):
        q = opened._query(query, library, {**defaults(SolverOptions), "precision": precision, "tolerance": tolerance})
        record.table, record.workers = table, opened._workers
        report = _run(opened, "rollout_audit", (q, record), shapes, ("worlds", worlds), ("results", results), part)
    return int(report.audited), int(report.refuted)


def audit_sweep_file(
    motions: Path,
    results: Path,
    *,
    scene: Scene | Path,
    max_distance: float | None = None,
    time_tolerance: float | None = None,
    tolerance: float | None = None,
    part: tuple[int, int] | None = None,
    engine: Engine | None = None,
) -> tuple[int, int]:
    """Audit first contacts of motions: the numbers of rows (audited, refuted).

    The reference looks at each contact of the worlds of ``part``, and proves free rows by its distances and the speed
    of the bodies. Rows that it neither proves nor refutes are not counted. The rest is as in
    :func:`audit_rollout_file`.
    """
    options = SweepOptions(max_distance, time_tolerance, tolerance, None)
    options.motions(0)  # which checks them
    with opened_or(engine) as opened, _bodies(scene) as (table, shapes, _):
        record = options.motions(table)
        record.workers = opened._workers
        report = _run(opened, "sweep_audit", (record,), shapes, ("motions", motions), ("results", results), part)
    return int(report.audited), int(report.refuted)


@dataclass(frozen=True)
class WorldsSize:
    """The sizes of a file of worlds or motions; ``pairs`` are 0 where it asks about all."""

    worlds: int
    places: int
    way_points: int
    pairs: int


def size_of_worlds(path: Path) -> WorldsSize:
    """The sizes of a file of worlds, or of motions, whose worlds are not read."""
    n, about, error = nat.native(), nat.Motions(), nat.Error()
    n.raise_for(n.worlds_size(path_bytes("worlds", path), about, error), error)
    return WorldsSize(int(about.worlds), int(about.places), int(about.way_points), int(about.templates))


@contextlib.contextmanager
def _bodies(scene: Scene | Path) -> Any:
    """The number of a table of the bodies of a scene, the path of shapes.json if it is one, and a library."""
    if isinstance(scene, Scene):
        table = Table(scene.library, scene.bodies)  # which lives until the call has ended
        yield table.number, None, scene.library
        del table
    else:
        yield 0, path_bytes("scene", scene), Library()
