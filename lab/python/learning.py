"""Derivatives through impacts: this project beside its peers, with the errors against the exact values.

    PYTHONPATH=python/src CLEARANCE_LIBRARY=FILE python lab/python/learning.py --json learning.json --page table.md

Methods and set-ups are those of learning_ours.py, learning_peers.py and learning_setups.py. Each method answers in a
process of its own, by the interpreter that --python names for it ("Nimble=/path/to/python": its wheel needs numpy 1),
so that one that crashes or is absent is a row that says so. Times are CPU times of a step and world, forwards and
backwards, after a first call that compiles.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import learning_ours as ours
import learning_peers as peers
import numpy as np
from learning_setups import Setup, exact, setups

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


def page(report: dict[str, Any]) -> str:
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
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    a = parser.parse_args()
    if a.answer:
        print(json.dumps(answer(*a.answer)))
        return
    pythons = dict(p.split("=", 1) for p in a.python)
    chosen = [m for m in METHODS if not a.only or any(m.startswith(o) for o in a.only)]
    report: dict[str, Any] = {"machine": platform.machine(), "versions": {}, "setups": {}}
    if a.json and a.json.exists():
        report = json.loads(a.json.read_text())  # other methods keep their answers
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
        if a.json:
            a.json.write_text(json.dumps(report, indent=1) + "\n")
    text = page(report)
    print(text)
    if a.page:
        a.page.write_text(text)


if __name__ == "__main__":
    main()
