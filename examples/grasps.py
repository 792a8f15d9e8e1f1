"""Grasps from a Parquet file: which of them a gripper can take without touching the object or the table.

The file has four rows per grasp, one for each finger and obstacle, with the columns of Clearance's pairs (shape_a,
position_a, rotation_a, …). The answers are a Parquet file in the same order, so the verdict of a grasp is the least
proved lower bound of its rows. It needs pyarrow.

    python examples/grasps.py --grasps 10000 --folder grasps
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import clearance as cl

OPENING, FINGER = 0.08, (0.01, 0.008, 0.04)  # metres: between the fingers; half-extents of a finger
CLEAR = 0.002  # a grasp is good if every finger is proved this far from the object and the table


def make_library(folder: Path) -> cl.Library:
    """Shapes 0: a finger, 1: the object, a smooth bottle, 2: the table."""
    lib = cl.Library()
    lib.box(FINGER, name="finger")
    lib.superquadric([0.03, 0.03, 0.08], [0.3, 1.0], name="bottle")
    lib.halfspace(name="table")
    lib.save(folder / "shapes.json")
    return lib


def write_grasps(path: Path, count: int, seed: int = 1) -> None:
    """Random grasps about the bottle: two fingers each, against the bottle and the table."""
    rng = np.random.default_rng(seed)
    angle, lean = rng.uniform(-np.pi, np.pi, count), rng.normal(0, 0.2, count)
    center = rng.normal([0, 0, 0.08], [0.008, 0.008, 0.05], (count, 3))
    (cos, cos_lean), (sin, sin_lean) = np.cos([angle / 2, lean / 2]), np.sin([angle / 2, lean / 2])
    rotation = np.stack([cos * cos_lean, cos * sin_lean, sin * sin_lean, sin * cos_lean], axis=1)
    across = np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], axis=1) * (OPENING / 2 + FINGER[0])
    bottle, table = np.array([0, 0, 0.08]), np.zeros(3)
    fingers = np.stack([center - across, center + across], axis=1)  # [G,2,3]
    still = np.array([1.0, 0, 0, 0])
    rows = 4 * count  # grasp, finger, obstacle
    columns: dict[str, Any] = {
        "shape_a": np.zeros(rows, np.int32),
        "shape_b": np.tile(np.array([1, 2], np.int32), 2 * count),
        "position_a": np.repeat(fingers.reshape(-1, 3), 2, axis=0),
        "position_b": np.tile(np.stack([bottle, table]), (2 * count, 1)),
        "rotation_a": np.repeat(rotation, 4, axis=0),
        "rotation_b": np.tile(still, (rows, 1)),
    }
    lists = {k: pa.array(list(v), pa.list_(pa.float64(), v.shape[1])) if v.ndim == 2 else v for k, v in columns.items()}
    pq.write_table(pa.table(lists), path)


def verdicts(path: Path) -> tuple[Any, Any]:
    """The proved least clearance of each grasp, and whether all its rows have an answer."""
    table = pq.read_table(path, columns=["distance", "gap", "status"])
    distance, gap, status = (table.column(c).to_numpy() for c in table.column_names)
    lower = np.where(status < cl.UNDECIDED, distance.astype(np.float64) - gap, -np.inf)
    return lower.reshape(-1, 4).min(axis=1), (status < cl.UNDECIDED).reshape(-1, 4).all(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description="score a Parquet file of grasps")
    parser.add_argument("--grasps", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        library = make_library(folder)
        write_grasps(folder / "grasps.parquet", options.grasps)
        report = cl.score_file(folder / "grasps.parquet", folder / "answers.parquet", library=library, progress=True)
        report.raise_if_refuted()
        lower, answered = verdicts(folder / "answers.parquet")
        good = lower > CLEAR
        print(f"{len(lower):,} grasps, {report.report.rows:,} pairs, none refuted by the audit of every answer")
        print(
            f"{good.sum():,} are proved {CLEAR * 1000:g} mm clear, {(~answered).sum():,} have a row without an answer"
        )


if __name__ == "__main__":
    main()
