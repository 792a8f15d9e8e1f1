"""The commands that make files of files: ``clearance convert`` and ``clearance view``."""

from __future__ import annotations

import argparse
import importlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as nat
from ._errors import ConcaveError, FileError
from ._library import Library
from ._load import kind_of, read_as
from ._options import not_onto
from ._result import COLUMNS, STATUSES, Result
from ._show import show

if TYPE_CHECKING:
    from ._scene import Scene

_INPUT = ("shape_a", "shape_b", "position_a", "rotation_a", "position_b", "rotation_b")


def view(words: list[str]) -> int:
    """The command: a page of rows of files that batchbench or ``score_file`` wrote."""
    parser = argparse.ArgumentParser(prog="clearance view", description="rows of files as one HTML page")
    shapes = parser.add_mutually_exclusive_group(required=True)
    shapes.add_argument("--shapes", help="shapes.json")
    shapes.add_argument("--model", help="in place of --shapes: a URDF or MJCF file, or a mesh; its options are below")
    parser.add_argument("--pairs", required=True, help="pairs, .npz or (with pyarrow) .parquet, or a folder of them")
    parser.add_argument("--results", required=True, help="their results, .npz or .parquet, or a folder")
    parser.add_argument("--out", required=True, help="the page to write; .json: the scene description alone")
    parser.add_argument(
        "--rows", type=_rows, help="rows, as in 7,40,41; default: those without an answer, then the nearest"
    )
    parser.add_argument("--most", type=int, default=100, help="number of rows by default")
    parser.add_argument(
        "--trace", type=_rows, default=[], help="rows, as in 7,40, whose steps are shown: the back end ref solves them"
    )
    parser.add_argument("--method", default="auto", help="method of the traced rows: auto, gjk, nesterov, polyak, rtr")
    before = {action.dest for action in parser._actions}
    add_options(parser)
    options = parser.parse_args(words)
    of_model = {name: value for name, value in vars(options).items() if name not in before}
    if of_model and options.model is None:
        parser.error("--concave, --tolerance, --package, --srdf, --omit and --strict are about --model")
    if options.model is not None and Path(options.out).suffix.lower() not in (".html", ".json"):
        raise FileError(f"{options.out}: want a name that ends in .html or .json")  # which no mesh of a model has
    files = {name: getattr(options, name, None) for name in ("shapes", "model", "srdf", "pairs", "results")}
    _keep(options.out, {name: path for name, path in files.items() if path is not None})
    pairs, _ = _read(options.pairs, _INPUT, _INPUT)
    found, query = _read(options.results, [name for name in COLUMNS if name != "bits"], ("status",))
    if len(pairs["shape_a"]) != len(found["status"]):
        raise FileError(f"{options.results} has {len(found['status'])} rows, {options.pairs} {len(pairs['shape_a'])}")
    if found["status"].dtype.kind not in "iu" or not np.isin(found["status"], range(len(STATUSES))).all():
        raise FileError(f"{options.results}: status: want codes from 0 to {len(STATUSES) - 1}")
    double = "distance" in found and found["distance"].dtype == np.float64
    result = Result(**found, query=query, precision="double" if double else "single")
    library = Library.load(options.shapes) if options.model is None else scene_of(options.model, of_model).library
    arrays = [pairs[name] for name in _INPUT]
    some = {"rows": options.rows, "most": options.most, "trace": options.trace, "method": options.method}
    page = show(result, library, *arrays, quat="wxyz", **some)
    try:
        page.save(options.out)
    except OSError as e:
        raise FileError(f"{options.out}: {e.strerror}") from e
    print(f"{options.out}: {page.rows} rows")
    return 0


def _keep(out: str, inputs: dict[str, str]) -> None:
    """Refuse an output that is one file with an input, or with a mesh that the shapes name; links are followed."""
    named = list(inputs.items())
    try:
        document = json.loads(Path(inputs["shapes"]).read_text("utf-8-sig")) if "shapes" in inputs else {}
        lists = [entry for key in ("shapes", "bodies") for entry in document.get(key, [])]
        named += [("shapes", str(Path(inputs["shapes"]).parent / entry["mesh"])) for entry in lists if "mesh" in entry]
    except (OSError, ValueError, AttributeError, TypeError):
        pass  # reading the shapes says what is wrong with them
    for flag, path in named:
        if Path(out).exists() and Path(path).exists() and Path(path).samefile(out):
            raise FileError(f"--{flag} and --out are one file, {out}; give the page another name")
    not_onto(out, inputs.values())


