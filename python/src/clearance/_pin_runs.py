"""Runs of steps of a Pinocchio model, and their derivative: that of each step, from the last one back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._arrays import take
from ._options import ArrayLike, Floats, Ints

if TYPE_CHECKING:
    from .pinocchio import Result


@dataclass(frozen=True, eq=False, repr=False)
class RunGradient:
    """Gradients of W worlds with respect to the state before a run of T steps, and to the torques of each step.

    ``q`` [W,nv] is in the tangent space at the first configuration, ``v`` is [W,nv], ``tau`` [T,W,nv]. ``smoothness``
    and ``margin`` [T,W] are those of each step, as in :class:`Gradient`.
    """

    q: Floats
    v: Floats
    tau: Floats
    smoothness: Ints
    margin: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The states of W worlds after each of T steps: ``q`` [T,W,nq] and ``v`` [T,W,nv]; ``steps`` are the results."""

    q: Floats
    v: Floats
    steps: Sequence[Result]

    def vjp(self, *, q: ArrayLike | None = None, v: ArrayLike | None = None) -> RunGradient:
        """The gradient of a function of the states, by its gradients with respect to these: ``q`` [T,W,nv] in the
        tangent spaces at the configurations, ``v`` [T,W,nv]."""
        count, worlds, nv = self.v.shape
        bars = [
            np.zeros((count, worlds, nv)) if x is None else take(name, x, np.float64, (worlds, nv), count, True)
            for name, x in (("q", q), ("v", v))
        ]
        q_bar: Floats = np.zeros((worlds, nv))
        v_bar: Floats = np.zeros((worlds, nv))
        tau, smoothness, margin = np.zeros((count, worlds, nv)), np.zeros((count, worlds), np.uint8), []
        for t in range(count - 1, -1, -1):
            g = self.steps[t].vjp(q=q_bar + bars[0][t], v=v_bar + bars[1][t])
            q_bar, v_bar, tau[t], smoothness[t] = g.q, g.v, g.tau, g.smoothness
            margin.append(g.margin)
        return RunGradient(q_bar, v_bar, tau, smoothness, np.array(margin[::-1]))

    def __repr__(self) -> str:
        return f"Run of {len(self.q):,} steps of {self.q.shape[1]:,} worlds"
