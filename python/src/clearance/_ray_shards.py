"""Shards of files, and the manifest of a folder of results: what is to be done, and what became of it."""

from __future__ import annotations

import bisect
import hashlib
import io
import itertools
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

import clearance as cl

from ._errors import FileError, OptionError
from ._ray_kinds import EMPTY, Kind, Size, head_of, size_of
from ._ray_store import Local, Remote, last_part, place
from ._result import STATUSES

# Files that are looked at at a time, each by some requests to a store.
_AT_ONCE: Final = 8

# Names that begin with _ are no parts of the table.
MANIFEST: Final = "_manifest.parquet"
_NUMBERS: Final = ("iterations", "audited", "refuted", "peak_memory")
_TEXTS: Final = ("backend", "host", "sha256", "stamp", "error", "first_invalid")


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

    def row(self) -> dict[str, Any]:
        """The row of the manifest of a shard without an answer."""
        return {
            "shard": self.index, "input": self.path, "lo": self.lo, "hi": self.hi, "identity": self.identity,
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
        return f"{last_part(self.path)}[{self.lo}:{self.hi}]"


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

    def about(f: Local | Remote) -> tuple[str, Size, list[int]]:
        """Its identity, its size and its row groups."""
        try:
            who = f.identity()
        except OSError as e:
            raise FileError(f"{f.name}: {e.strerror or e}") from e
        try:
            return who, size_of(f, kind, options or {}), f.groups()
        except FileError:
            return who, EMPTY, []  # the task of the shard lists the error, and the other files go on

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        known = list(pool.map(about, files))
    shards: list[Shard] = []
    for f, (who, size, groups) in zip(files, known, strict=True):
        starts = sorted({n // size.lines for n in itertools.accumulate(groups)} - {0, size.count})
        for lo, hi in itertools.pairwise(cuts(size.count, max(most // size.pairs, 1), starts)):
            out = folder / f"part-{len(shards):06d}{PurePath(f.path).suffix}"
            shards.append(Shard(len(shards), f.name, lo, hi, who, out.name, kind, size))
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


class Manifest:
    """The table of a folder of results, with a row per shard; its metadata are the options of the answers."""

    def __init__(self, folder: Local | Remote, shards: list[Shard], options: dict[str, Any]) -> None:
        self.at, self.shards, self.options = folder / MANIFEST, shards, options
        self.rows = [s.row() for s in shards]
        self.done: set[int] = set()  # shards that an earlier call has answered

    def refuse(self) -> None:
        """Raise FileError if there is one."""
        if self.at.exists():
            raise FileError(f"{self.at.name} exists: resume=True goes on with it; or give the results another folder")

    def resume(self, filesystem: Any) -> None:
        """Take over the rows of shards whose results are there and are theirs."""
        import pyarrow.parquet as pq

        if not self.at.exists():
            return
        try:
            table = pq.read_table(io.BytesIO(self.at.get()))
            before = json.loads((table.schema.metadata or {})[b"options"])
        except (OSError, KeyError, ValueError) as e:
            raise FileError(f"{self.at.name}: no manifest of results: {e}") from e
        self._compare(before, len(table))
        for row, s in zip(table.to_pylist(), self.shards, strict=True):
            was, now = (row["input"], row["lo"], row["hi"], row["identity"]), (s.path, s.lo, s.hi, s.identity)
            if was != now:
                raise OptionError(f"{self.at.name}: the input {s.path} has changed since its {s.range} were answered")
            out = place(s.out, filesystem)
            if not row["sha256"] or row["error"] or not out.exists():
                continue
            if not out.holds(row):
                raise FileError(
                    f"{out.name}: it is not the file that the manifest lists for {s.range} of "
                    f"{s.path}: delete it to have these rows answered"
                )
            self.rows[s.index] = row
            self.done.add(s.index)

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
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {str: pa.string(), int: pa.int64(), float: pa.float64()}
        columns = Shard(0, "", 0, 0, "", "").row().items()
        schema = pa.schema(
            [pa.field(name, types[type(value)]) for name, value in columns],
            {b"options": json.dumps(self.options).encode()},
        )
        out = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(self.rows, schema), out)
        try:
            self.at.put(out.getvalue())
        except OSError as e:
            raise FileError(f"{self.at.name}: {e.strerror or e}") from e
