"""``python -m clearance``, and the console script ``clearance``."""

from __future__ import annotations

import sys

from ._errors import ClearanceError

USAGE = """usage: clearance doctor [--json]    what works on this machine: versions, devices, a self-test, speed
       clearance view --shapes shapes.json --pairs pairs.npz --results out.npz --out rows.html
                                    rows of files as a page to look at; view --help
       clearance convert robot.urdf shapes.json
                                    a model or a mesh as a file of shapes and bodies; convert --help
       clearance decompose mesh.stl parts.obj
                                    convex parts of a concave mesh, by CoACD; decompose --help
       clearance ray-score pairs/*.parquet --library shapes.json --out results/
                                    files on a cluster, by Ray; ray-score --help
       clearance --version"""


def main(arguments: list[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words == ["--version"]:
            from ._version import __version__

            print(__version__)
            return 0
        if words in (["--help"], ["-h"], ["help"]):
            print(USAGE)
            return 0
        if words in (["doctor"], ["doctor", "--json"], []):
            from ._doctor import doctor

            return doctor(as_json="--json" in words)
        if words and words[0] == "view":
            from ._view import view

            return view(words[1:])
        if words and words[0] == "convert":
            from ._view import command as convert

            return convert(words[1:])
        if words and words[0] == "decompose":
            from ._meshes import command

            return command(words[1:])
        if words and words[0] == "ray-score":
            from .ray import command as ray_score

            return ray_score(words[1:])
    except ClearanceError as e:
        print(f"clearance: {e}", file=sys.stderr)
        return 3
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
