"""The block of Dojo under a force: derivatives where contact modes change, by tolerance and by smoothing.

    PYTHONPATH=python/src CLEARANCE_LIBRARY=FILE python lab/python/learning_block.py [--json FILE] [--page FILE]

Howell et al. (arXiv 2203.00806) put a block at rest on the ground, apply a force F for a step of 0.1 s, and plot the
next state and its derivative by F, for several values of the parameter of the central path. Here m = 1 kg, g = 1 m/s²,
μ = 1, so a force along the ground moves the block for F > 1 N, and a force upwards lifts it for F > 1 N. The velocity
after the step is max(0, F - 1)·Δt/m in both cases, and its derivative 0 or Δt/m; there is none at F = 1 N.

Dojo's relaxed friction is solved here from its equations. With the normal impulse γ, the tangential impulse β and the
velocity η along the ground, its cone condition in the plane with parameter κ is

    η (β² - μ²γ²) = κ β,   m η = FΔt + β,   -μγ < β < 0

(the Jordan product of (μγ, β) and (ψ, η) is (κ, 0), and ψ is eliminated), with γ = mgΔt at the end of the path.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np

from clearance import Library, contact

STEP: Final = 0.1
FORCES: Final = np.linspace(0.5, 1.5, 101)
TOLERANCES: Final = (1e-2, 1e-4, 1e-6, 1e-8)
PATH: Final = (1e-3, 1e-4, 1e-5, 1e-6)  # κ
NOISE: Final = (0.3, 0.1, 0.03, 0.01)  # N
SAMPLES: Final = 512
CLOSE: Final = 0.005  # N from the change of modes, where there is no derivative


def block(tolerance: float) -> contact.Simulation:
    """A block of 1 kg, so flat (1 m by 0.2 m) that friction does not tip it: a cube is about to at μ = 1."""
    lib = Library()
    return contact.Simulation(
        lib,
        [lib.box([0.5, 0.5, 0.1])],
        1.0,
        friction=1.0,
        gravity=(0, 0, -1.0),
        dt=STEP,
        tolerance=tolerance,
        compliance=0.0,
    )


def states(count: int) -> tuple[Any, Any]:
    """Positions and rotations of blocks at rest on the ground."""
    return np.tile([0, 0, 0.1], (count, 1, 1)), np.tile([1.0, 0, 0, 0], (count, 1, 1))


def pushed(sim: contact.Simulation, force: Any, axis: int, tape: bool = False) -> contact.Trajectory:
    """A step under forces [W] along an axis."""
    f = np.zeros((len(force), 1, 6))
    f[:, 0, axis] = force
    return sim.run(*states(len(force)), quat="wxyz", steps=1, force=f, tape=tape)


def ours(tolerance: float, axis: int) -> tuple[Any, Any, Any]:
    """Velocities [W], derivatives [W] and what they are worth [W], by name."""
    r = pushed(block(tolerance), FORCES, axis, tape=True)
    cotangent = np.zeros((1, len(FORCES), 1, 3))
    cotangent[..., axis] = 1
    g = r.vjp(velocity=cotangent)
    return r.velocity[0, :, 0, axis], g.force[:, 0, axis], g.smoothness_names[0]


def smoothed(noise: float, axis: int) -> Any:
    """The derivative of the mean over F + noise·z, from pairs of samples (0th order)."""
    z = np.random.default_rng(0).normal(size=(SAMPLES, 1))
    sim = block(1e-6)
    up, down = (pushed(sim, (FORCES + s * noise * z).ravel(), axis).velocity[0, :, 0, axis] for s in (1, -1))
    return np.mean((up - down).reshape(SAMPLES, -1) * z, axis=0) / (2 * noise)


def path_slope(kappa: float) -> Any:
    """The derivative of Dojo's relaxed velocity along the ground."""
    out, cone = [], STEP
    for f in FORCES * STEP:
        low, high = -cone, 0.0
        for _ in range(100):  # (f + β)(β² - cone²) - κβ rises through its root in β
            beta = (low + high) / 2
            if (f + beta) * (beta**2 - cone**2) - kappa * beta > 0:
                low = beta
            else:
                high = beta
        slope = (beta**2 - cone**2) + 2 * beta * (f + beta) - kappa
        out.append(STEP * (1 - (beta**2 - cone**2) / slope))
    return np.array(out)


def measure() -> dict[str, Any]:
    """Largest errors of derivatives, relative to Δt/m, away from F = 1 N."""
    away = np.abs(FORCES - 1) > CLOSE
    exact = np.where(FORCES > 1, STEP, 0.0)
    report: dict[str, Any] = {}
    for name, axis in (("friction", 0), ("impact", 2)):
        rows = []
        for t in TOLERANCES:
            v, g, names = ours(t, axis)
            rows.append({
                "tolerance": t, "error": float(np.abs(g - exact)[away].max() / STEP),
                "velocity": float(np.abs(v - np.maximum(0, FORCES - 1) * STEP).max()),
                "held": dict(Counter(names[FORCES < 1].tolist())), "moved": dict(Counter(names[FORCES > 1].tolist())),
            })  # fmt: skip
        normal = np.array([[0.5 * (1 + math.erf((f - 1) / s / math.sqrt(2))) for f in FORCES] for s in NOISE])
        noisy = [
            {
                "noise": s, "error": float(np.abs(smoothed(s, axis) - STEP * mean).max() / STEP),
                "bias at 1.1 N": float(mean[np.argmin(np.abs(FORCES - 1.1))] - 1),
            }
            for s, mean in zip(NOISE, normal, strict=True)
        ]  # fmt: skip
        report[name] = {"by mode": rows, "smoothed": noisy}
    at = np.argmin(np.abs(FORCES - 1.1))
    report["path"] = [
        {"kappa": k, "error": float(np.abs(path_slope(k) - exact)[away].max() / STEP),
         "bias at 1.1 N": float(path_slope(k)[at] / STEP - 1)} for k in PATH
    ]  # fmt: skip
    return report


def page(report: dict[str, Any]) -> str:
    """The tables."""
    out = []
    for name in ("friction", "impact"):
        heads = "| tolerance | error of ∂v/∂F, away from 1 N | of v, m/s | forces below 1 N | above |"
        out += [f"### Dojo's block, {name}", "", heads, "|--:|--:|--:|---|---|"]
        for r in report[name]["by mode"]:
            below, above = (", ".join(f"{n} {name}" for name, n in r[k].items()) for k in ("held", "moved"))
            out.append(f"| {r['tolerance']:.0e} | {r['error']:.1e} | {r['velocity']:.1e} | {below} | {above} |")
        out += ["", "| noise, N (0th order) | error against the exact mean | bias at 1.1 N |", "|--:|--:|--:|"]
        out += [f"| {r['noise']:g} | {r['error']:.1e} | {r['bias at 1.1 N']:.1e} |" for r in report[name]["smoothed"]]
        out.append("")
    out += ["### Dojo's central path, friction", "", "| κ | largest error of ∂v/∂F, away from 1 N | bias at 1.1 N |",
            "|--:|--:|--:|"]  # fmt: skip
    out += [f"| {r['kappa']:.0e} | {r['error']:.1e} | {r['bias at 1.1 N']:.1e} |" for r in report["path"]]
    return "\n".join([*out, "", "Errors are relative to Δt/m.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    a = parser.parse_args()
    report = measure()
    if a.json:
        a.json.write_text(json.dumps(report, indent=1) + "\n")
    text = page(report)
    print(text)
    if a.page:
        a.page.write_text(text)


if __name__ == "__main__":
    main()
