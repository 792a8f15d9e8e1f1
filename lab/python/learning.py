"""Derivatives through impacts: this project beside its peers, with the errors against the exact values.

    PYTHONPATH=python/src CLEARANCE_LIBRARY=FILE python lab/python/learning.py --json learning.json --page learning.md

One run makes all of lab/results/learning.md: set-ups with impacts, the block of Dojo (learning_block.py), and costs
beside MuJoCo's differences (learning_cost.py). Methods and set-ups are those of learning_ours.py, learning_peers.py
and learning_setups.py. Each method answers in a process of its own, by the interpreter that --python names for it
("Nimble=/path/to/python": its wheel needs numpy 1), so that one that crashes or is absent is a row that says so.
Times are CPU times of a step and world, forwards and backwards, after a first call that compiles.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import learning_block as block
import learning_cost as cost
import learning_ours as ours
import learning_peers as peers
import numpy as np
from learning_setups import Setup, exact, setups

UNBROKEN: Any = {"break_long_words": False, "break_on_hyphens": False}
LIMIT = 900  # seconds for a method and set-up, of which compilers take most

METHODS = {**ours.METHODS, **peers.METHODS}


def answer(method: str, setup: str) -> dict[str, Any]:
    """What one method says of one set-up, in this process."""
    a = METHODS[method][1](next(s for s in setups() if s.name == setup))
    values = {name: np.asarray(getattr(a, name), float).tolist() for name in ("x0", "v0", "u0")}
    return {"cost": a.cost, **values, "seconds": a.seconds, "note": a.note}


def ask(method: str, setup: Setup, python: str) -> dict[str, Any]:
    """The same in a process of its own; "failed" says why there is no answer."""
    call = [python, __file__, "--answer", method, setup.name]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {LIMIT} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        out: dict[str, Any] = json.loads(lines[-1])
        return out
    last = (done.stderr.strip().splitlines() or [f"ended by {done.returncode}"])[-1]
    return {"failed": "not installed" if "No module named" in last else last[:120]}


def error(found: dict[str, Any], truth: dict[str, Any]) -> float:
    """The largest difference of a derivative, relative to the largest exact one of its array."""
    worst = 0.0
    for name in ("x0", "v0", "u0"):
        exactly = np.asarray(truth[name])
        worst = max(worst, float(np.max(np.abs(np.asarray(found[name]) - exactly)) / np.max(np.abs(exactly))))
    return worst


def shown(setup: Setup, found: dict[str, Any]) -> str:
    """The derivatives that the papers print."""
    x0, v0, u0 = (np.asarray(found[k]) for k in ("x0", "v0", "u0"))
    if setup.kind == "y":
        picked = [x0[0, 1], v0[0, 1], u0[1]]
    elif setup.kind == "x":
        picked = [x0[0, 0], x0[1, 0], v0[0, 0], v0[1, 0]]
    elif len(x0) == 1:
        picked = [*x0[0], *v0[0]]
    else:
        picked = [x0[0, 0], x0[1, 0], u0[0]]
    return ", ".join(f"{v:.4f}" for v in picked)


COLUMNS = {"y": "∂y/∂y₀, ∂y/∂v₀, ∂y/∂u₀", "x": "∂x/∂x₁, ∂x/∂x₂, ∂x/∂v₁, ∂x/∂v₂"}


HEAD = """# Derivatives through impacts

`lab/python/learning.py`, {machine}, in one run{kept}; load average {loads} on {cores} cores. Double precision
unless the simulator has single alone. Exact values are derivatives of the motion from impact to impact, by complex
steps ([learning_setups.py](../python/learning_setups.py)); they have the published digits of Zhong et al. (-1, -1,
-0.0021; -0.3987, -0.3213). The largest error is that of all derivatives with respect to first positions, first
velocities and the force of the first step, relative to the largest exact one of its kind. Each simulator has its
own motion, so its cost differs as well; MuJoCo, MJX, Brax's generalized pipeline and Newton's SolverSemiImplicit
take the compliant contact of Zhong et al. (10⁴ N/m).

In Zhong 1 the ball touches the ground at the end of step 216 to the last digit: the discrete motion has a kink there,
and MuJoCo's differences are the mean of both sides, where MJX and Newton take one of them.

Of this project there are two derivatives. That of the discrete step has the wrong sign at a bounce, as has every
simulator that changes velocities at steps alone. That by the time of impact (`impacts="time_of_impact"`) is exact but
for the first order of the steps: steps of 1/256 leave 1e-5 to 1e-4. Nimble's own derivative of its example is (0.75,
0.25, 0.91, 0.08), as reported. Brax's pipelines and Newton's SolverXPBD multiply small displacements by 1/Δt.

## Tables
"""

BLOCK = """## The block of Dojo

