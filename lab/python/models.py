"""URDF models of installed packages: what loads and how long it takes, poses of links beside pinocchio's and MuJoCo's,
extents of meshes beside trimesh's and coal's, and distances and contacts beside coal's.

    pip install trimesh pycollada pin coal mujoco
    python lab/python/models.py loads FOLDER... [--limit 30]
    python lab/python/models.py pinocchio FOLDER... [--configurations 5]
    python lab/python/models.py mujoco FOLDER...
    python lab/python/models.py extents FOLDER...
    python lab/python/models.py rows FOLDER... [--rows 1000000]

A folder is one of packages (site-packages, say): every file below it whose name ends in .urdf is taken, links of the
file system once. All load with concave="hull" as the only option. mujoco_models.py has the MJCF models.
lab/results/models.md has the figures.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import models_extents
import models_poses
import models_rows

import clearance as cl
from clearance import urdf

_QUOTED = re.compile(r"'[^']*'")


def files(folders: list[Path], suffixes: tuple[str, ...]) -> list[Path]:
    """The files below folders whose names end so, each once."""
    found: dict[str, Path] = {}
    seen: set[str] = set()
    for folder in folders:
        for at, inner, names in os.walk(folder, followlinks=True):
            real = os.path.realpath(at)
            if real in seen:
                inner.clear()
                continue
            seen.add(real)
            for name in names:
                if name.lower().endswith(suffixes):
                    path = Path(at) / name
                    found.setdefault(os.path.realpath(path), path)
    return sorted(found.values())


def _load(path: Path) -> tuple[str, str, float, list[str]]:
    """The error of a file and its message, the seconds, and the notes."""
    start = time.perf_counter()
    try:
        scene = urdf.load(path, concave="hull")
    except (cl.ClearanceError, ImportError) as e:
        return type(e).__name__, str(e), time.perf_counter() - start, []
    return "", "", time.perf_counter() - start, scene.notes


def _serve(connection: Any) -> None:
    while (path := connection.recv()) is not None:
        connection.send(_load(path))


class Loader:
    """Loads files in a process of its own, which ends with a file that takes too long."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.process: Any = None
        self.connection: Any = None

    def load(self, path: Path) -> tuple[str, str, float, list[str]]:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(other,), daemon=True)
            self.process.start()
        self.connection.send(path)
        if self.connection.poll(self.limit):
            answer: tuple[str, str, float, list[str]] = self.connection.recv()
            return answer
        self.process.kill()
        self.process = None
        return "Timeout", f"{path}: more than {self.limit:g} s", self.limit, []


def loads(paths: list[Path], limit: float) -> None:
    """Print what loads, the reasons of refusals, and the slowest."""
    loader, refused, slow, notes = Loader(limit), list[tuple[str, str]](), list[tuple[float, Path]](), Counter[str]()
    loader.load(Path(os.devnull))  # imports, and the native library
    placed = 0
    for path in paths:
        error, message, seconds, lines = loader.load(path)
        slow.append((seconds, path))
        notes.update(_QUOTED.sub("X", line.split(": ", 1)[1].split(" (and ")[0]) for line in lines)
        if error:
            refused.append((error, message))
            where = message.startswith(f"{path}, line ")
            inside = re.search(r"(link|joint|collision element) '", message) is not None
            placed += where and (inside or "<robot>" in message)
            print(f"  {error}: {message}", flush=True)
    slow.sort(reverse=True)
    print(f"\n- {len(paths):,} URDF files: {len(paths) - len(refused):,} load, {len(refused)} are refused")
    print(f"- of the refused {placed} are named by file, line, and link, joint or robot")
    print(f"- {sum(s for s, _ in slow):.1f} s together; slowest {[f'{s:.2f} s {p.name}' for s, p in slow[:5]]}")
    for note, count in notes.most_common():
        print(f"  - {count} files: {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("loads", "pinocchio", "mujoco", "extents", "rows"))
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=float, default=30, help="seconds for a file")
    parser.add_argument("--configurations", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="files with this text in their names")
    options = parser.parse_args()
    suffixes = models_extents.SUFFIXES if options.what == "extents" else (".urdf",)
    paths = [p for p in files(options.folders, suffixes) if options.only in str(p)]
    if options.what == "loads":
        loads(paths, options.limit)
    elif options.what == "extents":
        models_extents.compare(paths)
    elif options.what == "rows":
        models_rows.compare(paths, options.rows)
    else:
        models_poses.compare(paths, options.what, options.configurations)


if __name__ == "__main__":
    main()
