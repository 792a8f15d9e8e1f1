"""The ranges that random configurations of joints are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Array
from ._errors import OptionError
from ._options import interval


def sampled_limits(names: Sequence[str], sliding: Sequence[bool], limits: Any, slides: Any = None) -> Array:
    """The ranges [N,2] to sample N joints in: their limits where both are finite, else [-π, π] for joints that rotate
    and ``slides``, a lower and an upper value in metres, for those that slide.

    A joint whose limits are in the wrong order, or that slides and has no limits where ``slides`` is None, is refused
    by name.
    """
    ranges = np.array(limits, np.float64).reshape(-1, 2)
    within = interval("slides", slides)
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
