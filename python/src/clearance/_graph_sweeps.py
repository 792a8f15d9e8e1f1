"""Times of first contacts and the product with their derivative, as functions of arrays in the host's memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from ._arrays import Array
from ._bodies import Table
from ._calls import Call, Shape
from ._engine import Engine
from ._inputs import places_of
from ._scene import Scene
from ._sweep_derivatives import Times

_ROWS: Final = ("place_a", "place_b", "part_a", "part_b", "t1")


@dataclass(frozen=True, eq=False)
class SweepCall(Call):
    """Time, state and smoothness of the first contacts of a scene, then what of its rows the derivative needs; of way
    points [...,T,M,7]."""

    engine: Engine
    scene: Scene
    order: Any
    options: dict[str, Any]
    pairs: int
    wide: Any  # the type of times within the library's derivative

    whole: ClassVar[int] = 0
    shown: ClassVar[int] = 3
    smooth: ClassVar[int] = 1
    saved: ClassVar[tuple[int, ...]] = (1, 3, 4, 5, 6, 7)

    @property
    def tail(self) -> Shape:
        """The axes of the rows of a world."""
        return () if self.options.get("reduce") == "world" else (self.pairs,)

    def outputs(self, shapes: Sequence[Shape], real: Any) -> list[tuple[Shape, Any]]:
        shape = (*shapes[0][:-3], *self.tail)
        return [(shape, t) for t in (real, "uint8", "uint8", *["int32"] * 4, self.wide)]

    def forward(self, *args: Any) -> tuple[Array, ...]:
        array, lead = np.asarray(args[0]), np.shape(args[0])[:-3]
        worlds = np.ascontiguousarray(array.reshape(-1, *array.shape[-3:]), np.float64)
        r = self.engine.sweep(self.scene, worlds, quat=self.order, grad=True, **self.options)
        shape = (*lead, *self.tail)
        time = np.asarray(r.time, array.dtype).reshape(shape)
        columns = [np.asarray(c) for c in (r.state, r.time_smoothness, *[r._derived().rows[name] for name in _ROWS])]
        return (time, *(c.reshape(shape) for c in columns[:-1]), columns[-1].astype(self.wide).reshape(shape))

    def backward(self, args: Sequence[Any], saved: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Array, ...]:
        array, lead = np.asarray(args[0]), np.shape(args[0])[:-3]
        worlds = np.ascontiguousarray(array.reshape(-1, *array.shape[-3:]), np.float64)
        if self.order == "xyzw":
            worlds = np.ascontiguousarray(worlds[..., [0, 1, 2, 6, 3, 4, 5]])
        shape = (len(worlds), *self.tail)
        *columns, cotangent = (np.asarray(x).reshape(-1) for x in (*saved, *cotangents))
        names = ("state", *_ROWS)
        types = {"state": np.uint8, "t1": np.float64}
        rows = {
            name: np.ascontiguousarray(c, types.get(name, np.int32)) for name, c in zip(names, columns, strict=True)
        }
        rows["world"] = np.repeat(np.arange(len(worlds), dtype=np.int32), int(np.prod(self.tail, dtype=int)))
        places, _ = places_of(self.scene, self.options.get("bodies"), len(worlds))
        table = Table(self.scene.library, self.scene.bodies)
        times = Times(table, self.engine._workers, places, worlds, self.order, (len(worlds),), shape, rows, None)
        gradient = times.vjp(np.asarray(cotangent, np.float64).reshape(shape), "poses")
        return (np.asarray(gradient, array.dtype).reshape(*lead, *array.shape[-3:]),)