def _rows(text: str) -> list[int]:
    """The value of --rows."""
    try:
        return [int(r) for r in text.split(",")]
    except ValueError as e:
        raise argparse.ArgumentTypeError(f"{text!r}, want numbers of rows, as in 7,40,41") from e


def _files(path: str) -> list[str]:
    """The files of a folder of parts, by name, of which numbers compare as numbers; the path itself of a file."""
    if not Path(path).is_dir():
        return [path]

    def order(name: str) -> list[tuple[int, str]]:
        return [(int(s), "") if s.isdigit() else (-1, s) for s in re.split("([0-9]+)", name)]

    parts = sorted((p.name for p in Path(path).iterdir() if p.name[0] not in "._"), key=order)
    if not parts:
        raise FileError(f"{path} has no .parquet or .npz file")
    return [str(Path(path) / name) for name in parts]


def _table(path: str, names: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The columns of a file, or of all files of a folder, and the query that their metadata name."""
    files = _files(path)
    parts = [(_parquet if Path(p).suffix == ".parquet" else _npz)(p, names) for p in files]
    columns, query = parts[0]
    if len(files) == 1:
        return columns, query
    for file, (others, asked) in zip(files, parts, strict=True):
        if others.keys() != columns.keys() or asked != query:
            raise FileError(f"{file} has other columns or another query than {files[0]}")
    return {name: np.concatenate([part[name] for part, _ in parts]) for name in columns}, query


def _read(path: str, names: Sequence[str], needed: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The columns of a file that it has of the names, all of one length, and the query that its metadata name."""
    try:
        columns, query = _table(path, names)
    except FileError:
        raise
    except OSError as e:
        raise FileError(f"{path}: {e.strerror or e}") from e
    except Exception as e:  # of zipfile, zlib, NumPy or pyarrow: a damaged file may raise any of theirs
        raise FileError(f"{path} is damaged or no file of columns: {e}") from e
    for name in needed:
        if name not in columns:
            raise FileError(f"{path} has no column {name}")
    rows = columns[needed[0]].shape[:1]
    for name, column in columns.items():
        if not rows or column.shape[:1] != rows:
            raise FileError(f"{path}: {name} has the shape {list(column.shape)}, want as many rows as {needed[0]}")
    if query not in nat.native().query_codes:
        raise FileError(f"{path}: metadata query: {query!r}, want one of {', '.join(nat.native().query_codes)}")
    return columns, query


def _npz(path: str, names: Sequence[str]) -> tuple[dict[str, Any], str]:
    loaded = np.load(path, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        raise FileError(f"{path} is one array, want a file of columns, .npz or .parquet")
    with loaded as z:
        return {name: z[name] for name in names if name in z}, str(z["query"]) if "query" in z else "distance"


def _parquet(path: str, names: Sequence[str]) -> tuple[dict[str, Any], str]:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as e:
        raise FileError(f"{path}: Parquet files are read by pyarrow: pip install pyarrow") from e
    columns: dict[str, Any] = {}
    with parquet.ParquetFile(path) as file:
        query = (file.metadata.metadata or {}).get(b"query", b"distance").decode()
        table = file.read(columns=[name for name in names if name in file.schema_arrow.names])
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        lists = hasattr(column.type, "value_type")
        array = (column.flatten() if lists else column).to_numpy(zero_copy_only=False)
        columns[name] = array.reshape(len(column), -1) if lists else array
    return columns, query


def command(words: list[str]) -> int:
    """The command: a model or a mesh as a file of shapes, bodies and pairs, which ``batchbench`` reads."""
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
    file = Path(model)
    kind = kind_of(file)
    if kind == "shapes.json":
        raise FileError(f"{model} is a file of shapes already")
    try:
        return read_as(kind, file, options)
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
