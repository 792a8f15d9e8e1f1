"""Files of pairs: scored in a stream, larger than memory if need be."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Unpack, cast

from . import _jobs
from . import _native as nat
from ._columns import QueryName
from ._engine import Engine
from ._errors import OptionError, RefutedError, RowError
from ._library import Library
from ._options import SolverOptions, defaults, filled, flag, path_bytes, whole
from ._result import Report, report_of


@dataclass(frozen=True)
class FileReport:
    """What became of a file: the report of its rows, and of the audit (None if there was none).

    ``audited`` is the number of rows that the audit proved or refuted. It is 0 for distances without the columns
    that prove them: gap, normal and both witnesses.
    """

    out: str
    report: Report
    refuted: int | None
    audited: int | None = None

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if any row has no answer."""
        counts, error = self.report.counts, self.report.error
        undecided, invalid = counts["undecided"], counts["invalid"]
        if undecided + invalid == 0:
            return
        array, row, reason = error or ("status", -1, "the bounds stayed wider than the tolerance")
        message = f"{self.out}: {undecided} rows undecided, {invalid} invalid"
        raise RowError(f"{message}; first invalid: {array}[{row}]: {reason}" if error else message, array, row, reason)

    def raise_if_refuted(self) -> None:
        """Raise :class:`RefutedError` if the audit refuted an answer, or has not looked at all of them."""
        if self.refuted is None:
            raise RefutedError(f"{self.out} was not audited: score_file(..., audit=True)")
        if self.refuted:
            raise RefutedError(f"{self.out}: the audit refuted {self.refuted} of {self.report.rows} answers")
        if self.audited != self.report.rows:
            raise RefutedError(
                f"{self.out}: {self.report.rows - (self.audited or 0)} of {self.report.rows} answers were not audited; "
                "distances are proved by the columns gap, normal, witness_a and witness_b"
            )


def score_file(
    pairs: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    library: Library | str | os.PathLike[str],
    query: QueryName = "distance",
    max_distance: float | None = None,
    rows: tuple[int, int] | None = None,
    audit: bool = True,
    progress: bool | Callable[[int, int], object] = False,
    engine: Engine | None = None,
    **options: Unpack[SolverOptions],
) -> FileReport:
    """Answer the pairs of a file (.parquet, .npz) into another, in input order, as ``batchbench score`` does.

    The files are streamed, so they may be larger than memory, and ``out`` appears under its name once it is complete
    and, with ``audit``, checked: an interrupted call leaves no file. Pairs may be a folder of files, which is one table
    in the order of their names; ``out`` is a folder of Parquet files if it ends with a slash, as ``"results/"``, or is
    an empty folder. ``library`` is a Library or the path of a shapes.json. ``rows`` (lo, hi), hi not included,
    answers that part of the file, with the bits that it has in the results of the whole; rows of the report and of
    errors are counted from the start of the file. ``audit`` checks every answer from the shapes alone, sharing no
    code with a solver but the support functions. ``progress`` is True (a line on the standard error) or a function
    that is called with rows done and rows in total; with an audit each row counts twice, when it is answered and when
    it is audited. An ``engine`` is opened if none is given. ``columns``, ``method``, ``precision``, ``tolerance`` and
    ``max_iterations`` are those of :meth:`Engine.distance`.
    """
    flag("audit", audit)
    with opened_or(engine) as opened:
        about = library if isinstance(library, Library) else Library()
        q = opened._query(query, about, filled("files of pairs", SolverOptions, options), max_distance)
        shapes = None if isinstance(library, Library) else path_bytes("library", library)
        return _score(
            opened, q, shapes, path_bytes("pairs", pairs), part(rows), path_bytes("out", out), audit, progress
        )


