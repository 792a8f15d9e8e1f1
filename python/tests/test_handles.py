"""Objects that own handles of the native library: no copy shares one, and no stream from outside ends the process."""

from __future__ import annotations

import copy
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE

import clearance as cl
import clearance.contact as contact
from clearance import _native as nat
from clearance._stream import _Struct

pa = pytest.importorskip("pyarrow")


def library() -> cl.Library:
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
    return contact.Simulation(library(), [0, 1], mass=1.0)


def rollout() -> Any:
    return cl.Engine().rollout_of_shapes(library(), [0, 1], [0], [1], worlds=2)


def stream() -> Any:
    return cl.score_stream(pa.RecordBatchReader.from_batches(pairs(3).schema, [pairs(3)]), library=library())


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
    lib = library()
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
        cl.score_stream(Source(_Struct()), library=library())
    struct = exported(pa.RecordBatchReader.from_batches(pairs(3).schema, [pairs(3)]))
    assert pa.RecordBatchReader.from_stream(cl.score_stream(Source(struct), library=library())).read_all().num_rows == 3
    with pytest.raises(cl.OptionError, match="read, or released"):
        cl.score_stream(Source(struct), library=library())


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
    answers = pa.RecordBatchReader.from_stream(cl.score_stream(Source(struct), library=library()))
    with pytest.raises((pa.ArrowInvalid, OSError), match=r"length|rows|rules of Arrow"):
        answers.read_all()


def test_a_forked_child_does_not_hang() -> None:
    program = """
        import os, sys
        import pyarrow as pa
        import clearance as cl
        from test_handles import library, pairs

        batches = [pairs(2000, 1.0 + k) for k in range(50)]
        reader = pa.RecordBatchReader.from_stream(
            cl.score_stream(
                pa.RecordBatchReader.from_batches(batches[0].schema, batches), library=library(), batch_rows=2000
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
        for name, (result, arguments) in nat._FUNCTIONS.items():
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
    assert len(said) == 5 * len(nat._FUNCTIONS) + 1 and int(said[-1].split()[1]) > 4 * len(nat._FUNCTIONS)
