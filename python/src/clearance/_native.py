"""The native library by ctypes: structs, names, loading, and what a fork does to it.

The structs are those of ``clearance.h``; their sizes are compared with the library's when it is loaded. The library is
loaded once, at the first use, and never unloaded: it holds a Go runtime, which supports neither unloading nor forks.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from . import _errors as errors
from ._arrays import Array, address

ABI: Final = 11

OK, RUNNING, ARGUMENT, FAILED, CANCELLED, CLOSED, NO_BACKEND, REFUSED, FILE, STILL = range(10)

_i32, _i64, _u32, _u64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64
_real, _pointer, _text = ctypes.c_double, ctypes.c_void_p, ctypes.c_char_p


class Error(ctypes.Structure):
    _fields_ = [("code", _i32), ("reserved", _i32), ("message", ctypes.c_char * 1016)]


class Attribute(ctypes.Structure):
    _fields_ = [("code", _i32), ("count", _i32), ("values", _pointer)]


class Shape(ctypes.Structure):
    _fields_ = [
        ("kind", _i32),
        ("attribute_count", _i32),
        ("margin", _real),
        ("values", _pointer),
        ("counts", _i64 * 4),
        ("attributes", _pointer),
        ("name", _text),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("backend", _text),
        ("device", _text),
        ("simd", _text),
        ("workers", _i32),
        ("probe_count", _i32),
        ("probe", ctypes.POINTER(_text)),
    ]


class Query(ctypes.Structure):
    _fields_ = [
        ("library", _u64),
        ("query", _i32),
        ("method", _i32),
        ("precision", _i32),
        ("derivative", _i32),
        ("columns", _u64),
        ("tolerance", _real),
        ("cut_off", _real),
        ("has_cut_off", _i32),
        ("max_iterations", _i32),
        ("epsilon", _real),
        ("seed", _u64),
        ("samples", _i32),
        ("rings", _i32),
    ]


class Pairs(ctypes.Structure):
    _fields_ = [
        ("rows", _i64),
        ("shape_a", _pointer),
        ("shape_b", _pointer),
        ("position_a", _pointer),
        ("position_b", _pointer),
        ("rotation_a", _pointer),
        ("rotation_b", _pointer),
        ("warm_start", _pointer),
    ]


class Worlds(ctypes.Structure):
    _fields_ = [
        ("worlds", _i64),
        ("bodies", _i64),
        ("templates", _i64),
        ("shapes", _pointer),
        ("template_a", _pointer),
        ("template_b", _pointer),
        ("poses", _pointer),
    ]


class Column(ctypes.Structure):
    _fields_ = [
        ("code", _u32),
        ("type", _u32),
        ("data", _pointer),
    ]


class Results(ctypes.Structure):
    _fields_ = [
        ("rows", _i64),
        ("count", _i64),
        ("columns", ctypes.POINTER(Column)),
    ]


class Part(ctypes.Structure):
    _fields_ = [("shape", _i32), ("reserved", _i32), ("pose", _real * 7)]


class Scene(ctypes.Structure):
    _fields_ = [
        ("table", _u64),
        ("worlds", _i64),
        ("places", _i64),
        ("templates", _i64),
        ("per_world", _i32),
        ("reduce", _i32),
        ("bodies", _pointer),
        ("template_a", _pointer),
        ("template_b", _pointer),
        ("max_distance", _real),
        ("has_max_distance", _i32),
        ("no_culling", _i32),
        ("workers", _i32),
        ("all_pairs", _i32),
    ]


class More(ctypes.Structure):
    _fields_ = [
        ("part_a", _pointer),
        ("part_b", _pointer),
        ("pair", _pointer),
        ("contacts", _pointer),
        ("failed", _pointer),
        ("any", _pointer),
        ("body_a", _pointer),
        ("body_b", _pointer),
        ("complete", _i32),
        ("reserved", _i32),
    ]


class Motions(ctypes.Structure):
    _fields_ = [
        ("table", _u64),
        ("worlds", _i64),
        ("places", _i64),
        ("way_points", _i64),
        ("templates", _i64),
        ("bodies", _pointer),
        ("template_a", _pointer),
        ("template_b", _pointer),
        ("poses", _pointer),
        ("time_tolerance", _real),
        ("tolerance", _real),
        ("max_distance", _real),
        ("has_max_distance", _i32),
        ("per_world", _i32),
        ("max_evaluations", _i32),
        ("workers", _i32),
        ("all_pairs", _i32),
        ("reserved", _i32),
    ]


class Contacts(ctypes.Structure):
    _fields_ = [
        ("rows", _i64),
        ("state", _pointer),
        ("lower", _pointer),
        ("upper", _pointer),
        ("closest", _pointer),
        ("t0", _pointer),
        ("t1", _pointer),
        ("part_a", _pointer),
        ("part_b", _pointer),
        ("evaluations", _pointer),
    ]


class Derivatives(ctypes.Structure):
    _fields_ = [
        ("rows", _i64),
        ("first_row", _i64),
        ("workers", _i32),
        ("reserved", _i32),
        ("cotangents", _pointer),
        ("values", _pointer),
        ("gradients", _pointer),
        ("twists", _pointer),
        ("tangents", _pointer),
        ("smoothness", _pointer),
    ]


class Report(ctypes.Structure):
    _fields_ = [
        ("rows", _i64),
        ("done", _i64),
        ("counts", _i64 * 5),
        ("declined", _i64),
        ("iterations", _i64),
        ("worst_row", _i64),
        ("worst_gap", _real),
        ("wall_seconds", _real),
        ("kernel_seconds", _real),
        ("culled", _i64),
        ("absent", _i64),
        ("part_pairs", _i64),
        ("solved", _i64),
        ("audited", _i64),
        ("refuted", _i64),
        ("error_row", _i64),
        ("error_column", ctypes.c_char * 32),
        ("error_reason", ctypes.c_char * 224),
        ("backend", ctypes.c_char * 64),
        ("why", ctypes.c_char * 192),
    ]


class Named(ctypes.Structure):
    _fields_ = [
        ("name", _text),
        ("type", _u32),
        ("reserved", _u32),
        ("count", _i64),
        ("data", _pointer),
    ]


class Sizes(ctypes.Structure):
    _fields_ = [
        (t, _u32)
        for t in (
            "abi",
            "error",
            "shape",
            "options",
            "query",
            "pairs",
            "worlds",
            "results",
            "report",
            "part",
            "scene",
            "more",
            "motions",
            "contacts",
            "attribute",
            "array",
            "derivatives",
        )
    ]


_STRUCTS: Final = (
    *(Error, Shape, Options, Query, Pairs, Worlds, Results, Report, Part, Scene, More, Motions, Contacts),
    *(Attribute, Named, Derivatives),
)

_S, _R = ctypes.POINTER, _i32

# Every function of clearance.h: its result and its arguments.
_FUNCTIONS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "check": (_R, [_S(Sizes), _S(Error)]),
    "describe": (_i64, [_pointer, _i64]),
    "library_new": (_R, [_S(Shape), _i64, _i64, _S(_u64), _S(_u64), _S(Error)]),
    "library_read": (_R, [_text, _S(_u64), _S(Error)]),
    "library_mesh": (_R, [_text, _i32, _real, _i64, _S(_u64), _pointer, _i64, _S(_u64), _S(Error)]),
    "library_write": (_R, [_u64, _text, _S(Error)]),
    "library_count": (_i64, [_u64]),
    "library_shape": (_R, [_u64, _i64, _S(Shape), _pointer, _i64, _S(_i64), _pointer, _i64, _S(Error)]),
    "library_attribute": (_R, [_u64, _i64, _i32, _pointer, _i64, _S(_i64), _S(Error)]),
    "library_support": (_R, [_u64, _i64, _i64, _pointer, _pointer, _S(Error)]),
    "library_center": (_R, [_u64, _i64, _pointer, _S(Error)]),
    "hull": (_R, [_pointer, _i64, _pointer, _i64, _S(_i64), _S(Error)]),
    "library_free": (_R, [_u64, _S(Error)]),
    "engine_open": (_R, [_S(Options), _S(_u64), _S(Error)]),
    "engine_describe": (_i64, [_u64, _pointer, _i64]),
    "engine_close": (_R, [_u64, _S(Error)]),
    "submit": (_R, [_u64, _S(Query), _S(Pairs), _S(Results), _i64, _S(_u64), _S(Report), _S(Error)]),
    "trace": (_R, [_S(Query), _S(Pairs), _i64, _pointer, _i64, _S(_i64), _S(Error)]),
    "multiply": (_R, [_u64, _S(Query), _S(Pairs), _S(Derivatives), _i64, _S(_u64), _S(Report), _S(Error)]),
    "derive": (
        _R,
        [_u64, _S(Query), _S(Pairs), _S(Results), _S(Derivatives), _i64, _S(_u64), _S(Report), _S(Error)],
    ),
    "rollout_open": (_R, [_u64, _S(Query), _S(Worlds), _S(_u64), _S(Error)]),
    "rollout_submit": (_R, [_u64, _pointer, _S(Results), _i64, _S(_u64), _S(Report), _S(Error)]),
    "rollout_multiply": (
        _R,
        [_u64, _S(Query), _pointer, _S(Derivatives), _i64, _S(_u64), _S(Report), _S(Error)],
    ),
    "rollout_close": (_R, [_u64, _S(Error)]),
    "bodies_new": (_R, [_u64, _S(Part), _pointer, _i64, _S(_text), _S(_u64), _S(Error)]),
    "bodies_describe": (_i64, [_u64, _pointer, _i64]),
    "scene_read": (_R, [_text, _S(_u64), _S(_u64), _S(Error)]),
    "scene_write": (_R, [_u64, _pointer, _pointer, _i64, _text, _S(Error)]),
    "bodies_free": (_R, [_u64, _S(Error)]),
    "scene_open": (_R, [_u64, _S(Query), _S(Scene), _S(_u64), _S(Error)]),
    "scene_submit": (_R, [_u64, _pointer, _S(Results), _S(More), _i64, _S(_u64), _S(Report), _S(Error)]),
    "scene_find": (_R, [_u64, _pointer, _S(_u64), _i64, _S(_u64), _S(Report), _S(Error)]),
    "found_read": (_R, [_u64, _pointer, _S(Results), _S(More), _S(Error)]),
    "found_free": (_R, [_u64, _S(Error)]),
    "sweep": (_R, [_u64, _S(Motions), _S(Contacts), _i64, _S(_u64), _S(Report), _S(Error)]),
    "contact_solve": (_R, [_S(Named), _i64, _i64, _S(_u64), _S(Report), _S(Error)]),
    "contact_points": (
        _R,
        [_u64, _u64, _S(Pairs), _real, _S(Named), _i64, _i64, _S(_u64), _S(Report), _S(Error)],
    ),
    "bodies_physics": (_R, [_u64, _text, _S(Error)]),
    "bodies_surfaces": (_R, [_u64, _text, _S(Error)]),
    "bodies_mass": (_R, [_u64, _i64, _real, _pointer, _S(Error)]),
    "simulation_open": (_R, [_u64, _S(Named), _i64, _S(_u64), _S(Error)]),
    "simulation_run": (_R, [_u64, _S(Named), _i64, _S(_i64), _i64, _S(_u64), _S(Report), _S(Error)]),
    "simulation_step": (_R, [_u64, _S(Named), _i64, _S(Error)]),
    "simulation_reset": (_R, [_u64, _S(Named), _i64, _S(Error)]),
    "simulation_state": (_R, [_u64, _S(Named), _i64, _S(_i64), _S(Error)]),
    "simulation_set_state": (_R, [_u64, _S(Named), _i64, _S(Error)]),
    "simulation_contacts": (_R, [_u64, _S(Named), _i64, _S(_i64), _S(Error)]),
    "simulation_close": (_R, [_u64, _S(Error)]),
    "pairs_rows": (_R, [_text, _S(_i64), _S(Error)]),
    "audit": (_R, [_u64, _S(Query), _text, _text, _i64, _i64, _text, _i64, _S(_u64), _S(Error)]),
    "stream": (_R, [_u64, _S(Query), ctypes.c_void_p, ctypes.c_void_p, _i64, _S(_u64), _S(Error)]),
    "stream_report": (_R, [_u64, _S(Report), _S(Error)]),
    "stream_forget": (_R, [_u64, _S(Error)]),
    "score": (_R, [_u64, _S(Query), _text, _text, _i64, _i64, _text, _i32, _S(_u64), _S(Error)]),
    "worlds_write": (_R, [_S(Motions), _text, _S(Error)]),
    "worlds_read": (_R, [_u64, _text, _S(Motions), _S(_u64), _S(Error)]),
    "worlds_size": (_R, [_text, _S(Motions), _S(Error)]),
    "worlds_copy": (_R, [_u64, _pointer, _pointer, _pointer, _pointer, _S(Error)]),
    "worlds_free": (_R, [_u64, _S(Error)]),
    "rollout_file": (_R, [_u64, _S(Query), _S(Scene), _text, _text, _i64, _i64, _text, _S(_u64), _S(Error)]),
    "sweep_file": (_R, [_u64, _S(Motions), _text, _text, _i64, _i64, _text, _S(_u64), _S(Error)]),
    "rollout_audit": (_R, [_u64, _S(Query), _S(Scene), _text, _text, _i64, _i64, _text, _S(_u64), _S(Error)]),
    "sweep_audit": (_R, [_u64, _S(Motions), _text, _text, _i64, _i64, _text, _S(_u64), _S(Error)]),
    "job_wait": (_R, [_u64, _i64, _S(Report), _S(Error)]),
    "job_progress": (_i64, [_u64, _S(_i64)]),
    "job_cancel": (_R, [_u64, _S(Error)]),
    "forward": (_R, [_S(Named), _i64, _S(Error)]),
    "try_device": (_R, [_text, _text, _S(Error)]),
}

_EXCEPTIONS: Final[dict[int, type[errors.ClearanceError]]] = {
    ARGUMENT: errors.OptionError,
    FAILED: errors.CallError,
    CANCELLED: errors.ClosedError,
    CLOSED: errors.ClosedError,
    NO_BACKEND: errors.NoBackendError,
    REFUSED: errors.RefusedError,
    FILE: errors.FileError,
    STILL: errors.StillError,
}


def library_path() -> Path:
    """The file of the native library: that of ``CLEARANCE_LIBRARY``, or the one in the package."""
    named = os.environ.get("CLEARANCE_LIBRARY")
    if named:
        return Path(named)
    return Path(__file__).with_name("libclearance.so")


class Native:
    """The loaded library: its functions as attributes, and the lists of names whose indices are its codes."""

    def __init__(self, path: Path) -> None:
        try:
            handle = ctypes.CDLL(str(path))
        except OSError as e:
            raise errors.NoBackendError(
                f"cannot load the native library {path}: {e}. The wheel is for Linux with glibc; on another system, "
                "build it with 'make wheel' and see python/README.md"
            ) from e
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(handle, f"clearance_{name}", None)
            if function is None:
                raise errors.NoBackendError(f"{path} has no function clearance_{name}: it is of another version")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        sizes = Sizes(ABI, *map(ctypes.sizeof, _STRUCTS))
        error = Error()
        if self.check(sizes, error) != OK:
            raise errors.NoBackendError(f"{path}: {error.message.decode()}")
        self.path = path
        about = self.text(self.describe)
        self.about: dict[str, Any] = json.loads(about)
        self.kinds: list[str] = [k["name"] for k in self.about["kinds"]]
        self.attributes: list[str] = [a["name"] for a in self.about["attributes"]]
        self.queries: dict[str, dict[str, Any]] = {q["name"]: q for q in self.about["queries"]}
        self.query_codes = {q["name"]: i for i, q in enumerate(self.about["queries"])}
        self.methods: list[str] = self.about["methods"]
        self.precisions: list[str] = self.about["precisions"]
        self.columns: list[str] = [c["name"] for c in self.about["columns"]]
        self.solvers: list[str] = self.about["solvers"]
        self.derivatives: list[str] = self.about["derivatives"]
        self.smoothness: list[str] = self.about["smoothness"]
        self._column_sets: dict[tuple[str, ...], int] = {}
        self.column_lists: dict[int, list[str]] = {}  # by the bits of column_set

    def column_set(self, names: list[str]) -> int:
        """The bits of a set of columns, and of the status, which always comes."""
        key = tuple(names)
        bits = self._column_sets.get(key)
        if bits is None:
            bits = sum(1 << self.columns.index(c) for c in {*names, "status"})
            # In this order: other threads look into column_lists with what they find in _column_sets.
            self.column_lists[bits] = [c for i, c in enumerate(self.columns) if bits >> i & 1]
            self._column_sets[key] = bits
        return bits

    def __getattr__(self, name: str) -> Any:  # the functions, which __init__ sets
        raise AttributeError(name)

    def text(self, function: Any, *arguments: Any) -> str:
        """The text of a function that is given its arguments, a buffer and its size, and returns what it needs."""
        size = 1 << 14
        while True:
            buffer = ctypes.create_string_buffer(size)
            need = function(*arguments, ctypes.addressof(buffer), size)
            if need < 0:
                raise errors.ClosedError("the handle is not open")
            if need <= size:
                return buffer.value.decode()
            size = need

    def raise_for(self, code: int, error: Error) -> None:
        """Raise the exception of a code that is neither OK nor RUNNING."""
        if code in (OK, RUNNING):
            return
        raise _EXCEPTIONS.get(code, errors.CallError)(error.message.decode(errors="replace"))


_lock = threading.Lock()
_native: Native | None = None
_loading = False  # from before the Go runtime starts
_forked = False

_FORK_ADVICE: Final = (
    "this process was forked after Clearance had been used in its parent, and the native library does not survive a "
    "fork. Use multiprocessing with the start method 'spawn' or 'forkserver', or make the first Engine (or load the "
    "first file) in the child: importing clearance before a fork is fine"
)


def _after_fork_in_child() -> None:
    global _forked, _lock
    _lock = threading.Lock()
    if _loading:
        _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def check_fork() -> None:
    """Raise ForkError if the library was loaded before this process was forked."""
    if _forked:
        raise errors.ForkError(_FORK_ADVICE)


def native() -> Native:
    """The library, loaded at the first call."""
    global _native, _loading
    check_fork()
    loaded = _native
    if loaded is None:
        with _lock:
            if _native is None:
                path = library_path()
                _loading = path.exists()
                _native = Native(path)
            loaded = _native
    return loaded


def usable() -> bool:
    """Whether handles may still be given back: the library is loaded, and not in a forked child."""
    return _native is not None and not _forked


class Owner:
    """An object that owns a handle of the native library. A copy would share the handle, and give it back while the
    original uses it; in another process its number means nothing. So it is neither copied nor pickled."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind = type(self).__name__
        raise TypeError(f"{kind}: this object is neither copied nor pickled: it belongs to its process")


# The codes of clearance_element.
_ELEMENTS: Final = {"float64": 2, "uint8": 3, "int32": 6, "int64": 7, "uint64": 8}


def named(arrays: Mapping[str, Array | None]) -> Any:
    """The records of arrays that are not None. The arrays must live as long as the call."""
    given = {name: a for name, a in arrays.items() if a is not None}
    records = (Named * len(given))()
    for record, (name, array) in zip(records, given.items(), strict=True):
        record.name, record.type = name.encode(), _ELEMENTS[array.dtype.name]
        record.count, record.data = array.size, address(array)
    return records


def numbers(**options: float | int | bool | None) -> dict[str, Array | None]:
    """Options as arrays of one number: whole numbers as int64, others as float64."""
    return {
        name: None if v is None else np.array([v], np.float64 if isinstance(v, float) else np.int64)
        for name, v in options.items()
    }
