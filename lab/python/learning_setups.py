"""Set-ups whose derivatives through impacts are known, and their exact values.

Zhong, Han and Brikis (arXiv 2207.05060) ask differentiable simulators for derivatives of three motions with impacts:
a ball that bounces off the ground (Table 1), one that bounces off the ground and a wall (Table 2), and two balls of
which the first is pushed into the second (Table 3). Their parameters are those of github.com/DesmondZhong/
diff_sim_grads. The fourth set-up is issue 97 of keenon/nimblephysics: two equal elastic balls on a line.

All of them are motions of balls in a plane with constant accelerations between impacts without friction, so the exact
motion goes from impact to impact. Its derivatives with respect to the first positions and velocities, and to the force
of the first time step, are taken here by complex steps: x + ih is sent through the same formulas, and the imaginary
part of the result over h is the derivative to the last digits, since h = 1e-30 cancels nothing. The times of impact
are roots in complex arithmetic: a real root by bisection, then Newton's method on the analytic function.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

STEP: Final = 1e-30  # of the complex steps
SAMPLES: Final = 1024  # times at which an impact is looked for, before bisection


@dataclass(frozen=True)
class Setup:
    """Balls of mass 1 in the plane of x and y (y is up, if there is gravity), and the cost of their final positions.

    ``cost`` is the final y of the first ball, the square of the distance of a ball from ``target``, or the final
    x of the second ball. ``force`` acts on the first ball in all steps; ``running`` is the factor of the mean of its
    square in the cost.
    """

    name: str
    source: str
    dt: float
    steps: int
    radius: float
    position: Any  # [n,2]
    velocity: Any  # [n,2]
    restitution: float = 1.0
    gravity: float = 0.0
    force: tuple[float, float] = (0.0, 0.0)
    planes: tuple[tuple[float, float, float], ...] = ()  # unit normal, and its product with points of the plane
    kind: str = "y"
    target: tuple[float, float] = (0.0, 0.0)
    body: int = 0  # of which the cost is a function
    running: float = 0.0
    published: dict[str, Any] = field(default_factory=dict)  # by name of the derivative

    def cost(self, x: Any) -> Any:
        """The cost of final positions [n,2], without the running cost."""
        at = x[self.body]
        if self.kind == "y":
            return at[1]
        if self.kind == "x":
            return at[0]
        return (at[0] - self.target[0]) ** 2 + (at[1] - self.target[1]) ** 2

    def slope(self, x: Any) -> Any:
        """The derivative [n,2] of the cost with respect to final positions."""
        out = np.zeros((len(self.position), 2))
        if self.kind == "y":
            out[self.body, 1] = 1
        elif self.kind == "x":
            out[self.body, 0] = 1
        else:
            out[self.body] = 2 * (np.asarray(x)[self.body] - self.target)
        return out

    def running_slope(self) -> Any:
        """The derivative [2] of the running cost with respect to the force of one step."""
        return 2 * self.running * np.asarray(self.force) / self.steps


def zhong() -> list[Setup]:
    """The three tasks of Zhong et al."""
    return [
        Setup(
            "Zhong 1, bounce", "arXiv 2207.05060, Table 1", 1 / 480, 480, 0.1,
            np.array([[-1.0, 1.0]]), np.array([[2.0, -2.0]]), planes=((0.0, 1.0, 0.0),),
            published={"d y / d y0": -1.0, "d y / d vy0": -1.0, "d y / d uy": -0.0021},
        ),
        Setup(
            "Zhong 2, ground and wall", "arXiv 2207.05060, Table 2", 0.6 / 288, 288, 0.1,
            np.array([[-0.5, 1.0]]), np.array([[5.0, -5.0]]), restitution=0.92, gravity=-9.8,
            planes=((0.0, 1.0, 0.0), (-1.0, 0.0, -1.75)), kind="target", target=(-2.0, 1.5),
        ),
        Setup(
            "Zhong 3, two balls", "arXiv 2207.05060, Table 3", 1 / 480, 480, 0.2,
            np.array([[-2.0, -2.0], [-1.0, -1.0]]), np.zeros((2, 2)), force=(3.0, 3.0), kind="target", body=1,
            running=0.1, published={"d l / d x1": -0.3987, "d l / d x2": -0.3213},
        ),
    ]  # fmt: skip


def nimble() -> Setup:
    """Issue 97 of Nimble: the second ball ends at v1·T + x1 + 2r."""
    return Setup(
        "Nimble 97, two balls", "keenon/nimblephysics, issue 97", 0.01, 100, 0.1,
        np.array([[0.0, 0.0], [0.52, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]), kind="x", body=1,
        published={"d x / d (x1, x2, v1, v2)": (1.0, 0.0, 1.0, 0.0)},
    )  # fmt: skip


def setups() -> list[Setup]:
    """All set-ups."""
    return [*zhong(), nimble()]


def _gaps(s: Setup, x: Any) -> list[Any]:
    """The analytic functions of positions that are zero at impacts: of balls and planes, then of pairs of balls."""
    out = [n0 * b[0] + n1 * b[1] - d - s.radius for b in x for n0, n1, d in s.planes]
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1, len(x))]
    return out + [((x[i] - x[j]) ** 2).sum() - 4 * s.radius**2 for i, j in pairs]


def _impact(s: Setup, which: int, x: Any, v: Any) -> Any:
    """The velocities after impact number ``which`` of :func:`_gaps`, by Newton's law of restitution."""
    v, walls = v.copy(), len(s.planes)
    if which < len(x) * walls:
        b, n = which // walls, np.array(s.planes[which % walls][:2])
        v[b] -= (1 + s.restitution) * (v[b] @ n) * n
        return v
    pairs = [(i, j) for i in range(len(x)) for j in range(i + 1, len(x))]
    i, j = pairs[which - len(x) * walls]
    n = (x[j] - x[i]) / (2 * s.radius)
    kick = (1 + s.restitution) / 2 * ((v[j] - v[i]) @ n) * n  # equal masses
    v[i], v[j] = v[i] + kick, v[j] - kick
    return v


