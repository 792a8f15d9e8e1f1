"""Proposals of pairs to skip, from samples of configurations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._arrays import Array
from ._errors import OptionError
from ._result import SEPARATED, TOUCHING

if TYPE_CHECKING:
    from ._engine import Engine
    from ._scene import Scene

# Poses of a batch, in numbers: some tens of megabytes.
_BATCH = 1 << 21


@dataclass(frozen=True, eq=False, repr=False)
class SkipProposal:
    """What samples of configurations say about the pairs of a scene. It is a proposal and no proof.

    ``pairs`` are the pairs sampled. Of each, ``separated`` counts the samples in which the bodies are proved separated,
    ``contact`` those in which a contact is proved; the rest of the ``samples`` failed. ``never`` are the pairs that
    were separated in every sample, ``always`` those in contact in every sample.

    A pair that n independent samples have never seen in contact may be in contact all the same: if it were so in more
    than the share ``unseen`` = 1 - 0.05^(1/n), about 3/n, of the configurations, the samples would have shown it with a
    probability of 95 %.
    """

    samples: int
    pairs: list[tuple[int, int]]
    names: list[str]
    contact: Array
    separated: Array

    @property
    def never(self) -> list[tuple[int, int]]:
        """The pairs that are separated in every sample."""
        return [p for p, n in zip(self.pairs, self.separated.tolist(), strict=True) if n == self.samples]

    @property
    def always(self) -> list[tuple[int, int]]:
        """The pairs that are in contact in every sample."""
        return [p for p, n in zip(self.pairs, self.contact.tolist(), strict=True) if n == self.samples]

    @property
    def skip(self) -> list[tuple[int, int]]:
        """The pairs of ``never`` and ``always``."""
        return [*self.never, *self.always]

    @property
    def unseen(self) -> float:
        """The share of configurations in contact that the samples would have shown with a probability of 95 %."""
        return float(-math.expm1(math.log(0.05) / self.samples))

    def __repr__(self) -> str:
        def named(pairs: list[tuple[int, int]]) -> str:
            text = ", ".join(f"{self.names[i]}-{self.names[j]}" for i, j in pairs[:8])
            return f"{len(pairs)}" + (f": {text}" if pairs else "") + (", …" if len(pairs) > 8 else "")

        failed = int((self.samples - self.contact - self.separated).sum())
        return "\n".join(
            [
                f"SkipProposal of {len(self.pairs)} pairs from {self.samples:,} samples; it is no proof",
                f"  never in contact {named(self.never)}",
                f"    (a share of {self.unseen:.2g} in contact would have been seen with a probability of 95 %)",
                f"  always in contact {named(self.always)}",
                f"  {failed} answers failed",
            ]
        )


def propose(engine: Engine, scene: Scene, batches: Iterable[Array]) -> SkipProposal:
    """Count the statuses of the pairs of a scene over batches of poses [W,M,7]."""
    pairs = list(scene.pairs)
    contact, separated = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    samples = 0
    for poses in batches:
        with engine.rollout(scene, worlds=len(poses), query="collide") as roll:
            status = roll(poses, quat="wxyz").status
        samples += len(poses)
        separated += (status == SEPARATED).sum(axis=0)
        contact += ((status >= TOUCHING) & (status < 3)).sum(axis=0)
    if samples == 0:
        raise OptionError("samples: 0, want some")
    names = [b.name or str(i) for i, b in enumerate(scene.bodies)]
    return SkipProposal(samples, pairs, names, contact, separated)


def batches_of(samples: int, bodies: int) -> Iterable[int]:
    """Numbers of samples whose poses are moderately large."""
    most = max(1, _BATCH // max(7 * bodies, 1))
    return (min(most, samples - at) for at in range(0, samples, most))
