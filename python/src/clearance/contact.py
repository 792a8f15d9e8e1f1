"""Contact problems of rigid bodies in batches, and time steps of worlds of free bodies.

from clearance import Library, contact

lib = Library()
crate = lib.box([0.1, 0.1, 0.1])
sim = contact.Simulation(lib, [crate] * 4, mass=1.0, dt=5e-3, model="ncp")
r = sim.run(position, rotation, quat="wxyz", steps=1000)  # position [W,4,3], rotation [W,4,4]

SI units, world axes. What is wrong with a world is its status; the others are answered.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, Final, Literal, cast, get_args

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, host, reordered, take
from ._bodies import Body, Part, Surface, Table, listed_pairs, pair_arrays
from ._contact_derivatives import SMOOTHNESSES, ProblemGradient
from ._errors import ArrayError, OptionError, StillError
from ._free_bodies import FreeBodies, bodies_of, body_column, mass_properties, masses, placed
from ._held import Held, State, Views, empty_state, state_arrays
from ._library import Library
from ._mujoco_bodies import from_mujoco
from ._native import named, numbers
from ._options import ArrayLike, Order, PoseLike, check_quat, flag, one_of, order_of, real, whole
from ._page import View
from ._points import RULES, Contacts, Recorded, Rule, fetch, surface_arrays
from ._poses import FORMS, seven
from ._problems import MODELS, STATUSES, Model, Solution, simd_array, solve
from ._show import ROWS, bodies_described, play
from ._smoothed import StepGradient, smoothed
from ._systems import (
    DelassusGradient,
    DelassusSolution,
    SystemGradient,
    SystemSolution,
    solve_delassus,
    solve_system,
)
from ._tape import IMPACTS, Layout, RunGradient, Tape
from ._trajectory import STEP_STATUSES, Trajectory
from ._urdf_bodies import from_urdf

RestitutionLaw = Literal["bounded", "newton"]

LAWS: Final = get_args(RestitutionLaw)

# The compliance of contacts in runs with a tape, unless the caller states one. Redundant contacts share their load in
# many ways without any, so that the motion of bodies that slide on them would have no derivative.
TAPE_COMPLIANCE: Final = 1e-3


def _placed(poses: Any, quat: Order | None) -> tuple[Any, Any, Order]:
    """Positions, rotations and the order of these, of poses of bodies in any form."""
    joined, order, _ = seven("position", poses, quat)
    array = host("position", joined, True)
    if array.shape[-1:] != (7,):
        want = "one beside a position" if array.shape[-1:] == (3,) else f"one, or poses as position: {FORMS}"
        raise OptionError(f"rotation: None, want {want}")
    return array[..., :3], array[..., 3:], order_of(order, joined)


class Simulation(nat.Owner):
    """W worlds of M free rigid bodies and the ground, which time steps advance.

    ``shapes`` are the bodies: indices into the library, or :class:`Body` of several parts. ``mass`` is a number or [M],
    inf for bodies that do not move; without it ``density`` in kg/m³ gives it. ``inertia`` [M,6] (xx, yy, zz, xy, xz,
    yz) is about ``center`` [M,3], the center of mass in the frame of the body; without them those of a uniform density
    are taken. ``ground`` is the half-space z < 0 with its own friction and restitution, if it is not False.
    ``friction`` and ``restitution`` are numbers, of bodies that state none, or [M]; parts may state their own. A
    contact has the combination of both by ``friction_rule`` and ``restitution_rule``, of RULES; with the ground it has
    the values of its body, unless ``ground_friction`` or ``ground_restitution`` is given. ``surfaces`` are
    :class:`Surface` of pairs, which replace combinations; the ground is the body behind the last one. ``skip`` are
    pairs of bodies without contacts. By the ``restitution_law`` "bounded" impacts create no energy; by "newton" they
    may, where there is friction.

    ``dt`` is the time step in seconds. Penetrations beyond a slop of 1e-4 of the size are removed by the share
    ``correction`` of each step (negative: none), by ``recovery_speed`` m/s at most (default: √(g·size) of the pair);
    approaches slower than ``bounce_speed`` m/s (default: g·dt) are not restituted. ``compliance`` softens contacts: by
    so much of the inverse masses of both bodies (default: 0, rigid, but TAPE_COMPLIANCE, 1e-3, in runs with a tape);
    with 1e-3 velocities and impulses are unique, and a body at rest sinks into its n contacts by
    1e-3·g·dt²/(correction·n) more. A world is solved if no residual of a contact exceeds ``tolerance`` times its speed
    scale (see :class:`Solution`). ``max_gap`` is the largest gap of a contact in metres (default: what the step may
    close). ``max_contacts`` limits the contacts of a world (default: memory alone does); a world with more is not
    advanced, nor is one whose pairs or contact problem are undecided, unless ``accept`` takes the best impulses found.
    ``simd`` names the kernels of the CPU, of pairs and of contacts: "avx512", "avx2", "neon", "portable" or "off"
    (default: what the environment variable CLEARANCE_SIMD names, and without it the best).
    """

    def __init__(
        self,
        library: Library,
        shapes: Sequence[int | Part | Body],
        mass: ArrayLike | None = None,
        *,
        density: float = 1000.0,
        inertia: ArrayLike | None = None,
        center: ArrayLike | None = None,
        ground: bool = True,
        dt: float = 5e-3,
        model: Model = "ncp",
        friction: Any = 0.5,
        restitution: Any = 0.0,
        friction_rule: Rule = "geometric_mean",
        restitution_rule: Rule = "maximum",
        restitution_law: RestitutionLaw = "bounded",
        ground_friction: float | None = None,
        ground_restitution: float | None = None,
        surfaces: Iterable[Surface] = (),
        gravity: Any = (0.0, 0.0, -9.81),
        tolerance: float = 1e-6,
        max_contacts: int | None = None,
        max_gap: float = 0.0,
        correction: float = 0.1,
        recovery_speed: float | None = None,
        bounce_speed: float | None = None,
        compliance: float | None = None,
        skip: Iterable[tuple[int, int]] = (),
        accept: bool = False,
        workers: int | None = None,
        simd: str | None = None,
    ) -> None:
        nat.check_fork()
        self._number = 0
        self._quat = ""  # until there is a state
        ground, accept = flag("ground", ground), flag("accept", accept)
        bodies = bodies_of(library, "shapes", shapes)
        m = self.bodies = len(bodies)
        own_library = Library()
        own_library._shapes = list(library)
        if ground:
            bodies.append(Body((Part(own_library.halfspace()),), "ground"))
        self._table = Table(own_library, bodies)
        every = len(bodies)
        self._arrays: dict[str, Array | None] = {"body": np.arange(every, dtype=np.int32)}
        if not ground and (ground_friction is not None or ground_restitution is not None):
            raise OptionError("ground_friction, ground_restitution: there is no ground")
        if isinstance(surfaces, Surface):
            raise OptionError(f"surfaces: {surfaces!r}, want a list of them")
        listed = list(surfaces)
        for name, value, own in (
            ("friction", friction, ground_friction),
            ("restitution", restitution, ground_restitution),
        ):
            column = np.zeros(every)
            column[:m] = body_column(name, value, m)
            if not np.ndim(value):
                column[:m] = [b.physics.get(name, value) for b in bodies[:m]]
            if own is not None:
                column[m:] = real(f"ground_{name}", own)
            elif not np.ndim(value):
                column[m:] = value
            self._arrays[name] = column
            self._arrays |= surface_arrays(name, column, bodies, own is not None, listed, m)
        self._arrays |= masses(self._table, bodies, m, mass, density, inertia, center)
        first, second = pair_arrays("skip", listed_pairs("skip", skip))
        if len(first):
            self._arrays["skip_a"], self._arrays["skip_b"] = first, second
        gravity_column = take("gravity", np.asarray(gravity), np.float64, (), 3, True)
        self._arrays |= {"gravity": gravity_column} | numbers(
            bodies=every,
            skips=len(first),
            time_step=real("dt", dt, 0, above=True),
            model=MODELS.index(one_of("model", model, MODELS)),
            friction_rule=RULES.index(one_of("friction_rule", friction_rule, RULES)),
            restitution_rule=RULES.index(one_of("restitution_rule", restitution_rule, RULES)),
            restitution_law=LAWS.index(one_of("restitution_law", restitution_law, LAWS)),
            tolerance=real("tolerance", tolerance, 0, above=True),
            max_gap=real("max_gap", max_gap, 0),
            correction=real("correction", correction) or -1.0,
            recovery_speed=0.0 if recovery_speed is None else real("recovery_speed", recovery_speed, 0, above=True),
            bounce_speed=0.0 if bounce_speed is None else real("bounce_speed", bounce_speed, 0, above=True),
            compliance=0.0 if compliance is None else real("compliance", compliance, 0),
            tape_compliance=TAPE_COMPLIANCE if compliance is None else float(compliance),
            contacts=0 if max_contacts is None else whole("max_contacts", max_contacts, 1),
            accept=int(accept),
            workers=0 if workers is None else whole("workers", workers, 1),
        )
        self._arrays |= simd_array(simd)
        # What of friction and restitution other values of bodies leave as it is, see replace.
        self._surfaces = (listed, {"friction": ground_friction, "restitution": ground_restitution})
        self.dt, self.ground, self.worlds = float(dt), ground, 0
        self.library, self._bodies = own_library, bodies
        self._held: Held | None = None
        _jobs.register(self)

    @staticmethod
    def of(bodies: FreeBodies, **options: Any) -> Simulation:
        """A simulation of the bodies of :func:`from_mujoco` or :func:`from_urdf`; ``options`` replace theirs, and
        ``friction`` all that the model states of it, of parts and pairs too."""
        if "friction" in options:
            bodies = bodies.with_friction(options["friction"])
        about = {"inertia": bodies.inertia, "center": bodies.center, **bodies.options, **options}
        return Simulation(bodies.library, bodies.bodies, bodies.mass, **about)

    def replace(
        self,
        *,
        mass: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        restitution: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        parts_pose: ArrayLike | None = None,
        quat: Order = "wxyz",
    ) -> Simulation:
        """Another simulation of the same bodies and options, without a state, with other numbers: mass [M] at the same
        inertia, inertia [M,6], friction and restitution [M] of bodies (those that parts and ``surfaces`` state stay),
        gravity [3], and parts_pose [P,7], the poses of all parts in their bodies, body after body (position, and
        quaternion in the order ``quat``, which need not be unit); mass, center of mass and inertia stay. Gradients of
        a run (:meth:`Trajectory.vjp`) are by these."""
        m, other = self.bodies, object.__new__(Simulation)
        other.__dict__.update(self.__dict__)
        other._number, other._quat, other._held, other.worlds = 0, "", None, 0
        arrays = other._arrays = dict(self._arrays)

        def changed(name: str, value: Any, tail: tuple[int, ...]) -> None:
            if value is not None:
                column = cast(Any, arrays[name]).copy()
                column[:m] = take(name, value, np.float64, tail, m, True)
                arrays[name] = column

        changed("mass", mass, ())
        changed("inertia", inertia, (6,))
        listed, own = self._surfaces
        for name, value in (("friction", friction), ("restitution", restitution)):
            if value is not None:
                changed(name, value, ())
                column = cast(Any, arrays[name])
                arrays |= surface_arrays(name, column, self._bodies, own[name] is not None, listed, m)
        if gravity is not None:
            arrays["gravity"] = take("gravity", gravity, np.float64, (), 3, True)
        if parts_pose is not None:
            check_quat(quat)
            other._bodies = [*placed(self._bodies[:m], parts_pose, quat), *self._bodies[m:]]
            other._table = Table(self.library, other._bodies)
        _jobs.register(other)
        return other

    def start(
        self,
        position: PoseLike,
        rotation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        *,
        quat: Order | None = None,
    ) -> None:
        """Set the state: position [W,M,3], rotation [W,M,4] in the order ``quat``, velocity of the centers of mass and
        spin [W,M,3] (default: at rest). A world whose state is not finite is invalid, and the others are stepped.

        Without a rotation ``position`` are the poses, in any form that :meth:`Engine.distance` takes: matrices
        [W,M,4,4], a pair (position, rotation), objects, or position and quaternion [W,M,7]. Of matrices and objects
        results have quaternions in the order "wxyz".
        """
        if rotation is None:
            position, rotation, quat = _placed(position, quat)
        check_quat(quat)
        quat = cast(Order, quat)
        m = self.bodies
        p = host("position", position, True)
        if p.ndim != 3 or p.shape[1:] != (m, 3):
            raise ArrayError("position", f"has the shape {list(p.shape)}, want [W, {m}, 3]")
        worlds = len(p)
        self._open(self._states(worlds, position, rotation, velocity, spin, quat), quat)

    def _begin(self, state: Sequence[Array], quat: Order, warm: State | None = None) -> None:
        """Begin with a state, as :meth:`start` does, in the memory of worlds that there are; ``warm`` has the impulses
        that the next step starts from."""
        p, q, v, s = state
        if self._number and self.worlds == len(p) and self._quat == quat:
            self.reset(np.arange(len(p)), p, q, v, s)
        else:
            self.start(p, q, v, s, quat=quat)
        if warm is not None and len(warm.pose) == len(p):
            impulses = {f.name: getattr(warm, f.name) for f in fields(warm) if f.name.startswith("warm_")}
            self.set_state(replace(self.state(), **impulses))

    @property
    def parts(self) -> int:
        """The number of parts of the bodies, without the ground."""
        return sum(len(b.parts) for b in self._bodies[: self.bodies])

    def _layouts(self) -> tuple[Layout, Layout]:
        """Where friction and restitution are stated."""
        of, own = self._arrays, self._surfaces[1]

        def layout(name: str) -> Layout:
            parts, pairs = of.get(f"{name}_parts"), of.get(f"{name}_pair_values")
            listed = np.zeros((0, 2), np.int32) if parts is None else parts
            copied = self.ground and own[name] is None
            return Layout(self.bodies, self.ground, listed, 0 if pairs is None else len(pairs), copied)

        return layout("friction"), layout("restitution")

    def _states(
        self, worlds: int, position: Any, rotation: Any, velocity: Any, spin: Any, quat: str
    ) -> dict[str, Array | None]:
        """The arrays of states of worlds."""
        m, every = self.bodies, self.bodies + int(self.ground)
        pose = np.zeros((worlds, every, 7))
        pose[:, :, 3] = 1
        pose[:, :m, :3] = take("position", position, np.float64, (m, 3), worlds, True)
        q = take("rotation", rotation, np.float64, (m, 4), worlds, True)
        pose[:, :m, 3:] = q if quat == "wxyz" else reordered(q, (3, 0, 1, 2))
        state: dict[str, Array | None] = {"pose": pose}
        for name, value in (("velocity", velocity), ("spin", spin)):
            column = np.zeros((worlds, every, 3))
            if value is not None:
                column[:, :m] = take(name, value, np.float64, (m, 3), worlds, True)
            state[name] = column
        return state

    def _open(self, state: dict[str, Array | None], quat: str) -> None:
        worlds = len(cast(Any, state["pose"]))
        self.close()
        n, number, error = nat.native(), ctypes.c_uint64(), nat.Error()
        given = named(self._arrays | state | numbers(worlds=worlds))
        n.raise_for(n.simulation_open(self._table.number, given, len(given), number, error), error)
        self._number, self.worlds, self._quat = number.value, worlds, quat
        self._first = state

    def _hold(self) -> Held:
        """The arrays of steps, which are made once."""
        if not self._number:
            raise OptionError("position: None, want one: the simulation takes a state by start, run or set_state")
        if self._held is None:
            every = self.bodies + int(self.ground)
            self._held = Held(self.worlds, self.bodies, every, self._quat == "xyzw")
        return self._held

    @property
    def views(self) -> Views:
        """The state, in arrays that the next step overwrites."""
        return self._hold().look(self._number)

    def step(self, force: ArrayLike | None = None) -> Views:
        """Make one step, under ``force`` [W,M,6] (see :meth:`run`), and return the state in arrays that the next step
        overwrites. Steps have the bits of those of a run. They can be interrupted (Ctrl-C): no world is then advanced.
        After ten steps in a row in which no world was advanced it raises :class:`clearance.StillError`; a
        reset or another state begins anew.
        """
        held = self._held
        if held is None:
            held = self._hold()
        return held.step(self._number, force)

    def contacts(self) -> Contacts:
        """The contacts of the last step, of the worlds that it has advanced; none after a reset or another state."""
        self._hold()
        return fetch(self._number, False)[0]

    def reset(
        self,
        mask: Any,
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        *,
        quat: Order | None = None,
    ) -> Views:
        """Put some worlds, a mask [W] or indices [K], into a first state, and leave the others as they are. The arrays
        are [K,M,…] for the K worlds in the order given, or [M,…] for all of them; what is not given is that of the
        start. Quaternions have the order of the start, or ``quat``."""
        held = self._hold()
        which = np.asarray(mask)
        if which.dtype == np.bool_:
            if which.shape != (self.worlds,):
                raise ArrayError("mask", f"has the shape {list(which.shape)}, want [{self.worlds}]")
            which = np.flatnonzero(which)
        which = take("mask", which, np.int32, (), None, True)
        if which.size and not (which.min() >= 0 and which.max() < self.worlds):
            raise OptionError(f"mask: world {which.min() if which.min() < 0 else which.max()} of {self.worlds}")
        k, m = len(which), self.bodies
        if len(found := np.unique(which)) < k:
            twice = found[np.argmax(np.bincount(which)[found])]
            raise OptionError(f"mask: world {twice} is there more than once")
        order = self._quat if quat is None else quat
        check_quat(order)

        def rows(name: str, value: Any, width: int, first: Array) -> Array:
            if value is None:
                return first[which, :m]
            array = host(name, value, True)
            return np.broadcast_to(array, (k, m, width)) if array.shape == (m, width) else array

        pose = cast(Any, self._first["pose"])
        if rotation is None:
            rotation, order = pose[which, :m, 3:], "wxyz"
        state = self._states(
            k,
            rows("position", position, 3, pose[..., :3]),
            rows("rotation", rotation, 4, pose[..., 3:]),
            rows("velocity", velocity, 3, cast(Any, self._first["velocity"])),
            rows("spin", spin, 3, cast(Any, self._first["spin"])),
            order,
        )
        n, error = nat.native(), nat.Error()
        arrays: dict[str, Array | None] = {"which": which, **state}
        given = named(arrays)
        n.raise_for(n.simulation_reset(self._number, given, len(given), error), error)
        return held.look(self._number)

    def state(self) -> State:
        """A copy of all that the next steps depend on, see :meth:`set_state`."""
        self._hold()
        n, error, found = nat.native(), nat.Error(), ctypes.c_int64()
        n.raise_for(n.simulation_state(self._number, None, 0, found, error), error)
        out = empty_state(self.worlds, self.bodies + int(self.ground), found.value)
        given = named(state_arrays(out))
        n.raise_for(n.simulation_state(self._number, given, len(given), found, error), error)
        return out

    def set_state(self, state: State, *, quat: Order | None = None) -> Views:
        """Set the state of a simulation of the same bodies, worlds and options: the steps that follow have the same
        bits as there. A simulation that has no state yet, or of other worlds, starts with it; ``quat`` is then the
        order of quaternions of its results (default: "wxyz")."""
        if not isinstance(state, State):
            raise OptionError(f"state: {state!r:.60}, want that of Simulation.state")
        pose = np.asarray(state.pose)
        if not self._number or len(pose) != self.worlds or quat not in (None, self._quat):
            order = "wxyz" if quat is None else quat
            check_quat(order)
            shape = (len(pose), self.bodies + int(self.ground))
            if pose.shape != (*shape, 7):
                raise ArrayError("state.pose", f"has the shape {list(pose.shape)}, want [W, {shape[1]}, 7]")
            rest = np.zeros((*shape, 3))
            first: dict[str, Array | None] = {"pose": np.array(pose, np.float64), "velocity": rest, "spin": rest}
            self._open(first, order)
        n, error = nat.native(), nat.Error()
        arrays = state_arrays(state) | numbers(warm_contacts=int(np.shape(state.warm_pair)[1]))
        given = named(arrays)
        n.raise_for(n.simulation_set_state(self._number, given, len(given), error), error)
        return self._hold().look(self._number)

    def run(
        self,
        position: PoseLike | None = None,
        rotation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        *,
        steps: int,
        quat: Order | None = None,
        force: ArrayLike | None = None,
        every: int = 1,
        contacts: bool = False,
        tape: bool = False,
    ) -> Trajectory:
        """Make steps from a state (see :meth:`start`), or without one go on from the last step, and record each
        ``every``-th of them. ``force`` [W,M,6], or [steps,W,M,6] for each step, is a force at the center of mass in N
        and a torque in N·m, world axes. ``contacts`` records contacts and their forces, see
        :meth:`Trajectory.contacts`. ``tape=True`` keeps what derivatives of the run need, see :meth:`Trajectory.vjp`;
        contacts have the ``compliance`` of tapes then.

        A run in which no world is advanced in ten steps in a row, or in all of its steps, raises
        :class:`clearance.StillError` with the steps that it has made as ``trajectory``. An interrupted run (Ctrl-C)
        leaves the simulation at the last step that it made.
        """
        if position is not None:
            if quat is None and rotation is not None:
                raise OptionError('quat: None, want "wxyz" or "xyzw" beside a rotation')
            self.start(position, rotation, velocity, spin, quat=quat)
        elif rotation is not None or velocity is not None or spin is not None:
            raise OptionError("position: None, want one beside rotation, velocity and spin")
        if not self._number:
            raise OptionError("position: None, want one for the first run")
        m, w, total = self.bodies, self.worlds, self.bodies + int(self.ground)
        keep, begin = flag("tape", tape), np.zeros((0, 0, 7))
        if keep:
            begin = np.array(self._first["pose"] if position is not None else self.state().pose)
        count, each_step = whole("steps", steps, 1), whole("every", every, 1)
        r = count // each_step
        given: dict[str, Array | None] = dict(numbers(step_count=count, every=each_step))
        given |= numbers(list_contacts=int(flag("contacts", contacts)))
        if force is not None:
            array = host("force", force, True)
            each = (count,) if array.ndim == 4 else ()
            f = np.zeros((*each, w, total, 6))
            f[..., :m, :] = take("force", array, np.float64, (*(each and (w,)), m, 6), each[0] if each else w, True)
            given["forces" if each else "force"] = f
        out: dict[str, Array] = {
            "pose": np.zeros((r, w, total, 7)),
            "velocity": np.zeros((r, w, total, 3)),
            "spin": np.zeros((r, w, total, 3)),
            "energy": np.zeros((r, w)),
            "residual": np.zeros((r, w)),
            "scale": np.zeros((r, w)),
            "contacts": np.zeros((r, w), np.int32),
            "solves": np.zeros((r, w), np.int32),
            "parts": np.zeros((r, w), np.int32),
            "status": np.zeros((r, w), np.uint8),
        }
        if contacts:
            out["contact_force"] = np.zeros((r, w, total, 6))
        n, made, number = nat.native(), ctypes.c_int64(), self._number
        kept = ctypes.c_uint64()
        records = named(given | out)

        last: list[nat.Report] = []

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            last.append(report)
            if keep:
                code = n.tape_run(number, records, len(records), made, kept, ms, job, report, error)
                return cast(int, code)
            return cast(int, n.simulation_run(number, records, len(records), made, ms, job, report, error))

        still: StillError | None = None
        try:
            report = _jobs.run(submit, (given, out, records, made, kept))
        except StillError as e:
            still, report, r = e, last[0], made.value // each_step
        pose = out["pose"][:r, :, :m]
        rotation = pose[..., 3:]
        step = np.arange(1, r + 1) * each_step
        taped = None
        if keep and still is None:
            forced = next((name for name in ("forces", "force") if name in given), "")
            after = np.ascontiguousarray(rotation)
            parts = self.parts
            every_part = parts, parts + int(self.ground)
            taped = Tape(kept.value, count, forced, m, begin, after, self._quat == "xyzw", self._layouts(), every_part)
        trajectory = Trajectory(
            step=step,
            position=np.ascontiguousarray(pose[..., :3]),
            rotation=np.ascontiguousarray(rotation) if self._quat == "wxyz" else reordered(rotation, (1, 2, 3, 0)),
            contact_count=out["contacts"][:r],
            record=report,
            listed=Recorded(step, *fetch(number, True)) if contacts else None,
            force=np.ascontiguousarray(out["contact_force"][:r, :, :m]) if contacts else None,
            tape=taped,
            **{name: np.ascontiguousarray(out[name][:r, :, :m]) for name in ("velocity", "spin")},
            **{name: out[name][:r] for name in ("status", "solves", "parts", "energy", "residual", "scale")},
        )
        if self._held is not None:
            self._held.look(number)
        if still is not None:
            still.trajectory = trajectory
            raise still
        return trajectory

    def smoothed(
        self,
        *,
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        force: ArrayLike | None = None,
        noise_position: float = 0.0,
        noise_rotation: float = 0.0,
        noise_velocity: float = 0.0,
        noise_spin: float = 0.0,
        noise_force: float = 0.0,
        noise_torque: float = 0.0,
        samples: int = 64,
        seed: int = 0,
        first_world: int = 0,
    ) -> StepGradient:
        """The gradient of a function of the state after the next step, under ``force`` [W,M,6], in the mean over
        Gaussian noise of the present state and of the forces: of its gradients with respect to ``position``,
        ``velocity``, ``spin`` [W,M,3] and ``rotation`` [W,M,4] after the step without noise; None is zero.

        It is of use where contacts change their modes, and the step has no derivative, or one that tells nothing of
        what lies beyond. The noise has the standard deviations ``noise_position`` in m, ``noise_rotation`` in rad,
        ``noise_velocity`` in m/s, ``noise_spin`` in rad/s, ``noise_force`` in N and ``noise_torque`` in N·m, of each
        axis of each body; what has none has a gradient of zero. Where the step has a derivative the mean differs from
        it by how far the step is from linear within the noise; the error of the estimate falls as 1/√samples, and
        rises with the number of bodies. A world has the same noise whatever worlds are beside it: it is drawn by
        ``seed`` and its number, from ``first_world``. The simulation is left as it is.
        """
        if not self._number:
            raise OptionError("smoothed: the simulation has no state; start it")
        given = {"position": position, "rotation": rotation, "velocity": velocity, "spin": spin}
        noise = {
            "noise_position": noise_position,
            "noise_rotation": noise_rotation,
            "noise_velocity": noise_velocity,
            "noise_spin": noise_spin,
            "noise_force": noise_force,
            "noise_torque": noise_torque,
        }
        return smoothed(self, force, given, noise, samples, seed, whole("first_world", first_world))

    def show(
        self,
        trajectory: Trajectory,
        world: int = 0,
        *,
        most: int = 1000,
        path: str | os.PathLike[str] | None = None,
    ) -> View:
        """A page that plays the recorded steps of a world, ``most`` of them at even distances: at most 100,000, and
        1,000,000 poses of bodies. ``path`` is a file to write."""
        if not isinstance(trajectory, Trajectory):
            raise OptionError(f"trajectory: {trajectory!r:.60}, want that of Simulation.run")
        if not self._quat:
            raise OptionError("trajectory: not of this simulation, which takes a state by start, run or set_state")
        r, w = trajectory.status.shape
        whole("world", world, 0, w - 1)
        if trajectory.position.shape[2] != self.bodies:
            raise OptionError(f"trajectory: it has {trajectory.position.shape[2]} bodies, want {self.bodies}")
        chosen = np.unique(np.linspace(0, r - 1, min(r, whole("most", most, 1, ROWS))).astype(int))
        rotation = trajectory.rotation[:, world]
        if self._quat == "xyzw":
            rotation = reordered(rotation, (3, 0, 1, 2))
        poses = np.concatenate([trajectory.position[:, world], rotation], axis=-1)
        steps = trajectory.step[chosen]
        fixed = np.zeros((len(chosen), len(self._bodies) - self.bodies, 7))
        fixed[..., 3] = 1
        every = np.concatenate([poses[chosen], fixed], axis=1)
        view = play(
            self.library,
            bodies_described(self._bodies),
            every,
            steps * self.dt,
            steps,
            STEP_STATUSES,
            trajectory.status[chosen, world],
            f"simulation of {self.bodies} bodies, world {world}: {len(chosen):,} steps",
        )
        if path is not None:
            view.save(path)
        return view

    def close(self) -> None:
        """Free the worlds. A run after it takes a state."""
        number, self._number = self._number, 0
        self._held = None
        if number and nat.usable():
            nat.native().simulation_close(number, None)

    def __del__(self) -> None:
        if getattr(self, "_number", 0):
            self.close()

    def __repr__(self) -> str:
        return f"Simulation of {self.worlds:,} worlds of {self.bodies} bodies"


__all__ = [
    "IMPACTS",
    "MODELS",
    "RULES",
    "SMOOTHNESSES",
    "STATUSES",
    "STEP_STATUSES",
    "TAPE_COMPLIANCE",
    "Contacts",
    "DelassusGradient",
    "DelassusSolution",
    "FreeBodies",
    "ProblemGradient",
    "RunGradient",
    "Simulation",
    "Solution",
    "State",
    "StepGradient",
    "StillError",
    "Surface",
    "SystemGradient",
    "SystemSolution",
    "Trajectory",
    "Views",
    "from_mujoco",
    "from_urdf",
    "mass_properties",
    "solve",
    "solve_delassus",
    "solve_system",
]
