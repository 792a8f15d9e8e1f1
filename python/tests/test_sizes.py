"""Sizes of callers: what memory cannot hold is refused before it is allocated. Nothing ends the process."""

from __future__ import annotations

import pytest
from conftest import run_python

SETUP = """
import ctypes, resource, sys
import numpy as np, clearance as cl
from clearance import _native as nat
n = nat.native()
lib = cl.Library(); ball = lib.sphere(1)
scene = cl.Scene(lib); scene.add(ball); scene.add(ball); scene.all_pairs()
eng = cl.Engine("cpu")
error = nat.Error()
def refused(call, *words):
    try:
        call()
    except cl.OptionError as e:
        for word in words:
            assert word in str(e), (word, str(e))
        return
    sys.exit(f"accepted: {call}")
def message(code, want=nat.ARGUMENT):
    assert code == want, (code, error.message)
    return error.message.decode()
"""


def ran(code: str) -> None:
    run = run_python(SETUP + code + "\nprint('alive')", 120)
    assert (run.returncode, run.stdout) == (0, "alive\n"), f"{run.returncode}\n{run.stdout}\n{run.stderr[-3000:]}"


@pytest.mark.parametrize("worlds", ["2**40", "2**50", "2**62", "2**63 - 1"])
def test_worlds(worlds: str) -> None:
    """A rollout of more worlds than memory holds is refused with the memory that it would take."""
    ran(f"""
w = {worlds}
words = (str(w), "of memory", "available")
for options in ({{}}, {{"reduce": "world"}}, {{"pairs": "all"}}, {{"query": "collide", "columns": ["bits"]}}):
    refused(lambda: eng.rollout(scene, worlds=w, **options), *words)
refused(lambda: eng.rollout_of_shapes(lib, [ball, ball], [0], [1], worlds=w), *words)
""")


def test_worlds_that_are_none() -> None:
    ran("""
for w in (-1, -(2**63), 2**63, 2**64, 1.5, "7", None, True):
    refused(lambda: eng.rollout(scene, worlds=w), "worlds")
    refused(lambda: eng.rollout_of_shapes(lib, [ball], [], [], worlds=w), "worlds")
""")


def test_limit_of_the_address_space() -> None:
    """Memory is compared with the limit that a batch system sets, too."""
    ran("""
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
refused(lambda: eng.rollout(scene, worlds=20_000_000), "of memory")
poses = np.zeros((1000, 2, 7)); poses[..., 3] = 1
assert eng.rollout(scene, worlds=1000)(poses, quat="wxyz").hit.all()
""")


@pytest.mark.parametrize("kernels", ["portable", "off"])
def test_memory_of_newtons_method(kernels: str) -> None:
    """A contact problem of more bodies than Newton's method has memory for, of which there is 1 GB, is undecided."""
    ran(f"""
import os
os.environ["CLEARANCE_SIMD"] = {kernels!r}
from clearance import contact
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
n = 15000
for count, ends in ((n, (1,)), (3, (0,))):
    s = contact.solve(
        np.ones((1, n)), np.tile([0.01, 0.01, 0.01, 0, 0, 0], (1, n, 1)), np.tile([0, 0, -1.0, 0, 0, 0], (1, n, 1)),
        [count], [[-1, *range(n - 1)]], [list(range(n))], np.zeros((1, n, 3)), np.zeros((1, n, 3)),
        np.tile(np.eye(3), (1, n, 1, 1)), np.full((1, n), 0.5), workers=1, tolerance=1e-9,
    )
    assert s.status[0] in ends and np.isfinite(s.velocity).all(), s
""")


def test_every_entry_of_the_interface() -> None:
    """Counts of structs that no memory has: an error of the call, by every function that takes one."""
    ran("""
huge = (2**40 + 1, 2**50, 2**62, 2**63 - 1, -1, -(2**63))
handle, report, job, out = lib._open(), nat.Report(), ctypes.c_uint64(), ctypes.c_uint64()
q = eng._query("distance", lib, None, None, "auto", None, None, None)
some = np.zeros(64)
at = some.ctypes.data
one = np.zeros(1, np.int32)
for count in huge:
    sphere = nat.Shape(kind=0, values=at, counts=(count, 0, 0, 0))
    message(n.library_new(sphere, 1, 60_000, out, job, error))
    message(n.library_new(nat.Shape(kind=10, values=at, counts=(count, 0, 0, 0)), 1, 60_000, out, job, error))
    message(n.library_new(sphere, count, 60_000, out, job, error))
    message(n.library_support(handle.number, 0, count, None, None, error))
    message(n.library_shape(handle.number, count, nat.Shape(), at, count, ctypes.c_int64(), None, count, error))
    message(n.submit(eng._number, q, nat.Pairs(count, *[at] * 7), nat.Results(1, at), 0, job, report, error))
    message(n.submit(eng._number, q, nat.Pairs(1, *[at] * 7), nat.Results(count, at), 0, job, report, error))
    first = np.array([0, 1], np.int32)
    message(n.bodies_new(handle.number, nat.Part(), first.ctypes.data, count, None, out, error))
    for sizes in ((count, 2, 1), (1, count, 1), (1, 2, count), (count, count, count)):
        worlds = nat.Worlds(*sizes, one.ctypes.data, one.ctypes.data, one.ctypes.data, None)
        message(n.rollout_open(eng._number, q, worlds, out, error))
        table = cl._bodies.Table(lib, scene.bodies)
        for each, reduce, every in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1)):
            record = nat.Scene(table.number, *sizes, each, reduce, one.ctypes.data, None, None)
            record.all_pairs = every
            message(n.scene_open(eng._number, q, record, out, error))
    table = cl._bodies.Table(lib, scene.bodies)
    for sizes in ((count, 2, 2, 1), (1, count, 2, 1), (1, 2, count, 1), (1, 2, 2, count), (count, count, count, count)):
        motions = nat.Motions(table.number, *sizes)
        for rows in (count, 1):
            contacts = nat.Contacts(rows, *[at] * 9)
            message(n.sweep(eng._number, motions, contacts, 0, job, report, error))
    message(n.engine_open(nat.Options(workers=2**31 - 1), out, error))
    name = ctypes.create_string_buffer(8)
    size = abs(count) % 2**63
    record = nat.Shape()
    code = n.library_shape(handle.number, 0, record, at, 64, ctypes.c_int64(), ctypes.addressof(name), size, error)
    assert code == nat.OK, error.message
assert n.describe(None, -1) > 0
roll = eng.rollout_of_shapes(lib, [ball, ball], [0], [1], worlds=1)
for count in huge:
    message(n.rollout_submit(roll._number, at, nat.Results(count, at), 0, job, report, error))
""")
