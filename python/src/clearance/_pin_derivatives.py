"""The derivative of a time step of a Pinocchio model, backwards through all of its parts.

With a cotangent q̄⁺ (in the tangent space) and v̄⁺ of the new state:

 1. q⁺ = q ⊕ Δt·v⁺: ``pinocchio.dIntegrate`` takes q̄⁺ to q̄ and v̄⁺.
 2. The contact problem takes v̄⁺ to v̄_f, M̄, J̄, c̄*, R̄ and μ̄, by the modes of its contacts.
 3. R_N = ε·n·J M⁻¹ Jᵀ·n adds to J̄ and M̄.
 4. v_f = v + Δt·a(q, v, τ): ``pinocchio.computeABADerivatives``.
 5. M̄ is a sum of products x·yᵀ, and the gradient of xᵀM(q)y at constant x and y is that of the inverse dynamics
    without gravity and velocity, M(q)y, times x: ``pinocchio.computeRNEADerivatives``.
 6. J = Q·D: the rows of Q are the frame of a contact at p, column k of D is ±(v_k + ω_k × p), with the axis
    S_k = (v_k, ω_k) of the motion k in world axes, where it moves one of both shapes. A motion j below which k stands
    moves that axis by S_j × S_k, the product of motions; this is the derivative of the Jacobian of a joint.
 7. Points, normals and gaps move with the shapes; the derivative of a manifold takes their cotangents to twists of
    the shapes, and the Jacobians of their joints take these to q̄.

All but 1, 4 and 5 is done for all worlds at once.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ._arrays import Array
from ._options import Floats, Ints

if TYPE_CHECKING:
    from .pinocchio import Step

_BOUNDARY, _NONE = 1, 3  # of SMOOTHNESSES

# The smoothness of pairs, as Result.smoothness_names, whose points have a derivative from one side, or none.
_UNSURE: Final = (0, 3, 4)


@dataclass(frozen=True, eq=False, repr=False)
class Gradient:
    """Gradients of W worlds with respect to the state before a step.

    ``q`` [W,nv] is in the tangent space at the configuration, as of ``pinocchio.integrate`` (of a free flyer in its own
    frame), ``v`` and ``tau`` are [W,nv], ``friction`` [W], or [W,P] if the step has a number for each pair.
    ``smoothness`` [W] says what they are worth: 0 smooth; 1 boundary, a contact is about to change its mode or its
    points their features, and they are those of one side; 2 one_of_many, contacts that slide share their load in more
    than one way; 3 none, and they are zero. ``margin`` [W] is how far the world is from the nearest change of a mode
    (see :class:`clearance.contact.ProblemGradient`). ``seconds`` says where the time of the call went.
    """

    q: Floats
    v: Floats
    tau: Floats
    friction: Floats
    smoothness: Ints
    margin: Floats
    seconds: dict[str, float]


@dataclass(eq=False)
class Parts:
    """What a step keeps of its valid worlds, for the derivative."""

    step: Step
    q: Array
    v: Array
    tau: Array
    mass: Array
    free: Array
    joints: Array  # [W,6,nv], the axes of all motions in world axes: linear at the origin, angular
    position: Array  # of the shapes
    rotation: Array
    found: Any = None  # the contact points, K of them
    rows: tuple[Array, ...] = ()
    row_world: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    row_pair: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    count: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    slot: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    frame: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))
    solution: Any = None

    def assemble(self, slots: int) -> None:
        """Form the contact problem of the points that were found."""
        step, found, g = self.step, self.found, self.step.geometry
        worlds, nv = self.v.shape
        self.world = self.row_world[found.pair]
        self.pair = self.row_pair[found.pair]
        # 1 where a motion moves the second shape alone, -1 the first alone.
        moves = step.columns[g.joint[g.pairs]].astype(np.float64)
        self.sides = (moves[:, 1] - moves[:, 0])[self.pair]
        axes = self.joints[self.world]
        velocity = axes[:, :3] + np.cross(axes[:, 3:], found.position[:, :, None], axis=1)
        self.lever = velocity * self.sides[:, None]
        rows = self.frame @ self.lever
        self.normal_row = rows[:, 2]
        at = self.world, self.slot
        shape = (worlds, slots)
        self.jacobian, self.target = np.zeros((*shape, 3, nv)), np.zeros(shape)
        self.friction, self.compliance = np.zeros(shape), np.zeros((*shape, 2))
        self.jacobian[at] = rows
        self.target[at] = step.targets(found.gap, self.pair)
        self.friction[at] = step.friction if step.friction.ndim == 0 else step.friction[self.pair]
        # x = M⁻¹Jᵀn of each contact.
        columns = np.linalg.solve(self.mass, np.swapaxes(self.jacobian[:, :, 2], 1, 2))
        self.response = np.swapaxes(columns, 1, 2)[at]
        self.compliance[*at, 1] = step.compliance * np.einsum("kn,kn->k", self.normal_row, self.response)

    def place(self, worlds: int, valid: Array, advanced: Array) -> None:
        """Say which of all worlds these are, and which have moved."""
        self.worlds, self.valid, self.advanced = worlds, valid, advanced


def gradient(parts: Parts, q: Array, v: Array) -> Gradient:
    """The gradient by the state before, by cotangents of the state after [W,nv] of all worlds."""
    pin: Any = importlib.import_module("pinocchio")
    started = time.perf_counter()
    step, valid = parts.step, parts.valid
    model, dt = step.model, step.dt
    worlds, nv = len(valid), parts.v.shape[1]

    def square(matrices: Any) -> list[Array]:
        return [np.reshape(m, (nv, nv)) for m in matrices]  # of one velocity they are vectors

    moved = parts.advanced[:, None]
    q_bar, v_next = np.zeros((worlds, nv)), np.where(moved, v[valid], 0)
    q_next = np.where(moved, q[valid], 0)
    for w in range(worlds):
        by_q, by_v = square(pin.dIntegrate(model, parts.q[w], dt * parts.solution.velocity[w]))
        q_bar[w] = by_q.T @ q_next[w]
        v_next[w] += dt * (by_v.T @ q_next[w])
    seconds = {"pinocchio": time.perf_counter() - started}
    started = time.perf_counter()
    bars = parts.solution.vjp(velocity=v_next)
    seconds["problem"] = time.perf_counter() - started
    started = time.perf_counter()
    at = parts.world, parts.slot
    rows_bar = bars.jacobian[at].copy()
    stiff_bar = step.compliance * bars.compliance[*at, 1]
    rows_bar[:, 2] += 2 * stiff_bar[:, None] * parts.response
    q_bar += _of_jacobians(parts, rows_bar)
    position_bar, normal_bar = _of_points(parts, rows_bar)
    gap_bar = bars.target[at] * step.target_slopes(parts.found.gap, parts.pair)
    points = parts.found.vjp(position=position_bar, normal=normal_bar, gap=gap_bar)
    q_bar += _of_twists(parts, points.twists)
    seconds["collisions"] = time.perf_counter() - started
    started = time.perf_counter()
    tau_bar, v_bar = np.zeros((worlds, nv)), bars.velocity.copy()
    change = parts.solution.velocity - parts.free
    still, data = np.zeros(nv), step._weightless_data
    ends = np.concatenate([[0], np.cumsum(parts.count)])
    for w in range(worlds):
        by_q, by_v, by_tau = square(pin.computeABADerivatives(model, step._data, parts.q[w], parts.v[w], parts.tau[w]))
        f_bar = dt * bars.velocity[w]
        q_bar[w] += by_q.T @ f_bar
        v_bar[w] += by_v.T @ f_bar
        tau_bar[w] = by_tau.T @ f_bar
        # M̄ = -v̂(v⁺ - v_f)ᵀ - Σ εR̄ xxᵀ, with v̂ = M⁻¹v̄_f.
        terms = [(by_tau @ bars.velocity[w], change[w], 1.0)]
        for k in range(ends[w], ends[w + 1]):
            if stiff_bar[k]:
                terms.append((parts.response[k], parts.response[k], stiff_bar[k]))
        for left, right, weight in terms:
            if right.any():
                by_q = square(pin.computeRNEADerivatives(step._weightless, data, parts.q[w], still, right))[0]
                q_bar[w] -= weight * (by_q.T @ left)
    seconds["pinocchio"] += time.perf_counter() - started
    return _placed(parts, (q_bar, v_bar, tau_bar), bars, points.smoothness, seconds)


def _placed(
    parts: Parts, gradients: tuple[Array, Array, Array], bars: Any, pairs: Array, seconds: dict[str, float]
) -> Gradient:
    """Gradients of all worlds, by those of the valid ones; zero where a world was not advanced."""
    valid, n = parts.valid, parts.v.shape[1]
    worth = bars.smoothness.copy()
    # Contacts without an impulse hold nothing; a pair whose points have no derivative matters where it pushes.
    pushes = parts.solution.impulse[parts.world, parts.slot].any(axis=1)
    unsure = np.isin(pairs[parts.found.pair], _UNSURE) & pushes
    worth[parts.world[unsure]] = np.maximum(worth[parts.world[unsure]], _BOUNDARY)
    moved = parts.advanced & (worth != _NONE)
    out = [np.zeros((parts.worlds, n)) for _ in range(3)]
    for to, value in zip(out, gradients, strict=True):
        to[valid] = np.where(moved[:, None], value, 0)
    mu = bars.friction[parts.world, parts.slot]
    if parts.step.friction.ndim == 0:
        friction = np.zeros(parts.worlds)
        friction[valid] = np.bincount(parts.world, mu, len(valid))
    else:
        friction = np.zeros((parts.worlds, len(parts.step.friction)))
        np.add.at(friction, (valid[parts.world], parts.pair), mu)
    smoothness = np.full(parts.worlds, _NONE, np.uint8)
    smoothness[valid[moved]] = worth[moved]
    margin = np.zeros(parts.worlds)
    margin[valid[moved]] = bars.margin[moved]
    return Gradient(out[0], out[1], out[2], friction, smoothness, margin, seconds)


def _of_jacobians(parts: Parts, rows_bar: Array) -> Array:
    """The gradient by q of the Jacobians at constant points and frames: step 6."""
    lever_bar = np.swapaxes(parts.frame, 1, 2) @ rows_bar * parts.sides[:, None]
    moment = np.cross(parts.found.position[:, :, None], lever_bar, axis=1)
    axes_bar = np.zeros_like(parts.joints)
    np.add.at(axes_bar, parts.world, np.concatenate([lever_bar, moment], axis=1))
    # <S̄_k, S_j × S_k> = S_j · F_k, with F_k = (v_bar × ... ) by the triple product.
    v, w = parts.joints[:, :3], parts.joints[:, 3:]
    v_bar, w_bar = axes_bar[:, :3], axes_bar[:, 3:]
    linear = np.cross(w, v_bar, axis=1)
    angular = np.cross(v, v_bar, axis=1) + np.cross(w, w_bar, axis=1)
    force = np.concatenate([linear, angular], axis=1) @ parts.step.above
    gradient: Array = (parts.joints * force).sum(axis=1)
    return gradient


def _of_points(parts: Parts, rows_bar: Array) -> tuple[Array, Array]:
    """The cotangents of the positions and the normals of the contacts: of J = Q·D at constant q."""
    lever_bar = np.swapaxes(parts.frame, 1, 2) @ rows_bar * parts.sides[:, None]
    spin = parts.joints[parts.world, 3:]
    position_bar = np.cross(lever_bar, spin, axis=1).sum(axis=-1)
    frame_bar = rows_bar @ np.swapaxes(parts.lever, 1, 2)
    # The frame rotates with its normal, by the least rotation n × dn: the answer does not depend on that about n.
    rotation_bar = np.cross(parts.frame, frame_bar).sum(axis=1)
    return position_bar, np.cross(rotation_bar, parts.frame[:, 2])


def _of_twists(parts: Parts, twists: Array) -> Array:
    """The gradient by q of twists [N,12] of the shapes of the rows."""
    g = parts.step.geometry
    force = np.zeros((len(parts.q), len(g.joint), 6))
    pairs = g.pairs[parts.row_pair]
    for side in (0, 1):
        np.add.at(force, (parts.row_world, pairs[:, side]), twists[:, 6 * side : 6 * side + 6])
    # The power of a force at a shape's position, along each axis.
    torque = force[..., 3:] + np.cross(parts.position, force[..., :3])
    columns = parts.step.columns[g.joint].astype(np.float64)
    total = np.concatenate([force[..., :3], torque], axis=-1)
    gradient: Array = (np.einsum("wgx,gn->wxn", total, columns) * parts.joints).sum(axis=1)
    return gradient
