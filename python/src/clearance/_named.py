"""Named arrays of calls of the native library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from . import _native as nat
from ._arrays import Array, address

# The codes of clearance_element.
_ELEMENTS: Final = {"float64": 2, "uint8": 3, "int32": 6, "int64": 7, "uint64": 8}


def named(arrays: Mapping[str, Array | None]) -> Any:
    """The records of arrays that are not None. The arrays must live as long as the call."""
    given = {name: a for name, a in arrays.items() if a is not None}
    records = (nat.Named * len(given))()
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
