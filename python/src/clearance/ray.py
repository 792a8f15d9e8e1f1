"""Files of pairs scored on a cluster by Ray, and engines in Ray's actors. Needs ray and pyarrow.

    from clearance import ray as cr

    report = cr.score("pairs/*.parquet", "results/", library="shapes.json", resume=True)
    report.raise_if_failed()

The driver divides the files into shards, ranges of rows of a file, and each task answers one of them by
:func:`clearance.score_file`, from file to file: rows do not pass through Ray's object store. All machines need the
folders of inputs and outputs under the same paths.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import clearance as cl

from ._errors import ClearanceError, FileError, OptionError, RefutedError, RowError
from ._options import INT64, whole
from ._ray_actors import Rollouts, Scorer, _engine, _ray

__all__ = ["MANIFEST", "Rollouts", "ScoreReport", "Scorer", "score"]

# Names that begin with _ are no parts of the table.
MANIFEST: Final = "_manifest.parquet"
_LOCK: Final = "_driver.lock"
# Bytes at each end of a file that its identity covers, besides its size and its time of change.
_ENDS: Final = 1 << 20
_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class _Shard:
    """The rows [lo, hi) of an input file, and where their results go."""

    index: int
    path: str
    lo: int
    hi: int
    identity: str
    out: str


@dataclass
class ScoreReport:
    """What became of all shards; ``shards`` has the rows of the manifest, in the order of the files and their rows."""

    shards: list[dict[str, Any]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(s["rows"] for s in self.shards)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by status, of the shards that were answered."""
        names = ("separated", "touching", "penetrating", "undecided", "invalid")
        return {n: sum(s[n] for s in self.shards if not s["error"]) for n in names}

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The shards that ended in an error."""
        return [s for s in self.shards if s["error"]]

    @property
    def worst_gap(self) -> tuple[float, str, int]:
        """The largest relative gap, its file and its row in it; row -1 if there is none."""
        best = max((s for s in self.shards if s["worst_row"] >= 0), key=lambda s: s["worst_gap"], default=None)
        return (0.0, "", -1) if best is None else (best["worst_gap"], best["input"], best["worst_row"])

    def raise_if_failed(self) -> None:
        """Raise the error of the first shard that failed, RefutedError for a refuted answer, RowError for a row
        without one."""
        for s in self.shards:
            where = f"{s['input']} rows {s['lo']} to {s['hi'] - 1}"
            if s["error"]:
                raise FileError(f"{where}: {s['error']}; {len(self.failed)} shards of {len(self.shards)} failed")
            if s["refuted"]:
                raise RefutedError(f"{where}: the audit refuted {s['refuted']} of {s['audited']} answers")
        for s in self.shards:
            if s["undecided"] or s["invalid"]:
                reason = s["first_invalid"] or "the bounds stayed wider than the tolerance"
                where = f"{s['input']}, rows {s['lo']} to {s['hi'] - 1}"
                message = f"{where}: {s['undecided']} rows undecided, {s['invalid']} invalid: {reason}"
                raise RowError(message, "status", s["first_invalid_row"], reason)


def score(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    outputs: str | os.PathLike[str],
    *,
    library: cl.Library | str | os.PathLike[str],
    query: str = "distance",
    columns: Iterable[str] | None = None,
    max_distance: float | None = None,
    method: str = "auto",
    precision: Literal["single", "double"] = "single",
    tolerance: float | None = None,
    backend: str = "auto",
    workers: int = 1,
    rows_per_shard: int = 2_000_000,
    verify: int = 0,
    resume: bool = True,
    progress: bool = True,
) -> ScoreReport:
    """Answer the pairs of files into a folder of files, one per shard, whose names sort in the order of the rows.

    ``inputs`` is a file, a pattern such as "pairs/*.parquet", or a list of these. ``workers`` are the threads of a
    task, and its CPUs in Ray. ``verify`` is the number of rows of every shard that a task of its own audits, from the
    shapes alone. The options of the query are those of :func:`clearance.score_file`.

    A result appears under its name once it is complete, and the manifest, ``outputs/_manifest.parquet``, has a row per
    shard: its input and range, counts by status, back end, seconds, host, the SHA-256 of its file, and its error. A
    shard that fails is listed and the rest goes on. With ``resume`` a second call answers what is missing or failed.
    Inputs or options other than those of the manifest, and results that are not those of the manifest, are refused by
    name.
    """
    folder = Path(outputs)
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "query": query,
        "columns": None if columns is None else list(columns),
        "max_distance": max_distance,
        "method": method,
        "precision": precision,
        "tolerance": tolerance,
    }
    whole("workers", workers, 1)
    whole("rows_per_shard", rows_per_shard, 1, INT64)
    whole("verify", verify)
    lib = library if isinstance(library, cl.Library) else cl.Library.load(library)
    with _only_driver(folder):
        shards = _plan(_files(inputs), folder, rows_per_shard)
        about = {**options, "library": _library_digest(lib), "rows_per_shard": rows_per_shard}
        done = _resumed(folder, shards, about) if resume else _empty(folder)
        rows = _run(lib, shards, done, options, backend, workers, verify, folder, about, progress)
    return ScoreReport(rows)


def _files(inputs: Any) -> list[str]:
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    files: list[str] = []
    for item in given:
        name = os.fspath(item)
        found = sorted(glob.glob(name)) if glob.has_magic(name) else [name]  # noqa: PTH207, relative or not
        if not found:
            raise FileError(f"{name}: no file has such a name")
        files += found
    if len(set(map(os.path.realpath, files))) != len(files):
        raise OptionError("inputs: a file is named twice")
    return files


def _identity(path: str) -> str:
    """What a change of a file changes: its size, its time of change, and a digest of its ends."""
    about = Path(path).stat()
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        digest.update(f.read(_ENDS))
        f.seek(max(about.st_size - _ENDS, 0))
        digest.update(f.read(_ENDS))
    return f"{about.st_size}:{about.st_mtime_ns}:{digest.hexdigest()[:16]}"


def _sha256(path: str) -> str:
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _library_digest(lib: cl.Library) -> str:
    import pickle

    return hashlib.sha256(pickle.dumps(lib, protocol=4)).hexdigest()[:16]


def _plan(files: list[str], folder: Path, most: int) -> list[_Shard]:
    shards: list[_Shard] = []
    for path in files:
        if folder.resolve() == Path(path).resolve().parent:
            raise OptionError(f"outputs: {folder} is the folder of the input {path}; give the results another one")
        who = _identity(path)
        try:
            rows = cl.pair_rows(path)
        except FileError:
            rows = 0  # the task of the shard lists the error, and the other files go on
        for lo in range(0, max(rows, 1), most):
            name = f"part-{len(shards):06d}{Path(path).suffix}"
            shards.append(_Shard(len(shards), path, lo, min(lo + most, rows), who, os.fspath(folder / name)))
    return shards


@contextlib.contextmanager
def _only_driver(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder of results, which the kernel releases with the process."""
    with open(folder / _LOCK, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            lock.seek(0)
            raise FileError(f"{folder}: another driver writes here: {lock.read().strip() or 'unknown'}") from e
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        yield


def _empty(folder: Path) -> dict[int, dict[str, Any]]:
    if (folder / MANIFEST).exists():
        raise FileError(f"{folder / MANIFEST} exists: resume=True goes on with it; or give the results another folder")
    return {}


def _resumed(folder: Path, shards: list[_Shard], about: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The rows of the manifest whose results are there and are theirs."""
    import pyarrow.parquet as pq

    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        table = pq.read_table(path)
        before = json.loads((table.schema.metadata or {})[b"options"])
    except (OSError, KeyError, ValueError) as e:
        raise FileError(f"{path}: no manifest of results: {e}") from e
    changed = [k for k in about if before.get(k) != about[k]]
    if changed:
        words = ", ".join(f"{k} was {before.get(k)!r} and is {about[k]!r}" for k in changed)
        raise OptionError(f"{path}: the results are of other options: {words}; give the results another folder")
    if len(table) != len(shards):
        raise OptionError(f"{path}: the inputs made {len(table)} shards and make {len(shards)}: they have changed")
    done = {}
    for row, s in zip(table.to_pylist(), shards, strict=True):
        was, now = (row["input"], row["lo"], row["hi"], row["identity"]), (s.path, s.lo, s.hi, s.identity)
        if was != now:
            raise OptionError(
                f"{path}: the input {s.path} has changed since its rows {s.lo} to {s.hi - 1} were answered"
            )
        if not row["sha256"] or row["error"]:
            continue
        if not os.path.exists(s.out):
            continue
        if _sha256(s.out) != row["sha256"]:
            raise FileError(f"{s.out}: it is not the file that the manifest lists: delete it to have its rows answered")
        done[s.index] = row
    return done


def _row(s: _Shard) -> dict[str, Any]:
    """The manifest of a shard without an answer."""
    numbers = dict.fromkeys(
        ("separated", "touching", "penetrating", "undecided", "invalid", "iterations", "audited", "refuted"), 0
    )
    texts = dict.fromkeys(("backend", "host", "sha256", "error", "first_invalid"), "")
    return {
        "shard": s.index, "input": s.path, "lo": s.lo, "hi": s.hi, "identity": s.identity, "out": Path(s.out).name,
        "rows": s.hi - s.lo, **numbers, "first_invalid_row": -1, "worst_gap": 0.0, "worst_row": -1, "seconds": 0.0,
        **texts,
    }  # fmt: skip


# Types of pyarrow by those of the values of the manifest.
_TYPES: Final = {str: "string", int: "int64", float: "float64"}


def _write(folder: Path, rows: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Write the manifest beside its name, and rename it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = _row(_Shard(0, "", 0, 0, "", "")).items()
    fields = [pa.field(name, getattr(pa, _TYPES[type(value)])()) for name, value in columns]
    schema = pa.schema(fields, {b"options": json.dumps(about).encode()})
    beside = folder / f"{MANIFEST}.{os.getpid()}"
    pq.write_table(pa.Table.from_pylist(rows, schema), beside)
    beside.replace(folder / MANIFEST)


_libraries: Final[dict[str, cl.Library]] = {}


def _library(held: tuple[str, list[Any]]) -> cl.Library:
    """The library of a digest, fetched by this process once: what an engine has prepared of it serves all tasks."""
    ray = _ray()

    digest, (ref,) = held
    if digest not in _libraries:
        _libraries.clear()
        _libraries[digest] = ray.get(ref)
    return _libraries[digest]


def _answer(
    held: tuple[str, list[Any]], s: _Shard, options: dict[str, Any], backend: str, workers: int
) -> dict[str, Any]:
    """The work of a task: the row of the manifest."""
    row, start = _row(s), time.monotonic()
    row["host"] = socket.gethostname()
    try:
        if _identity(s.path) != s.identity:
            raise FileError(f"{s.path} has changed since the call began")
        engine, lib = _engine(backend, options["precision"], workers), _library(held)
        done = cl.score_file(
            s.path, s.out, library=lib, rows=(s.lo, s.hi), audit=False, engine=engine, **options
        )  # appears under its name once it is complete
        if _identity(s.path) != s.identity:
            Path(s.out).unlink()
            raise FileError(f"{s.path} has changed while its rows were answered")
        r = done.report
        row |= {**r.counts, "iterations": r.iterations, "worst_gap": r.worst_gap, "worst_row": r.worst_row}
        row |= {"backend": r.backend, "sha256": _sha256(s.out)}
        if r.error is not None:
            column, at, reason = r.error
            row |= {"first_invalid_row": at, "first_invalid": f"{column}[{at}]: {reason}"}
    except (ClearanceError, OSError) as e:
        row["error"] = f"{type(e).__name__}: {e}"
    row["seconds"] = time.monotonic() - start
    return row


def _audit(held: tuple[str, list[Any]], s: _Shard, options: dict[str, Any], rows: int) -> tuple[int, int, str]:
    """Audit a range of rows of a shard, seeded by its place: rows audited and refuted, and an error."""
    rows = min(rows, s.hi - s.lo)
    seed = int.from_bytes(hashlib.sha256(f"{s.identity} {s.lo}".encode()).digest()[:8], "little")
    at = seed % (s.hi - s.lo - rows + 1)
    asked = {k: options[k] for k in ("query", "max_distance", "precision", "tolerance")}
    try:
        return *cl.audit_file(
            s.path, s.out, library=_library(held), rows=(s.lo + at, s.lo + at + rows), start=at,
            engine=_engine("cpu", options["precision"], 1), **asked,
        ), ""  # fmt: skip
    except (ClearanceError, OSError) as e:
        return 0, 0, f"audit: {type(e).__name__}: {e}"


def _run(
    lib: cl.Library,
    shards: list[_Shard],
    done: dict[int, dict[str, Any]],
    options: dict[str, Any],
    backend: str,
    workers: int,
    verify: int,
    folder: Path,
    about: dict[str, Any],
    progress: bool,
) -> list[dict[str, Any]]:
    ray = _ray()

    if not ray.is_initialized():
        ray.init()
    held = about["library"], [ray.put(lib)]
    answer = ray.remote(num_cpus=workers)(_answer)
    audit = ray.remote(num_cpus=1)(_audit)
    rows = [done.get(s.index, _row(s)) for s in shards]
    todo = deque(shards)
    # A few tasks more than there are CPUs, so that a cluster that grows is used and a queue of 10^6 stays here.
    most = max(8, 4 * int(ray.cluster_resources().get("CPU", 1)))
    running: dict[Any, _Shard] = {}
    audits: set[Any] = set()
    bar = _Bar(shards, done) if progress else None
    written = time.monotonic()
    _write(folder, rows, about)

    def submit(task: Any, s: _Shard, what: str, *arguments: Any) -> Any:
        name = f"{what} {Path(s.path).name}[{s.lo}:{s.hi}]"
        ref = task.options(name=name).remote(held, s, options, *arguments)
        running[ref] = s
        return ref

    def check(s: _Shard) -> None:
        row = rows[s.index]
        if verify and not row["error"] and row["audited"] < min(verify, row["rows"]):
            audits.add(submit(audit, s, "audit", verify))

    try:
        while todo or running:
            while todo and len(running) < most:
                s = todo.popleft()
                if s.index in done:  # by a call that audited less, or ended before its audits
                    check(s)
                else:
                    submit(answer, s, "score", backend, workers)
            if not running:
                break
            ready, _ = ray.wait(list(running), num_returns=1)
            ref = ready[0]
            s = running.pop(ref)
            row = rows[s.index]
            try:
                found: Any = ray.get(ref)
            except ray.exceptions.RayError as e:  # a worker that died more often than Ray tries again
                found = (0, 0, f"audit: {e}") if ref in audits else {**_row(s), "error": f"{type(e).__name__}: {e}"}
            if ref in audits:
                audits.discard(ref)
                row["audited"], row["refuted"], row["error"] = found
            else:
                row.update(found)
                check(s)
                if bar is not None:
                    bar.add(row)
            if time.monotonic() - written > 2:
                _write(folder, rows, about)
                written = time.monotonic()
    finally:
        for ref in running:
            ray.cancel(ref)
        _write(folder, rows, about)
        if bar is not None:
            bar.show("\n")
    return rows


class _Bar:
    """One line on the standard error: rows, shards, and the time that is left by the rate so far."""

    def __init__(self, shards: list[_Shard], done: dict[int, Any]) -> None:
        self.rows, self.shards = sum(s.hi - s.lo for s in shards), len(shards)
        self.before = self.n = sum(r["rows"] for r in done.values())
        self.over, self.failed, self.start = len(done), 0, time.monotonic()

    def add(self, row: dict[str, Any]) -> None:
        self.n += row["rows"]
        self.over += 1
        self.failed += bool(row["error"])
        self.show()

    def show(self, end: str = "") -> None:
        rate = (self.n - self.before) / max(time.monotonic() - self.start, 1e-9)
        left = f", {(self.rows - self.n) / rate:,.0f} s left" if rate > 0 and self.n < self.rows else ""
        bad = f", {self.failed} failed" if self.failed else ""
        line = f"{self.n:,} of {self.rows:,} rows, {self.over} of {self.shards} shards{bad}{left}"
        print(f"\r{line:<79}", end=end, file=sys.stderr, flush=True)
