"""Engines in Ray's workers and actors: one per process, opened where it runs and never pickled."""

from __future__ import annotations

import itertools
import os
from typing import Any, Final, Literal, get_args

import clearance as cl

from ._errors import OptionError
from ._options import Order, Precision, one_of, whole
from ._order import order_of

_engines: Final[dict[tuple[str, str, int], cl.Engine]] = {}


def _engine(backend: Any, precision: Any, workers: int) -> cl.Engine:
    """The engine of this process, which its tasks share."""
    key = backend, precision, workers
    if key not in _engines:
        _engines[key] = cl.Engine(backend, precision, workers)
    return _engines[key]


def kernels_of(engine: cl.Engine) -> dict[str, str]:
    """What answers of the usable back ends of an engine depend on beside their input, by the names of these: the
    instruction set of the CPU, or the device with its driver, and the version of the library."""
    about = engine.info()
    found = {}
    for b in about["backends"]:
        if b["usable"]:
            what = b["driver"].partition(",")[0] if b["kind"] == "cpu" else f"{b['device']}, {b['driver']}"
            found[b["name"]] = f"{b['name']}: {what}; clearance {about['version']}"
    return found


def _ray() -> Any:
    """Ray's package, whose decorators change types in ways that checkers do not follow."""
    import ray

    return ray


class Scorer:
    """The function of ``Dataset.map_batches``: record batches of pairs to their results, with an engine per actor.

        ds.map_batches(Scorer, fn_constructor_args=("shapes.json",), batch_format="pyarrow", concurrency=4)

    The engine is opened where the actor runs, and is never pickled. Options are those of
    :func:`clearance.score_stream`, and ``backend`` and ``workers`` those of the engine.
    """

    def __init__(
        self,
        library: cl.Library | str | os.PathLike[str],
        *,
        backend: str = "auto",
        workers: int = 1,
        **options: Any,
    ) -> None:
        self._library = library if isinstance(library, cl.Library) else cl.Library.load(library)
        self._about, self._options = (backend, options.get("precision") or "single", workers), options

    def __call__(self, batch: Any) -> Any:
        """The results of a pyarrow Table, with its other columns behind them."""
        import pyarrow as pa

        stream = cl.score_stream(batch, library=self._library, engine=_engine(*self._about), **self._options)
        return pa.RecordBatchReader.from_stream(stream).read_all()


class Rollouts:
    """Worlds of a scene, shared among actors: the rows of a step come back as NumPy arrays.

        ro = Rollouts(scene, worlds=65_536, actors=8, reduce="world")
        r = ro(poses, quat="wxyz")           # a dict of arrays of all worlds, in order
        refs = ro.submit(poses, quat="wxyz")  # or references, a part of the worlds each

    Options are those of :meth:`clearance.Engine.rollout`, and ``backend``, ``precision`` and ``workers`` those of the
    engines. All pairs, whose number of rows varies, are not taken.
    """

    def __init__(
        self,
        scene: cl.Scene,
        *,
        worlds: int,
        actors: int,
        backend: str = "auto",
        precision: Literal["single", "double"] = "single",
        workers: int = 1,
        **options: Any,
    ) -> None:
        one_of("precision", precision, get_args(Precision))
        ray = _ray()

        whole("actors", actors, 1)
        whole("worlds", worlds, actors)
        if options.get("pairs") == "all":
            raise OptionError("pairs: lists of pairs alone are shared among actors")
        if not ray.is_initialized():
            ray.init()
        ends = [worlds * i // actors for i in range(actors + 1)]
        self.ranges = list(itertools.pairwise(ends))
        held = ray.put(scene)
        actor = ray.remote(num_cpus=workers)(_Worlds)
        self._actors: list[Any] = [
            actor.remote(held, hi - lo, (backend, precision, workers), options) for lo, hi in self.ranges
        ]

    def submit(self, poses: Any, *, quat: Order | None = None) -> list[Any]:
        """References to the columns of each actor's worlds, a dict of arrays each. poses: float64 [W,M,7]."""
        quat = order_of(quat, poses)
        worlds = self.ranges[-1][1]
        if len(poses) != worlds:
            raise cl.ArrayError("poses", f"of {len(poses)} worlds, want {worlds}")
        pairs = zip(self._actors, self.ranges, strict=True)
        return [a.step.remote(poses[lo:hi], quat) for a, (lo, hi) in pairs]

    def __call__(self, poses: Any, *, quat: Order | None = None) -> dict[str, Any]:
        """The columns of all worlds, joined in order."""
        import numpy as np

        ray = _ray()

        parts = ray.get(self.submit(poses, quat=quat))
        return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


class _Worlds:
    """An actor: an engine and a rollout of some worlds."""

    def __init__(self, scene: cl.Scene, worlds: int, about: tuple[Any, Any, int], options: dict[str, Any]) -> None:
        self._rollout = _engine(*about).rollout(scene, worlds=worlds, **options)

    def step(self, poses: Any, quat: Any) -> dict[str, Any]:
        import numpy as np

        r = self._rollout(poses, quat=quat)
        return {k: v for k, v in vars(r).items() if isinstance(v, np.ndarray)}
