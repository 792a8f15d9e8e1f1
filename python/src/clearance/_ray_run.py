"""A call of :func:`clearance.ray.score`: tasks submitted and collected, the manifest kept, progress told."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any, Final

from ._errors import FileError
from ._ray_actors import _ray
from ._ray_kinds import results_of
from ._ray_shards import Manifest, Shard
from ._ray_store import printable
from ._ray_tasks import Asked, answer, audit
from ._result import STATUSES

# Seconds between two writings of the manifest.
_PAUSE: Final = 2.0


class Run:
    """Tasks of shards, and of their audits of ``verify`` rows, until the manifest has a row of each."""

    def __init__(self, asked: Asked, manifest: Manifest, verify: int, memory: int, progress: bool) -> None:
        ray = _ray()

        self._asked, self._manifest, self._verify = asked, manifest, verify
        # What Ray's scheduler reserves; it does not hold a task to it.
        self._answer = ray.remote(num_cpus=asked.workers, memory=memory)(answer)
        self._audit = ray.remote(num_cpus=1, memory=memory)(audit)
        # A few tasks more than there are CPUs, so that a cluster that grows is used and a queue of 10^6 stays here.
        self._most = max(8, 4 * int(ray.cluster_resources().get("CPU", 1)))
        self._todo = deque(manifest.shards)
        self._running: dict[Any, tuple[Shard, bool]] = {}  # references of tasks: the shard, and whether they audit
        self._bar = Bar(manifest) if progress else None
        self._metrics = Metrics()
        self._written = time.monotonic()

    def work(self) -> None:
        """Run the tasks. The manifest is written also after an interrupt."""
        self._manifest.write()
        try:
            while self._todo or self._running:
                while self._todo and len(self._running) < self._most:
                    s = self._todo.popleft()
                    if s.index in self._manifest.done:  # by a call that audited less, or ended before its audits
                        self._check(s)
                    else:
                        self._submit(s, "score", self._answer)
                if self._running:
                    self._take()
                self._keep()
        finally:
            for ref in self._running:
                _ray().cancel(ref)
            if self._bar is not None:
                self._bar.show("\n")
            self._end()

    def _end(self) -> None:
        """Write the manifest; an error, which the caller gets in place of the report, tells of shards that failed."""
        try:
            self._manifest.write()
        except FileError as e:
            failed = [r for r in self._manifest.rows if r["error"]]
            first = f"; {len(failed)} shards failed, the first with: {failed[0]['error']}" if failed else ""
            raise FileError(f"{e}{first}") from e

    def _submit(self, s: Shard, what: str, task: Any, *arguments: Any) -> None:
        """Submit a task, whose name Ray's dashboard shows."""
        ref = task.options(name=f"{what} {s.title}").remote(self._asked, s, *arguments)
        self._running[ref] = s, what == "audit"

    def _check(self, s: Shard) -> None:
        """Submit the audit of a shard if it is asked for and was not made."""
        row = self._manifest.rows[s.index]
        answers = (s.hi - s.lo) * results_of(s.size, self._asked.options)
        if self._verify and not row["error"] and row["audited"] < min(self._verify, answers):
            self._submit(s, "audit", self._audit, self._verify)

    def _take(self) -> None:
        """Take what a task has returned."""
        ray = _ray()

        (ref,), _ = ray.wait(list(self._running), num_returns=1)
        s, audited = self._running.pop(ref)
        row, died = self._manifest.rows[s.index], ""
        found: Any = None
        try:
            found = ray.get(ref)
        except ray.exceptions.RayError as e:  # a worker that died more often than Ray tries again
            died = printable(f"{type(e).__name__}: {e}")
        if audited:
            row["audited"], row["refuted"], row["error"] = (0, 0, f"audit: {died}") if died else found
            self._metrics.audited(row)
            return
        row.update({**s.row(), "error": died} if died else found)
        self._metrics.answered(row)
        self._check(s)
        if self._bar is not None:
            self._bar.add(row)

    def _keep(self) -> None:
        """Write the manifest now and then. Where that fails, as on a full disk, the end of the call tells it."""
        if time.monotonic() - self._written > _PAUSE:
            try:
                self._manifest.write()
            except FileError as e:
                print(f"\nclearance: {e}", file=sys.stderr)
            self._written = time.monotonic()


class Metrics:
    """Counters of a call for Ray's dashboard and for Prometheus."""

    def __init__(self) -> None:
        from ray.util import metrics

        self._rows = metrics.Counter("clearance_rows", "rows answered, by status", ("status",))
        self._shards = metrics.Counter("clearance_shards", "shards that ended, by outcome", ("outcome",))
        self._audited = metrics.Counter("clearance_rows_audited", "rows audited, by outcome", ("outcome",))

    def answered(self, row: dict[str, Any]) -> None:
        """A shard ended."""
        self._shards.inc(1, {"outcome": "failed" if row["error"] else "answered"})
        for status in STATUSES:
            if row[status]:
                self._rows.inc(row[status], {"status": status})

    def audited(self, row: dict[str, Any]) -> None:
        """An audit ended."""
        for outcome, n in (("refuted", row["refuted"]), ("not refuted", row["audited"] - row["refuted"])):
            if n > 0:
                self._audited.inc(n, {"outcome": outcome})


class Bar:
    """One line on the standard error: pairs or worlds, shards, and the time that is left by the rate so far."""

    def __init__(self, manifest: Manifest) -> None:
        self.rows, self.shards = sum(s.hi - s.lo for s in manifest.shards), len(manifest.shards)
        self.before = self.n = sum(s.hi - s.lo for s in manifest.shards if s.index in manifest.done)
        self.what = "rows" if all(s.kind == "pairs" for s in manifest.shards) else "worlds"
        self.over, self.failed, self.start = len(manifest.done), 0, time.monotonic()

    def add(self, row: dict[str, Any]) -> None:
        self.n += row["hi"] - row["lo"]
        self.over += 1
        self.failed += bool(row["error"])
        self.show()

    def show(self, end: str = "") -> None:
        rate = (self.n - self.before) / max(time.monotonic() - self.start, 1e-9)
        left = f", {(self.rows - self.n) / rate:,.0f} s left" if rate > 0 and self.n < self.rows else ""
        bad = f", {self.failed} failed" if self.failed else ""
        line = f"{self.n:,} of {self.rows:,} {self.what}, {self.over} of {self.shards} shards{bad}{left}"
        print(f"\r{line:<79}", end=end, file=sys.stderr, flush=True)
