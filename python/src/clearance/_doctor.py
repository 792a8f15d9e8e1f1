"""What works on this machine, and why something does not."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from typing import Any

import numpy as np

from ._engine import Engine
from ._library import Library
from ._result import PENETRATING, SEPARATED
from ._version import __version__

SPEED_ROWS = 200_000

# What the proof of a Vulkan device means for its users.
PROOFS = {
    "double precision": "proofs in double precision",
    "two floats": "proofs of precision='single' in sums of two floats, as its double precision is slow, which the rows "
    "that they leave, precision='double' and growth distances take",
    "two floats, no double precision": "proofs of precision='single' in sums of two floats; without double precision, "
    "the rows that they leave, depths, precision='double' and growth distances go to the CPU",
}


def examine() -> dict[str, Any]:
    """Versions, back ends, a self-test and speeds, as plain data."""
    report: dict[str, Any] = {
        "package": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}, glibc {platform.libc_ver()[1] or 'unknown'}",
    }
    with Engine() as engine:
        info = engine.info()
    report |= {k: info[k] for k in ("version", "go", "platform", "backends", "notes")}
    report["advice"] = _advice(info["backends"])
    report["tests"] = {}
    for backend in info["backends"]:
        if backend["usable"] and backend["name"] != "ref":
            with Engine(backend["name"]) as engine:
                report["tests"][backend["name"]] = _test(engine)
    return report


def _advice(backends: list[dict[str, Any]]) -> list[str]:
    """What may help where no Vulkan device can be used."""
    if any(b["usable"] for b in backends if b["name"].startswith("vulkan")):
        return []
    advice = ["No Vulkan device can be used; the CPU answers everything."]
    named = os.environ.get("NVIDIA_VISIBLE_DEVICES", "void")
    if os.path.exists("/dev/nvidiactl") or named not in ("", "void", "none"):
        has = os.environ.get("NVIDIA_DRIVER_CAPABILITIES")
        if has is None:
            advice.append(
                "An NVIDIA GPU is here. If this is a container, it has the capabilities compute and utility alone, "
                "without which Vulkan is hidden: start it with NVIDIA_DRIVER_CAPABILITIES=all (or add 'graphics'). "
                "If it is not, install the driver with its Vulkan part."
            )
        elif not {"graphics", "all"} & {c.strip() for c in has.split(",")}:
            advice.append(
                f"An NVIDIA GPU is here, but this container grants the capabilities {has!r} only, which hides Vulkan: "
                "start it with NVIDIA_DRIVER_CAPABILITIES=all (or add 'graphics')."
            )
    return advice


def _test(engine: Engine) -> dict[str, Any]:
    """A self-test against closed forms, and the speed of a batch."""
    lib = Library()
    ball, box = lib.sphere(0.5), lib.box([1, 1, 1])
    rng = np.random.default_rng(1)
    n = SPEED_ROWS
    a, b = np.full(n, ball, np.int32), np.full(n, box, np.int32)
    pos_a = rng.uniform(1.2, 4, (n, 3)) * [1, 0, 0]  # the closest point of the box is (1, 0, 0)
    pos_b = np.zeros((n, 3))
    quat = np.tile([1.0, 0, 0, 0], (n, 1))
    arrays = (lib, a, b, pos_a, quat, pos_b, quat)
    result = engine.distance(*arrays, quat="wxyz")
    want = pos_a[:, 0] - 1.5
    error = np.abs(result.distance - want)
    status = np.where(want > 0, SEPARATED, PENETRATING)
    good = bool((error <= result.gap).all() and (result.status == status)[np.abs(want) > 1e-5].all())
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        engine.distance(*arrays, quat="wxyz", out=result)
        best = min(best, time.perf_counter() - start)
    return {
        "good": good,
        "rows": n,
        "largest_error": float(error.max()),
        "pairs_per_second": n / best,
        "clock": "distances of spheres and boxes with all columns, from arrays to arrays",
    }


def doctor(as_json: bool = False) -> int:
    """Print what :func:`examine` finds; 0 if every usable back end passes its self-test."""
    report = examine()
    good = all(t["good"] for t in report["tests"].values())
    if as_json:
        json.dump(report, sys.stdout, indent=2)
        print()
        return 0 if good else 1
    print(f"clearance {report['package']} (library {report['version']}, {report['go']}, {report['platform']})")
    print(f"Python {report['python']}, NumPy {report['numpy']}, {report['system']}")
    for b in report["backends"]:
        state = f"{b['device']}; {b['driver']}" if b["usable"] else f"not usable: {b['reason']}"
        print(f"  {b['name']:10} {state}")
        if b["usable"] and b["proof"] in PROOFS:
            print(f"  {'':10} {PROOFS[b['proof']]}")
    for line in [*report["notes"], *report["advice"]]:
        print(f"  note: {line}")
    for name, t in report["tests"].items():
        verdict = "passed" if t["good"] else "FAILED"
        print(
            f"self-test of {name}: {verdict}, largest error {t['largest_error']:.1e} m; "
            f"{t['pairs_per_second'] / 1e6:.1f} million pairs/s ({t['clock']})"
        )
    return 0 if good else 1
