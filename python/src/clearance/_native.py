"""The native library by ctypes: names, loading, and what a fork does to it.

Its structs and functions are generated from ``clearance.h`` (``_abi.py``); the sizes of the structs are compared with
the library's when it is loaded. The library is loaded once, at the first use, and never unloaded: it holds a Go
runtime, which supports neither unloading nor forks.
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

from . import _abi
from . import _errors as errors
from ._abi import *  # noqa: F403
from ._arrays import Array, address

_EXCEPTIONS: Final[dict[int, type[errors.ClearanceError]]] = {
    _abi.ARGUMENT: errors.OptionError,
    _abi.FAILED: errors.CallError,
    _abi.CANCELLED: errors.ClosedError,
    _abi.CLOSED: errors.ClosedError,
    _abi.NO_BACKEND: errors.NoBackendError,
    _abi.REFUSED: errors.RefusedError,
    _abi.FILE: errors.FileError,
    _abi.STILL: errors.StillError,
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
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            function = getattr(handle, f"clearance_{name}", None)
            if function is None:
                raise errors.NoBackendError(f"{path} has no function clearance_{name}: it is of another version")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        sizes = _abi.Sizes(_abi.ABI, *map(ctypes.sizeof, _abi.STRUCTS))
        error = _abi.Error()
        if self.check(sizes, error) != _abi.OK:
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

    def raise_for(self, code: int, error: _abi.Error) -> None:
        """Raise the exception of a code that is neither OK nor RUNNING."""
        if code in (_abi.OK, _abi.RUNNING):
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
    """The records of arrays that are not None, which keep these arrays alive."""
    given = {name: a for name, a in arrays.items() if a is not None}
    records: Any = (_abi.Named * len(given))()
    records.arrays = given
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
