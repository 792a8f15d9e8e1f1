"""Files answered on a cluster by Ray, and engines in Ray's actors. Needs ray and pyarrow.

    from clearance import ray as cr

    report = cr.score("pairs/*.parquet", "results/", library="shapes.json", resume=True)
    report.raise_if_failed()
    cr.score("worlds/*.parquet", "results/", kind="worlds", scene="shapes.json", max_distance=0.1)

The driver divides the files into shards, ranges of pairs or worlds of a file, and each task answers one of them by
:func:`clearance.score_file`, :func:`clearance.rollout_file` or :func:`clearance.sweep_file`, from file to file: rows
do not pass through Ray's object store. Files are in folders that all machines have under the same paths, or where a
filesystem of pyarrow reaches.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import clearance as cl

from ._columns import QueryName
from ._errors import ClearanceError, FileError, OptionError, RefutedError, RowError
from ._options import INT64, Backend, Method, Precision, flag, one_of, whole
from ._ray_run import Call, Rollouts, Run, Scorer, _ray
from ._ray_shards import MANIFEST, Kind, Manifest, digest_of, files_of, options_of, plan, range_of, shapes_of
from ._ray_store import place, printable
from ._result import STATUSES

__all__ = ["MANIFEST", "Rollouts", "ScoreReport", "Scorer", "score"]


@dataclass
class ScoreReport:
    """What became of all shards; ``shards`` has the rows of the manifest, in the order of the files and their rows."""

    shards: list[dict[str, Any]] = field(default_factory=list)
    kind: str = "pairs"

    @property
    def rows(self) -> int:
        """Rows of the results; those of shards that failed are counted where their number is known without answers."""
        return sum(s["rows"] for s in self.shards)

    @property
    def counts(self) -> dict[str, int]:
        """Rows by status, of the shards that were answered; of motions those in contact count as penetrating, and the
        free ones as separated."""
        return {n: sum(s[n] for s in self.shards if not s["error"]) for n in STATUSES}

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The shards that ended in an error."""
        return [s for s in self.shards if s["error"]]

    @property
    def kernels(self) -> dict[str, int]:
        """The number of shards that each kernels have answered: instruction set or device, and version of the library.
        Bits of answers may differ between them; each is right within its own bounds."""
        return dict(sorted(Counter(s["kernels"] for s in self.shards if not s["error"]).items()))

    @property
    def peak_memory(self) -> int:
        """The most resident memory that a process took for a shard, in bytes, Python and Ray included."""
        return max((s["peak_memory"] for s in self.shards), default=0)

    @property
    def worst_gap(self) -> tuple[float, str, int]:
        """The largest relative gap, its file and its row in it; row -1 if there is none."""
        best = max((s for s in self.shards if s["worst_row"] >= 0), key=lambda s: s["worst_gap"], default=None)
        return (0.0, "", -1) if best is None else (best["worst_gap"], best["input"], best["worst_row"])

    def raise_if_failed(self) -> None:
        """Raise the error of the first shard that failed, RefutedError for a refuted answer, RowError for a row
        without one."""
        for s in self.shards:
            where = f"{s['input']} {range_of(self.kind, s['lo'], s['hi'])}"
            if s["error"]:
                raise FileError(f"{where}: {s['error']}; {len(self.failed)} shards of {len(self.shards)} failed")
            if s["refuted"]:
                raise RefutedError(f"{where}: the audit refuted {s['refuted']} of {s['audited']} answers")
        for s in self.shards:
            if s["undecided"] or s["invalid"]:
                reason = s["first_invalid"] or "the bounds stayed wider than the tolerance"
                where = f"{s['input']}, {range_of(self.kind, s['lo'], s['hi'])}"
                message = f"{where}: {s['undecided']} rows undecided, {s['invalid']} invalid: {reason}"
                raise RowError(message, "status", s["first_invalid_row"], reason)


# Bytes of a worker: Python, Ray and the library; a row of pairs and results, of each of the six chunks of a stream; a
# range of worlds and their results, of which three are in memory, and their copies.
_PROCESS: Final = 300 << 20
_ROW: Final = 200
_RANGE: Final = 64 << 20


def _need(workers: int, kind: Kind) -> int:
    """The memory of a task of so many threads, with a small library."""
    if kind != "pairs":
        return _PROCESS + 6 * _RANGE
    return _PROCESS + 6 * _ROW * min(max(1 << 16, workers << 13), 1 << 18)