def audit_file(
    pairs: str | os.PathLike[str],
    results: str | os.PathLike[str],
    *,
    library: Library | str | os.PathLike[str],
    rows: tuple[int, int] | None = None,
    start: int | None = None,
    query: QueryName = "distance",
    max_distance: float | None = None,
    precision: Literal["single", "double"] | None = None,
    tolerance: float | None = None,
    engine: Engine | None = None,
) -> tuple[int, int]:
    """Audit answers of a file from the shapes alone: the numbers of rows (audited, refuted).

    ``rows`` are the pairs whose answers are audited, all by default; their answers are the rows of ``results`` from
    ``start`` on, or all of its rows. The options are those that the answers have to meet. Nothing of the file is
    believed, and no solver takes part.
    """
    names = path_bytes("pairs", pairs), *part(rows), path_bytes("results", results)
    at = -1 if start is None else whole("start", start, 0)
    with opened_or(engine) as opened:
        about = library if isinstance(library, Library) else Library()
        asked = {**defaults(SolverOptions), "precision": precision, "tolerance": tolerance}
        q = opened._query(query, about, asked, max_distance)
        shapes = None if isinstance(library, Library) else path_bytes("library", library)

        def submit(job: Any, error: nat.Error) -> int:
            return cast(int, opened._native.audit(opened._number, q, shapes, *names, at, job, error))

        report = run_file(submit, (q, shapes), False, "audits")
        return int(report.audited), int(report.refuted)


def part(rows: tuple[int, int] | None, name: str = "rows") -> tuple[int, int]:
    """The range of rows in the words of the C interface."""
    if rows is None:
        return 0, -1
    if not isinstance(rows, tuple) or len(rows) != 2:
        raise OptionError(f"{name}: {rows!r}, want (lo, hi)")
    lo, hi = (whole(name, r, 0) for r in rows)
    if hi < lo:
        raise OptionError(f"{name}: {rows!r}: the end is before the start")
    return lo, hi


def pair_rows(pairs: str | os.PathLike[str]) -> int:
    """The number of pairs of a file (.parquet, .npz)."""
    n, error, rows = nat.native(), nat.Error(), ctypes.c_int64()
    n.raise_for(n.pairs_rows(path_bytes("pairs", pairs), rows, error), error)
    return rows.value


def _score(
    engine: Engine,
    q: nat.Query,
    shapes: bytes | None,
    pairs: bytes,
    rows: tuple[int, int],
    out: bytes,
    audit: bool,
    progress: bool | Callable[[int, int], object],
) -> FileReport:
    def submit(job: Any, error: nat.Error) -> int:
        names = (shapes, pairs, *rows, out)
        return cast(int, engine._native.score(engine._number, q, *names, int(audit), job, error))

    what, times = ("answers and audits", 2) if audit else ("pairs", 1)
    report = run_file(submit, (q, shapes), progress, what, times)
    counts = (int(report.refuted), int(report.audited)) if audit else (None, None)
    return FileReport(os.fsdecode(out), report_of(report), *counts)


def opened_or(engine: Engine | None) -> contextlib.AbstractContextManager[Engine]:
    """An engine for a call: that of the caller, or one of its own."""
    if engine is None:
        return Engine()
    if not isinstance(engine, Engine):
        raise OptionError(f"engine: {engine!r}, want an Engine")
    return contextlib.nullcontext(engine)


def run_file(
    begin: Callable[[Any, nat.Error], int],
    keep: Any,
    progress: bool | Callable[[int, int], object],
    what: str,
    times: int = 1,
) -> nat.Report:
    """Begin a job of a file, wait for it, and tell its progress: of ``what``, of which each row counts some times."""
    if not isinstance(progress, bool) and not callable(progress):
        raise OptionError(f"progress: {progress!r}, want True, False or a function")
    n = nat.native()

    def line(done: int, total: int) -> None:
        print(f"\r{done:,} of {total:,} {what}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    tell = progress if callable(progress) else line if progress else None

    def submit(_: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        code = begin(job, error)
        return nat.RUNNING if code == nat.OK else code

    def look(job: Any) -> None:
        total = ctypes.c_int64()
        done = n.job_progress(job, total)
        if tell is not None and 0 <= done < total.value:
            tell(int(done), int(total.value))

    try:
        report = _jobs.run(submit, keep, look)
    except BaseException:
        if tell is line:
            print(file=sys.stderr)
        raise
    if tell is not None:
        rows = times * report.rows
        tell(rows, rows)
    return report
