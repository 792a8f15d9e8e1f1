"""``clearance convert``: a model or a mesh as a file of shapes, bodies and pairs, which ``batchbench`` reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ._errors import ConcaveError, FileError
from ._load import kind_of, load
from ._outputs import not_onto


def command(words: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="clearance convert",
        description="a URDF or MJCF model, or a mesh, as a file of shapes, bodies and pairs; poses of its bodies come "
        "from clearance.load in Python, whose write_worlds writes files of worlds",
    )
    parser.add_argument("model", help="the file: URDF, MJCF (by the package mujoco), or a mesh")
    parser.add_argument("out", help="the file of shapes to write, .json")
    parser.add_argument(
        "--concave", default="raise", choices=("raise", "hull", "coacd"), help="what is taken for meshes not convex"
    )
    parser.add_argument("--tolerance", type=float, help="how far a convex mesh may lie below its hull, of its size")
    parser.add_argument("--package", action="append", default=[], type=_package, help="NAME=FOLDER of a URDF package")
    parser.add_argument("--srdf", help="the SRDF file of a URDF file, which says what pairs to leave out")
    parser.add_argument("--omit", action="append", default=[], help="what to leave out, as of clearance.load")
    parser.add_argument("--strict", action="store_true", help="harmless faults of a URDF file are errors")
    given = parser.parse_args(words)
    if Path(given.out).suffix.lower() != ".json":
        raise FileError(f"{given.out}: want a name that ends in .json")
    not_onto(given.out, [path for path in (given.model, given.srdf) if path is not None])
    options: dict[str, Any] = {"tolerance": given.tolerance, "srdf": given.srdf, "packages": dict(given.package)}
    options |= {
        "omit": given.omit,
        "strict": given.strict,
        "concave": None if given.concave == "raise" else given.concave,
    }
    try:
        if kind_of(Path(given.model)) == "shapes.json":
            raise FileError(f"{given.model} is a file of shapes already")
        scene = load(given.model, **{name: value for name, value in options.items() if value})
    except ConcaveError as e:
        advice = "--concave hull takes the hull, as MuJoCo, PyBullet and coal do"
        raise FileError(f"{advice}; --concave coacd takes convex parts: {e.reason}") from e
    except ImportError as e:
        print(f"clearance: {e}", file=sys.stderr)
        return 3
    scene.save(given.out)
    print(f"{given.out}: {len(scene.bodies)} bodies of {len(scene.library)} shapes, {len(scene.pairs)} pairs")
    for note in getattr(scene, "notes", ()):
        print(f"note: {note}")
    return 0


def _package(text: str) -> tuple[str, str]:
    """The value of --package."""
    name, found, folder = text.partition("=")
    if not (name and found and folder):
        raise argparse.ArgumentTypeError(f"{text!r}, want NAME=FOLDER")
    return name, folder
