"""Traces: the steps of the reference solvers on rows, as the native library records them."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address
from ._errors import OptionError
from ._library import Library
from ._options import one_of


def traces(
    library: Library,
    query: str,
    precision: str,
    method: str,
    rows: Sequence[int],
    sides: Sequence[tuple[Array, Array]],
) -> list[dict[str, Any]]:
    """The traces of rows, of both sides of which there are the shapes [N] and their poses [N,7]."""
    n = nat.native()
    handle = library._open()  # which lives until the calls have ended
    about = nat.Query(library=handle.number, query=n.query_codes[query])
    about.method = n.methods.index(one_of("method", method, n.methods))
    about.precision = n.precisions.index(precision)
    about.columns = n.column_set(list(n.queries[query]["columns"]))
    out: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        shapes = [np.array([s[i]], np.int32) for s, _ in sides]
        if min(int(s[0]) for s in shapes) < 0 or not all(np.isfinite(p[i]).all() for _, p in sides):
            raise OptionError(f"trace: row {row} has no pair of shapes to solve")
        poses = [p[i, :3].copy() for _, p in sides] + [p[i, 3:].copy() for _, p in sides]
        pair = nat.Pairs(1, *(address(x) for x in (*shapes, *poses)))
        keep = handle, shapes, poses
        out.append(_jobs.aside(partial(_solved, n, about, pair, row, keep)))
    return out


def _solved(n: Any, query: nat.Query, pair: nat.Pairs, row: int, keep: Any) -> dict[str, Any]:
    """The trace of a row. ``keep`` is the memory that the pair names."""
    size, error, needed = 1 << 20, nat.Error(), ctypes.c_int64()
    while True:
        buffer = ctypes.create_string_buffer(size)
        if n.trace(query, pair, 0, ctypes.addressof(buffer), size, needed, error) != nat.OK:
            raise OptionError(f"trace: row {row}: {error.message.decode()}")
        if needed.value <= size:
            found: dict[str, Any] = json.loads(buffer.value)
            return found
        size = needed.value
