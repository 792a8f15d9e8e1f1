"""``clearance ray-score``: :func:`clearance.ray.score` on the command line."""

from __future__ import annotations

import argparse
import sys

from . import ray as on_ray
from ._errors import ClearanceError


def command(words: list[str]) -> int:
    """0: every row has an answer, and no audit refuted one; 1: some have none, or are refuted; 2: bad input."""
    parser = argparse.ArgumentParser(prog="clearance ray-score", description="Answer files of pairs on a cluster.")
    parser.add_argument("inputs", nargs="+", help="files of pairs (.parquet, .npz), patterns, or URIs")
    parser.add_argument("--library", required=True, help="file of the shapes, shapes.json")
    parser.add_argument("--out", required=True, help="folder of the results and of their manifest")
    parser.add_argument("--query", default="distance")
    parser.add_argument("--columns", help="result columns, separated by commas")
    parser.add_argument("--max-distance", type=float)
    parser.add_argument("--precision", choices=["single", "double"], default="single")
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--workers", type=int, default=1, help="threads of a task")
    parser.add_argument("--memory", type=int, metavar="BYTES", help="budget of a task, which Ray reserves")
    parser.add_argument("--rows-per-shard", type=int, default=1_000_000)
    parser.add_argument("--verify", type=int, default=0, metavar="K", help="audit K rows of every shard")
    parser.add_argument("--no-resume", action="store_true", help="refuse a folder that has results")
    a = parser.parse_args(words)
    try:
        report = on_ray.score(
            a.inputs,
            a.out,
            library=a.library,
            query=a.query,
            columns=None if a.columns is None else a.columns.split(","),
            max_distance=a.max_distance,
            precision=a.precision,
            tolerance=a.tolerance,
            backend=a.backend,
            workers=a.workers,
            memory=a.memory,
            rows_per_shard=a.rows_per_shard,
            verify=a.verify,
            resume=not a.no_resume,
        )
    except ClearanceError as e:
        print(f"clearance: {e}", file=sys.stderr)
        return 2
    counts = ", ".join(f"{n:,} {name}" for name, n in report.counts.items())
    audited, refuted = (sum(s[k] for s in report.shards) for k in ("audited", "refuted"))
    print(f"{report.rows:,} rows in {len(report.shards):,} shards: {counts}; {audited:,} audited, {refuted:,} refuted")
    for s in report.failed:
        print(f"clearance: {s['input']} rows {s['lo']} to {s['hi'] - 1}: {s['error']}", file=sys.stderr)
    if report.failed:
        return 2
    return 1 if refuted or report.counts["undecided"] or report.counts["invalid"] else 0
