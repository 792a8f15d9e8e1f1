"""Arrow streams in bounded memory, from and to other packages, and objects that own handles of the native library."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, run_python

import clearance as cl
import clearance.contact as contact
from clearance import _native as nat
from clearance._stream import _Struct

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402


def ball() -> cl.Library:
    lib = cl.Library()
    lib.sphere(0.1)
    lib.box([0.1, 0.2, 0.3])
    return lib


def pairs(n: int, shift: float = 1.0) -> Any:
    def fixed(values: Any, width: int) -> Any:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(values)), width)

    unit = np.tile([1.0, 0, 0, 0], (n, 1))
    apart = np.tile([shift, 0, 0], (n, 1))
    names = ["shape_a", "shape_b", "position_a", "position_b", "rotation_a", "rotation_b"]
    shapes = pa.array(np.zeros(n, np.int32)), pa.array(np.ones(n, np.int32))
    return pa.record_batch(
        [*shapes, fixed(np.zeros((n, 3)), 3), fixed(apart, 3), fixed(unit, 4), fixed(unit, 4)], names=names
    )


def simulation() -> contact.Simulation:
    return contact.Simulation(ball(), [0, 1], mass=1.0)


def rollout() -> Any:
    return cl.Engine().rollout_of_shapes(ball(), [0, 1], [0], [1], worlds=2)


def stream() -> Any:
    return cl.score_stream(pa.RecordBatchReader.from_batches(pairs(3).schema, [pairs(3)]), library=ball())


@pytest.mark.parametrize("make", [cl.Engine, rollout, stream, simulation])
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_owners_are_not_copied(make: Callable[[], Any], how: Callable[[Any], Any]) -> None:
    owner = make()
    with pytest.raises(TypeError, match="neither copied nor pickled"):
        how(owner)
    if how is not copy.copy:  # which copies no items
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            how([owner])


def distance(engine: cl.Engine, lib: cl.Library) -> float:
    unit = np.array([[1.0, 0, 0, 0]])
    return float(engine.distance(lib, [0], [1], np.zeros((1, 3)), unit, np.ones((1, 3)), unit, quat="wxyz").distance[0])


def test_libraries_are_copied() -> None:
    lib = ball()
    with cl.Engine() as engine:
        distance(engine, lib)  # the library has a handle now
        for other in (copy.copy(lib), copy.deepcopy(lib), pickle.loads(pickle.dumps(lib))):
            assert len(other) == 2
            assert distance(engine, other) > 0


def test_numbers_of_handles_are_not_guessed() -> None:
    n = nat.native()
    numbers = [cl.Engine()._number for _ in range(8)]
    assert len(set(numbers)) == 8
    error = nat.Error()
    for number in [*range(1000), *(k + d for k in numbers for d in (-2, -1, 1, 2))]:
        assert n.engine_close(number, error) == nat.CLOSED


class Source:
    """A stream by its struct."""

    def __init__(self, struct: _Struct) -> None:
        self.struct = struct

    def __arrow_c_stream__(self, schema: object = None) -> object:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.struct), b"arrow_array_stream", None)


def exported(reader: Any) -> _Struct:
    struct = _Struct()
    reader._export_to_c(ctypes.addressof(struct))
    return struct


def test_a_stream_that_was_read() -> None:
    with pytest.raises(cl.OptionError, match="read, or released"):
        cl.score_stream(Source(_Struct()), library=ball())
    struct = exported(pa.RecordBatchReader.from_batches(pairs(3).schema, [pairs(3)]))
    assert pa.RecordBatchReader.from_stream(cl.score_stream(Source(struct), library=ball())).read_all().num_rows == 3
    with pytest.raises(cl.OptionError, match="read, or released"):
        cl.score_stream(Source(struct), library=ball())


class _Array(ctypes.Structure):
    """struct ArrowArray."""

    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.POINTER(ctypes.c_void_p)),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("length", [0, 4, 9])
def test_a_column_of_another_length_than_its_batch(column: int, length: int) -> None:
    struct = exported(pa.RecordBatchReader.from_batches(pairs(3).schema, [pairs(10)]))
    next_of = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    original = next_of(struct.get_next)

    def shortened(stream: int, out: int) -> int:
        code = int(original(stream, out))
        record = _Array.from_address(out)
        if code == 0 and record.release:
            _Array.from_address(record.children[column]).length = length
        return code

    callback = next_of(shortened)
    struct.get_next = ctypes.cast(callback, ctypes.c_void_p).value
    answers = pa.RecordBatchReader.from_stream(cl.score_stream(Source(struct), library=ball()))
    with pytest.raises((pa.ArrowInvalid, OSError), match=r"length|rows|rules of Arrow"):
        answers.read_all()


def test_a_forked_child_does_not_hang() -> None:
    program = """
        import os, sys
        import pyarrow as pa
        import clearance as cl
        from test_stream import ball, pairs

        batches = [pairs(2000, 1.0 + k) for k in range(50)]
        reader = pa.RecordBatchReader.from_stream(
            cl.score_stream(
                pa.RecordBatchReader.from_batches(batches[0].schema, batches), library=ball(), batch_rows=2000
            )
        )
        held = reader.read_next_batch()
        child = os.fork()
        if child == 0:
            try:
                reader.read_next_batch()
            except Exception as e:
                print("forked" in str(e), flush=True)
            del held, reader
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        print(held.num_rows + sum(b.num_rows for b in reader))
    """
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,  # a hang, on a machine of any load
    )
    assert run.returncode == 0, (run.stdout, run.stderr, signal.strsignal(max(-run.returncode, 1)))
    assert run.stdout.split() == ["True", "100000"]


def test_null_pointers() -> None:
    """Every function of the library takes null pointers, and counts of what is not there, as errors."""
    program = """
        import ctypes
        from clearance import _native as nat

        n = nat.native()
        errors = 0
        for name, (result, arguments) in nat.FUNCTIONS.items():
            for count in (0, 1, -1, 2**31, 2**62):
                values = [
                    kind(count) if kind in (ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32) else
                    kind(1.0) if kind is ctypes.c_double else
                    kind(0) if kind is ctypes.c_uint64 else None
                    for kind in arguments
                ]
                print(name, count, flush=True)
                errors += getattr(n, name)(*values) not in (nat.OK, nat.RUNNING)
        print("errors", errors)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=PATIENCE
    )
    said = run.stdout.splitlines()
    assert run.returncode == 0, (said[-1:], run.stderr)
    assert len(said) == 5 * len(nat.FUNCTIONS) + 1 and int(said[-1].split()[1]) > 4 * len(nat.FUNCTIONS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, batchbench: Path) -> Path:
    folder = tmp_path_factory.mktemp("stream")
    command: list[Any] = [batchbench, "generate", "--set", "mixed", "--pairs", "5000", "--shapes"]
    subprocess.run([*command, folder / "shapes.json", "--out", folder / "pairs.parquet"], check=True)
    return folder


