"""``clearance ray-score``: :func:`clearance.ray.score` on the command line."""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import get_args

from . import ray as on_ray
from ._errors import ClearanceError
from ._ray_shards import Kind, range_of
from ._ray_store import printable


def command(words: list[str]) -> int:
    """0: every row has an answer, and no audit refuted one; 1: some have none, or are refuted; 2: bad input; 3: an
    error of Ray, or a fault of this program."""
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
        report = on_ray.score(
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
