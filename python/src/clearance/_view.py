"""``clearance view``: rows of files as a page to look at."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import FileError
from ._library import Library
from ._result import COLUMNS, Result
from ._show import show

_INPUT = ("shape_a", "shape_b", "position_a", "rotation_a", "position_b", "rotation_b")


def view(words: list[str]) -> int:
    """The command: a page of rows of files that batchbench or ``score_file`` wrote."""
    parser = argparse.ArgumentParser(prog="clearance view", description="rows of files as one HTML page")
    parser.add_argument("--shapes", required=True, help="shapes.json")
    parser.add_argument("--pairs", required=True, help="pairs, .npz or (with pyarrow) .parquet")
    parser.add_argument("--results", required=True, help="their results, .npz or .parquet")
    parser.add_argument("--out", required=True, help="the page to write")
    parser.add_argument("--rows", help="rows, as in 7,40,41; default: those without an answer, then the nearest")
    parser.add_argument("--most", type=int, default=100, help="number of rows by default")
    options = parser.parse_args(words)
    pairs = _columns(options.pairs, _INPUT, _INPUT)
    found = _columns(options.results, COLUMNS, ("status",))
    if len(pairs["shape_a"]) != len(found["status"]):
        raise FileError(f"{options.results} has {len(found['status'])} rows, {options.pairs} {len(pairs['shape_a'])}")
    double = "distance" in found and found["distance"].dtype == np.float64
    result = Result(**found, precision="double" if double else "single")
    rows = None if options.rows is None else [int(r) for r in options.rows.split(",")]
    library = Library.load(options.shapes)
    arrays = [pairs[name] for name in _INPUT]
    page = show(result, library, *arrays, quat="wxyz", rows=rows, most=options.most, path=options.out)
    print(f"{options.out}: {page.rows} rows")
    return 0


def _columns(path: str, names: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Any]:
    """The columns of a file that it has of the names."""
    columns: dict[str, Any] = {}
    try:
        if Path(path).suffix == ".parquet":
            try:
                parquet: Any = importlib.import_module("pyarrow.parquet")
            except ImportError as e:
                raise FileError(f"{path}: Parquet files are read by pyarrow: pip install pyarrow") from e
            table = parquet.read_table(path)
            for name in names:
                if name in table.column_names:
                    column = table.column(name).combine_chunks()
                    lists = hasattr(column.type, "value_type")
                    values = column.flatten() if lists else column
                    array = values.to_numpy(zero_copy_only=False)
                    columns[name] = array.reshape(len(column), -1) if lists else array
        else:
            with np.load(path, allow_pickle=False) as z:
                columns = {name: z[name] for name in names if name in z}
    except (OSError, ValueError) as e:
        raise FileError(f"{path}: {e}") from e
    for name in needed:
        if name not in columns:
            raise FileError(f"{path} has no column {name}")
    return columns
