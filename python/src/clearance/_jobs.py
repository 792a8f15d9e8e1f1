"""Calls that can be interrupted: submit, wait, cancel."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from . import _native as nat

# How long a wait goes on before signals are looked at. An interrupted call then ends at the next block of rows that a
# worker finishes, some milliseconds.
WAIT_MS: Final = 40

# The arrays of the jobs in progress, so that none is freed before its job has ended, whatever ends its caller.
_alive: Final[dict[int, Any]] = {}
_numbers = itertools.count()

Answer = TypeVar("Answer")

_engines: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def run(
    submit: Callable[[int, Any, nat.Report, nat.Error], int], keep: Any, look: Callable[[Any], None] | None = None
) -> nat.Report:
    """Submit a job and wait for it.

    submit is given the time to wait for in milliseconds, the place of the job, the report and the error, and returns a
    code. keep are the arrays of the job. look is called with the job while it runs. An exception in this thread, such
    as that of Ctrl-C, cancels the job, waits for its end and is raised then.
    """
    n = nat.native()
    job, report, error = ctypes.c_uint64(0), nat.Report(), nat.Error()
    token = next(_numbers)
    _alive[token] = keep
    code = nat.RUNNING
    ended = False
    try:
        code = submit(WAIT_MS, job, report, error)
        while code == nat.RUNNING:
            code = n.job_wait(job, WAIT_MS, report, error)
            if look is not None and code == nat.RUNNING:
                look(job)
        ended = True
    except BaseException as first:
        later = _end(n, job)
        ended = True
        if later is not None:
            raise later from first
        raise
    finally:
        if ended:  # else the arrays stay for good: the job may still write to them
            del _alive[token]
    if code != nat.OK:
        n.raise_for(code, error)
    return report


def aside(call: Callable[[], Answer]) -> Answer:
    """What a call of the native library returns, made in a thread of its own: an exception in this thread, such as that
    of Ctrl-C, is raised at once, and the call ends without anybody. It must write to memory that it holds alone."""
    found: list[Answer] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as e:
            raised.append(e)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(WAIT_MS / 1000)
    if raised:
        raise raised[0]
    return found[0]


def _end(n: nat.Native, job: Any) -> BaseException | None:
    """Cancel a job and wait for its end, through further exceptions of signal handlers; the last one is returned."""
    later = None
    while True:
        try:
            if job.value:
                n.job_cancel(job, None)
                while n.job_wait(job, WAIT_MS, None, None) == nat.RUNNING:
                    pass
            return later
        except BaseException as e:
            later = e


def register(engine: Any) -> None:
    """Close an engine at the exit of the interpreter, before arrays are freed."""
    _engines.add(engine)


@atexit.register
def _shutdown() -> None:
    for engine in list(_engines):
        engine.close()
