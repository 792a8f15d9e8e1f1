"""Forward kinematics of many configurations at once, by the native library, which writes poses where they are wanted.

A frame is what a joint moves; links that fixed joints alone connect to it have a constant pose in it. Every pose is
computed from its own configuration by the same operations, so that its bits do not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from . import _native as nat
from ._arrays import Array
from ._named import named, numbers

# The codes of kinds in the native library.
_KINDS: Final = ("fixed", "revolute", "prismatic", "ball", "free")

# Frames of configurations of a call: some milliseconds, after which Python looks for signals.
_CALL: Final = 1 << 18


@dataclass(frozen=True, eq=False)
class Moved:
    """What moves a frame: ``kind`` is revolute, prismatic, ball, free or fixed.

    The frame is that of ``above``, moved by ``position`` [3] and ``rotation`` [4], and then by the joint: about or
    along ``axis`` [3] by ``multiplier`` times entry ``index`` of a configuration, plus ``offset``; by the quaternion
    that begins there (ball); or it has the pose that does (free), whatever the frame above.
    """

    kind: str
    above: int
    position: Array
    rotation: Array
    axis: Array
    index: int = -1
    multiplier: float = 1.0
    offset: float = 0.0


class Plan:
    """Frames of which frame 0 is the root; frame i is that of ``moved[i - 1]``, and follows those above."""

    def __init__(self, moved: Sequence[Moved]) -> None:
        self.moved, self.count = list(moved), len(moved) + 1
        self._joints: dict[str, Array | None] = {
            "kind": np.array([_KINDS.index(m.kind) for m in moved], np.uint8),
            "above": np.array([m.above for m in moved], np.int32),
            "index": np.array([m.index for m in moved], np.int32),
            "place": np.array([[*m.position, *m.rotation] for m in moved], np.float64),
            "axis": np.array([m.axis for m in moved], np.float64),
            "multiplier": np.array([m.multiplier for m in moved], np.float64),
            "offset": np.array([m.offset for m in moved], np.float64),
        }

    def write(self, out: Array, q: Array, base: Array | None, frames: Sequence[int], within: Array) -> None:
        """Write poses out[:, :P] of configurations q [W,dof]: place k has the pose within[k] [7] in frame frames[k].

        Quaternions have unit length. ``base`` is the pose of the root, [7] or [W,7].
        """
        if not (out.flags.c_contiguous and out.flags.aligned):
            compact = np.empty((len(out), len(frames), 7))
            self.write(compact, q, base, frames, within)
            out[:, : len(frames)] = compact
            return
        native = nat.native()
        each = base is not None and base.ndim == 2 and len(base) > 1
        fixed = self._joints | {"frame": np.array(frames, np.int32), "within": np.ascontiguousarray(within)}
        fixed |= numbers(joints=len(self.moved), places=len(frames), coordinates=q.shape[1], bodies=out.shape[1])
        step = max(1, _CALL // (self.count + len(frames)))
        for lo in range(0, len(q), step):
            hi = min(lo + step, len(q))
            root = base if base is None or not each else base[lo:hi]
            arrays = fixed | {"values": q[lo:hi], "poses": out[lo:hi], **numbers(worlds=hi - lo)}
            arrays["base"] = None if root is None else np.ascontiguousarray(root)
            given, error = named(arrays), nat.Error()
            native.raise_for(native.forward(given, len(given), error), error)
