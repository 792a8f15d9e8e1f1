"""Recorded steps of simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from . import _native as nat
from ._arrays import Array
from ._errors import OptionError
from ._options import ArrayLike, Bools, Floats, Ints
from ._points import Contacts, Recorded
from ._problems import raise_first
from ._result import Report, report_of
from ._tape import Impacts, RunGradient, Tape

# Statuses of steps: only worlds that are advanced, in parts too, or accepted have moved.
STEP_STATUSES: Final = (
    "not_stepped",
    "advanced",
    "accepted",
    "pair_undecided",
    "too_many_contacts",
    "solve_undecided",
    "invalid",
    "too_fast",
    "advanced_in_parts",
    "motion_undecided",
    "out_of_memory",
)
_ADVANCED: Final = tuple(map(STEP_STATUSES.index, ("advanced", "accepted", "advanced_in_parts")))


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """R recorded steps of W worlds of M bodies.

    ``step`` int [R] counts the steps of the run from 1. ``position`` [R,W,M,3] and ``rotation`` [R,W,M,4] are the poses
    of the frames of the bodies, the latter in the order of the run, ``velocity`` [R,W,M,3] those of the centers of
    mass, ``spin`` [R,W,M,3] angular velocities in rad/s. ``status`` [R,W] says how the step of a world ended (see
    ``STEP_STATUSES``): worlds that are not advanced keep their state. ``contact_count`` [R,W] is the number of
    contacts, ``solves`` that of the contact problems of the step, ``parts`` of the parts that it was made in,
    ``energy`` the error of the energy identity in J, ``residual`` and ``scale`` those of the contact problem in m/s
    (see :class:`Solution`); all three are NaN without one.
    """

    step: Ints
    position: Floats
    rotation: Floats
    velocity: Floats
    spin: Floats
    status: Ints
    contact_count: Ints
    solves: Ints
    parts: Ints
    energy: Floats
    residual: Floats
    scale: Floats
    record: nat.Report
    listed: Recorded | None = None
    force: Array | None = None
    tape: Tape | None = None

    @property
    def report(self) -> Report:
        """What became of the run; its counts are world-steps: separated are those that were advanced."""
        return report_of(self.record)

    @property
    def ok(self) -> Array:
        """World-steps that were advanced."""
        return np.isin(self.status, _ADVANCED)

    @property
    def failed(self) -> Array:
        """World-steps that were not advanced."""
        return ~self.ok

    def contacts(self, step: int) -> Contacts:
        """The contacts of a recorded step, by its number in ``step``, of a run with ``contacts=True``."""
        return self._listed().of(step)

    def forces(self, step: int) -> Array:
        """The sum of the contacts of a recorded step on each body over the time step, [W,M,6]: force in N, and torque
        about the center of mass in N·m, in world axes, of a run with ``contacts=True``."""
        out: Array = cast(Any, self.force)[self._listed().record(step)]
        return out

    def vjp(
        self,
        *,
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        impacts: Impacts = "discrete",
    ) -> RunGradient:
        """The gradients of a function of the recorded states with respect to what the run was made from, of its
        gradients with respect to ``position``, ``velocity``, ``spin`` [R,W,M,3] and ``rotation`` [R,W,M,4] in the order
        of the run; None is zero. It is a run with ``tape=True``.

        Derivatives are those of the steps that were made: contacts that are open, stick or slide stay so, and so do the
        features that meet. They are exact where ``smooth``, a mask of world-steps to weight losses with, is true.

        A step in which bodies bounce changes their velocities at its beginning, whatever gap is left. So by "discrete",
        the derivative of the step as it is, positions after a bounce have the wrong sign by those before: 1 where that
        of the motion is -e. By "time_of_impact" impulses of bounces act when gaps close, and the sign is right.
        """
        given = {"position": position, "rotation": rotation, "velocity": velocity, "spin": spin}
        return self._taped().vjp(given, impacts)

    @property
    def smooth(self) -> Bools:
        """World-steps [T,W] of a run with a tape whose derivatives hold in a neighborhood of the state."""
        return self._taped().about.smooth

    @property
    def margin(self) -> Floats:
        """How far each step is from the nearest change of a mode of a contact, [T,W]: see :class:`RunGradient`."""
        return self._taped().about.margin

    def _taped(self) -> Tape:
        if self.tape is None:
            raise OptionError("derivatives need a tape: make the run with tape=True")
        return self.tape

    def _listed(self) -> Recorded:
        if self.listed is None:
            raise OptionError("contacts: False, want True in the run whose contacts are asked for")
        return self.listed

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if a recorded step of a world was not advanced."""
        raise_first(self.failed, STEP_STATUSES, self.status, self.report, "recorded world-steps")

    def __repr__(self) -> str:
        r, w = self.status.shape
        return f"Trajectory of {r:,} steps of {w:,} worlds, {np.count_nonzero(self.failed):,} world-steps not advanced"
