"""What rollouts and sweeps ask about: the bodies of a scene, their places, and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._arrays import Array, host, take
from ._bodies import Body, Surface, pair_arrays
from ._errors import OptionError
from ._library import Library


@dataclass(eq=False)
class Bodies:
    """The data of a scene, which engines read; :class:`Scene` makes and changes them."""

    library: Library = field(default_factory=Library)
    bodies: list[Body] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    surfaces: list[Surface] = field(default_factory=list)

    def pair_arrays(self) -> tuple[Array, Array]:
        """The pairs as two int32 arrays [P]."""
        return pair_arrays("pairs", self.pairs)


@dataclass(frozen=True, eq=False)
class Asked:
    """What the rows of a rollout are about: the bodies at its places, [M] or [W,M], -1 for none; the pairs of places
    [P,2], None if all pairs are asked about."""

    bodies: Array
    pairs: Array | None

    def of_world(self, world: int) -> Array:
        """The bodies of the scene at the places [M] of a world, -1 where none stands."""
        bodies: Array = self.bodies if self.bodies.ndim == 1 else self.bodies[world]
        return bodies


def check_scene(scene: Any) -> None:
    """Raise OptionError for what is no scene."""
    if not isinstance(scene, Bodies):
        raise OptionError(f"scene: a {type(scene).__name__}, want a Scene")


def places_of(scene: Bodies, bodies: Any, worlds: int) -> tuple[Array, bool]:
    """The bodies at the places, [M] or [W,M], and whether they are those of each world."""
    if bodies is None:
        return np.arange(len(scene.bodies), dtype=np.int32), False
    array = host("bodies", bodies, True)
    m = array.shape[-1] if array.ndim else 0
    if array.ndim == 2:
        return take("bodies", array, np.int32, (m,), worlds, True), True
    return take("bodies", array, np.int32, (), m, True), False


def reduction(reduce: str | None) -> int:
    """The code of a reduction."""
    if reduce not in (None, "none", "world"):
        raise OptionError(f'reduce: {reduce!r}, want None or "world"')
    return int(reduce == "world")