@pytest.fixture(scope="module")
def library(files: Path) -> cl.Library:
    return cl.Library.load(files / "shapes.json")


@pytest.fixture(scope="module")
def want(files: Path, library: cl.Library, engine: cl.Engine) -> Any:
    cl.score_file(files / "pairs.parquet", files / "want.parquet", library=library, engine=engine)
    return pq.read_table(files / "want.parquet")


def answers(stream: cl.ScoreStream) -> Any:
    return pa.RecordBatchReader.from_stream(stream)


@pytest.mark.parametrize(("source_rows", "rows"), [(5000, 700), (37, 1000), (1, 64), (5000, 1 << 17)])
def test_answers_of_files(
    files: Path, library: cl.Library, engine: cl.Engine, want: Any, source_rows: int, rows: int
) -> None:
    table = pq.read_table(files / "pairs.parquet")
    if source_rows == 1:
        table = table.slice(0, 200)
    source = pa.Table.from_batches(table.to_batches(max_chunksize=source_rows))
    stream = cl.score_stream(source, library=library, engine=engine, batch_rows=rows)
    batches = list(answers(stream))
    got = pa.Table.from_batches(batches)
    got.validate(full=True)
    assert max(b.num_rows for b in batches) <= rows
    assert got.replace_schema_metadata().equals(want.slice(0, table.num_rows).replace_schema_metadata())
    assert stream.report.rows == table.num_rows
    assert sum(stream.report.counts.values()) == table.num_rows


def test_partitions_of_spark(files: Path, library: cl.Library, engine: cl.Engine, want: Any) -> None:
    """The function for Spark's mapInArrow, which takes the batches of a partition and yields those of its answers."""
    table = pq.read_table(files / "pairs.parquet")

    def answered(batches: Iterator[Any]) -> Iterator[Any]:
        source = pa.RecordBatchReader.from_batches(table.schema, batches)
        yield from answers(cl.score_stream(source, library=library, engine=engine))

    partitions = [table.slice(0, 3000), table.slice(3000)]
    got = pa.Table.from_batches([b for p in partitions for b in answered(iter(p.to_batches(max_chunksize=800)))])
    assert got.replace_schema_metadata().equals(want.replace_schema_metadata())


def test_other_types_columns_and_nulls(files: Path, library: cl.Library, engine: cl.Engine, want: Any) -> None:
    """int64 indices, lists of any length, and a column of the caller; nulls cost their rows alone."""
    table = pq.read_table(files / "pairs.parquet")
    names = [f"pair {i}" if i % 3 else None for i in range(table.num_rows)]
    position = [None if i == 7 else p for i, p in enumerate(table["position_a"].to_pylist())]
    source = pa.table(
        {
            "name": names,
            "shape_b": table["shape_b"].cast(pa.int64()),
            "shape_a": pa.array([None if i == 9 else s for i, s in enumerate(table["shape_a"].to_pylist())]),
            "position_a": pa.array(position, pa.list_(pa.float64())),
            **{c: table[c].cast(pa.large_list(pa.float64())) for c in ("position_b", "rotation_a", "rotation_b")},
        }
    )
    stream = cl.score_stream(source, library=library, engine=engine, batch_rows=999)
    got = answers(stream).read_all()
    assert got["name"].to_pylist() == names
    invalid = np.flatnonzero(got["status"].to_numpy() == cl.INVALID)
    assert invalid.tolist() == [7, 9] and stream.report.counts["invalid"] == 2
    assert stream.report.error is not None and stream.report.error[1] == 7
    keep = np.setdiff1d(np.arange(table.num_rows), invalid)
    assert got["distance"].take(keep).equals(want["distance"].take(keep))


