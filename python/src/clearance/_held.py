"""Simulations that are held between steps: the arrays that the native library writes after each of them."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass, fields
from typing import Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, take
from ._native import named, numbers


@dataclass(frozen=True, eq=False, repr=False)
class Views:
    """The state of W worlds of M bodies after the last step, as arrays that the native library writes.

    Each step, reset or change of the state overwrites them, so what is to last must be copied. They may be kept: after
    :meth:`Simulation.close`, or a new start, they hold the last state. They cannot be written to.

    ``position`` [W,M,3], ``rotation`` [W,M,4] in the order of the start, ``velocity``, ``spin`` [W,M,3], ``status``
    [W], ``contact_count``, ``solves``, ``parts``, ``energy``, ``residual`` [W] are those of :class:`Trajectory`,
    ``steps`` [W] those that the world was advanced by, and ``force`` [W,M,6] is that of the contacts: force in N and
    torque about the center of mass in N·m.
    """

    position: Array
    rotation: Array
    velocity: Array
    spin: Array
    status: Array
    steps: Array
    contact_count: Array
    solves: Array
    parts: Array
    energy: Array
    residual: Array
    force: Array

    def __repr__(self) -> str:
        w, m = self.position.shape[:2]
        return f"Views of {w:,} worlds of {m} bodies"


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """All that the next steps of a simulation depend on, in arrays: it may be copied and pickled, and set in any
    simulation of the same bodies, worlds and options. Quaternions are w, x, y, z; the ground is the last body;
    ``momentum`` is the angular momentum in N·m·s, of bodies that do not move the angular velocity; ``still`` [1] is the
    number of steps in a row, the last one included, in which no world was advanced; ``warm_…`` are the contacts that
    the next solves start from."""

    pose: Array
    velocity: Array
    momentum: Array
    steps: Array
    status: Array
    contacts: Array
    solves: Array
    parts: Array
    energy: Array
    still: Array
    warm_count: Array
    warm_pair: Array
    warm_id: Array
    warm_position: Array
    warm_impulse: Array

    def __repr__(self) -> str:
        return f"State of {len(self.pose):,} worlds of {self.pose.shape[1]} bodies, the ground among them"


def empty_state(worlds: int, bodies: int, contacts: int) -> State:
    """Arrays for a state."""
    w, c = worlds, contacts
    counts = {name: np.zeros(w, np.int32) for name in ("contacts", "solves", "parts")}
    return State(
        pose=np.zeros((w, bodies, 7)),
        velocity=np.zeros((w, bodies, 3)),
        momentum=np.zeros((w, bodies, 3)),
        steps=np.zeros(w, np.int64),
        status=np.zeros(w, np.uint8),
        energy=np.zeros(w),
        still=np.zeros(1, np.int64),
        warm_count=np.zeros(w, np.int32),
        warm_pair=np.zeros((w, c), np.int32),
        warm_id=np.zeros((w, c), np.uint64),
        warm_position=np.zeros((w, c, 3)),
        warm_impulse=np.zeros((w, c, 3)),
        **counts,
    )


def state_arrays(state: State) -> dict[str, Array | None]:
    """The arrays of a call: those of the state, contiguous."""
    return {f.name: np.ascontiguousarray(getattr(state, f.name)) for f in fields(state)}


# Steps that are longer than the first run as jobs, which can be interrupted, until one is shorter than the second: in
# seconds. A job costs some tens of microseconds. Of a simulation of more bodies in all worlds the first step is one. A
# step that is no job is given up after some milliseconds, without a change of the state, and made anew as a job: it
# costs as much more at most, and is as long as a signal waits.
_LONG: Final = 1e-2
_SHORT: Final = 2e-3
_BODIES: Final = 256
_LIMIT_MS: Final = 40


class Held:
    """The arrays of the steps of a native simulation, and the records of its calls."""

    def __init__(self, worlds: int, bodies: int, every: int, xyzw: bool) -> None:
        w = worlds
        ints = {name: np.zeros(w, np.int32) for name in ("contacts", "solves", "parts")}
        self._out: dict[str, Array | None] = {
            "pose": np.zeros((w, every, 7)),
            "velocity": np.zeros((w, every, 3)),
            "spin": np.zeros((w, every, 3)),
            "contact_force": np.zeros((w, every, 6)),
            "status": np.zeros(w, np.uint8),
            "steps": np.zeros(w, np.int64),
            **ints,
            "energy": np.zeros(w),
            "residual": np.zeros(w),
        }
        self._options = numbers(scalar_last=int(xyzw))
        self._none = numbers(step_count=0)
        force = np.zeros((w, every, 6))
        self._force, self._shape = force[:, :bodies], (w, bodies, 6)
        self._input: dict[str, Array | None] = {"force": force}
        self._look = named(self._out | self._options | self._none)
        self._limit = numbers(limit_ms=_LIMIT_MS)
        self._plain = named(self._out | self._options | self._limit)
        self._forced = named(self._out | self._options | self._limit | self._input)
        self._as_job = numbers(held=1)
        self._plain_job = named(self._out | self._options | self._as_job)
        self._forced_job = named(self._out | self._options | self._input | self._as_job)
        self._long = worlds * every > _BODIES
        self._error = nat.Error()
        native = nat.native()
        self._step, self._run, self._raise_for = native.simulation_step, native.simulation_run, native.raise_for
        self._sizes = [len(x) for x in (self._look, self._plain, self._forced)]

        def view(name: str, columns: slice = slice(None)) -> Array:
            array = self._out[name]
            assert array is not None
            part: Array = array[:, :bodies, columns] if array.ndim == 3 else array[:]
            part.flags.writeable = False
            return part

        self.views = Views(
            position=view("pose", slice(0, 3)),
            rotation=view("pose", slice(3, 7)),
            contact_count=view("contacts"),
            force=view("contact_force"),
            **{name: view(name) for name in ("velocity", "spin", "status", "steps", "solves", "parts")},
            **{name: view(name) for name in ("energy", "residual")},
        )

    def look(self, number: int) -> Views:
        """Read the state."""
        code = self._step(number, self._look, self._sizes[0], self._error)
        if code:
            self._raise_for(code, self._error)
        return self.views

    def step(self, number: int, force: Any) -> Views:
        """Make a step."""
        if force is not None:
            if type(force) is not np.ndarray or force.dtype != np.float64 or force.shape != self._shape:
                w, m, _ = self._shape
                force = take("force", force, np.float64, (m, 6), w, True)
            self._force[:] = force
        begin = time.perf_counter()
        if self._long:
            self._job(number, force is not None)
            self._long = time.perf_counter() - begin > _SHORT
            return self.views
        if force is None:
            code = self._step(number, self._plain, self._sizes[1], self._error)
        else:
            code = self._step(number, self._forced, self._sizes[2], self._error)
        if code == nat.CANCELLED:  # it is a long one
            self._job(number, force is not None)
        elif code:
            self._raise_for(code, self._error)
        self._long = time.perf_counter() - begin > _LONG
        return self.views

    def _job(self, number: int, forced: bool) -> None:
        """Make a step that can be interrupted."""
        records, made = self._forced_job if forced else self._plain_job, ctypes.c_int64()

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, self._run(number, records, len(records), made, ms, job, report, error))

        _jobs.run(submit, (self, made))
