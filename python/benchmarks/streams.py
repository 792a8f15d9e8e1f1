"""Files of pairs scored as files, as streams of other packages, and by Ray: time, processor time and memory, in turns.

    python python/benchmarks/streams.py pairs.parquet shapes.json [--rounds 3] [--only pyarrow ray]

Each case runs in a process of its own, so that the peak of the memory is its own. Where the machine has other work,
ratios of neighbors and CPU time say more than seconds. docs/scale.md has the figures.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clearance as cl

ROWS = 1 << 17


def file(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> None:
    """Parquet to Parquet by the library."""
    cl.score_file(pairs, out / "answers.parquet", library=lib, audit=False, engine=engine)


def pyarrow(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> None:
    """pyarrow reads, and writes with plain encoding."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pq.ParquetFile(pairs)
    batches = pa.RecordBatchReader.from_batches(source.schema_arrow, source.iter_batches(ROWS))
    answers = pa.RecordBatchReader.from_stream(cl.score_stream(batches, library=lib, engine=engine))
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(out / "answers.parquet", answers.schema, **plain) as w:
        for b in answers:
            w.write_batch(b)


def polars(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> None:
    """A lazy frame read by batches; the answers as frames."""
    import polars as pl
    import pyarrow as pa

    lazy = pl.scan_parquet(pairs)

    def batches() -> Iterator[Any]:
        for frame in lazy.collect_batches(chunk_size=ROWS, maintain_order=True):
            yield from frame.to_arrow().to_batches()

    source = pa.RecordBatchReader.from_batches(lazy.limit(0).collect().to_arrow().schema, batches())
    for b in pa.RecordBatchReader.from_stream(cl.score_stream(source, library=lib, engine=engine)):
        pl.from_arrow(b)


def duckdb(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> None:
    """DuckDB reads, and counts the answers."""
    import duckdb as db
    import pyarrow as pa

    source, query = db.connect(), db.connect()
    stream = cl.score_stream(source.sql(f"from '{pairs}'"), library=lib, engine=engine)
    query.register("answers", pa.RecordBatchReader.from_stream(stream))
    query.sql("select count(*) from answers where distance < 0.1").fetchall()


def on_ray(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> int:
    """Two tasks of a thread; the peak is that of the largest worker."""
    from clearance import ray as cr

    return cr.score(pairs, out / "parts", library=lib, backend="cpu", rows_per_shard=500_000).peak_memory


CASES: dict[str, Callable[[str, cl.Library, cl.Engine, Path], int | None]] = {
    "file": file, "pyarrow": pyarrow, "polars": polars, "duckdb": duckdb, "ray": on_ray
}  # fmt: skip


def one(case: str, pairs: str, shapes: str) -> str:
    """The figures of a case, after a first call that warms up."""
    lib = cl.Library.load(shapes)
    if case == "ray":
        import ray

        ray.init(num_cpus=2, object_store_memory=200_000_000, include_dashboard=False, log_to_driver=False)
    with cl.Engine("cpu") as engine, tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        n = min(1000, cl.pair_rows(pairs))
        cl.score_file(pairs, out / "first.parquet", library=lib, rows=(0, n), audit=False, engine=engine)
        start, before = time.perf_counter(), time.process_time()
        peak = CASES[case](pairs, lib, engine, out) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        wall, used = time.perf_counter() - start, time.process_time() - before
    used_text = "in workers" if case == "ray" else f"{used:.2f} s"
    return f"{case:<8} {wall:7.2f} s, CPU {used_text}, peak {peak / 1e6:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs")
    parser.add_argument("shapes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--one", action="store_true", help="in this process, the first of --only")
    a = parser.parse_args()
    if a.one:
        print(one(a.only[0], a.pairs, a.shapes))
        return
    for _ in range(a.rounds):
        for case in a.only:
            subprocess.run([sys.executable, __file__, a.pairs, a.shapes, "--one", "--only", case], check=True)


if __name__ == "__main__":
    main()
