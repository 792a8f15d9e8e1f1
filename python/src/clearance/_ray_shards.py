"""Shards of calls of :func:`clearance.ray.score`, and the kinds of files that they cut: pairs, worlds and motions."""

from __future__ import annotations

import bisect
import hashlib
import io
import itertools
import json
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Literal, cast

import clearance as cl

from ._errors import FileError, OptionError
from ._library import Library
from ._options import INT64
from ._ray_store import Local, Remote, last_part, place, printable
from ._result import STATUSES
from ._scene import Scene
from ._score import FileReport, score_file
from ._worlds import audit_rollout_file, audit_sweep_file, rollout_file, size_of_worlds, sweep_file

Kind = Literal["pairs", "worlds", "motions"]

# The options of each kind; others keep their defaults.
_SOLVER: Final = ("query", "columns", "max_distance", "method", "precision", "tolerance")
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "pairs": _SOLVER,
    "worlds": (*_SOLVER, "reduce", "pairs", "culling"),
    "motions": ("max_distance", "tolerance", "time_tolerance", "max_evaluations"),
}
_DEFAULTS: Final = {"query": "distance", "method": "auto", "precision": "single", "culling": True}

# Options that no answer has to meet.
_UNASKED: Final = ("columns", "method", "culling", "max_evaluations")

# Rows of a Parquet file of worlds that the library reads at a time to learn the bodies of a world.
_HEAD: Final = 1 << 14


