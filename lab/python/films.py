"""The film of docs/pictures.md: three cubes are thrown onto the ground, and bounce, slide and tumble until they lie.

python lab/python/films.py [FILE.webp]   (needs pillow)
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from clearance import Library, contact


def main(out: Path) -> None:
    lib = Library()
    cube = lib.box([0.05, 0.05, 0.05])
    sim = contact.Simulation(lib, [cube] * 3, mass=0.5, friction=0.4, restitution=0.4, accept=True)
    at = np.array([[[0, 0, 0.4], [-0.1, 0.2, 0.5], [-0.2, -0.15, 0.3]]])
    velocity = np.array([[[1.1, 0.1, 0.6], [1.2, -0.1, 0.2], [1.3, 0.2, 0.9]]])
    spin = np.array([[[1, 9, 2], [-4, 6, 1], [3, 7, -5]]], float)
    level = np.tile([1.0, 0, 0, 0], (1, 3, 1))
    run = sim.run(at, level, velocity, spin, quat="wxyz", steps=320, every=2)
    run.raise_if_failed()
    film = sim.show(run).film(out, size=(480, 270), fps=20, camera=(-60, 18))
    print(f"{out}: {film.frames} frames, {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "docs/pictures/throw.webp")
