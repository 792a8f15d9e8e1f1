"""Arrow streams of pairs, answered a batch at a time.

The exchange is the Arrow C stream interface: a capsule named ``arrow_array_stream`` that holds a struct with four
functions, which its consumer moves out of it. No package of Arrow is imported.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Final, Unpack

from . import _native as nat
from ._columns import QueryName
from ._engine import Engine
from ._errors import ArrayError, ClosedError, OptionError
from ._library import Library
from ._options import SolverOptions, filled, whole
from ._result import Report, report_of

_NAME: Final = b"arrow_array_stream"
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Struct(ctypes.Structure):
    """struct ArrowArrayStream."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.PyDLL(None)
_new = _api.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR]
_pointer = _api.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
# By address: a reference to the capsule that is being freed must not be taken.
_dying = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

# The structs of capsules, by address, until their capsules are freed.
_structs: Final[dict[int, _Struct]] = {}


def _free(capsule: int) -> None:
    at = _dying(capsule, _NAME)
    struct = _structs.pop(at, None)
    if struct is not None and struct.release and nat.usable():
        _RELEASE(struct.release)(at)


_free_capsule = _DESTRUCTOR(_free)


# Engines of streams, which outlive the objects that made them: closed at the exit of the interpreter.
_pinned: Final[set[Engine]] = set()
_own: list[Engine] = []
_lock: Final = threading.Lock()


def _engine_of(engine: Engine | None) -> Engine:
    with _lock:
        if engine is None:
            if not _own or not _own[0]._number:
                _own[:] = [Engine()]
            engine = _own[0]
        _pinned.difference_update([e for e in _pinned if not e._number])
        _pinned.add(engine)
        return engine


class ScoreStream(nat.Owner):
    """The answers of a stream of pairs, as a stream: see :func:`score_stream`."""

    def __init__(self, number: int, struct: _Struct) -> None:
        self._number = number
        self._struct: _Struct | None = struct

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The stream, once. The schema is that of the answers; another one cannot be requested."""
        with _lock:
            struct, self._struct = self._struct, None
        if struct is None:
            raise ClosedError("the stream has been taken: a stream can be read once")
        at = ctypes.addressof(struct)
        _structs[at] = struct
        return _new(at, _NAME, _free_capsule)

    @property
    def report(self) -> Report:
        """What became of the batches that were taken so far."""
        n, error, report = nat.native(), nat.Error(), nat.Report()
        n.raise_for(n.stream_report(self._number, report, error), error)
        return report_of(report)

    def __del__(self) -> None:
        struct = getattr(self, "_struct", None)
        if not nat.usable():
            return
        if struct is not None and struct.release:
            _RELEASE(struct.release)(ctypes.addressof(struct))
        nat.native().stream_forget(self._number, None)


def score_stream(
    source: Any,
    *,
    library: Library,
    query: QueryName = "distance",
    max_distance: float | None = None,
    batch_rows: int = 1 << 17,
    engine: Engine | None = None,
    **options: Unpack[SolverOptions],
) -> ScoreStream:
    """Answer a stream of pairs by a stream of results, in order and in bounded memory.

    ``source`` is anything with ``__arrow_c_stream__``: a table or a reader of pyarrow, a data frame of Polars, a
    relation of DuckDB. Its columns are those of a file of pairs: ``shape_a``, ``shape_b`` (int32 or int64),
    ``position_a``, ``position_b`` (lists of 3 float64, metres, world frame), ``rotation_a``, ``rotation_b`` (lists of
    4, quaternions w, x, y, z). Other columns are passed on behind the results. A null makes its row invalid.

    The result has ``__arrow_c_stream__`` too, so that ``pa.RecordBatchReader.from_stream(s)``, ``pl.DataFrame(s)``
    and DuckDB read it. It holds the batch that is being read and three that are answered ahead, of at most
    ``batch_rows`` rows, with the record batches of the source that these come from. Rows without an answer say so in
    the column ``status``; ``s.report`` counts them. ``columns``, ``method``, ``precision``, ``tolerance`` and
    ``max_iterations`` are those of :meth:`Engine.distance`.
    """
    take = getattr(source, "__arrow_c_stream__", None)
    if take is None:
        raise ArrayError("source", f"{type(source).__name__} has no __arrow_c_stream__: it is no stream of Arrow")
    if not isinstance(library, Library):
        raise OptionError(f"library: {type(library).__name__}, want a Library")
    rows = whole("batch_rows", batch_rows, 1, 1 << 24)
    engine = _engine_of(engine)
    q = engine._query(query, library, filled("streams", SolverOptions, options), max_distance)
    n, error, number, struct = nat.native(), nat.Error(), ctypes.c_uint64(), _Struct()
    capsule = take()
    code = n.stream(engine._number, q, _pointer(capsule, _NAME), ctypes.addressof(struct), rows, number, error)
    n.raise_for(code, error)
    return ScoreStream(number.value, struct)