def options_of(kind: Kind, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a kind of files, or OptionError for one of another kind."""
    for name, value in given.items():
        if name not in _OPTIONS[kind] and value != _DEFAULTS.get(name):
            raise OptionError(f"{name}: {value!r}, but files of {kind} have no such option")
    return {name: given[name] for name in _OPTIONS[kind]}


def shapes_of(kind: Kind, library: Any, scene: Any) -> Library | Scene:
    """What the files are of: a library of pairs, a scene of worlds and motions."""
    given, other, name = (library, scene, "library") if kind == "pairs" else (scene, library, "scene")
    if given is None or other is not None:
        raise OptionError(f"{name}: files of {kind} want {name}=, and it alone")
    if kind == "pairs":
        return given if isinstance(given, Library) else Library.load(given)
    if not isinstance(given, Scene):
        return Scene.load(given)
    return Scene(given.library, list(given.bodies))  # the pairs are those of the files


@dataclass(frozen=True)
class Size:
    """How many pairs or worlds a file has, and what one of them has."""

    count: int
    pairs: int = 1
    rows: int = 1  # of results; 0 if their number is known only with the answers
    lines: int = 1  # rows of a Parquet file


EMPTY: Final = Size(0)


def size_of(f: Local | Remote, kind: Kind, options: dict[str, Any]) -> Size:
    """The size of a file."""
    if kind == "pairs":
        return Size(f.rows())
    about = _look(f)
    listed = 0 if options.get("pairs") else about.pairs
    pairs = listed or about.places * (about.places - 1) // 2
    rows = 1 if options.get("reduce") else listed
    return Size(about.worlds, max(pairs, 1), rows, about.places * about.way_points)


def _look(f: Local | Remote) -> Any:
    """The sizes of a file of worlds; of an object its first rows tell them, unless a world has more."""
    if isinstance(f, Remote) and f.path.endswith(".parquet"):
        try:
            with f.reading(0, _HEAD) as local:
                return size_of_worlds(local)
        except FileError:
            pass
    with f.reading(0, INT64) as local:
        return size_of_worlds(local)


def head_of(lines: int) -> int:
    """The rows of a Parquet file that the library reads before the first of a range, where a world has so many."""
    return lines + _HEAD


def results_of(size: Size, options: dict[str, Any]) -> int:
    """The answers of a pair or a world that an audit counts: rows, or of all pairs the pairs."""
    return 1 if options.get("reduce") else size.pairs


def audit_part(
    kind: Kind, source: str, results: str, shapes: Any, part: tuple[int, int], engine: Any, options: dict[str, Any]
) -> tuple[int, int]:
    """Audit results of a range of the worlds of a file: the numbers of answers (audited, refuted)."""
    call = cast(Callable[..., tuple[int, int]], audit_rollout_file if kind == "worlds" else audit_sweep_file)
    asked = {k: v for k, v in options.items() if k not in _UNASKED}
    return call(source, results, scene=shapes, part=part, engine=engine, **asked)


def answer_file(
    kind: Kind, source: str, out: str, shapes: Any, part: tuple[int, int], engine: Any, options: dict[str, Any]
) -> FileReport:
    """Answer a range of the pairs, or of the worlds, of a file."""
    if kind == "pairs":
        return score_file(source, out, library=shapes, rows=part, audit=False, engine=engine, **options)
    call = cast(Callable[..., FileReport], rollout_file if kind == "worlds" else sweep_file)
    return call(source, out, scene=shapes, part=part, engine=engine, **options)


# Files that are looked at at a time, each by some requests to a store.
_AT_ONCE: Final = 8

# Names that begin with _ are no parts of the table.
MANIFEST: Final = "_manifest.parquet"
_NUMBERS: Final = ("iterations", "audited", "refuted", "peak_memory")
_TEXTS: Final = ("backend", "kernels", "host", "sha256", "stamp", "error", "first_invalid")


@dataclass(frozen=True)
class Shard:
    """The pairs or worlds [lo, hi) of an input, and the name of their results."""

    index: int
    path: str
    lo: int
    hi: int
    identity: str
    out: str
    kind: Kind = "pairs"
    size: Size = EMPTY
    version: str = ""  # of the input, before its identity was taken

    def row(self) -> dict[str, Any]:
        """The row of the manifest of a shard without an answer."""
        return {
            "shard": self.index, "input": printable(self.path), "lo": self.lo, "hi": self.hi, "identity": self.identity,
            "out": last_part(self.out), "rows": (self.hi - self.lo) * self.size.rows,
            **dict.fromkeys((*STATUSES, *_NUMBERS), 0),
            "first_invalid_row": -1, "worst_gap": 0.0, "worst_row": -1, "seconds": 0.0, **dict.fromkeys(_TEXTS, ""),
        }  # fmt: skip

    @property
    def range(self) -> str:
        return range_of(self.kind, self.lo, self.hi)

    @property
    def lines(self) -> tuple[int, int, int]:
        """The rows of the input if it is a Parquet file, and its first ones that a task needs besides."""
        n = self.size.lines
        return self.lo * n, self.hi * n, self.head

    @property
    def head(self) -> int:
        """The first rows of the input that a task needs besides its own, if it is a Parquet file."""
        return 0 if self.kind == "pairs" else head_of(self.size.lines)

    @property
    def title(self) -> str:
        """Its name in Ray's dashboard."""
        return printable(f"{last_part(self.path)}[{self.lo}:{self.hi}]")


def range_of(kind: str, lo: int, hi: int) -> str:
    """A range of an input in words."""
    return f"{'rows' if kind == 'pairs' else 'worlds'} {lo} to {hi - 1}"


def files_of(inputs: Any, filesystem: Any) -> list[Local | Remote]:
    """The files of a name, a pattern, or a list of these."""
    given = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    files: list[Local | Remote] = []
    for item in given:
        found = place(item, filesystem).find()
        if not found:
            raise FileError(f"{os.fspath(item)}: no file has such a name")
        files += found
    if len({f.key for f in files}) != len(files):
        raise OptionError("inputs: a file is named twice")
    return files


def plan(
    files: list[Local | Remote],
    folder: Local | Remote,
    most: int,
    kind: Kind = "pairs",
    options: dict[str, Any] | None = None,
) -> list[Shard]:
    """Shards of at most so many pairs, but of a world."""
    for f in files:
        if folder.is_parent(f):
            raise OptionError(
                f"outputs: {folder.name} is the folder of the input {f.name}; give the results another one"
            )

    def about(f: Local | Remote) -> tuple[str, str, Size, list[int]]:
        """Its version and its identity, its size and its row groups."""
        version, who = f.version(), f.identity()
        try:
            return version, who, size_of(f, kind, options or {}), f.groups()
        except FileError:
            return version, who, EMPTY, []  # the task of the shard lists the error, and the other files go on

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        known = list(pool.map(about, files))
    shards: list[Shard] = []
    for f, (version, who, size, groups) in zip(files, known, strict=True):
        starts = sorted({n // size.lines for n in itertools.accumulate(groups)} - {0, size.count})
        for lo, hi in itertools.pairwise(cuts(size.count, max(most // size.pairs, 1), starts)):
            out = folder / f"part-{len(shards):06d}{PurePath(f.path).suffix}"
            shards.append(Shard(len(shards), f.name, lo, hi, who, out.name, kind, size, version))
    return shards


def cuts(count: int, most: int, starts: list[int]) -> list[int]:
    """Where a file is cut into shards of at most so many rows, or worlds, with its ends: at starts of row groups, since
    both shards read a group that is cut, unless there are groups of more rows. The shards are of about one size, so
    that they end together."""
    parts = max(-(-count // most), 1)
    equal = [count * k // parts for k in range(parts + 1)]
    ends = [*starts, count]
    if parts == 1 or max(b - a for a, b in itertools.pairwise([0, *ends])) > most:
        return equal
    whole = [0]
    while whole[-1] < count:
        whole.append(ends[bisect.bisect_right(ends, whole[-1] + most) - 1])
    parts = len(whole) - 1
    even = [0, *(_nearest(ends, count * k // parts) for k in range(1, parts)), count]
    return even if all(0 < b - a <= most for a, b in itertools.pairwise(even)) else whole


def _nearest(sorted_numbers: list[int], to: int) -> int:
    i = bisect.bisect_left(sorted_numbers, to)
    return min(sorted_numbers[max(i - 1, 0) : i + 1], key=lambda n: abs(n - to))


def digest_of(shapes: cl.Library | cl.Scene) -> str:
    return hashlib.sha256(pickle.dumps(shapes, protocol=4)).hexdigest()[:16]


def _schema(options: dict[str, Any], rows: list[dict[str, Any]]) -> Any:
    """The columns of a manifest, and its metadata: the options, and the SHA-256 of these and of the rows."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    columns = Shard(0, "", 0, 0, "", "").row().items()
    text = json.dumps([options, rows], sort_keys=True).encode()
    about = {b"options": json.dumps(options).encode(), b"sha256": hashlib.sha256(text).hexdigest().encode()}
    return pa.schema([pa.field(name, types[type(value)]) for name, value in columns], about)


def manifest_of(options: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    """The file of a manifest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, _schema(options, rows)), out)
    return out.getvalue()


def _read_manifest(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The options and the rows of a manifest. A file that is none, or was altered, is a ValueError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
    except (OSError, KeyError, ValueError, pa.ArrowException) as e:
        raise ValueError(str(e)) from e
    about = table.schema.metadata or {}
    options = json.loads(about.get(b"options", b"null"))
    if not isinstance(options, dict):
        raise ValueError("it has no options")
    rows = table.to_pylist()
    want = _schema(options, rows)
    for field in want:
        if field.name not in table.column_names or table.schema.field(field.name).type != field.type:
            raise ValueError(f"column {field.name}: there is none of type {field.type}")
        if table[field.name].null_count:
            raise ValueError(f"column {field.name} has nulls")
    if about.get(b"sha256") != want.metadata[b"sha256"]:
        raise ValueError("it was altered after it was written")
    return options, rows


def _fault(row: dict[str, Any], s: Shard, options: dict[str, Any]) -> str:
    """What contradicts the shard, or another number, in a row of a manifest with a result; "" if nothing does."""
    answers = (s.hi - s.lo) * results_of(s.size, options)
    below = [k for k in (*STATUSES, *_NUMBERS, "rows") if row[k] < 0]
    if below:
        return f"{below[0]} {row[below[0]]}"
    if (total := sum(row[k] for k in STATUSES)) != row["rows"] or (s.size.rows and row["rows"] != s.row()["rows"]):
        return f"{row['rows']} rows, with {total} statuses, of {s.range}"
    if row["audited"] > answers or row["refuted"] > row["audited"]:
        return f"{row['audited']} answers audited and {row['refuted']} refuted, of {answers}"
    if row["out"] != last_part(s.out) or row["shard"] != s.index:
        return f"shard {row['shard']} in {row['out']}, which is {s.index} in {last_part(s.out)}"
    return ""


class Manifest:
    """The table of a folder of results, with a row per shard; its metadata are the options of the answers."""

    def __init__(self, folder: Local | Remote, shards: list[Shard], options: dict[str, Any]) -> None:
        self.folder, self.at = folder, folder / MANIFEST
        self.shards, self.options = shards, options
        self.rows = [s.row() for s in shards]
        self.done: set[int] = set()  # shards that an earlier call has answered

    def refuse(self) -> None:
        """Raise FileError if there is one."""
        if self.at.exists():
            raise FileError(f"{self.at.name} exists: resume=True goes on with it; or give the results another folder")
        self._check_names(set())

    def resume(self, filesystem: Any) -> None:
        """Take over the rows of shards whose results are there and are theirs."""
        if not self.at.exists():
            self._check_names(set())
            return
        data = self.at.get()
        try:
            before, rows = _read_manifest(data)
        except ValueError as e:
            raise FileError(
                f"{self.at.name}: no manifest of results: {e}; give the results another folder, or remove this one"
            ) from e
        self._compare(before, len(rows))
        for row, s in zip(rows, self.shards, strict=True):
            was, now = (row["input"], row["lo"], row["hi"], row["identity"]), (s.row()["input"], s.lo, s.hi, s.identity)
            if was != now:
                raise OptionError(f"{self.at.name}: the input {s.path} has changed since its {s.range} were answered")
            out = place(s.out, filesystem)
            if not row["sha256"] or row["error"] or not out.exists():
                continue
            if fault := _fault(row, s, self.options):
                raise FileError(f"{self.at.name}, {s.range} of {s.path}: the numbers do not add up: {fault}")
            if not out.holds(row):
                raise FileError(
                    f"{out.name}: it is not the file that the manifest lists for {s.range} of "
                    f"{s.path}: delete it to have these rows answered"
                )
            self.rows[s.index] = row
            self.done.add(s.index)
        self._check_names({last_part(s.out) for s in self.shards})

    def _check_names(self, ours: set[str]) -> None:
        """Raise FileError if the folder has a file that would be read as one of the results and is none. Names that
        begin with . or _ are not read."""
        for name in self.folder.names():
            if name not in ours and name[0] not in "._":
                raise FileError(
                    f"{self.folder.name} has {name}, which is no result of these inputs: give the results another "
                    "folder, or remove it"
                )

    def _compare(self, before: dict[str, Any], shards: int) -> None:
        """Raise OptionError for other options, or other numbers of shards, than those of the manifest."""
        changed = [k for k in self.options if before.get(k) != self.options[k]]
        if changed:
            words = ", ".join(f"{k} was {before.get(k)!r} and is {self.options[k]!r}" for k in changed)
            raise OptionError(
                f"{self.at.name}: the results are of other options: {words}; give the results another folder"
            )
        if shards != len(self.shards):
            raise OptionError(
                f"{self.at.name}: the inputs made {shards} shards and make {len(self.shards)}: they have changed"
            )

    def write(self) -> None:
        self.at.put(manifest_of(self.options, self.rows))
