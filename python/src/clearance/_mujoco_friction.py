"""The friction of the contacts of a MuJoCo model: of explicit pairs, by priority, or the larger one of two geoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import Array
from ._errors import OptionError
from ._mujoco_model import name_of


class Frictions:
    """The sliding friction of pairs of geoms: mj_contactParam, and 0 for contacts of condim 1, which have none."""

    def __init__(self, model: Any) -> None:
        self.priority, self.condim = np.array(model.geom_priority), np.array(model.geom_condim)
        self.sliding = np.array(model.geom_friction)[:, 0]
        self.explicit: dict[frozenset[int], float] = {}
        for i in range(model.npair):
            pair = frozenset((int(model.pair_geom1[i]), int(model.pair_geom2[i])))
            self.explicit[pair] = float(model.pair_friction[i, 0]) if model.pair_dim[i] > 1 else 0.0

    def of(self, a: Sequence[int], b: Sequence[int]) -> Array:
        """The friction [A,B] of the contacts of geoms a with geoms b."""
        i, j = np.array(a)[:, None], np.array(b)[None, :]
        first, second = self.priority[i] > self.priority[j], self.priority[i] < self.priority[j]
        larger = np.maximum(self.sliding[i], self.sliding[j])
        value = np.where(first, self.sliding[i], np.where(second, self.sliding[j], larger))
        most = np.maximum(self.condim[i], self.condim[j])
        condim = np.where(first, self.condim[i], np.where(second, self.condim[j], most))
        found: Array = np.where(condim == 1, 0.0, value)
        for k, g in enumerate(a):
            for m, h in enumerate(b):
                found[k, m] = self.explicit.get(frozenset((g, h)), found[k, m]) if self.explicit else found[k, m]
        return found


def body_frictions(model: Any, geoms: list[list[int]], skip: Sequence[tuple[int, int]], names: list[str]) -> Array:
    """A coefficient [M] of each body, given its geoms, whose geometric means are the frictions of all pairs that are
    not skipped. OptionError names a pair of bodies if there are none such."""
    frictions, skipped = Frictions(model), {frozenset(p) for p in skip}
    wanted: dict[tuple[int, int], float] = {}
    for j in range(len(geoms)):
        for i in range(j):
            if frozenset((i, j)) in skipped:
                continue
            values = np.unique(frictions.of(geoms[i], geoms[j]))
            if len(values) > 1:
                _refuse(names, i, j, f"from {values[0]:g} to {values[-1]:g}")
            wanted[i, j] = float(values[0])
    if not wanted:
        return np.zeros(len(geoms))
    common = next(iter(wanted.values()))
    for (i, j), value in wanted.items():
        if value != common:
            _refuse(names, i, j, f"{value:g}, others have {common:g}")
    return np.full(len(geoms), common)


def _refuse(names: list[str], i: int, j: int, values: str) -> None:
    raise OptionError(
        f"the friction of bodies {names[i]!r} and {names[j]!r} is {values}; simulations combine one coefficient of "
        "each body: give friction="
    )


def anisotropic(model: Any) -> list[str]:
    """The explicit pairs whose sliding friction is not the same along both tangents."""
    unequal = [i for i in range(model.npair) if model.pair_friction[i, 0] != model.pair_friction[i, 1]]
    return [name_of(model, "pair", i) for i in unequal]
