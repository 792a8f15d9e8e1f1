"""Who is right about a row: the reference solver, whose bounds hold for the true value; it shares no code with the
kernels but the support functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import clearance as cl
from clearance._kinematics import product, rotated
from clearance._show import traces


def bounds(library: cl.Library, pair: tuple[int, int], poses: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """The bounds of the signed distance of two shapes at poses [7]."""
    sides = [(np.array([i]), p[None]) for i, p in zip(pair, poses, strict=True)]
    trace = traces(library, "distance", "double", "auto", [0], sides)[0]
    return float(trace["lower"]), float(trace["upper"])


def about_distance(low: float, high: float, ours: float, theirs: float, who: str) -> str:
    """What the bounds say of two signed distances."""
    slack = 1e-9 * max(1.0, abs(ours))  # of positions in the world, which the bounds have relative to one another
    if not low - slack <= ours <= high + slack:
        return "HERE WRONG by the reference solver"
    what = "depth" if ours < 0 else "distance"
    if theirs > high:
        return f"{who}'s {what} lies above the proved upper bound"
    return f"{who}'s {what} lies below the proved lower bound" if theirs < low else f"open, a {what}"


def about_contact(low: float, high: float, hit: bool, who: str) -> str:
    """What the bounds say of a contact that one alone has; ``hit`` is ours."""
    side = "a contact here alone" if hit else f"a contact of {who} alone"
    return (
        f"open, {side}"
        if low <= 0 <= high
        else f"{who} is wrong, {side}"
        if (high < 0) == hit
        else f"HERE WRONG, {side}"
    )


def placed(scene: cl.Scene, poses: np.ndarray, body: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shapes [N] of parts, and their poses [N,7] in the world, of poses of bodies [N,M,7]."""
    first = np.cumsum([0, *(len(b.parts) for b in scene.bodies)])
    every: list[Any] = [p for b in scene.bodies for p in b.parts]
    shape = np.array([p.shape for p in every], np.int32)
    local = np.array([[*p.position, *p.rotation] for p in every], np.float64)
    k, at = first[body] + part, poses[np.arange(len(body)), body]
    q = product(at[:, 3:], local[k, 3:])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return shape[k], np.concatenate([at[:, :3] + rotated(at[:, 3:], local[k, :3]), q], axis=1)
