"""Files of pairs scored as files, as streams of other packages, and by Ray: time, processor time and memory, in turns.

    python lab/python/streams.py pairs.parquet shapes.json [--rounds 3] [--only pyarrow ray]

The overhead of Ray, of files in a folder too, whose answers are compared bit for bit:

    mkdir pairs
    for k in $(seq 40); do
        batchbench generate --set hull32 --pairs 500000 --seed $k --shapes shapes.json --out pairs/$((100 + k)).parquet
    done
    python lab/python/streams.py pairs/ shapes.json --only batchbench ray --compare

Each case runs in a process of its own, so that the peak of the memory is its own. Where the machine has other work,
ratios of neighbors and CPU time say more than seconds. docs/scale.md has the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
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


def read_by_pyarrow(pairs: str, lib: cl.Library, engine: cl.Engine) -> Any:
    """The answers of a stream that pyarrow reads."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pq.ParquetFile(pairs, pre_buffer=False)  # which would keep all that it has read
    batches = source.iter_batches(ROWS, use_threads=False)  # its threads would take the cores of the engine
    reader = pa.RecordBatchReader.from_batches(source.schema_arrow, batches)
    return pa.RecordBatchReader.from_stream(cl.score_stream(reader, library=lib, engine=engine))


def pyarrow(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> None:
    """pyarrow reads, and takes the answers."""
    for _ in read_by_pyarrow(pairs, lib, engine):
        pass


def pyarrow_writes(pairs: str, lib: cl.Library, engine: cl.Engine, out: Path) -> None:
    """pyarrow reads, and writes with plain encoding."""
    import pyarrow.parquet as pq

    answers = read_by_pyarrow(pairs, lib, engine)
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
    """Two tasks of a thread at a time; the peak is that of the largest worker."""
    from clearance import ray as cr

    files = f"{pairs}/*.parquet" if Path(pairs).is_dir() else pairs
    return cr.score(files, out / "parts", library=lib, backend="cpu").peak_memory


def waited() -> None:
    """A task so long that another worker takes the next."""
    time.sleep(1)


CASES: dict[str, Callable[[str, cl.Library, cl.Engine, Path], int | None]] = {
    "file": file, "pyarrow": pyarrow, "pyarrow_writes": pyarrow_writes, "polars": polars, "duckdb": duckdb,
    "ray": on_ray,
}  # fmt: skip


def command(pairs: str, shapes: str, out: Path) -> str:
    """The figures of ``batchbench score``."""
    program = os.environ.get("CLEARANCE_BATCHBENCH", "batchbench")
    start = time.perf_counter()
    words = [program, "score", "--backend", "cpu", "--shapes", shapes, "--pairs", pairs]
    subprocess.run([*words, "--out", str(out / "answers.parquet")], check=True, stdout=subprocess.DEVNULL)
    wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return figures("batchbench", wall, f"{used.ru_utime + used.ru_stime:.2f} s", used.ru_maxrss << 10)


def digest(files: list[Path]) -> str:
    """The SHA-256 of the columns of files, in order."""
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    for path in files:
        for batch in pq.ParquetFile(path).iter_batches(ROWS):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                numbers = column.flatten() if hasattr(column.type, "value_type") else column
                columns.setdefault(name, hashlib.sha256()).update(numbers.to_numpy(zero_copy_only=False).tobytes())
    return repr(sorted((name, found.hexdigest()) for name, found in columns.items()))


def figures(case: str, wall: float, used: str, peak: int) -> str:
    return f"{case:<14} {wall:7.2f} s, CPU {used}, peak {peak / 1e6:,.0f} MB"


def one(case: str, pairs: str, shapes: str, out: Path) -> str:
    """The figures of a case, after a first call that warms up."""
    if case == "batchbench":
        return command(pairs, shapes, out)
    lib = cl.Library.load(shapes)
    if case == "ray":
        import ray

        ray.init(num_cpus=2, object_store_memory=200_000_000, include_dashboard=False, log_to_driver=False)
        ray.get([ray.remote(waited).remote() for _ in range(2)])  # now Ray has started both workers
    with cl.Engine("cpu") as engine:
        n = min(1000, cl.pair_rows(pairs))
        cl.score_file(pairs, out / "first.parquet", library=lib, rows=(0, n), audit=False, engine=engine)
        start, before = time.perf_counter(), time.process_time()
        peak = CASES[case](pairs, lib, engine, out) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        wall, used = time.perf_counter() - start, time.process_time() - before
    return figures(case, wall, "in workers" if case == "ray" else f"{used:.2f} s", peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs")
    parser.add_argument("shapes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[*CASES, "batchbench"], default=list(CASES))
    parser.add_argument("--compare", action="store_true", help="the answers of batchbench and ray, bit for bit")
    parser.add_argument("--one", metavar="FOLDER", help="in this process, the first of --only, into a folder")
    a = parser.parse_args()
    if a.one:
        print(one(a.only[0], a.pairs, a.shapes, Path(a.one)))
        return
    for _ in range(a.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for case in a.only:
                out = Path(folder) / case
                out.mkdir()
                words = [a.pairs, a.shapes, "--one", str(out), "--only", case]
                subprocess.run([sys.executable, __file__, *words], check=True)
                if not a.compare:
                    shutil.rmtree(out)
            if a.compare:
                ray_parts = sorted((Path(folder) / "ray/parts").glob("part-*.parquet"))
                if digest(ray_parts) != digest([Path(folder) / "batchbench/answers.parquet"]):
                    raise SystemExit("the answers differ")
                print("the answers are the same, bit for bit")


if __name__ == "__main__":
    main()
