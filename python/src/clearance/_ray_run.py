"""A call of :func:`clearance.ray.score`: engines in workers, tasks that answer and audit shards, and their collection.

Engines are one per process, opened where they run and never pickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import resource
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import clearance as cl

from ._errors import ClearanceError, FileError, OptionError
from ._options import INT64, Order, Precision, one_of, order_of, whole
from ._ray_shards import Manifest, Shard, answer_file, audit_part, results_of
from ._ray_store import place, printable, sha256
from ._result import STATUSES

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


@dataclass(frozen=True)
class Call:
    """What all tasks of a call share: the library, or scene, as a reference under its digest, options, and where
    files are."""

    digest: str
    library: list[Any]  # of one reference: Ray resolves references that are arguments themselves
    options: dict[str, Any]
    backend: str
    workers: int
    filesystem: Any
    kernels: tuple[str, ...] = ()  # those that may answer; any if there are none


_libraries: Final[dict[str, Any]] = {}


def _library(call: Call) -> Any:
    """The library, or scene, fetched by this process once: what an engine has prepared of it serves all tasks."""
    if call.digest not in _libraries:
        _libraries.clear()
        _libraries[call.digest] = _ray().get(call.library[0])
    return _libraries[call.digest]


def begin_peak() -> None:
    """Begin to record the peak of the resident memory of this process, where the system can."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def peak() -> int:
    """The peak of the resident memory of this process, in bytes."""
    # The name of the process, which Ray makes that of the task, may be cut inside a character.
    with contextlib.suppress(OSError), open("/proc/self/status", "rb") as f:
        for line in f:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)


def _changed(source: Any, s: Shard) -> bool:
    """Whether an input is another one than that of the plan."""
    return bool(source.version() != s.version and source.identity() != s.identity)


def _check_kernels(call: Call, here: dict[str, str]) -> None:
    """Raise OptionError if no kernels of this machine may answer."""
    if call.kernels and not set(call.kernels) & set(here.values()):
        raise OptionError(
            f"kernels: {' or '.join(here.values())} on {socket.gethostname()}, while the other shards are of "
            f"{' and '.join(call.kernels)}, whose bits may differ; any_kernels=True takes both"
        )


def answer(call: Call, s: Shard) -> dict[str, Any]:
    """Answer a shard: the row of the manifest."""
    row, start = s.row(), time.monotonic()
    row["host"] = socket.gethostname()
    begin_peak()
    try:
        source, out = place(s.path, call.filesystem), place(s.out, call.filesystem)
        if _changed(source, s):
            raise FileError(f"{s.path} has changed since the call began")
        engine, lib = _engine(call.backend, call.options.get("precision", "single"), call.workers), _library(call)
        here = kernels_of(engine)
        _check_kernels(call, here)
        with out.writing() as results:
            with source.reading(*s.lines) as given:
                done = answer_file(s.kind, given, results, lib, (s.lo, s.hi), engine, call.options)
            if _changed(source, s):
                raise FileError(f"{s.path} has changed while its {s.range} were answered")
            kernels = here.get(done.report.backend, done.report.backend)
            _check_kernels(call, {done.report.backend: kernels})
            row["sha256"] = sha256(results)
        r = done.report
        row |= {**r.counts, "iterations": r.iterations, "worst_gap": r.worst_gap, "worst_row": r.worst_row}
        row |= {"rows": r.rows, "backend": r.backend, "kernels": kernels, "stamp": out.stamp(row["sha256"])}
        if r.error is not None:
            column, at, reason = r.error
            row |= {"first_invalid_row": at, "first_invalid": printable(f"{column}[{at}]: {reason}")}
    except (ClearanceError, OSError) as e:
        row |= {**s.row(), "host": row["host"], "error": printable(f"{type(e).__name__}: {e}")}
    row["seconds"], row["peak_memory"] = time.monotonic() - start, peak()
    return row


