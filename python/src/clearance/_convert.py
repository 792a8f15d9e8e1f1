"""``clearance convert``: a model or a mesh as a file of shapes, bodies and pairs, which ``batchbench`` reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._errors import ConcaveError, FileError
from ._load import kind_of, load
from ._outputs import not_onto


def command(words: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="clearance convert",
        description="a URDF or MJCF model, or a mesh, as a file of shapes, bodies and pairs; poses of its bodies come "
        "from clearance.load in Python, whose write_worlds writes files of worlds",
        argument_default=argparse.SUPPRESS,  # what is not given is for clearance.load to choose
    )
    parser.add_argument("model", help="the file: URDF, MJCF (by the package mujoco), or a mesh")
    parser.add_argument("out", help="the file of shapes to write, .json")
    parser.add_argument("--concave", choices=("raise", "hull", "coacd"), help="what is taken for meshes not convex")
    parser.add_argument("--tolerance", type=float, help="how far a convex mesh may lie below its hull, of its size")
    parser.add_argument(
        "--package", dest="packages", action="append", type=_package, help="NAME=FOLDER of a URDF package"
    )
    parser.add_argument("--srdf", help="the SRDF file of a URDF file, which says what pairs to leave out")
    parser.add_argument("--omit", action="append", help="what to leave out, as of clearance.load")
    parser.add_argument("--strict", action="store_true", help="harmless faults of a URDF file are errors")
    options = vars(parser.parse_args(words))
    model, out = options.pop("model"), options.pop("out")
    if Path(out).suffix.lower() != ".json":
        raise FileError(f"{out}: want a name that ends in .json")
    not_onto(out, [model, *(options[name] for name in ("srdf",) if name in options)])
    if "packages" in options:
        options["packages"] = dict(options["packages"])
    kind = kind_of(Path(model))
    if kind == "shapes.json":
        raise FileError(f"{model} is a file of shapes already")
    try:
        scene = load(model, **options)
    except ConcaveError as e:
        advice = "--concave hull takes the hull, as MuJoCo, PyBullet and coal do"
        if kind != "MJCF":  # whose meshes are hulls
            advice += "; --concave coacd takes convex parts"
        raise FileError(f"{advice}: {e.reason}") from e
    except ImportError as e:
        print(f"clearance: {e}", file=sys.stderr)
        return 3
    scene.save(out)
    print(f"{out}: {len(scene.bodies)} bodies of {len(scene.library)} shapes, {len(scene.pairs)} pairs")
    for note in getattr(scene, "notes", ()):
        print(f"note: {note}")
    return 0


def _package(text: str) -> tuple[str, str]:
    """The value of --package."""
    name, found, folder = text.partition("=")
    if not (name and found and folder):
        raise argparse.ArgumentTypeError(f"{text!r}, want NAME=FOLDER")
    return name, folder
