"""Derivatives of the times of first contacts with respect to the way points of the bodies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, reordered, take
from ._bodies import Table
from ._derivatives import quaternion_gradient
from ._options import one_of
from ._result import to_torch

REGULAR = 1


@dataclass(frozen=True, eq=False)
class Times:
    """First contacts with the motions that they are of. Nobody else has the arrays."""

    table: Table
    workers: int
    places: Array  # [M] or [W,M]
    poses: Array  # [W,T,M,7], "wxyz"
    order: str  # of the quaternions of the caller
    lead: tuple[int, ...]  # the axes of the worlds as the caller has them
    shape: tuple[int, ...]  # of the rows
    rows: dict[str, Array]  # world, place_a, place_b, part_a, part_b, state, t1: [N]
    device: Any  # of PyTorch, None for NumPy

    @staticmethod
    def of(
        table: Table,
        workers: int,
        places: Array,
        poses: Array,
        order: str,
        lead: tuple[int, ...],
        columns: dict[str, Array],
        pairs: tuple[Array, Array],
        device: Any,
    ) -> Times:
        """The times of a sweep of pairs of places, of its columns, which callers may change."""
        shape, worlds = columns["state"].shape, len(poses)
        if "offsets" in columns:
            world = np.repeat(np.arange(worlds), np.diff(columns["offsets"]))
            both = columns["body_a"], columns["body_b"]
        elif "pair" in columns:  # -1 for none
            world, pair = np.arange(worlds), columns["pair"].ravel()
            both = np.append(pairs[0], np.int32(-1))[pair], np.append(pairs[1], np.int32(-1))[pair]
        else:
            world = np.repeat(np.arange(worlds), len(pairs[0]))
            both = np.tile(pairs[0], worlds), np.tile(pairs[1], worlds)
        rows = {"world": world.astype(np.int32), "place_a": both[0].copy(), "place_b": both[1].copy()}
        rows |= {name: columns[name].ravel().copy() for name in ("part_a", "part_b", "state", "t1")}
        return Times(table, workers, places.copy(), poses.copy(), order, lead, shape, rows, device)

    @cached_property
    def answers(self) -> tuple[Any, Any]:
        """The times [...] and the codes of their smoothness."""
        time, codes = np.zeros(len(self.rows["world"])), np.zeros(len(self.rows["world"]), np.uint8)
        self._run(time=time, smoothness=codes)
        return self._like(time.reshape(self.shape)), self._like(codes.reshape(self.shape))

    def vjp(self, time: Any, wrt: str) -> Any:
        """See :meth:`SweepResult.vjp`. A time without a derivative has no gradient, whatever the weight of its row."""
        wanted = one_of("wrt", wrt, ["twists", "poses"])
        given = host("time", time, True)
        given = np.broadcast_to(given, self.shape) if not given.ndim else given
        weights = take("time", given, np.float64, self.shape[1:], self.shape[0], True).reshape(-1)
        twists = np.zeros((*self.poses.shape[:-1], 6))
        self._run(weights=np.ascontiguousarray(weights), gradients=twists)
        if wanted == "twists":
            return self._like(twists.reshape(*self.lead, *twists.shape[1:]))
        spin, quat = twists[..., 3:].reshape(-1, 3), self.poses[..., 3:].reshape(-1, 4)
        rotation = np.zeros_like(quat)
        moved = spin.any(axis=1)  # the others may have no quaternion
        rotation[moved] = quaternion_gradient(spin[moved], quat[moved], "wxyz")
        if self.order == "xyzw":
            rotation = reordered(rotation, (1, 2, 3, 0))
        poses = np.concatenate([twists[..., :3], rotation.reshape(*twists.shape[:-1], 4)], axis=-1)
        return self._like(poses.reshape(*self.lead, *poses.shape[1:]))

    def _run(self, **arrays: Array) -> None:
        nat.check_fork()
        n = nat.native()
        worlds, points, m = self.poses.shape[:3]
        motions = nat.Motions(self.table.number, worlds, m, points, 0)
        motions.bodies, motions.poses = address(self.places), address(self.poses)
        motions.per_world, motions.workers = int(self.places.ndim == 2), self.workers
        given = nat.named({**self.rows, **arrays})

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.sweep_derive(motions, given, len(given), ms, job, report, error))

        _jobs.run(submit, (self, arrays, motions, given))

    def _like(self, array: Array) -> Any:
        return array if self.device is None else to_torch(array, self.device)
