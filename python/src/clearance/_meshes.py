"""Meshes in memory, checked as those of files are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ._errors import FileError
from ._library import read_mesh


def check_convex(vertices: Any, faces: Any, what: str, advice: str) -> None:
    """Raise FileError if the mesh of vertices [N,3] and triangles [F,3] is not convex to 3 % of its size.

    ``what`` is named in place of a file, ``advice`` follows the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.obj"
        lines = ["v {!r} {!r} {!r}".format(*map(float, v)) for v in vertices]
        lines += ["f {} {} {}".format(*(int(i) + 1 for i in f)) for f in faces]
        path.write_text("\n".join(lines) + "\n")
        try:
            read_mesh(path, False)
        except FileError as e:
            raise FileError(f"{str(e).replace(str(path), what)}. {advice}") from e
