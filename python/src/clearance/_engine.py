"""Engines: the back ends of this machine, and the queries that they answer."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack, cast

import numpy as np

from . import _derivatives, _jobs
from . import _native as nat
from ._arrays import Array, address, take, torch_device
from ._bodies import listed_pairs
from ._columns import QueryName
from ._errors import ClosedError, OptionError
from ._inputs import check_scene, pair_columns
from ._library import Library
from ._options import (
    ArrayLike,
    Backend,
    DistanceOptions,
    GrowthOptions,
    Order,
    PairOptions,
    PoseLike,
    PoseOptions,
    Precision,
    ProductOptions,
    QueryOptions,
    Rotation,
    SolverOptions,
    check_out,
    filled,
    flag,
    names_of,
    one_of,
    place,
    real,
    text,
    whole,
)
from ._points import ContactPoints, contacts, scene_contacts
from ._poses import About, read
from ._probe import command
from ._result import COLUMNS, Result, SceneResult, Tangent, column_shape, column_type, native_results, to_torch
from ._rollout import Rollout, SceneRollout
from ._sweep import SweepOptions, SweepResult, sweep

if TYPE_CHECKING:
    from ._scene import Scene

# The options of queries of lists of pairs, by the name of the cut-off that they have.
_PAIR_OPTIONS: Final[dict[str | None, Any]] = {
    None: PairOptions,
    "max_distance": DistanceOptions,
    "max_factor": GrowthOptions,
    "cut_off": QueryOptions,
}


@dataclass(frozen=True, eq=False)
class _Asked:
    """A query of pairs: its rows, and what results have to know of how they were given."""

    query: nat.Query
    lead: tuple[int, ...]  # the axes of the rows
    arrays: list[Array]  # those of pairs, and directions
    order: str  # of the quaternions in gradients
    shapes: tuple[tuple[int, ...], ...]  # of pos_a, quat_a, pos_b, quat_b
    device: Any  # of PyTorch
    about: About | None


_keys: Final = itertools.count(1)
# Engines by numbers of their own: operators of graphs know these alone.
engines: Final[weakref.WeakValueDictionary[int, Engine]] = weakref.WeakValueDictionary()


class Engine(nat.Owner):
    """The back ends of this machine: the CPU, and Vulkan devices.

    ``backend`` is "auto" (the fastest by estimate, for each call), "cpu", "vulkan", "vulkan:1" or "ref".
    ``precision`` "single" gives float32 columns and gaps of 1e-6 of the size of a pair, "double" float64 columns and
    1e-12. ``workers`` bounds the threads on the CPU (default: one per processor). ``device`` selects the Vulkan device
    by index or part of its name, ``simd`` the kernels of the CPU.

    Threads may share an engine; calls release the GIL. An engine is closed by :meth:`close`, by a with statement, or at
    the exit of the interpreter.
    """

    def __init__(
        self,
        backend: Backend = "auto",
        precision: Precision = "single",
        workers: int | None = None,
        *,
        device: str | int | None = None,
        simd: str | None = None,
    ) -> None:
        n = nat.native()
        self._number = 0
        self.precision: Precision = one_of("precision", precision, n.precisions)
        if workers is not None:
            workers = whole("workers", workers, 1)
        options = nat.Options()
        options.backend = text("backend", backend).encode()
        named = device if device is None or isinstance(device, str) else str(whole("device", device))
        options.device = None if named is None else text("device", named).encode()
        options.simd = text("simd", simd).encode() if simd is not None else None
        options.workers = workers or 0
        words = [os.fsencode(w) for w in command(n.path)]
        options.probe_count, options.probe = len(words), (ctypes.c_char_p * max(len(words), 1))(*words)
        number, error = ctypes.c_uint64(), nat.Error()
        n.raise_for(n.engine_open(options, number, error), error)
        self._native, self._number = n, number.value
        self._lock = threading.Lock()
        self._workers = workers or 0
        self._key = next(_keys)
        engines[self._key] = self
        _jobs.register(self)

    # -- queries ------------------------------------------------------------------------------------------------------

    def distance(
        self,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        **options: Unpack[DistanceOptions],
    ) -> Result:
        """The signed distance of N pairs: minus the penetration depth where a pair penetrates.

        a, b: int32 [N], indices into the library. ``poses`` are pose_a and pose_b, one for each row or one for all. A
        pose is a matrix [N,4,4]; an object with ``rotation`` and ``translation``, such as pin.SE3 or SciPy's
        RigidTransform, or a list of them; a pair (position [N,3], rotation), of a quaternion [N,4], a matrix [N,3,3] or
        SciPy's Rotation; or position and quaternion [N,7]. Or ``poses`` are the four arrays pos_a, quat_a, pos_b,
        quat_b. All may be given by name. Positions are in metres, in the world frame; float64 in the order "wxyz" is
        used where it lies. ``quat`` is the order of quaternions, "wxyz" or "xyzw", which have no default; they are
        normalized on input. With quat="matrix" quat_a and quat_b are rotation matrices [N,3,3].

        Matrices are converted to quaternions, and answers are about these: ``report.rotation_error`` bounds how far a
        matrix is from that of its quaternion. A matrix that is no rotation (R·Rᵀ differs from the identity by more than
        1e-3, or a reflection) is an invalid row.

        Rows may have several leading axes, such as positions [B,T,N,3]: those of the poses that have most of them. The
        results have the same ones. An argument may have the last of them alone, such as a [N], or axes of length 1. An
        argument without them, such as a=0 or a position [3], is that of all rows. Numbers of rows, in errors and
        reports, count along all axes.

        Options: ``columns`` are the result columns (default: distance, gap, normal, witness_a, witness_b, status,
        iterations; those not requested are neither computed nor moved). Pairs beyond ``max_distance``, at least 0, are
        only proved to lie beyond it. ``out``, a former result or arrays by name, is filled in place of new arrays. With
        ``copy=False`` an array that would have to be copied raises :class:`CopyError`. ``precision`` overrides that of
        the engine. ``tolerance`` is the largest gap of a decided row, relative to the size of its pair (the sum of the
        bounding radii; default 1e-6, in double precision 1e-12, and 1e-8 for depths of curved shapes); rows that miss
        it are undecided, but that no row is held to less than rounding allows. ``method``,
        ``max_iterations`` and ``warm_start``, directions [N,3], are those of the solvers.

        Derivatives are columns as well: ``d_distance`` [N,12], ``d_normal``, ``d_witness_a``, ``d_witness_b``
        [N,3,12], ``curvature`` [N,6] and ``smoothness``, a code that says when they are true (see
        ``Result.smoothness_names``). The twelve numbers are the velocities of the position and the angular velocities
        of A, then of B, in world axes. ``derivative`` is "exact", "gumbel", "gaussian" or "zeroth", with ``epsilon``,
        ``samples``, ``rings`` and ``seed``. ``grad=True`` keeps a copy of the poses with the answers, for the
        column ``smoothness`` and the products :meth:`Result.vjp` and :meth:`Result.jvp` with derivatives.

        Arguments that do not fit raise :class:`ArrayError`, options :class:`OptionError`. A row at fault (NaN, a
        quaternion of zeros, no such shape) is invalid in the result, and the others are answered.
        """
        return self._answer("distance", "max_distance", library, (a, b, *poses), quat, options)

    def collide(
        self,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        **options: Unpack[PairOptions],
    ) -> Result:
        """Whether each of N pairs is in contact; the result has the column status. See :meth:`distance`."""
        return self._answer("collide", None, library, (a, b, *poses), quat, options)

    def penetration(
        self,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        **options: Unpack[PairOptions],
    ) -> Result:
        """The penetration depth, as a negative distance; separated pairs are only proved so. See :meth:`distance`."""
        return self._answer("penetration", None, library, (a, b, *poses), quat, options)

    def growth(
        self,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        **options: Unpack[GrowthOptions],
    ) -> Result:
        """The factor by which both shapes, scaled about their centers, just touch. See :meth:`distance`.

        Pairs beyond ``max_factor``, above 0, are only proved to lie beyond it.
        """
        return self._answer("growth", "max_factor", library, (a, b, *poses), quat, options)

    def query(
        self,
        query: QueryName,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        **options: Unpack[QueryOptions],
    ) -> Result:
        """Any query by name; ``cut_off`` is a value of the query beyond which rows are only proved to lie beyond."""
        return self._answer(query, "cut_off", library, (a, b, *poses), quat, options)

    def _answer(
        self,
        query: str,
        cut_off: str | None,
        library: Library,
        pairs: tuple[Any, ...],
        quat: str | None,
        options: Mapping[str, Any],
    ) -> Result:
        """Answer a list of pairs; ``cut_off`` is the name of the option that this query has for it."""
        n = self._native
        o = filled(f"the query {query}", _PAIR_OPTIONS[cut_off], options)
        grad = flag("grad", o["grad"])
        if grad:
            o["columns"] = _derivatives.with_needed(query, n, o["columns"])
        asked = self._ask(query, cut_off, library, pairs, quat, o, options)
        q, lead, arrays = asked.query, asked.lead, asked.arrays
        record = nat.Pairs(len(arrays[0]), *map(address, arrays))
        results, columns_out = self._results(q, lead, o["out"])
        if not self._number:
            raise ClosedError("the engine is closed")

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.submit(self._number, q, record, results, ms, job, report, error))

        report = _jobs.run(submit, (arrays, columns_out, q))
        answered = None
        if grad:
            answered = _derivatives.Answered.of(
                self, q, arrays[:6], columns_out, asked.order, asked.shapes, asked.device, lead
            )
        return cast(Result, self._result(q, report, columns_out, asked.device, answered=answered, about=asked.about))

    def _ask(
        self,
        query: str,
        cut_off: str | None,
        library: Library,
        pairs: tuple[Any, ...],
        quat: str | None,
        o: Mapping[str, Any],
        given: Mapping[str, Any],
    ) -> _Asked:
        """A query of pairs by its options; those that the caller has given may be poses."""
        copy = flag("copy", o["copy"])
        q = self._query(query, library, o, None if cut_off is None else o[cut_off], cut_off or "cut_off")
        self._derivative(q, *(o[name] for name in _derivatives.OPTIONS))
        a, b, *sides = pairs
        poses = read(sides, given, quat, copy)
        lead, arrays = pair_columns(a, b, poses, copy)
        if o["warm_start"] is not None:
            directions = take("warm_start", o["warm_start"], np.float64, (*lead[1:], 3), lead[0], copy)
            arrays.append(directions.reshape(-1, 3))
        device = poses.device if poses.device is not None else torch_device(a)
        return _Asked(q, lead, arrays, poses.stated, poses.shapes, device, poses.about)

    # -- products with derivatives ------------------------------------------------------------------------------------

    def vjp(
        self,
        query: QueryName,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        distance: ArrayLike | None = None,
        normal: ArrayLike | None = None,
        witness_a: ArrayLike | None = None,
        witness_b: ArrayLike | None = None,
        wrt: Literal["twists", "poses"] = "twists",
        **options: Unpack[ProductOptions],
    ) -> Any:
        """The gradient of N pairs with respect to their poses, in one call that hands back no answers.

        It is ``self.query(query, ..., grad=True).vjp(...)``, see :meth:`Result.vjp`. A Vulkan device keeps the answers
        of rows whose derivatives it takes: exact ones and "gumbel", of signed distances. With a cotangent of the
        distance alone normals and witnesses count as they are, as in the column d_distance by itself: it costs less,
        and is as exact as they are, in double precision 1e-4 for depths of curved shapes and 1e-12 for most other rows.
        """
        posed = self._product(query, library, (a, b, *poses), quat, options)
        return posed.vjp((distance, normal, witness_a, witness_b), wrt, {})

    def jvp(
        self,
        query: QueryName,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        twists: ArrayLike | None = None,
        quat: Rotation | None = None,
        **options: Unpack[ProductOptions],
    ) -> Tangent:
        """The derivative of the answers of N pairs along ``twists`` [N,12], without the answers: see :meth:`vjp`.

        Twists are the velocity of the position in metres and the angular velocity in radians, of A, then of B, in world
        axes. They may stand behind the poses, too.
        """
        sides: list[Any] = list(poses)
        along = sides.pop() if twists is None and len(sides) % 2 else twists
        posed = self._product(query, library, (a, b, *sides), quat, options)
        return posed.jvp(along, (None,) * 4, {})

    def _product(
        self,
        query: str,
        library: Library,
        pairs: tuple[Any, ...],
        quat: str | None,
        options: Mapping[str, Any],
    ) -> _derivatives.Posed:
        o = filled("products with derivatives", ProductOptions, options)
        _derivatives.with_needed(query, self._native, None)
        o["columns"] = None
        asked = self._ask(query, "cut_off", library, pairs, quat, o, options)
        q, arrays = asked.query, tuple(asked.arrays)
        return _derivatives.Posed(self, q, arrays, asked.order, asked.shapes, asked.device, asked.lead)

    def rollout_of_shapes(
        self,
        library: Library,
        shapes: Any,
        template_a: Any,
        template_b: Any,
        *,
        worlds: int,
        query: QueryName = "distance",
        max_distance: float | None = None,
        **options: Unpack[SolverOptions],
    ) -> Rollout:
        """W worlds of M bodies, each one shape, with P pairs of bodies that all worlds share, held for many steps.

        shapes: int32 [M], the shape of each body. template_a, template_b: int32 [P], bodies. Calling the rollout with
        the poses of a step answers its W × P rows. What would take more memory than there is raises
        :class:`OptionError`, here and in :meth:`rollout`. ``columns``, ``method``, ``precision``, ``tolerance`` and
        ``max_iterations`` are those of :meth:`distance`.
        """
        q = self._query(query, library, filled("rollouts", SolverOptions, options), max_distance)
        if not self._number:
            raise ClosedError("the engine is closed")
        return Rollout(self, q, library, shapes, template_a, template_b, worlds)

    def rollout(
        self,
        scene: Scene,
        *,
        worlds: int,
        query: QueryName = "distance",
        max_distance: float | None = None,
        reduce: Literal["world"] | None = None,
        pairs: Literal["all"] | None = None,
        skip: Iterable[tuple[int, int]] = (),
        bodies: ArrayLike | None = None,
        culling: bool = True,
        **options: Unpack[SolverOptions],
    ) -> SceneRollout:
        """W worlds of the bodies of a scene, held for many steps; calling it with the poses of a step answers them.

        The distance of two bodies is the least of their parts; of penetrating ones it is minus the depth of the deepest
        pair of parts. Pairs that bounds prove to lie beyond ``max_distance`` are not solved. Rows are the pairs of
        bodies, [W,P], or with ``reduce="world"`` the worlds, [W]: the least of the pairs of each. ``bodies`` int32 [M]
        or [W,M] puts bodies of the scene at the places, -1 for none (default: body i at place i).

        ``pairs="all"`` asks about all pairs of places, without those in ``skip``, in place of the pairs of the scene.
        Rows of pairs are then sparse: a pair without a row is proved separated, and beyond
        ``max_distance`` if there is one. Neither is expanded in memory. ``columns``, ``method``, ``precision``,
        ``tolerance`` and ``max_iterations`` are those of :meth:`distance`.
        """
        check_scene(scene)
        q = self._query(query, scene.library, filled("rollouts", SolverOptions, options))
        if not self._number:
            raise ClosedError("the engine is closed")
        skipped = listed_pairs("skip", skip)
        chosen = None if pairs is None else skipped
        if pairs not in (None, "all") or (pairs is None and skipped):
            raise OptionError(f'pairs: {pairs!r}, want None or "all", which pairs to skip need')
        return SceneRollout(self, q, scene, worlds, bodies, max_distance, reduce, culling, chosen)

    def sweep(
        self,
        scene: Scene,
        poses: PoseLike,
        *,
        quat: Order | None = None,
        bodies: ArrayLike | None = None,
        max_distance: float | None = None,
        time_tolerance: float | None = None,
        tolerance: float | None = None,
        max_evaluations: int | None = None,
        reduce: Literal["world"] | None = None,
        pairs: Literal["all"] | None = None,
        skip: Iterable[tuple[int, int]] = (),
        out: SweepResult | Mapping[str, Any] | None = None,
        copy: bool = True,
        grad: bool = False,
    ) -> SweepResult:
        """The first contact of every pair of bodies of a scene that moves, or a proof that there is none: [W,P].

        poses: float64 [W,T,M,7], position and quaternion in the order that ``quat`` states (or the array remembers, as
        those of ``scene.poses``), at T way points; or matrices [W,T,M,4,4], a pair (position, rotation), objects.
        Worlds may have several leading axes, such as [B,W,T,M,7], which the results have, too. A body is at way point k
        at the time k; in between it moves along a line and rotates about a fixed axis, both at constant speed, by the
        shorter arc. Contacts are found in an interval of ``time_tolerance`` (default 1e-6). Shapes nearer than
        ``tolerance`` (relative to their size, default 1e-8) are in contact. Rows beyond ``max_distance`` are only
        proved to be. A pair of parts is asked about at ``max_evaluations`` poses at most (default 512), beyond which
        the row is undecided.

        ``reduce="world"`` gives one row per world, [W]: the first contact of any pair, or a proof that there is none.
        ``pairs="all"`` asks about all pairs of places but those in ``skip``, in place of the pairs of the scene; its
        rows [N] are those in contact, those without an answer, and with ``max_distance`` the free ones that are not
        proved to lie beyond it. ``bodies``, ``out`` and ``copy`` are those of rollouts. ``grad=True`` keeps a copy of
        the poses, for derivatives of the times of contact (:meth:`SweepResult.vjp`).
        """
        if not self._number:
            raise ClosedError("the engine is closed")
        options = SweepOptions(max_distance, time_tolerance, tolerance, max_evaluations)
        check_scene(scene)
        keep, grad = flag("copy", copy), flag("grad", grad)
        return sweep(self, scene, poses, quat, bodies, options, keep, reduce, pairs, skip, out, grad)

    def contacts(
        self,
        library: Library,
        a: ArrayLike,
        b: ArrayLike,
        *poses: PoseLike,
        quat: Rotation | None = None,
        max_gap: float,
        world: ArrayLike | None = None,
        grad: bool = False,
        copy: bool = True,
        **named: Unpack[PoseOptions],
    ) -> ContactPoints:
        """The contact points of N pairs with a clearance of at most ``max_gap`` metres: up to four a pair, a row each.

        Arrays are those of :meth:`distance`. ``world`` int32 [N] is the world of each pair, which the points repeat.
        Curved shapes touch at one point, capsules side by side at two. ``grad=True`` keeps a copy of the poses, for
        :meth:`ContactPoints.vjp`.
        """
        keep = flag("copy", copy)
        return contacts(self, library, a, b, read(poses, named, quat, keep), max_gap, world, keep, flag("grad", grad))

    def scene_contacts(
        self, scene: Scene, poses: PoseLike, *, quat: Order | None = None, max_gap: float, grad: bool = False
    ) -> ContactPoints:
        """The contact points of the pairs of a scene in W worlds: of all pairs of parts nearer than ``max_gap`` metres.

        poses: float64 [W,M,7], position and quaternion in the order that ``quat`` states, or that the array remembers;
        or matrices [W,M,4,4], a pair (position, rotation), objects. Worlds may have several leading axes, along which
        ``world`` counts. Rows of points have ``world``, ``pair``, ``part_a`` and ``part_b``. All pairs of parts are
        expanded in memory. ``grad=True`` is refused: :meth:`contacts` of pairs has derivatives.
        """
        check_scene(scene)
        if flag("grad", grad):
            raise OptionError("grad: contact points of scenes have no derivatives; take Engine.contacts of their pairs")
        return scene_contacts(self, scene, poses, quat, max_gap)

    # -- the engine itself --------------------------------------------------------------------------------------------

    def info(self) -> dict[str, Any]:
        """Versions, back ends with their devices (and why one cannot be used), and what moves between memories."""
        if not self._number:
            raise ClosedError("the engine is closed")
        nat.check_fork()
        n = self._native
        engine = json.loads(n.text(n.engine_describe, self._number))
        return {
            "version": n.about["version"],
            "go": n.about["go"],
            "platform": n.about["platform"],
            "precision": self.precision,
            **engine,
            "transfers": {
                "numpy, host tensors": "none: read and written where they lie, if type and strides fit",
                "cuda tensors": "poses to the host through page-locked memory, answers back to the device of the poses",
                "vulkan": "poses to the device, requested columns back; a held rollout keeps shapes and pairs there",
            },
        }

    def close(self) -> None:
        """Free the devices. Calls in progress are cancelled and raise ClosedError. Closing again does nothing."""
        with self._lock:
            number, self._number = self._number, 0
        if number and nat.usable():
            error = nat.Error()
            self._native.raise_for(self._native.engine_close(number, error), error)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_number", 0) and nat.usable():
            self._native.engine_close(self._number, None)

    def __repr__(self) -> str:
        if not self._number:
            return "Engine, closed"
        if not nat.usable():
            return "Engine of the parent process"
        usable = [b["name"] for b in self.info()["backends"] if b["usable"]]
        return f"Engine of {', '.join(usable)}; {self.precision} precision"

    # -- shared by all queries ----------------------------------------------------------------------------------------

    def _query(
        self,
        query: str,
        library: Library,
        options: Mapping[str, Any],
        cut_off: float | None = None,
        cut_off_name: str = "max_distance",
    ) -> nat.Query:
        """A query with the :class:`SolverOptions` among the options, which are all there."""
        nat.check_fork()
        n = self._native
        if not isinstance(library, Library):
            raise OptionError(f"library: a {type(library).__name__}, want a Library")
        if not isinstance(query, str) or query not in n.query_codes:
            raise OptionError(f"query: {query!r}, want one of {', '.join(n.query_codes)}")
        about = n.queries[query]
        columns = options["columns"]
        chosen = list(about["columns"]) if columns is None else names_of(columns)
        for name in chosen:
            if name not in about["available"]:
                raise OptionError(f"columns: {name!r}, want some of {', '.join(about['available'])}")
        if columns is None and "bits" in chosen:
            chosen.remove("bits")
        q = nat.Query()
        # The handle lives as long as the query: another thread may add to the library, which then has a new one.
        q.handle = library._open()
        q.library = q.handle.number
        q.query = n.query_codes[query]
        q.method = n.methods.index(one_of("method", options["method"], n.methods))
        own = self.precision if options["precision"] is None else options["precision"]
        q.precision = n.precisions.index(one_of("precision", own, n.precisions))
        q.columns = n.column_set(chosen)
        if options["tolerance"] is not None:
            q.tolerance = real("tolerance", options["tolerance"], 0, above=True)
        if cut_off is not None:
            q.has_cut_off, q.cut_off = 1, real(cut_off_name, cut_off, 0)
        limit = options["max_iterations"]
        q.max_iterations = 0 if limit is None else whole("max_iterations", limit)
        return q

    def _derivative(
        self,
        q: nat.Query,
        mode: str | None,
        epsilon: float | None,
        samples: int | None,
        rings: int | None,
        seed: int | None,
    ) -> None:
        """Set which derivatives a query takes."""
        modes = self._native.derivatives
        mode = "exact" if mode is None else mode
        if mode == "exact":
            for name, value in (("epsilon", epsilon), ("samples", samples), ("rings", rings), ("seed", seed)):
                if value is not None:
                    raise OptionError(f"{name}: an option of smoothed derivatives and estimates, and these are exact")
        q.derivative = modes.index(one_of("derivative", mode, modes))
        q.epsilon = 0.0 if epsilon is None else real("epsilon", epsilon, 0, above=True)
        q.samples = 0 if samples is None else whole("samples", samples, 1)
        q.rings = 0 if rings is None else whole("rings", rings, 1)
        q.seed = 0 if seed is None else whole("seed", seed, 0, (1 << 64) - 1)

    def _results(
        self, q: nat.Query, rows: tuple[int, ...], out: Result | Mapping[str, Any] | None, more: Sequence[str] = ()
    ) -> tuple[nat.Results, dict[str, Array]]:
        """The columns of a query, new or those of the caller, who may give those of ``more``, too."""
        n = self._native
        check_out(out, [*n.column_lists[q.columns], *more])
        columns: dict[str, Array] = {}
        precision = n.precisions[q.precision]
        for name in n.column_lists[q.columns]:
            shape, dtype = column_shape(name, rows), column_type(name, precision)
            columns[name] = place(out, name, shape, dtype)
        return native_results(math.prod(rows), columns), columns

    def _result(
        self,
        q: nat.Query,
        report: nat.Report,
        columns: dict[str, Array],
        device: Any,
        more: Mapping[str, Any] | None = None,
        answered: _derivatives.Answered | None = None,
        about: About | None = None,
    ) -> Any:
        n = self._native
        every: dict[str, Any] = {**columns, **(more or {})}
        if device is not None:
            every = {k: to_torch(c, device) if isinstance(c, np.ndarray) else c for k, c in every.items()}
        query, precision = n.about["queries"][q.query]["name"], n.precisions[q.precision]
        kind = Result if more is None else SceneResult
        return kind(**every, query=query, precision=precision, _record=report, _answered=answered, _about=about)


__all__ = ["COLUMNS", "Engine", "Library", "Rollout"]
