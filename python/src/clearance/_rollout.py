"""Rollouts: worlds that are held between the steps of a simulation."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, take, take_batch, torch_device
from ._attach import carriers_of
from ._bodies import Table, pair_arrays
from ._errors import ArrayError, ClosedError, CopyError, OptionError
from ._inputs import RowBodies, places_of, reduction
from ._kinematics import quaternions
from ._options import (
    INT64,
    ArrayLike,
    DerivativeOptions,
    Order,
    PoseLike,
    check_quat,
    flag,
    order_of,
    place,
    real,
    to_wxyz,
    whole,
)
from ._poses import about_bodies, seven
from ._result import Later, Result, SceneResult
from ._scene_derivatives import Handle, Step

if TYPE_CHECKING:
    from ._engine import Engine
    from ._library import Library
    from ._scene import Scene


Self = TypeVar("Self", bound="Rollout")


def _about(extra: Mapping[str, Array]) -> dict[str, Array]:
    """What rows are about, of the columns of scenes."""
    return {name: a for name, a in extra.items() if name not in ("contacts", "failures", "any")}


class Rollout(nat.Owner):
    """W worlds of M bodies with P pairs of bodies that all worlds share; see :meth:`Engine.rollout_of_shapes`."""

    def __init__(
        self, engine: Engine, q: nat.Query, library: Library, shapes: Any, template_a: Any, template_b: Any, worlds: int
    ) -> None:
        n = engine._native
        body = take("shapes", shapes, np.int32, (), None, True)
        first = take("template_a", template_a, np.int32, (), None, True)
        second = take("template_b", template_b, np.int32, (), len(first), True)
        worlds = whole("worlds", worlds, 0, INT64)
        self.worlds, self.bodies, self.pairs = worlds, len(body), len(first)
        # Without poses, which those of the first step replace.
        record = nat.Worlds(worlds, len(body), len(first), *map(address, (body, first, second)))
        number, error = ctypes.c_uint64(), nat.Error()
        n.raise_for(n.rollout_open(engine._number, q, record, number, error), error)
        self._engine, self._query, self._library, self._number = engine, q, library, number.value
        self._handle = Handle(number.value)

    def __call__(
        self,
        poses: PoseLike | None = None,
        *,
        xpos: ArrayLike | None = None,
        xmat: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        quat: Order | None = None,
        out: Result | Mapping[str, Any] | None = None,
        copy: bool = True,
        grad: bool = False,
    ) -> Result:
        """Answer the rows of a step: a result of [W,P].

        poses: float64 [W,M,7], position and quaternion in the order that ``quat`` states, or that the array remembers,
        as those of ``scene.poses``; float64 in the order "wxyz" is used as it is. Or another form of poses that
        :meth:`Engine.distance` takes: matrices [W,M,4,4], objects, a pair (position, rotation). Worlds may have several
        leading axes of the product W, such as poses [B,T,M,7], which the results have, too. Or xpos [W,M,3] with xmat
        [W,M,3,3] (or [W,M,9]), rotation matrices, which are converted; in a rollout of a scene, ``names`` are the
        bodies that they are of [B], in any order: each body of the scene once, others are ignored. Scenes of models
        want names, since arrays of a model have bodies that the scene leaves out. ``out``, ``copy`` and ``grad`` are
        those of :meth:`Engine.distance`; gradients of rollouts are with respect to the twists of the bodies [W,M,6], or
        with ``wrt="poses"`` to poses [W,M,7], added over the rows of each body.
        """
        copy, grad = flag("copy", copy), flag("grad", grad)
        array, given, order = self._posed(poses, xpos, xmat, names, quat, copy)
        return self._run(address(array), array, given, out, order if grad else None)

    def vjp(
        self,
        poses: PoseLike | None = None,
        *,
        xpos: ArrayLike | None = None,
        xmat: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        quat: Order | None = None,
        distance: Any = None,
        normal: Any = None,
        witness_a: Any = None,
        witness_b: Any = None,
        wrt: Literal["twists", "poses"] = "twists",
        copy: bool = True,
        **options: Unpack[DerivativeOptions],
    ) -> Any:
        """The gradients of the bodies of a step [W,M,6], in one call that hands back no answers.

        It is ``roll(poses, ..., grad=True).vjp(...)``; the cotangents are those of :meth:`Result.vjp`, of the rows of
        the step. A Vulkan device keeps the answers and adds up the gradients by body. With a cotangent of the
        distance alone normals and witnesses count as they are, see :meth:`Engine.vjp`. Rows without an answer have
        no gradient; the rows of ``pairs="all"``, whose number is not known before, take ``reduce="world"``.
        """
        array, given, order = self._posed(poses, xpos, xmat, names, quat, flag("copy", copy))
        lead = self._lead(array.shape[:-2])
        return self._step(array, given, order, lead).vjp((distance, normal, witness_a, witness_b), wrt, options)

    def _step(self, poses: Array, given: Any, order: str, lead: tuple[int, ...]) -> Step:
        """A step at poses, with the leading axes of its rows."""
        return Step(self._engine, self._query, (), order, (), torch_device(given), lead, self._handle, poses)

    def _lead(self, worlds: tuple[int, ...]) -> tuple[int, ...]:
        """The axes of the rows of a step, by those of its worlds."""
        return (*worlds, self.pairs)

    def _posed(
        self, poses: Any, xpos: Any, xmat: Any, names: Sequence[str] | None, quat: str | None, copy: bool
    ) -> tuple[Array, Any, str]:
        """The poses of a step [*worlds,M,7], the array that they were given in, and the order of its quaternions."""
        nat.check_fork()
        if not self._number or not self._engine._number:
            raise ClosedError("the rollout or its engine is closed")
        given = poses if poses is not None else xpos
        if (poses is None) == (xpos is None and xmat is None) or (poses is None and (xpos is None or xmat is None)):
            raise OptionError("want either poses, or both xpos and xmat")
        if poses is not None and names is not None:
            raise OptionError("names: those of xpos and xmat; poses are in the order of the places")
        if poses is not None:
            poses, quat, _ = seven("poses", poses, quat, copy)
            given, quat = poses, order_of(quat, poses)
            return self._of_poses(poses, quat, copy), given, quat
        if quat is not None:
            check_quat(quat)
        return self._of_matrices(xpos, xmat, names, copy), given, quat or "wxyz"  # as they are converted

    def _run(self, at: int | None, array: Array, given: Any, out: Any, order: str | None) -> Result:
        engine, number, n = self._engine, self._number, self._engine._native
        results, columns = engine._results(self._query, self._lead(array.shape[:-2]), out)

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.rollout_submit(number, at, results, ms, job, report, error))

        report = _jobs.run(submit, (array, columns))
        about, device = about_bodies(given), torch_device(given)
        result = cast(Result, engine._result(self._query, report, columns, device, about=about))
        return result if order is None else self._derivable(result, array, columns, None, given, order)

    def _derivable(
        self, result: Any, poses: Array, columns: Mapping[str, Array], about: Mapping[str, Array] | None, given: Any,
        order: str,
    ) -> Any:  # fmt: skip
        """A result that keeps what derivatives need."""
        step = self._step(poses, given, order, tuple(result.status.shape)).answered(columns, about)
        return replace(result, _answered=step, smoothness=Later(step.smoothness))

    def _of_poses(self, poses: Any, quat: str, copy: bool) -> Array:
        array = take_batch("poses", poses, np.float64, (self.bodies, 7), self.worlds, copy)
        array = to_wxyz(array, quat, copy)
        return array

    def _of_matrices(self, xpos: Any, xmat: Any, names: Any, copy: bool) -> Array:
        if not copy:
            raise CopyError("xmat", "rotation matrices are converted, which takes a copy, and copy=False")
        places = self._named(names)
        w, m = self.worlds, self.bodies if places is None else len(names)
        positions, matrices = take_batch("xpos", xpos, np.float64, (m, 3), w, copy), host("xmat", xmat, copy)
        lead = positions.shape[:-2]
        if matrices.shape not in ((*lead, m, 3, 3), (*lead, m, 9)):
            one, two = (", ".join(map(str, (*lead, m, *tail))) for tail in ((3, 3), (9,)))
            raise ArrayError("xmat", f"has the shape {list(matrices.shape)}, want [{one}] or [{two}]")
        if matrices.dtype.kind not in "fiu":
            raise ArrayError("xmat", f"is {matrices.dtype}, want real numbers")
        matrices = matrices.reshape(*lead, m, 3, 3)
        if places is not None:
            positions, matrices = positions[..., places, :], matrices[..., places, :, :]
        return np.concatenate([positions, quaternions(matrices.astype(np.float64))], axis=-1)

    def _named(self, names: Any) -> list[int] | None:
        """Where each body is among those named, None if they are in the order of the places."""
        if names is not None:
            raise OptionError("names: bodies of a rollout of shapes have none; want a rollout of a scene")
        return None

    def close(self) -> None:
        """Free what is held. Closing again does nothing."""
        number, self._number = self._number, 0
        if number and nat.usable():
            self._engine._native.rollout_release(number, None)  # the handle lives as long as answers need it

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_number", 0):
            self.close()

    def __repr__(self) -> str:
        return f"Rollout of {self.worlds:,} worlds × {self.pairs:,} pairs of {self.bodies:,} bodies"


class SceneRollout(Rollout):
    """W worlds of the bodies of a scene; see :meth:`Engine.rollout`."""

    def __init__(
        self,
        engine: Engine,
        q: nat.Query,
        scene: Scene,
        worlds: int,
        bodies: Any,
        max_distance: float | None,
        reduce: str | None,
        culling: bool,
        skip: list[tuple[int, int]] | None,
    ) -> None:
        n = engine._native
        worlds, culls = whole("worlds", worlds, 0, INT64), flag("culling", culling)
        farthest = None if max_distance is None else real("max_distance", max_distance, 0)
        if skip is not None and bodies is None:
            skip = [*skip, *scene._left_out]
        first, second = scene.pair_arrays() if skip is None else pair_arrays("skip", skip)
        places, per_world = places_of(scene, bodies, worlds)
        m = places.shape[-1]
        self._all = skip is not None
        self.worlds, self.bodies, self.pairs = worlds, m, m * (m - 1) // 2 if self._all else len(first)
        self._reduce = reduction(reduce)
        table = Table(scene.library, scene.bodies)
        record = nat.Scene(table.number, worlds, m, len(first), int(per_world), self._reduce)
        record.bodies, record.template_a, record.template_b = address(places), address(first), address(second)
        carriers = carriers_of(scene.attachments, places)
        record.carriers = address(carriers) if carriers is not None else None
        record.has_max_distance, record.max_distance = int(farthest is not None), farthest or 0.0
        record.no_culling, record.workers, record.all_pairs = int(not culls), engine._workers, int(self._all)
        number, error = ctypes.c_uint64(), nat.Error()
        n.raise_for(n.scene_open(engine._number, q, record, number, error), error)
        self._engine, self._query, self._library, self._number = engine, q, scene.library, number.value
        self._handle = Handle(number.value)
        # A copy, since arrays and scenes may change: results keep the state at the opening of the rollout.
        pairs = None if self._all else np.stack([first, second], axis=1)
        self._row_bodies = RowBodies(places.copy(), pairs)
        self._names = None if per_world else [scene.bodies[i].name if i >= 0 else "" for i in places]
        # A scene that makes poses of those of its model knows which bodies of the model it has.
        self._of_model = hasattr(scene, "poses")

    def _named(self, names: Any) -> list[int] | None:
        if names is None:
            if self._of_model:
                raise OptionError(
                    "xpos: the bodies of this scene are not those of its model; want names= of the bodies, or "
                    "roll(scene.poses(xpos=…, …), quat='wxyz')"
                )
            return None
        if self._names is None:
            raise OptionError("names: the bodies are other ones in each world; want arrays in the order of the places")
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise OptionError(f"names: {names!r}, want a list of names")
        place = {name: i for i, name in enumerate(names)}
        given, own = Counter(names), Counter(self._names)
        for name in self._names:
            if not name or (given[name], own[name]) != (1, 1):
                raise OptionError(
                    f"names: the scene has {own[name]} bodies {name!r}, and {given[name]} are named; want each body of "
                    "the scene once, and no body without a name"
                )
        return [place[name] for name in self._names]

    def _lead(self, worlds: tuple[int, ...]) -> tuple[int, ...]:
        if self._reduce:
            return worlds
        if self._all:
            raise OptionError('vjp: the rows of pairs="all" are as many as are found; want reduce="world"')
        return (*worlds, self.pairs)

    def _run(self, at: int | None, array: Array, given: Any, out: Any, order: str | None) -> SceneResult:
        if self._all and not self._reduce:
            return self._find(at, array, given, out, order)
        engine, number, n = self._engine, self._number, self._engine._native
        rows = self._lead(array.shape[:-2])
        names = ["part_a", "part_b"]
        names += ["pair", "contacts", "failures", "any"] if self._reduce else []
        names += ["body_a", "body_b"] if self._all else []
        results, columns = engine._results(self._query, rows, out, names)
        more, extra = nat.More(), {}
        for name in names:
            extra[name] = place(out, name, rows, np.uint8 if name == "any" else np.int32)
            setattr(more, "failed" if name == "failures" else name, address(extra[name]))

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.scene_submit(number, at, results, more, ms, job, report, error))

        report = _jobs.run(submit, (array, columns, extra, more))
        about = {"contacts_complete": bool(more.complete), "_row_bodies": self._row_bodies}
        result = cast(
            SceneResult,
            engine._result(self._query, report, columns, torch_device(given), extra | about, about=about_bodies(given)),
        )
        return result if order is None else self._derivable(result, array, columns, _about(extra), given, order)

    def _find(self, at: int | None, array: Array, given: Any, out: Any, order: str | None) -> SceneResult:
        """The rows of all pairs, whose number is not known before."""
        if out is not None:
            raise OptionError("out: the rows of all pairs are as many as are found, so no array can be ready for them")
        engine, number, n = self._engine, self._number, self._engine._native
        found = ctypes.c_uint64(0)

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.scene_find(number, at, found, ms, job, report, error))

        try:
            report = _jobs.run(submit, (array, found))
            rows = (int(report.rows),)
            results, columns = engine._results(self._query, rows, None)
            extra: dict[str, Array] = {
                name: np.empty(rows, np.int32) for name in ("part_a", "part_b", "body_a", "body_b")
            }
            extra["offsets"] = np.zeros(self.worlds + 1, np.int64)
            more, error = nat.More(**{name: address(c) for name, c in extra.items()}), nat.Error()
            n.raise_for(n.found_read(found, results, more, error), error)
        finally:
            if found.value and nat.usable():
                n.found_free(found, None)
        about = {"_row_bodies": self._row_bodies}
        result = cast(
            SceneResult,
            engine._result(self._query, report, columns, torch_device(given), extra | about, about=about_bodies(given)),
        )
        return result if order is None else self._derivable(result, array, columns, _about(extra), given, order)

    if TYPE_CHECKING:

        def __call__(
            self,
            poses: PoseLike | None = None,
            *,
            xpos: ArrayLike | None = None,
            xmat: ArrayLike | None = None,
            names: Sequence[str] | None = None,
            quat: Order | None = None,
            out: Result | Mapping[str, Any] | None = None,
            copy: bool = True,
            grad: bool = False,
        ) -> SceneResult: ...
