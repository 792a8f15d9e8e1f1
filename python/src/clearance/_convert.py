"""``clearance convert``: a model or a mesh as a file of shapes, bodies and pairs, which ``batchbench`` reads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._errors import ConcaveError, FileError
from ._load import kind_of, load
from ._outputs import not_onto

if TYPE_CHECKING:
    from ._scene import Scene


def command(words: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="clearance convert",
        description="a URDF or MJCF model, or a mesh, as a file of shapes, bodies and pairs; poses of its bodies come "
        "from clearance.load in Python, whose write_worlds writes files of worlds",
    )
    parser.add_argument("model", help="the file: URDF, MJCF (by the package mujoco), or a mesh")
    parser.add_argument("out", help="the file of shapes to write, .json")
    add_options(parser)
    options = vars(parser.parse_args(words))
    model, out = options.pop("model"), options.pop("out")
    if Path(out).suffix.lower() != ".json":
        raise FileError(f"{out}: want a name that ends in .json")
    not_onto(out, [model, *(options[name] for name in ("srdf",) if name in options)])
    scene = scene_of(model, options)
    scene.save(out)
    print(f"{out}: {len(scene.bodies)} bodies of {len(scene.library)} shapes, {len(scene.pairs)} pairs")
    for note in getattr(scene, "notes", ()):
        print(f"note: {note}")
    return 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of models. What is not given is for clearance.load to choose."""
    absent = argparse.SUPPRESS
    add = parser.add_argument
    add("--concave", choices=("raise", "hull", "coacd"), default=absent, help="what is taken for meshes not convex")
    add("--tolerance", type=float, default=absent, help="how far a convex mesh may lie below its hull, of its size")
    add("--package", dest="packages", action="append", type=_package, default=absent,
        help="NAME=FOLDER of a URDF package")  # fmt: skip
    add("--srdf", default=absent, help="the SRDF file of a URDF file, which says what pairs to leave out")
    add("--omit", action="append", default=absent, help="what to leave out, as of clearance.load")
    add("--strict", action="store_true", default=absent, help="harmless faults of a URDF file are errors")


def scene_of(model: str, options: dict[str, Any]) -> Scene:
    """The scene of a model by the options of the command line that were given."""
    if "packages" in options:
        options = {**options, "packages": dict(options["packages"])}
    kind = kind_of(Path(model))
    if kind == "shapes.json":
        raise FileError(f"{model} is a file of shapes already")
    try:
        return load(model, **options)
    except ConcaveError as e:
        advice = "--concave hull takes the hull, as MuJoCo, PyBullet and coal do"
        if kind != "MJCF":  # whose meshes are hulls
            advice += "; --concave coacd takes convex parts"
        raise FileError(f"{advice}: {e.reason}") from e
    except ImportError as e:
        raise FileError(str(e)) from e


def _package(text: str) -> tuple[str, str]:
    """The value of --package."""
    name, found, folder = text.partition("=")
    if not (name and found and folder):
        raise argparse.ArgumentTypeError(f"{text!r}, want NAME=FOLDER")
    return name, folder