def score(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    outputs: str | os.PathLike[str],
    *,
    library: cl.Library | str | os.PathLike[str] | None = None,
    kind: Kind = "pairs",
    scene: cl.Scene | str | os.PathLike[str] | None = None,
    query: QueryName = "distance",
    columns: Iterable[str] | None = None,
    max_distance: float | None = None,
    method: Method = "auto",
    precision: Literal["single", "double"] = "single",
    tolerance: float | None = None,
    reduce: Literal["world"] | None = None,
    pairs: Literal["all"] | None = None,
    culling: bool = True,
    time_tolerance: float | None = None,
    max_evaluations: int | None = None,
    backend: Backend = "auto",
    workers: int = 1,
    memory: int | None = None,
    rows_per_shard: int = 1_000_000,
    verify: int = 0,
    resume: bool = True,
    any_kernels: bool = False,
    progress: bool = True,
    filesystem: Any = None,
) -> ScoreReport:
    """Answer files into a folder of files, one per shard, whose names sort in the order of the rows.

    ``inputs`` is a file, a pattern such as "pairs/*.parquet", or a list of these. The files of a pattern stand in the
    order of folders of parts: numbers in names compare as numbers. ``kind`` says what they hold: pairs of
    ``library``, or worlds or motions of the bodies of ``scene``. ``workers`` are the threads of a task, and its CPUs
    in Ray. ``memory`` is its budget in bytes, which Ray reserves: by default what a task of so many threads takes
    with a small library. A shard has at most ``rows_per_shard`` pairs, or one world. ``verify`` is the number of rows
    of every shard that a task of its own audits, from the shapes alone: of worlds and motions whole worlds, of which
    the reference solves every pair of parts. The options of the query are those of :func:`clearance.score_file`, of
    worlds those of :func:`clearance.rollout_file`, and of motions those of :func:`clearance.sweep_file`.

    Names are paths that all machines share, or URIs of pyarrow ("s3://bucket/pairs/*.parquet"); with ``filesystem``,
    one of pyarrow or fsspec that can be pickled, all names but that of the library are paths in it. A task copies the
    row groups of an object that it needs to the folder for temporary files, and uploads results complete or not at
    all.

    A result appears under its name once it is complete, and the manifest, ``outputs/_manifest.parquet``, has a row per
    shard: its input and range, counts by status, back end, seconds, host, peak of the memory, the SHA-256 of its file,
    and its error. A shard that fails is listed and the rest goes on. With ``resume`` a second call answers what is
    missing or failed. Inputs or options other than those of the manifest, and results that are not those of the
    manifest, are refused by name. The machines of a call may have different kernels, whose bits may differ: the
    manifest and ``kernels`` of the report say which answered each shard. A second call takes the kernels that the
    manifest has and no others, whose shards fail by name, unless ``any_kernels`` is set.
    """
    given = {
        "query": query,
        "columns": None if columns is None else list(columns),
        "max_distance": max_distance,
        "method": method,
        "precision": precision,
        "tolerance": tolerance,
        "reduce": reduce,
        "pairs": pairs,
        "culling": flag("culling", culling),
        "time_tolerance": time_tolerance,
        "max_evaluations": max_evaluations,
    }
    one_of("kind", kind, get_args(Kind))
    for name, value, choice in (("reduce", reduce, "world"), ("pairs", pairs, "all")):
        if value is not None:
            one_of(name, value, [choice])
    options = options_of(kind, given)
    whole("workers", workers, 1)
    whole("rows_per_shard", rows_per_shard, 1, INT64)
    whole("verify", verify)
    one_of("precision", precision, get_args(Precision))
    one_of("method", method, get_args(Method))
    resume, progress = flag("resume", resume), flag("progress", progress)
    any_kernels = flag("any_kernels", any_kernels)
    need = _need(workers, kind)
    memory = need if memory is None else whole("memory", memory, 1, INT64)
    if memory < need:
        raise OptionError(f"memory: {memory:,} bytes, and a task of {workers} threads takes {need:,}")
    shapes = shapes_of(kind, library, scene)
    folder = place(outputs, filesystem)
    folder.make()
    with folder.only_driver():
        shards = plan(files_of(inputs, filesystem), folder, rows_per_shard, kind, options)
        digest = digest_of(shapes)
        about = {"library": digest} if kind == "pairs" else {"kind": kind, "scene": digest}
        manifest = Manifest(folder, shards, {**options, **about, "rows_per_shard": rows_per_shard})
        if resume:
            manifest.resume(filesystem)
        else:
            manifest.refuse()
        ray = _ray()
        if not ray.is_initialized():
            ray.init()
        known = () if any_kernels else tuple(sorted({manifest.rows[i]["kernels"] for i in manifest.done}))
        call = Call(digest, [ray.put(shapes)], options, backend, workers, filesystem, known)
        Run(call, manifest, verify, memory, progress).work()
    return ScoreReport(manifest.rows, kind)


