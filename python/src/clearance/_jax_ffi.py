"""The foreign function by which programs that XLA compiles for the CPU call the package.

XLA describes a call by records of its C interface (`xla/ffi/api/c_api.h`, version 0.3, a binary interface that is kept
for at least a year): the buffers of arguments and results, and attributes, of which this function has two, the number
of a call (see :class:`clearance._calls.Call`) and whether its derivative is asked for. It works on the buffers of XLA
as they are. The records are declared here, since a package that is built without JAX has no header of it.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ._arrays import Array

NAME: Final = "clearance_call"
CALL: Final = "call"
BACKWARD: Final = "backward"

_VERSION: Final = (0, 3)
_METADATA: Final = 1  # XLA_FFI_Extension_Metadata
_EXECUTE: Final = 3  # XLA_FFI_ExecutionStage_EXECUTE
_INTERNAL: Final = 13  # XLA_FFI_Error_Code_INTERNAL

# XLA_FFI_DataType of the types that calls have.
_TYPES: Final = {4: np.int32, 5: np.int64, 6: np.uint8, 11: np.float32, 12: np.float64}

_Pointer = ctypes.c_void_p


class _Head(ctypes.Structure):
    """What each record begins with."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("extension", _Pointer))


class _Extension(ctypes.Structure):
    """XLA_FFI_Metadata_Extension, whose base are three fields of any extension."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", _Pointer),
        ("metadata", _Pointer),
    )


class _Version(ctypes.Structure):
    _fields_ = (("head", _Head), ("major", ctypes.c_int), ("minor", ctypes.c_int))


class _Metadata(ctypes.Structure):
    """XLA_FFI_Metadata, to the version that is answered; the traits behind it are left as XLA has them."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("version", _Version))


class _Buffer(ctypes.Structure):
    _fields_ = (
        ("head", _Head),
        ("dtype", ctypes.c_int),
        ("data", _Pointer),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


class _Buffers(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (
        ("head", _Head),
        ("size", ctypes.c_int64),
        ("types", _Pointer),
        ("items", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    )


class _Span(ctypes.Structure):
    _fields_ = (("text", _Pointer), ("size", ctypes.c_size_t))


class _Scalar(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_int), ("value", _Pointer))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("head", _Head),
        ("size", ctypes.c_int64),
        ("types", _Pointer),
        ("names", ctypes.POINTER(ctypes.POINTER(_Span))),
        ("items", ctypes.POINTER(ctypes.POINTER(_Scalar))),
    )


class _Frame(ctypes.Structure):
    """XLA_FFI_CallFrame."""

    _fields_ = (
        ("head", _Head),
        ("api", _Pointer),
        ("context", _Pointer),
        ("stage", ctypes.c_int),
        ("args", _Buffers),
        ("results", _Buffers),
        ("attributes", _Attributes),
    )


class _Failure(ctypes.Structure):
    """XLA_FFI_Error_Create_Args."""

    _fields_ = (("head", _Head), ("message", ctypes.c_char_p), ("code", ctypes.c_int))


class _Api(ctypes.Structure):
    """XLA_FFI_Api, to the function that is called."""

    _fields_ = (
        ("head", _Head),
        ("version", _Version),
        ("internal", _Pointer),
        ("error", ctypes.CFUNCTYPE(_Pointer, ctypes.POINTER(_Failure))),
    )


_Handler: Final = ctypes.CFUNCTYPE(_Pointer, ctypes.POINTER(_Frame))


def handler(answer: Callable[[int, bool, list[Array]], tuple[Array, ...]]) -> Any:
    """The function in C, which lives as long as the caller keeps it: it has ``answer`` called with the number of a
    call, whether its derivative is asked for, and the arguments, which are XLA's memory and only read."""

    def call(frame: Any) -> int | None:
        f = frame.contents
        try:
            if f.head.extension:
                extension = _Extension.from_address(f.head.extension)
                if extension.type == _METADATA:
                    version = _Metadata.from_address(extension.metadata).version
                    version.major, version.minor = _VERSION
                    return None
            if f.stage == _EXECUTE:
                _execute(f, answer)
        except BaseException as e:  # it is XLA that raises, in the thread of the caller
            text = "".join(traceback.format_exception_only(e)).strip()
            if not isinstance(e, Exception):
                text = f"{type(e).__name__}: {text}"
            api = _Api.from_address(f.api)
            failure = _Failure(_Head(ctypes.sizeof(_Failure), None), text.encode(), _INTERNAL)
            made: int | None = api.error(ctypes.byref(failure))
            return made
        return None

    return _Handler(call)


def _execute(f: Any, answer: Callable[[int, bool, list[Array]], tuple[Array, ...]]) -> None:
    attributes = {}
    for i in range(f.attributes.size):
        span, scalar = f.attributes.names[i].contents, f.attributes.items[i].contents
        attributes[ctypes.string_at(span.text, span.size).decode()] = ctypes.c_int64.from_address(scalar.value).value
    args = [_array(f.args.items[i].contents) for i in range(f.args.size)]
    for x in args:
        x.flags.writeable = False
    out = answer(attributes[CALL], bool(attributes[BACKWARD]), args)
    for i, x in zip(range(f.results.size), out, strict=True):
        _array(f.results.items[i].contents)[...] = x


def _array(buffer: Any) -> Array:
    """The memory of a buffer as an array."""
    shape, dtype = tuple(buffer.dims[i] for i in range(buffer.rank)), np.dtype(_TYPES[buffer.dtype])
    size = int(np.prod(shape, dtype=np.int64))
    if not size:
        return np.zeros(shape, dtype)
    memory: Any = (ctypes.c_char * (size * dtype.itemsize)).from_address(buffer.data)
    return np.frombuffer(memory, dtype).reshape(shape)