def audit(call: Call, s: Shard, rows: int) -> tuple[int, int, str]:
    """Audit a range of rows of a shard, or worlds with so many, seeded by its place: rows audited and refuted, and an
    error."""
    count = min(-(-rows // results_of(s.size, call.options)), s.hi - s.lo)
    seed = int.from_bytes(hashlib.sha256(f"{s.identity} {s.lo}".encode()).digest()[:8], "little")
    at = seed % (s.hi - s.lo - count + 1)
    lo, hi = s.lo + at, s.lo + at + count
    n, each = s.size.lines, s.size.rows
    begin, end = (at * each, (at + count) * each) if each else (0, INT64)
    options = call.options
    try:
        with (
            place(s.path, call.filesystem).reading(lo * n, hi * n, s.head) as source,
            place(s.out, call.filesystem).reading(begin, end) as results,
        ):
            engine, shapes = _engine("cpu", options.get("precision", "single"), 1), _library(call)
            if s.kind != "pairs":
                return *audit_part(s.kind, source, results, shapes, (lo, hi), engine, options), ""
            asks = {k: options[k] for k in ("query", "max_distance", "precision", "tolerance")}
            found = cl.audit_file(source, results, library=shapes, rows=(lo, hi), start=at, engine=engine, **asks)
            return *found, ""
    except (ClearanceError, OSError) as e:
        return 0, 0, printable(f"audit: {type(e).__name__}: {e}")


# Seconds between two writings of the manifest.
_PAUSE: Final = 2.0


class Run:
    """Tasks of shards, and of their audits of ``verify`` rows, until the manifest has a row of each."""

    def __init__(self, call: Call, manifest: Manifest, verify: int, memory: int, progress: bool) -> None:
        ray = _ray()

        self._call, self._manifest, self._verify = call, manifest, verify
        # What Ray's scheduler reserves; it does not hold a task to it.
        self._answer = ray.remote(num_cpus=call.workers, memory=memory)(answer)
        self._audit = ray.remote(num_cpus=1, memory=memory)(audit)
        # A few tasks more than there are CPUs, so that a cluster that grows is used and a queue of 10^6 stays here.
        self._most = max(8, 4 * int(ray.cluster_resources().get("CPU", 1)))
        self._todo = deque(manifest.shards)
        self._running: dict[Any, tuple[Shard, bool]] = {}  # references of tasks: the shard, and whether they audit
        self._bar = Bar(manifest) if progress else None
        self._metrics = Metrics()
        self._written = time.monotonic()

    def work(self) -> None:
        """Run the tasks. The manifest is written also after an interrupt."""
        self._manifest.write()
        try:
            while self._todo or self._running:
                while self._todo and len(self._running) < self._most:
                    s = self._todo.popleft()
                    if s.index in self._manifest.done:  # by a call that audited less, or ended before its audits
                        self._check(s)
                    else:
                        self._submit(s, "score", self._answer)
                if self._running:
                    self._take()
                self._keep()
        finally:
            for ref in self._running:
                _ray().cancel(ref)
            if self._bar is not None:
                self._bar.show("\n")
            self._end()

    def _end(self) -> None:
        """Write the manifest; an error, which the caller gets in place of the report, tells of shards that failed."""
        try:
            self._manifest.write()
        except FileError as e:
            failed = [r for r in self._manifest.rows if r["error"]]
            first = f"; {len(failed)} shards failed, the first with: {failed[0]['error']}" if failed else ""
            raise FileError(f"{e}{first}") from e

    def _submit(self, s: Shard, what: str, task: Any, *arguments: Any) -> None:
        """Submit a task, whose name Ray's dashboard shows."""
        ref = task.options(name=f"{what} {s.title}").remote(self._call, s, *arguments)
        self._running[ref] = s, what == "audit"

    def _check(self, s: Shard) -> None:
        """Submit the audit of a shard if it is asked for and was not made."""
        row = self._manifest.rows[s.index]
        answers = (s.hi - s.lo) * results_of(s.size, self._call.options)
        if self._verify and not row["error"] and row["audited"] < min(self._verify, answers):
            self._submit(s, "audit", self._audit, self._verify)

    def _take(self) -> None:
        """Take what a task has returned."""
        ray = _ray()

        (ref,), _ = ray.wait(list(self._running), num_returns=1)
        s, audited = self._running.pop(ref)
        row, died = self._manifest.rows[s.index], ""
        found: Any = None
        try:
            found = ray.get(ref)
        except ray.exceptions.RayError as e:  # a worker that died more often than Ray tries again
            died = printable(f"{type(e).__name__}: {e}")
        if audited:
            row["audited"], row["refuted"], row["error"] = (0, 0, f"audit: {died}") if died else found
            self._metrics.audited(row)
            return
        row.update({**s.row(), "error": died} if died else found)
        self._metrics.answered(row)
        self._check(s)
        if self._bar is not None:
            self._bar.add(row)

    def _keep(self) -> None:
        """Write the manifest now and then. Where that fails, as on a full disk, the end of the call tells it."""
        if time.monotonic() - self._written > _PAUSE:
            try:
                self._manifest.write()
            except FileError as e:
                print(f"\nclearance: {e}", file=sys.stderr)
            self._written = time.monotonic()


class Metrics:
    """Counters of a call for Ray's dashboard and for Prometheus."""

    def __init__(self) -> None:
        from ray.util import metrics

        self._rows = metrics.Counter("clearance_rows", "rows answered, by status", ("status",))
        self._shards = metrics.Counter("clearance_shards", "shards that ended, by outcome", ("outcome",))
        self._audited = metrics.Counter("clearance_rows_audited", "rows audited, by outcome", ("outcome",))

    def answered(self, row: dict[str, Any]) -> None:
        """A shard ended."""
        self._shards.inc(1, {"outcome": "failed" if row["error"] else "answered"})
        for status in STATUSES:
            if row[status]:
                self._rows.inc(row[status], {"status": status})

    def audited(self, row: dict[str, Any]) -> None:
        """An audit ended."""
        for outcome, n in (("refuted", row["refuted"]), ("not refuted", row["audited"] - row["refuted"])):
            if n > 0:
                self._audited.inc(n, {"outcome": outcome})


class Bar:
    """One line on the standard error: pairs or worlds, shards, and the time that is left by the rate so far."""

    def __init__(self, manifest: Manifest) -> None:
        self.rows, self.shards = sum(s.hi - s.lo for s in manifest.shards), len(manifest.shards)
        self.before = self.n = sum(s.hi - s.lo for s in manifest.shards if s.index in manifest.done)
        self.what = "rows" if all(s.kind == "pairs" for s in manifest.shards) else "worlds"
        self.over, self.failed, self.start = len(manifest.done), 0, time.monotonic()

    def add(self, row: dict[str, Any]) -> None:
        self.n += row["hi"] - row["lo"]
        self.over += 1
        self.failed += bool(row["error"])
        self.show()

    def show(self, end: str = "") -> None:
        rate = (self.n - self.before) / max(time.monotonic() - self.start, 1e-9)
        left = f", {(self.rows - self.n) / rate:,.0f} s left" if rate > 0 and self.n < self.rows else ""
        bad = f", {self.failed} failed" if self.failed else ""
        line = f"{self.n:,} of {self.rows:,} {self.what}, {self.over} of {self.shards} shards{bad}{left}"
        print(f"\r{line:<79}", end=end, file=sys.stderr, flush=True)
