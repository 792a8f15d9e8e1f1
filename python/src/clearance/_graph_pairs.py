"""Answers of pairs and the product with their derivative, as functions of arrays in the host's memory.

Graphs of JAX and compiled graphs of PyTorch call these. Such a graph keeps arrays for its backward pass, and no result:
the answers, their status and their gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from ._arrays import Array
from ._calls import Call, Shape
from ._derivatives import PARTS, Answered
from ._engine import Engine
from ._library import Library
from ._options import SolverOptions, defaults

# The arrays of a call, and the axes of each behind the leading ones.
NAMES: Final = ("a", "b", "pos_a", "quat_a", "pos_b", "quat_b")
TAILS: Final[tuple[tuple[int, ...], ...]] = ((), (), (3,), (4,), (3,), (4,))

# The axes of the answers that are differentiable, behind the leading ones: distance, normal, witness_a, witness_b.
WIDTHS: Final[tuple[tuple[int, ...], ...]] = tuple(() if j - i == 1 else (j - i,) for _, i, j in PARTS)


@dataclass(frozen=True, eq=False)
class PairCall(Call):
    """What of a call is no array: the engine, the library, the order of quaternions, and options."""

    engine: Engine
    library: Library
    order: str
    options: dict[str, Any]
    derivative: dict[str, Any]  # those of options that are about derivatives

    whole: ClassVar[int] = 2
    shown: ClassVar[int] = 6
    smooth: ClassVar[int] = 4
    saved: ClassVar[tuple[int, ...]] = (0, 1, 2, 3, 4, 6)

    def outputs(self, shapes: Sequence[Shape], real: Any) -> list[tuple[Shape, Any]]:
        lead = tuple(shapes[0])
        out: list[tuple[Shape, Any]] = [((*lead, *w), real) for w in WIDTHS]
        return [*out, (lead, "uint8"), (lead, "uint8"), (lead, real)]

    def forward(self, *args: Any) -> tuple[Array, ...]:
        """Distance, normal, witness_a, witness_b, status, smoothness and gap, of arrays with equal leading axes."""
        lead, rows, real = _rows_of(args)
        order: Any = self.order
        r = self.engine.distance(self.library, *rows, quat=order, grad=True, **self.options)
        answers = [getattr(r, name) for name, _, _ in PARTS]
        reals = tuple(np.asarray(x, real).reshape((*lead, *w)) for x, w in zip(answers, WIDTHS, strict=True))
        return (*reals, r.status.reshape(lead), r.smoothness.reshape(lead), r.gap.astype(real).reshape(lead))

    def backward(self, args: Sequence[Any], saved: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Array, ...]:
        """Gradients with respect to the four arrays of poses. ``saved`` are the four answers, status and gap."""
        lead, rows, real = _rows_of(args)
        n = len(rows[0])
        a, b, pos_a, quat_a, pos_b, quat_b = rows
        if self.order == "xyzw":
            quat_a, quat_b = quat_a[:, [3, 0, 1, 2]], quat_b[:, [3, 0, 1, 2]]
        columns: dict[str, Array] = {
            name: np.ascontiguousarray(np.asarray(x, np.float64).reshape((n, *w)))
            for (name, _, _), w, x in zip(PARTS, WIDTHS, saved[:4], strict=True)
        }
        columns["status"] = np.ascontiguousarray(np.asarray(saved[4]).reshape(n))
        columns["gap"] = np.ascontiguousarray(np.asarray(saved[5], np.float32).reshape(n))
        limit = self.options.get("max_distance")
        asked = {**defaults(SolverOptions), "columns": list(columns), "precision": "double"}
        query = self.engine._query("distance", self.library, asked, limit)
        arrays = tuple(map(np.ascontiguousarray, (a, b, pos_a, pos_b, quat_a, quat_b)))
        shapes = tuple(x.shape for x in (pos_a, quat_a, pos_b, quat_b))
        answered = Answered(self.engine, query, arrays, self.order, shapes, None, (n,), columns)
        given = np.concatenate([np.asarray(c, np.float64).reshape(n, -1) for c in cotangents], axis=1)
        given = np.ascontiguousarray(given)  # of a broadcast cotangent it is not
        parts = answered.to_poses(answered.gradient(given, self.derivative))
        return tuple(p.astype(real).reshape((*lead, p.shape[-1])) for p in parts)


def _rows_of(args: Sequence[Any]) -> tuple[tuple[int, ...], list[Array], Any]:
    """The leading axes of the six arrays, their rows in the types of the engine, and the type of the poses."""
    arrays = [np.asarray(x) for x in args]
    rows = [
        np.ascontiguousarray(x.reshape(-1, *tail), np.float64 if tail else np.int32)
        for x, tail in zip(arrays, TAILS, strict=True)
    ]
    return arrays[0].shape, rows, arrays[2].dtype
