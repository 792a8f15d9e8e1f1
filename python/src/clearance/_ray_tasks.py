"""The work of Ray's tasks: a shard answered, and rows of it audited."""

from __future__ import annotations

import contextlib
import hashlib
import resource
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any, Final

import clearance as cl

from ._errors import ClearanceError, FileError, OptionError
from ._options import INT64
from ._ray_actors import _engine, _ray, kernels_of
from ._ray_kinds import answer_file, audit_part, results_of
from ._ray_shards import Shard
from ._ray_store import place, printable, sha256


@dataclass(frozen=True)
class Asked:
    """What all tasks of a call are asked: the library, or scene, as a reference under its digest, options, and where
    files are."""

    digest: str
    library: list[Any]  # of one reference: Ray resolves references that are arguments themselves
    options: dict[str, Any]
    backend: str
    workers: int
    filesystem: Any
    kernels: tuple[str, ...] = ()  # those that may answer; any if there are none


_libraries: Final[dict[str, Any]] = {}


def _library(asked: Asked) -> Any:
    """The library, or scene, fetched by this process once: what an engine has prepared of it serves all tasks."""
    if asked.digest not in _libraries:
        _libraries.clear()
        _libraries[asked.digest] = _ray().get(asked.library[0])
    return _libraries[asked.digest]


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


def _check_kernels(asked: Asked, here: dict[str, str]) -> None:
    """Raise OptionError if no kernels of this machine may answer."""
    if asked.kernels and not set(asked.kernels) & set(here.values()):
        raise OptionError(
            f"kernels: {' or '.join(here.values())} on {socket.gethostname()}, while the other shards are of "
            f"{' and '.join(asked.kernels)}, whose bits may differ; any_kernels=True takes both"
        )


def answer(asked: Asked, s: Shard) -> dict[str, Any]:
    """Answer a shard: the row of the manifest."""
    row, start = s.row(), time.monotonic()
    row["host"] = socket.gethostname()
    begin_peak()
    try:
        source, out = place(s.path, asked.filesystem), place(s.out, asked.filesystem)
        if _changed(source, s):
            raise FileError(f"{s.path} has changed since the call began")
        engine, lib = _engine(asked.backend, asked.options.get("precision", "single"), asked.workers), _library(asked)
        here = kernels_of(engine)
        _check_kernels(asked, here)
        with out.writing() as results:
            with source.reading(*s.lines) as given:
                done = answer_file(s.kind, given, results, lib, (s.lo, s.hi), engine, asked.options)
            if _changed(source, s):
                raise FileError(f"{s.path} has changed while its {s.range} were answered")
            kernels = here.get(done.report.backend, done.report.backend)
            _check_kernels(asked, {done.report.backend: kernels})
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


def audit(asked: Asked, s: Shard, rows: int) -> tuple[int, int, str]:
    """Audit a range of rows of a shard, or worlds with so many, seeded by its place: rows audited and refuted, and an
    error."""
    count = min(-(-rows // results_of(s.size, asked.options)), s.hi - s.lo)
    seed = int.from_bytes(hashlib.sha256(f"{s.identity} {s.lo}".encode()).digest()[:8], "little")
    at = seed % (s.hi - s.lo - count + 1)
    lo, hi = s.lo + at, s.lo + at + count
    n, each = s.size.lines, s.size.rows
    begin, end = (at * each, (at + count) * each) if each else (0, INT64)
    options = asked.options
    try:
        with (
            place(s.path, asked.filesystem).reading(lo * n, hi * n, s.head) as source,
            place(s.out, asked.filesystem).reading(begin, end) as results,
        ):
            engine, shapes = _engine("cpu", options.get("precision", "single"), 1), _library(asked)
            if s.kind != "pairs":
                return *audit_part(s.kind, source, results, shapes, (lo, hi), engine, options), ""
            asks = {k: options[k] for k in ("query", "max_distance", "precision", "tolerance")}
            found = cl.audit_file(source, results, library=shapes, rows=(lo, hi), start=at, engine=engine, **asks)
            return *found, ""
    except (ClearanceError, OSError) as e:
        return 0, 0, printable(f"audit: {type(e).__name__}: {e}")
