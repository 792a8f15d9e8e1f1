"""Exceptions: all of the package's own kind, and such that they survive the way out of a worker process."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clearance as cl
from clearance import _errors

# An instance of every exception.
EVERY: list[cl.ClearanceError] = [
    cl.ClearanceError("any"),
    cl.ArrayError("pos_a", "is not finite", 7),
    cl.ArrayError("pos_b", "has the wrong shape"),
    cl.CopyError("quat_a", "is float32"),
    cl.RowError("2 rows without an answer", "pos_a", 3, "NaN"),
    cl.ShapeError("sphere: radius = -1"),
    cl.FileError("a.json: no such file"),
    cl.OptionError("columns: 'x'"),
    cl.RefusedError("no back end supports it"),
    cl.NoBackendError("no back end"),
    cl.NotFoundError("2 shapes have the name 'x'"),
    cl.ClosedError("the engine is closed"),
    cl.ForkError("forked"),
    cl.RefutedError("out.npz: 1 of 2"),
    cl.CallError("the call failed"),
    cl.ConcaveError("part.obj: dent of 0.1", "tolerance=0.1 takes it"),
    cl.StillError("no world advanced"),
]


def test_every_exception_is_tested() -> None:
    own = {e for _, e in inspect.getmembers(_errors, inspect.isclass) if e.__module__ == _errors.__name__}
    assert {type(e) for e in EVERY} == own
    assert all(getattr(cl, e.__name__) is e and e.__name__ in cl.__all__ for e in own)


@pytest.mark.parametrize("error", EVERY, ids=lambda e: type(e).__name__)
def test_round_trip(error: cl.ClearanceError) -> None:
    """Pickled and copied exceptions have the type, the text and all attributes."""
    error.add_note("while testing")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        got = pickle.loads(pickle.dumps(error, protocol))
        assert type(got) is type(error) and str(got) == str(error) and got.args == error.args
        assert got.__dict__ == error.__dict__
    assert copy.copy(error).__dict__ == error.__dict__ and str(copy.deepcopy(error)) == str(error)


class Mine(cl.ArrayError):
    """An exception of a caller, with a constructor of its own."""

    def __init__(self, worker: int) -> None:
        super().__init__("pos_a", "is bad", worker)
        self.worker = worker


def test_exceptions_of_callers() -> None:
    got = pickle.loads(pickle.dumps(Mine(4)))
    assert type(got) is Mine and (got.worker, got.row, str(got)) == (4, 4, "pos_a[4]: is bad")


POOLS = """
import concurrent.futures, multiprocessing, sys
import numpy as np, clearance as cl
def work(kind):
    if kind == "array":
        raise cl.ArrayError("pos_a", "is bad", 3)
    lib = cl.Library(); lib.sphere(1)
    q, zero = np.array([[1.0, 0, 0, 0]]), np.zeros((1, 3))
    with cl.Engine("cpu", workers=1) as e:
        if kind == "copy":
            e.distance(lib, [0], [0], zero, q, zero, q, quat="wxyz", copy=False)
        if kind == "row":
            e.distance(lib, [0], [0], zero * np.nan, q, zero, q, quat="wxyz").raise_if_failed()
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    want = {"array": (cl.ArrayError, "pos_a", 3), "copy": (cl.CopyError, "a", -1), "row": (cl.RowError, "pos_a", 0)}
    with context.Pool(1) as pool, concurrent.futures.ProcessPoolExecutor(1, context) as executor:
        for kind, (error, array, row) in want.items():
            # A worker's error that cannot be pickled is never returned: the wait would last for ever.
            for wait in (pool.apply_async(work, (kind,)).get, executor.submit(work, kind).result):
                try:
                    wait(60)
                    sys.exit("no error")
                except cl.ClearanceError as e:
                    assert type(e) is error and (e.array, e.row) == (array, row) and e.reason, repr(e)
    print("good")
"""


def test_pools(tmp_path: Path) -> None:
    """Errors of workers come out of multiprocessing.Pool and concurrent.futures as they were raised."""
    path = tmp_path / "pools.py"
    path.write_text(POOLS)
    run: Any = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=150)
    assert run.returncode == 0 and run.stdout == "good\n", run.stdout + run.stderr