def command(words: list[str]) -> int:
    """``clearance ray-score``: :func:`score` on the command line.

    0: every row has an answer, and no audit refuted one; 1: some have none, or are refuted; 2: bad input; 3: an error
    of Ray, or a fault of this program."""
    parser = argparse.ArgumentParser(prog="clearance ray-score", description="Answer files on a cluster.")
    parser.add_argument("inputs", nargs="+", help="files (.parquet, .npz), patterns, or URIs")
    parser.add_argument("--kind", choices=get_args(Kind), default="pairs", help="what the files hold")
    parser.add_argument("--library", help="file of the shapes of pairs, shapes.json")
    parser.add_argument("--scene", help="file of the bodies of worlds or motions, shapes.json")
    parser.add_argument("--out", required=True, help="folder of the results and of their manifest")
    parser.add_argument("--query", default="distance")
    parser.add_argument("--columns", help="result columns, separated by commas")
    parser.add_argument("--max-distance", type=float)
    parser.add_argument("--precision", choices=["single", "double"], default="single")
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--reduce", choices=["world"], help="one row per world")
    parser.add_argument("--all-pairs", action="store_true", help="all pairs of worlds, whatever pairs the files list")
    parser.add_argument("--no-culling", action="store_true", help="every pair of parts of worlds is solved")
    parser.add_argument("--time-tolerance", type=float, help="largest width of the interval of a first contact")
    parser.add_argument("--max-evaluations", type=int, help="poses of a pair of parts at which solvers are asked")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--workers", type=int, default=1, help="threads of a task")
    parser.add_argument("--memory", type=int, metavar="BYTES", help="budget of a task, which Ray reserves")
    parser.add_argument("--rows-per-shard", type=int, default=1_000_000, help="most pairs of a shard")
    parser.add_argument("--verify", type=int, default=0, metavar="K", help="audit K rows of every shard")
    parser.add_argument("--no-resume", action="store_true", help="refuse a folder that has results")
    parser.add_argument("--any-kernels", action="store_true", help="take answers of kernels that the folder has not")
    a = parser.parse_args(words)
    try:
        report = score(
            a.inputs,
            a.out,
            library=a.library,
            kind=a.kind,
            scene=a.scene,
            query=a.query,
            columns=None if a.columns is None else a.columns.split(","),
            max_distance=a.max_distance,
            precision=a.precision,
            tolerance=a.tolerance,
            reduce=a.reduce,
            pairs="all" if a.all_pairs else None,
            culling=not a.no_culling,
            time_tolerance=a.time_tolerance,
            max_evaluations=a.max_evaluations,
            backend=a.backend,
            workers=a.workers,
            memory=a.memory,
            rows_per_shard=a.rows_per_shard,
            verify=a.verify,
            resume=not a.no_resume,
            any_kernels=a.any_kernels,
        )
    except (ClearanceError, OSError) as e:
        print(printable(f"clearance: {e}"), file=sys.stderr)
        return 2
    except Exception:
        traceback.print_exc()  # the interpreter would end with 1
        return 3
    counts = ", ".join(f"{n:,} {name}" for name, n in report.counts.items())
    audited, refuted = (sum(s[k] for s in report.shards) for k in ("audited", "refuted"))
    print(f"{report.rows:,} rows in {len(report.shards):,} shards: {counts}; {audited:,} audited, {refuted:,} refuted")
    if len(report.kernels) > 1:
        each = ", ".join(f"{n:,} by {name}" for name, n in report.kernels.items())
        print(f"shards of different kernels, whose bits may differ: {each}")
    for s in report.failed:
        print(f"clearance: {s['input']} {range_of(a.kind, s['lo'], s['hi'])}: {s['error']}", file=sys.stderr)
    if report.failed:
        return 2
    return 1 if refuted or report.counts["undecided"] or report.counts["invalid"] else 0