def test_refused(files: Path, library: cl.Library, engine: cl.Engine) -> None:
    table = pq.read_table(files / "pairs.parquet")
    with pytest.raises(cl.ArrayError, match="no stream of Arrow"):
        cl.score_stream([1, 2], library=library, engine=engine)
    with pytest.raises(cl.OptionError, match="position_b"):
        cl.score_stream(table.drop_columns(["position_b"]), library=library, engine=engine)
    with pytest.raises(cl.OptionError, match="shape_a of the stream has the type utf8"):
        bad = table.set_column(0, "shape_a", pa.array(["x"] * table.num_rows))
        cl.score_stream(bad, library=library, engine=engine)
    with pytest.raises(cl.OptionError, match="another"):
        cl.score_stream(table.append_column("distance", table["shape_a"]), library=library, engine=engine)
    with pytest.raises(cl.OptionError, match="batch_rows"):
        cl.score_stream(table, library=library, engine=engine, batch_rows=0)
    short = table.set_column(
        2, "position_a", pa.array([[0.0, 0.0], *table["position_a"].to_pylist()[1:]], pa.list_(pa.float64()))
    )
    with pytest.raises(OSError, match="row 0 of the stream, column position_a: 2 numbers, want 3"):
        answers(cl.score_stream(short, library=library, engine=engine)).read_all()
    once = cl.score_stream(table, library=library, engine=engine)
    answers(once).close()
    with pytest.raises(cl.ClosedError, match="once"):
        answers(once)


def test_a_source_that_fails(files: Path, library: cl.Library, engine: cl.Engine) -> None:
    """The batches before are answered, then the error of the source is the error of the stream."""
    table = pq.read_table(files / "pairs.parquet")

    def batches() -> Any:
        yield from table.slice(0, 2000).to_batches(max_chunksize=500)
        raise ValueError("the disk is gone")

    source = pa.RecordBatchReader.from_batches(table.schema, batches())
    reader = answers(cl.score_stream(source, library=library, engine=engine, batch_rows=500))
    rows = 0
    with pytest.raises(OSError, match="the disk is gone"):
        for b in reader:
            rows += b.num_rows
    assert rows == 2000


def test_abandoned_and_closed(files: Path, library: cl.Library) -> None:
    table = pq.read_table(files / "pairs.parquet")
    with cl.Engine("cpu") as short:
        never = cl.score_stream(table, library=library, engine=short)  # is not read
        reader = answers(cl.score_stream(table, library=library, engine=short, batch_rows=1000))
        first = reader.read_next_batch()
        assert first.num_rows == 1000
    with pytest.raises(OSError, match="not open"):
        for _ in range(5):
            reader.read_next_batch()
    del never, reader
    again = answers(cl.score_stream(table, library=library))  # an engine that the package opens
    assert again.read_all().num_rows == table.num_rows


def test_memory(files: Path) -> None:
    """Eight times the rows take no more memory: 700,000 rows more would be 110 MB."""
    peaks = []
    for times in (20, 160):
        run = run_python(f"""
import pyarrow as pa, pyarrow.parquet as pq
import clearance as cl
table = pq.read_table({str(files / "pairs.parquet")!r})
(batch,) = table.combine_chunks().to_batches()
source = pa.RecordBatchReader.from_batches(table.schema, (batch for _ in range({times})))
with cl.Engine("cpu") as engine:
    stream = cl.score_stream(
        source, library=cl.Library.load({str(files / "shapes.json")!r}), engine=engine, batch_rows=5000,
        max_distance=0.0, columns=["distance", "status"],
    )
    assert sum(b.num_rows for b in pa.RecordBatchReader.from_stream(stream)) == {times} * 5000
    del stream
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) << 10)
""")
        assert run.returncode == 0, run.stderr
        peaks.append(int(run.stdout))
    assert peaks[1] - peaks[0] < 50e6, peaks


def test_polars_and_duckdb(files: Path, library: cl.Library, engine: cl.Engine, want: Any) -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    frame = polars.read_parquet(files / "pairs.parquet")
    got = polars.DataFrame(cl.score_stream(frame, library=library, engine=engine))
    assert got["distance"].to_numpy().tolist() == want["distance"].to_pylist()
    relation = duckdb.sql(f"from '{files / 'pairs.parquet'}'")
    stream = answers(cl.score_stream(relation, library=library, engine=engine))
    other = duckdb.connect()  # the connection of the source is in use
    other.register("answers", stream)
    near = other.sql("select count(*) from answers where distance < 0.1").fetchall()
    assert near == [(sum(d < 0.1 for d in want["distance"].to_pylist()),)]
