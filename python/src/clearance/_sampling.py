"""The ranges that random configurations of joints are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Array
from ._errors import OptionError


def sampled_limits(names: Sequence[str], sliding: Sequence[bool], limits: Any, slides: Any = None) -> Array:
    """The ranges [N,2] to sample N joints in: their limits where both are finite, else [-π, π] for joints that rotate
    and ``slides``, a lower and an upper value in metres, for those that slide.

    A joint whose limits are in the wrong order, or that slides and has no limits where ``slides`` is None, is refused
    by name.
    """
    ranges = np.array(limits, np.float64).reshape(-1, 2)
    within = None if slides is None else given_range("slides", slides)
    for i, name in enumerate(names):
        low, high = ranges[i]
        if not low <= high:
            raise OptionError(f"joint {name!r} has the limits [{low}, {high}]")
        if np.isfinite(ranges[i]).all():
            continue
        if not sliding[i]:
            ranges[i] = -np.pi, np.pi
        elif within is None:
            raise OptionError(
                f"joint {name!r} slides and has no limits to sample within: slides=(low, high), in metres, gives some"
            )
        else:
            ranges[i] = within
    return ranges


def given_range(option: str, value: Any) -> tuple[float, float]:
    """A lower and an upper value of an option."""
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError) as e:
        raise OptionError(f"{option}: {value!r}, want a lower and an upper value") from e
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise OptionError(f"{option}: {value!r}, want a lower and an upper value, both finite")
    return low, high