`lab/python/learning_block.py`: 1 kg, g = 1 m/s², μ = 1, one step of 0.1 s, 101 forces from 0.5 to 1.5 N (Howell et al.,
arXiv 2203.00806). Derivatives by mode do not depend on the tolerance once modes are found; smoothing and the central
path trade an error away from the change of modes for a slope at it. Four corners share the load in more than one way,
which the names of smoothness say; the velocity that is differentiated is unique.
"""

COST = """## Cost

`lab/python/learning_cost.py`, CPU time of one thread, medians of {rounds} rounds in turns; kernels of {library}. The
product is the gradient of one cost by state, 48 forces and torques, and parameters; differences give the Jacobian by
the 48 inputs alone, mjd_transitionFD that by states too. Steps are made twice: by the run and by the backward pass.
"""

LAST = "DART's figures are of another machine, a full Jacobian (dartsim/dart, pull request 2761).\n"


def page(report: dict[str, Any]) -> str:
    """lab/results/learning.md."""
    head, costs = (
        "\n\n".join(
            p if p.startswith("#") else textwrap.fill(p, 120, **UNBROKEN) for p in text.format(**report).split("\n\n")
        )
        for text in (HEAD, COST)
    )
    parts = [head, "", tables(report), BLOCK, block.page(report["block"]), costs, ""]
    return "\n".join([*parts, cost.page(report["cost"]), LAST])


def tables(report: dict[str, Any]) -> str:
    """The tables, one for each set-up."""
    out = []
    for setup in setups():
        about = report["setups"][setup.name]
        one = "∂l/∂x₀ (2), ∂l/∂v₀ (2)" if len(setup.position) == 1 else "∂l/∂x₁, ∂l/∂x₂, ∂l/∂u₀"
        out += [
            f"### {setup.name}", "", f"{setup.source}; {setup.steps} steps of {setup.dt * 1e3:.3g} ms.", "",
            f"| simulator | cost | {COLUMNS.get(setup.kind, one)} | largest error | µs of CPU, a step and world |",
            "|---|--:|--:|--:|--:|",
            f"| exact | {about['exact']['cost']:.4f} | {shown(setup, about['exact'])} | | |",
        ]  # fmt: skip
        for method in METHODS:
            if (found := about["answers"].get(method)) is None:
                continue
            label = f"{method} {report['versions'].get(method, '')}".strip()
            if "failed" in found:
                out.append(f"| {label} | | {found['failed'].replace('|', '/')} | | |")
                continue
            value, spent = error(found, about["exact"]), found["seconds"] * 1e6
            out.append(f"| {label} | {found['cost']:.4f} | {shown(setup, found)} | {value:.1e} | {spent:.3g} |")
        out.append("")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answer", nargs=2, metavar=("METHOD", "SETUP"))
    parser.add_argument("--python", action="append", default=[], metavar="METHOD=INTERPRETER")
    parser.add_argument("--only", action="append", default=[], help="the first letters of methods")
    parser.add_argument("--rounds", type=int, default=51, help="of costs")
    parser.add_argument("--library", default="`make test`, with less optimization", help="how kernels were built")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    a = parser.parse_args()
    if a.answer:
        print(json.dumps(answer(*a.answer)))
        return
    pythons = dict(p.split("=", 1) for p in a.python)
    chosen = [m for m in METHODS if not a.only or any(m.startswith(o) for o in a.only)]
    report: dict[str, Any] = {"versions": {}, "setups": {}}
    if a.json and a.json.exists() and a.only:
        report = json.loads(a.json.read_text())  # other methods keep their answers
    before = os.getloadavg()[0]
    report |= {"machine": platform.machine(), "cores": os.cpu_count(), "rounds": a.rounds, "library": a.library}
    kept = [m for m in METHODS if a.only and m not in chosen]
    report["kept"] = f" (rows of an earlier one: {'; '.join(kept)})" if kept else ""
    report |= {"cost": cost.measure(a.rounds), "block": block.measure()}
    for method in chosen:
        if METHODS[method][0]:
            report["versions"][method] = peers.version(METHODS[method][0], pythons.get(method, sys.executable))
    for setup in setups():
        truth = {k: np.asarray(v).tolist() for k, v in exact(setup).items()}
        answers = report["setups"].get(setup.name, {}).get("answers", {})
        for method in chosen:
            answers[method] = ask(method, setup, pythons.get(method, sys.executable))
            print(setup.name, method, answers[method].get("failed", "ok"), file=sys.stderr)
        report["setups"][setup.name] = {"exact": truth, "answers": answers}
        report["loads"] = f"{before:.1f} to {os.getloadavg()[0]:.1f}"
        if a.json:
            a.json.write_text(json.dumps(report, indent=1) + "\n")
    text = page(report)
    print(text)
    if a.page:
        a.page.write_text(text)


if __name__ == "__main__":
    main()
