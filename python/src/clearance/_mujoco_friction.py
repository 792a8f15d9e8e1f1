"""The friction of the contacts of a MuJoCo model: of explicit pairs, by priority, or the larger one of two geoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Array
from ._bodies import Surface
from ._free_bodies import pair_surfaces
from ._mujoco_model import name_of


class Frictions:
    """The sliding friction of pairs of geoms: mj_contactParam, and 0 for contacts of condim 1, which have none."""

    def __init__(self, model: Any) -> None:
        self.priority, self.condim = np.array(model.geom_priority), np.array(model.geom_condim)
        self.sliding = np.array(model.geom_friction)[:, 0]
        self.explicit = [
            (int(model.pair_geom1[i]), int(model.pair_geom2[i]), float(model.pair_friction[i, 0] * (dim > 1)))
            for i, dim in enumerate(model.pair_dim)
        ]

    def of(self, a: Sequence[int], b: Sequence[int]) -> Array:
        """The friction [A,B] of the contacts of geoms a with geoms b."""
        i, j = np.array(a)[:, None], np.array(b)[None, :]
        first, second = self.priority[i] > self.priority[j], self.priority[i] < self.priority[j]
        larger = np.maximum(self.sliding[i], self.sliding[j])
        value = np.where(first, self.sliding[i], np.where(second, self.sliding[j], larger))
        most = np.maximum(self.condim[i], self.condim[j])
        condim = np.where(first, self.condim[i], np.where(second, self.condim[j], most))
        found: Array = np.where(condim == 1, 0.0, value)
        rows, columns = {g: k for k, g in enumerate(a)}, {g: k for k, g in enumerate(b)}
        for g, h, stated in self.explicit:
            for k, m in ((rows.get(g), columns.get(h)), (rows.get(h), columns.get(g))):
                if k is not None and m is not None:
                    found[k, m] = stated
        return found


def surfaces(model: Any, geoms: list[list[int]], skip: Sequence[tuple[int, int]]) -> tuple[Array, list[Surface]]:
    """A coefficient [M] of each body, given its geoms, which are its parts: the most frequent one. And the surfaces of
    the pairs that are not skipped whose friction is not the larger one of these."""
    frictions, skipped = Frictions(model), {frozenset(p) for p in skip}
    own = np.zeros(len(geoms))
    for i, parts in enumerate(geoms):
        values, counts = np.unique(frictions.sliding[parts], return_counts=True)
        own[i] = values[np.argmax(counts)]
    listed = pair_surfaces(
        len(geoms), lambda i, j: frictions.of(geoms[i], geoms[j]), lambda i, j: max(own[i], own[j]), skipped
    )
    return own, listed


def anisotropic(model: Any) -> list[str]:
    """The explicit pairs whose sliding friction is not the same along both tangents."""
    unequal = [i for i in range(model.npair) if model.pair_friction[i, 0] != model.pair_friction[i, 1]]
    return [name_of(model, "pair", i) for i in unequal]