def _flight(s: Setup, x: Any, v: Any, a: Any, duration: float) -> tuple[Any, Any]:
    """Positions and velocities after a time of constant accelerations, through all impacts."""

    def at(t: Any) -> Any:
        return x + v * t + a * t * t / 2

    left: Any = duration
    for _ in range(100):
        first: Any = None
        times = np.linspace(0, np.real(left), SAMPLES)
        samples = np.array([[np.real(g) for g in _gaps(s, at(t))] for t in times])
        for k in range(samples.shape[1]):
            g = samples[:, k]
            crossed = np.flatnonzero((g[:-1] > 0) & (g[1:] <= 0))
            if not len(crossed) or (first is not None and times[crossed[0]] > np.real(first[0])):
                continue
            low, high = times[crossed[0]], times[crossed[0] + 1]
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if np.real(_gaps(s, at(middle))[k]) > 0 else (low, middle)
            t: Any = complex(high)
            for _ in range(3):  # a slope to 1e-9 is enough: each step shrinks the error by it
                slope = (_gaps(s, at(t + 1e-7))[k] - _gaps(s, at(t - 1e-7))[k]) / 2e-7
                t = t - _gaps(s, at(t))[k] / slope
            first = (t, k)
        if first is None:
            return at(left), v + a * left
        t, k = first
        x, v = at(t), _impact(s, k, at(t), v + a * t)
        left = left - t
    raise RuntimeError(f"{s.name}: impacts do not end")


def final(s: Setup, x: Any, v: Any, u: Any) -> Any:
    """Final positions [n,2] of the exact motion, with u [2] in place of the force in the first step."""
    a = np.zeros_like(x)
    a[:, 1] += s.gravity
    first = a.copy()
    first[0] += u
    a[0] += np.asarray(s.force)
    x, v = _flight(s, x, v, first, s.dt)
    return _flight(s, x, v, a, s.dt * (s.steps - 1))[0]


def exact(s: Setup) -> dict[str, Any]:
    """The cost, and its derivatives x0 [n,2], v0 [n,2] and u0 [2] with respect to the force of the first step."""
    n = len(s.position)
    size = 4 * n + 2

    def at(z: Any) -> Any:
        return s.cost(final(s, z[: 2 * n].reshape(n, 2), z[2 * n : 4 * n].reshape(n, 2), z[4 * n :]))

    z = np.concatenate([s.position.ravel(), s.velocity.ravel(), s.force]).astype(complex)
    value, gradient = float(np.real(at(z))), np.zeros(size)
    for k in range(size):
        moved = z.copy()
        moved[k] += 1j * STEP
        gradient[k] = np.imag(at(moved)) / STEP
    return {
        "cost": value + s.running * float(np.dot(s.force, s.force)),
        "x0": gradient[: 2 * n].reshape(n, 2),
        "v0": gradient[2 * n : 4 * n].reshape(n, 2),
        "u0": gradient[4 * n :] + s.running_slope(),
    }
