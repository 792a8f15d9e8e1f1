"""Time steps of robots, and their derivatives, with the rigid body dynamics of Pinocchio.

from clearance.pinocchio import Step, load

model, geometry = load("robot.urdf", free_flyer=True)  # or by pinocchio.buildModelFromUrdf and buildGeomFromUrdf
step = Step(model, geometry, dt=1e-3)
r = step(q, v, tau)                  # q [W,nq], v, tau [W,nv]
g = r.vjp(q=..., v=...)              # g.q, g.v, g.tau [W,nv]
run = step.run(q, v, tau)            # tau [T,W,nv]: T steps, which have a vjp as well

It is the simulator of Le Lidec et al. ("Contact models in robotics", and the deliverable D2.1 of AGIMUS, section 5):
Pinocchio computes placements, the mass matrix M, the bias and their analytical derivatives; this package the contact
points, the contact problem and their derivatives. `pip install pin` installs Pinocchio.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ._arrays import Array, host, take
from ._engine import Engine
from ._errors import ArrayError, OptionError, RowError
from ._options import ArrayLike, Floats, Ints, flag, one_of, real, whole
from ._pin_derivatives import Gradient, Parts, gradient
from ._pin_geometry import Geometry, geometry_of, tangents
from ._pin_runs import Run, RunGradient
from ._problems import MODELS, Model
from ._systems import solve_system

try:
    pin: Any = importlib.import_module("pinocchio")  # not this module, which has the same name in its package
except ImportError as e:
    raise ImportError(
        "clearance.pinocchio needs Pinocchio, which is not installed: pip install pin (not the package 'pinocchio')"
    ) from e

from ._pin_models import load

__all__ = ["STATUSES", "Gradient", "Result", "Run", "RunGradient", "Step", "load"]

# How the step of a world ended: only worlds that are advanced have moved.
STATUSES: Final = ("advanced", "pair_undecided", "solve_undecided", "invalid")
_ADVANCED, _PAIR, _SOLVE, _INVALID = range(4)

# Joints whose motion subspace is constant in the frame of the joint, on which the derivative of a Jacobian rests.
_REFUSED: Final = ("Composite", "Ellipsoid", "Mimic", "SphericalZYX", "Universal")

# The penetration that is left alone, relative to the size of a pair, as in contact.Simulation.
_SLOP: Final = 1e-4

# Factorizations of a contact problem: few take more than 20, but links that jam may take hundreds.
_MOST_STEPS: Final = 2000

# The closing speed that the default of max_gap is made for.
_CLOSING: Final = 4.0


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The states of W worlds after a step, with C slots for the contacts of each.

    ``q`` [W,nq] and ``v`` [W,nv] are configurations and velocities as Pinocchio has them. ``status`` [W] is 0
    (advanced), 1 (pair_undecided), 2 (solve_undecided) or 3 (invalid); worlds that are not advanced keep their state.
    ``count`` [W] is the number of contacts. Of a contact, ``pair`` [W,C] is the row of ``step.pairs`` (-1: no
    contact), ``position`` and ``normal`` [W,C,3] are in world axes before the step, the normal from the first shape to
    the second, ``gap`` [W,C] is in metres, negative in penetration. ``impulse`` [W,C,3] in N·s acts on the second
    shape, in world axes; divided by the time step it is the force. ``seconds`` says where the time of the call went.
    """

    q: Floats
    v: Floats
    status: Ints
    count: Ints
    pair: Ints
    position: Floats
    normal: Floats
    gap: Floats
    impulse: Floats
    residual: Floats
    seconds: dict[str, float]
    fault: dict[int, str] = field(default_factory=dict)
    _parts: Parts | None = None

    @property
    def ok(self) -> Array:
        """Worlds that were advanced."""
        advanced: Array = self.status == _ADVANCED
        return advanced

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if a world was not advanced; it names the first one and, if it is invalid, why."""
        failed = np.flatnonzero(self.status != _ADVANCED)
        if len(failed):
            at = int(failed[0])
            reason = self.fault.get(at, STATUSES[int(self.status[at])])
            raise RowError(f"{len(failed)} worlds not advanced; first: world {at}: {reason}", "status", at, reason)

    def vjp(self, *, q: ArrayLike | None = None, v: ArrayLike | None = None) -> Gradient:
        """The gradient of a function of the new states, by its gradients with respect to these.

        ``q`` [W,nv] is in the tangent space at the new configuration, as of ``pinocchio.integrate``: for a free flyer
        the first six numbers are a translation and a rotation in its own frame. ``v`` is [W,nv].
        """
        parts = self._parts
        assert parts is not None
        worlds, nv = self.v.shape
        given = [
            np.zeros((worlds, nv)) if x is None else take(name, x, np.float64, (nv,), worlds, True)
            for name, x in (("q", q), ("v", v))
        ]
        return gradient(parts, given[0], given[1])

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.status == i):,} {name}" for i, name in enumerate(STATUSES))
        return f"Result of a step of {len(self.status):,} worlds: {counts}"


class Step:
    """A time step of W worlds of a Pinocchio model, which has a derivative.

    ``geometry`` is a ``pinocchio.GeometryModel``. Its primitives are taken as they are, its meshes as the convex hulls
    of their vertices. Pairs in contact are its ``collisionPairs`` of different joints: after
    ``geometry.addAllCollisionPairs()`` and ``pinocchio.removeCollisionPairs(model, geometry, srdf)`` those that the
    SRDF leaves. Obstacles are geometry objects of the joint 0. ``ground`` adds the half-space z < 0 and a pair of it
    with every shape that moves. ``pairs`` of the step [P,2] are indices into ``names``; the ground is the last name.

    ``friction`` is a number, or [P]. ``contact_model`` is Coulomb's law with Signorini's condition ("ncp") or its
    convex relaxation ("ccp"). ``compliance`` of the normals is relative to the inverse of the mass that a contact
    feels, R_N = compliance·G_NN: with it the answer and its derivative are unique where contacts are redundant, as
    those of four legs, and a contact at rest sinks by compliance·g·dt² a step. ``correction`` is the share of a
    penetration that a step removes. ``max_gap`` is the largest gap of a contact in metres (default: what closes within
    the step at 4 m/s). ``tolerance`` is that of the contact problem. ``workers`` bounds the threads of collisions and
    problems; Pinocchio computes world after world, as its Python functions hold the lock of the interpreter.

    A step is v_f = v + dt·a, with the acceleration a without contacts; v⁺ = v_f + M⁻¹Jᵀλ by the contact problem; and
    q⁺ = q ⊕ dt·v⁺, by ``pinocchio.integrate``. Limits, damping and friction of joints are not simulated. SI units.
    """

    def __init__(
        self,
        model: Any,
        geometry: Any = None,
        dt: float = 1e-3,
        *,
        ground: bool = True,
        friction: ArrayLike = 0.8,
        contact_model: Model = "ncp",
        compliance: float = 1e-3,
        correction: float = 0.1,
        max_gap: float | None = None,
        tolerance: float = 1e-8,
        workers: int | None = None,
    ) -> None:
        if not isinstance(model, pin.Model):
            raise OptionError(f"model: a {type(model).__name__}, want a pinocchio.Model")
        if geometry is not None and not isinstance(geometry, pin.GeometryModel):
            raise OptionError(f"geometry: a {type(geometry).__name__}, want a pinocchio.GeometryModel or None")
        for name, joint in zip(model.names, model.joints, strict=True):
            if any(kind in joint.shortname() for kind in _REFUSED):
                raise OptionError(f"model: joint {name!r} is a {joint.shortname()}, whose derivative is not known here")
        self.model = model
        self.dt = real("dt", dt, 0, above=True)
        self.contact_model: Model = one_of("contact_model", contact_model, MODELS)
        self.compliance = real("compliance", compliance, 0)
        self.correction = real("correction", correction, 0)
        self.tolerance = real("tolerance", tolerance, 0, above=True)
        self.max_gap = _CLOSING * self.dt if max_gap is None else real("max_gap", max_gap, 0)
        self.workers = None if workers is None else whole("workers", workers, 1)
        self.geometry = Geometry() if geometry is None else geometry_of(model, geometry)
        g = self.geometry
        if flag("ground", ground):
            moving = [i for i, joint in enumerate(g.joints) if joint and g.library[g.shapes[i]].kind != "halfspace"]
            at = g.add("ground", g.library.halfspace(name="ground"), 0, np.zeros(3), np.eye(3))
            under = np.array([(at, i) for i in moving], np.int32).reshape(-1, 2)
            g.pairs = np.concatenate([g.pairs, under])
        g.close()
        mu = host("friction", friction, True)
        if mu.shape not in ((), (len(g.pairs),)):
            raise ArrayError("friction", f"has the shape {list(mu.shape)}, want a number or [{len(g.pairs)}]")
        if mu.dtype.kind not in "fiu" or not (np.isfinite(mu) & (mu >= 0)).all():
            raise ArrayError("friction", "want finite numbers, none below 0")
        self.friction = mu.astype(np.float64)
        self.engine = Engine("cpu", "double", self.workers)
        self._data = model.createData()
        self._weightless = pin.Model(model)
        self._weightless.gravity.linear = np.zeros(3)
        self._weightless_data = self._weightless.createData()
        gravity = float(np.linalg.norm(model.gravity.linear))
        self._recovery = np.sqrt(gravity * g.size) if gravity > 0 else g.size / (40 * self.dt)
        self.columns = np.zeros((model.njoints, model.nv), bool)
        for joint in range(model.njoints):
            for above in model.supports[joint]:
                j = model.joints[above]
                if above:
                    self.columns[joint, j.idx_v : j.idx_v + j.nv] = True
        # above[i, k]: a motion of column k moves the axis of column i.
        self.above = np.zeros((model.nv, model.nv), bool)
        for joint in range(1, model.njoints):
            j = model.joints[joint]
            self.above[j.idx_v : j.idx_v + j.nv] = self.columns[joint]

    @property
    def names(self) -> list[str]:
        """The names of the shapes."""
        return list(self.geometry.names)

    @property
    def pairs(self) -> Array:
        """The pairs [P,2] of shapes that may touch."""
        return self.geometry.pairs.copy()

    def __call__(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None) -> Result:
        """Make a step of configurations [W,nq] at velocities [W,nv] under torques of the joints [W,nv] (default: 0),
        or of one world, [nq] and [nv], which is then W = 1. A world whose state is not finite, or whose quaternions
        are not normalized, is invalid, and the others are advanced."""
        model, started = self.model, time.perf_counter()
        given = host("q", q, True)
        single = given.ndim == 1
        arrays: list[Array] = []
        rows = 1 if single else None
        for name, value, width in (("q", q, model.nq), ("v", v, model.nv), ("tau", tau, model.nv)):
            if value is None and name == "tau":
                arrays.append(np.zeros((len(arrays[0]), width)))
                continue
            array = host(name, value, True)
            taken = take(name, array[None] if array.ndim == 1 and single else array, np.float64, (width,), rows, True)
            arrays.append(taken)
            rows = len(taken)
        state = arrays[0], arrays[1], arrays[2]
        status, fault = self._check(*state)
        valid = np.flatnonzero(status == _ADVANCED)
        parts = self._terms(*(x[valid] for x in state))
        seconds = {"pinocchio": time.perf_counter() - started}
        started = time.perf_counter()
        undecided = self._contacts(parts)
        seconds["collisions"] = time.perf_counter() - started
        started = time.perf_counter()
        solution = solve_system(
            parts.mass,
            parts.jacobian,
            parts.free,
            parts.friction,
            parts.target,
            parts.compliance,
            count=parts.count,
            model=self.contact_model,
            tolerance=self.tolerance,
            max_steps=_MOST_STEPS,
            workers=self.workers,
        )
        parts.solution = solution
        seconds["problem"] = time.perf_counter() - started
        started = time.perf_counter()
        worlds = np.zeros(len(valid), np.uint8)
        worlds[solution.status != 0] = _SOLVE
        worlds[undecided] = _PAIR
        status[valid] = worlds
        new_q, new_v = state[0].copy(), state[1].copy()
        for i, w in enumerate(valid):
            if worlds[i] == _ADVANCED:
                new_v[w] = solution.velocity[i]
                new_q[w] = pin.integrate(model, state[0][w], self.dt * new_v[w])
        parts.place(len(status), valid, worlds == _ADVANCED)
        out = self._result(parts, len(status), valid, worlds == _ADVANCED)
        seconds["pinocchio"] += time.perf_counter() - started
        return Result(new_q, new_v, status, **out, seconds=seconds, fault=fault, _parts=parts)

    def run(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> Run:
        """Make T steps from configurations [W,nq] and velocities [W,nv] under torques [T,W,nv]. A world that is not
        advanced raises :class:`RowError`."""
        torques = host("tau", tau, True)
        if torques.ndim != 3 or not len(torques):
            raise ArrayError("tau", f"has the shape {list(torques.shape)}, want [T, W, {self.model.nv}]")
        steps: list[Result] = []
        for tau_t in torques:
            steps.append(self(q, v, tau_t))
            steps[-1].raise_if_failed()
            q, v = steps[-1].q, steps[-1].v
        return Run(np.stack([r.q for r in steps]), np.stack([r.v for r in steps]), steps)

    def _check(self, q: Array, v: Array, tau: Array) -> tuple[Array, dict[int, str]]:
        """The status of each world by its input alone, and what is wrong with it."""
        status = np.zeros(len(q), np.uint8)
        fault: dict[int, str] = {}
        for name, value in (("tau", tau), ("v", v), ("q", q)):
            for w in np.flatnonzero(~np.isfinite(value).all(axis=1)):
                at = int(np.flatnonzero(~np.isfinite(value[w]))[0])
                fault[int(w)] = f"{name}[{w},{at}] is {value[w, at]}"
                status[w] = _INVALID
        for w in np.flatnonzero(status == 0):
            if not pin.isNormalized(self.model, q[w], 1e-6):
                fault[int(w)] = f"q[{w}] has a quaternion, or a cosine and sine, that is not normalized"
                status[w] = _INVALID
        return status, fault

    def _terms(self, q: Array, v: Array, tau: Array) -> Parts:
        """What Pinocchio computes of each world: M, v_f, Jacobians of the joints in world axes, their placements."""
        model, data, g = self.model, self._data, self.geometry
        worlds, nv = v.shape
        mass, bias, joints = np.empty((worlds, nv, nv)), np.empty((worlds, nv)), np.empty((worlds, 6, nv))
        position = np.zeros((worlds, model.njoints, 3))
        rotation = np.tile(np.eye(3), (worlds, model.njoints, 1, 1))
        used = [int(j) for j in np.unique(g.joint[g.pairs]) if j]
        for w in range(worlds):
            pin.computeAllTerms(model, data, q[w], v[w])
            mass[w], bias[w], joints[w] = data.M, data.nle, np.reshape(data.J, (6, nv))  # of one column: [6]
            for j in used:
                at = data.oMi[j]
                position[w, j], rotation[w, j] = at.translation, at.rotation
        free = v + self.dt * np.linalg.solve(mass, (tau - bias)[..., None])[..., 0]
        position, rotation = g.placements(position, rotation)
        return Parts(self, q, v, tau, mass, free, joints, position, rotation)

    def _contacts(self, parts: Parts) -> Array:
        """Find the contacts of each world and form its problem; returns the worlds with a pair that is undecided."""
        g = self.geometry
        world, pair = g.near(parts.position, parts.rotation, self.max_gap)
        a, b = g.pairs[pair, 0], g.pairs[pair, 1]
        rows = (
            g.shape[a],
            g.shape[b],
            parts.position[world, a],
            parts.rotation[world, a],
            parts.position[world, b],
            parts.rotation[world, b],
        )
        found = self.engine.contacts(g.library, *rows, quat="matrix", max_gap=self.max_gap, grad=True)
        k = found.pair
        count = np.bincount(world[k], minlength=len(parts.q)).astype(np.int32)
        first = np.concatenate([[0], np.cumsum(count)[:-1]])
        slot = np.arange(len(k)) - first[world[k]]
        parts.found, parts.rows, parts.row_world, parts.row_pair = found, rows, world, pair
        parts.count, parts.slot = count, slot
        parts.frame = tangents(found.normal)
        parts.assemble(int(count.max(initial=0)))
        return np.unique(world[found.status.ravel() > 1])

    def targets(self, gap: Array, pair: Array) -> Array:
        """The normal velocity that is asked for: a gap may close within the step, a penetration shrinks by a share."""
        slop = _SLOP * self.geometry.size[pair]
        back = np.minimum(self.correction * np.maximum(0, -gap - slop) / self.dt, self._recovery[pair])
        return np.where(gap > 0, -gap / self.dt, back)

    def target_slopes(self, gap: Array, pair: Array) -> Array:
        """The derivatives of :meth:`targets` by the gaps."""
        slop = _SLOP * self.geometry.size[pair]
        asked = self.correction * np.maximum(0, -gap - slop) / self.dt
        share = np.where((asked > 0) & (asked < self._recovery[pair]), -self.correction / self.dt, 0.0)
        return np.where(gap > 0, -1 / self.dt, share)

    def _result(self, parts: Parts, worlds: int, valid: Array, advanced: Array) -> dict[str, Any]:
        """The columns of the contacts of all worlds."""
        found, c = parts.found, parts.friction.shape[1]
        w, s = parts.row_world[found.pair], parts.slot
        to = valid[w]
        out: dict[str, Any] = {
            "count": np.zeros(worlds, np.int32),
            "pair": np.full((worlds, c), -1, np.int32),
            "position": np.zeros((worlds, c, 3)),
            "normal": np.zeros((worlds, c, 3)),
            "gap": np.zeros((worlds, c)),
            "impulse": np.zeros((worlds, c, 3)),
            "residual": np.zeros(worlds),
        }
        out["count"][valid] = parts.count
        out["residual"][valid] = parts.solution.residual
        out["pair"][to, s] = parts.row_pair[found.pair]
        out["position"][to, s], out["normal"][to, s], out["gap"][to, s] = found.position, found.normal, found.gap
        impulse = np.einsum("kr,krx->kx", parts.solution.impulse[w, s], parts.frame)
        out["impulse"][to, s] = np.where(advanced[w][:, None], impulse, 0)
        return out

    def __repr__(self) -> str:
        about = f"{self.model.nv} velocities, {len(self.geometry.pairs)} pairs"
        return f"Step of {self.dt:g} s of {self.model.name!r}: {about}"


__all__ = ["STATUSES", "Gradient", "Result", "Step"]
