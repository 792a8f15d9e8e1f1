"""Threads, signals, forks, exits, and many engines: no crash, no hang, no leak."""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, Pairs, every_kind, run_python

import clearance as cl
from clearance import _jobs
from clearance import _native as nat

SETUP = """
import os, signal, sys, threading, time
import numpy as np
import clearance as cl
lib = cl.Library()
a = lib.superquadric([0.5, 0.5, 0.6], [0.5, 0.8])
b = lib.convex(np.random.default_rng(1).normal(size=(200, 3)))
def pairs(n, spread=0.5):
    rng = np.random.default_rng(2)
    q = rng.normal(size=(n, 4))
    indices = np.full(n, a, np.int32), np.full(n, b, np.int32)
    return (*indices, rng.normal(0, spread, (n, 3)), q, np.zeros((n, 3)), q.copy())
long = lambda eng: eng.distance(lib, *LONG, quat="wxyz", precision="double")
LONG = pairs(3_000_000)
def in_call(do):
    # From another thread, once the main thread is in a call: not after a time.
    from clearance import _jobs
    before = len(_jobs._alive)
    def wait():
        while len(_jobs._alive) <= before:
            time.sleep(0.001)
        do()
    threading.Thread(target=wait, daemon=True).start()
"""


def ran(code: str, timeout: float = PATIENCE, want: int = 0) -> str:
    run = run_python(SETUP + code, timeout)
    assert run.returncode == want, f"exit {run.returncode}\n{run.stdout}\n{run.stderr}"
    return run.stdout


def test_interrupt() -> None:
    """Ctrl-C ends a call of half a minute within 100 ms (3 s on a busy machine), and the engine stays usable."""
    out = ran("""
sent = [0.0]
def interrupt():
    sent[0] = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
with cl.Engine("cpu") as eng:
    short = pairs(100)
    want = eng.distance(lib, *short, quat="wxyz").distance.tobytes()
    for _ in range(5):
        try:
            in_call(interrupt)
            long(eng)
            print("the call was not interrupted")
        except KeyboardInterrupt:
            print(time.perf_counter() - sent[0])
        assert eng.distance(lib, *short, quat="wxyz").distance.tobytes() == want
""")
    waits = sorted(float(x) for x in out.split())
    assert len(waits) == 5
    assert waits[0] < 3, waits


def test_interrupt_while_others_work() -> None:
    """An interrupt ends the call of the main thread; a call of another thread goes on to its end."""
    ran("""
with cl.Engine("cpu") as eng:
    mine = pairs(60_000)
    want = eng.distance(lib, *mine, quat="wxyz").distance.tobytes()
    got = []
    worker = threading.Thread(target=lambda: got.append(eng.distance(lib, *mine, quat="wxyz").distance.tobytes()))
    try:
        worker.start()
        in_call(lambda: os.kill(os.getpid(), signal.SIGINT))
        long(eng)
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        pass
    worker.join()
    assert got == [want]
""")


def test_threads_share_an_engine(engine: cl.Engine) -> None:
    """Eight threads, sixteen calls each, of different queries: the bits of a single thread."""
    lib = every_kind()
    sets = [Pairs(lib, 300 + 50 * i, seed=i) for i in range(8)]
    queries: list[Any] = ["distance", "penetration", "growth", "collide"]
    want = [engine.query(queries[i % 4], *p.arrays(), quat="wxyz").status.tobytes() for i, p in enumerate(sets)]

    def work(i: int) -> list[bytes]:
        p = sets[i]
        return [engine.query(queries[i % 4], *p.arrays(), quat="wxyz").status.tobytes() for _ in range(16)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i, got in enumerate(pool.map(work, range(8))):
            assert set(got) == {want[i]}


def test_a_library_grows_during_calls(engine: cl.Engine) -> None:
    """Calls go on with the shapes that they began with while another thread adds to their library."""
    lib = cl.Library()
    for _ in range(3):
        lib.sphere(0.5)
    ended = threading.Event()

    def grow() -> None:
        while not ended.is_set():
            lib.sphere(0.1)
            lib._open()
            if len(lib) > 2000:
                del lib._shapes[3:]

    thread = threading.Thread(target=grow)
    thread.start()
    scene = cl.Scene(lib)
    scene.add(0)
    scene.add(1)
    scene.all_pairs()
    quat = np.array([[1.0, 0, 0, 0]])
    try:
        for _ in range(300):
            r = engine.distance(lib, [0], [1], np.zeros((1, 3)), quat, np.array([[0, 0, 3.0]]), quat, quat="wxyz")
            assert r.distance[0] == 2
            engine.rollout(scene, worlds=1).close()
    finally:
        ended.set()
        thread.join()


def test_threads_share_a_rollout(engine: cl.Engine) -> None:
    """Steps of two threads on one rollout are answered one after the other, each with its own poses."""
    lib = cl.Library()
    ball = lib.sphere(0.5)
    scene = cl.Scene(lib)
    for _ in range(3):
        scene.add(ball)
    scene.all_pairs()
    w = 3000
    plain = engine.rollout_of_shapes(lib, [ball, ball, ball], [0, 0, 1], [1, 2, 2], worlds=w)
    rolls: list[Any] = [plain, engine.rollout(scene, worlds=w), engine.rollout(scene, worlds=w, pairs="all")]
    wrong: list[Any] = []

    def steps(roll: Any, apart: float) -> None:
        poses = np.zeros((w, 3, 7))
        poses[..., 3], poses[..., 0] = 1, apart * np.arange(3)
        for _ in range(10):
            r = roll(poses, quat="wxyz")
            want = np.tile(np.array([apart, 2 * apart, apart]) - 1, w)
            if not np.allclose(r.distance.ravel(), want, atol=1e-5):
                wrong.append((roll, apart))

    for roll in rolls:
        threads = [threading.Thread(target=steps, args=(roll, d)) for d in (2.0, 3.0)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_the_interpreter_lock_is_released(engine: cl.Engine) -> None:
    """Another thread runs while a call computes."""
    p = Pairs(every_kind(), 200_000)
    beats, stop = [0], threading.Event()

    def beat() -> None:
        while not stop.is_set():
            beats[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=beat)
    thread.start()
    engine.distance(*p.arrays(), quat="wxyz", precision="double")
    stop.set()
    thread.join()
    assert beats[0] > 10


def test_an_exception_leaves_the_engine_usable(engine: cl.Engine) -> None:
    p = Pairs(every_kind(), 100)
    want = engine.distance(*p.arrays(), quat="wxyz").distance.tobytes()
    for _ in range(3):
        with pytest.raises(cl.ArrayError):
            engine.distance(p.library, p.a, p.b[:-1], p.pos_a, p.quat_a, p.pos_b, p.quat_b, quat="wxyz")
        with pytest.raises(cl.OptionError):
            engine.distance(*p.arrays(), quat="wxyz", tolerance=-1)
        with pytest.raises(cl.RefusedError):
            engine.growth(*p.arrays(), quat="wxyz", method="rtr")
        assert engine.distance(*p.arrays(), quat="wxyz").distance.tobytes() == want


def test_exit_with_work_in_flight() -> None:
    """The interpreter exits while daemon threads are in calls; so does sys.exit from the main thread."""
    out = ran("""
from clearance import _jobs
eng = cl.Engine("cpu")
for _ in range(3):
    threading.Thread(target=lambda: (long(eng), print("ended", flush=True)), daemon=True).start()
while len(_jobs._alive) < 3:
    time.sleep(0.001)
""")
    assert out == "", "the exit waits for no call"
    ran("eng = cl.Engine('cpu'); threading.Thread(target=long, args=(eng,), daemon=True).start(); sys.exit(7)", want=7)


def test_close_during_a_call() -> None:
    """Closing an engine ends the calls of other threads by ClosedError."""
    ran("""
eng = cl.Engine("cpu")
caught = []
def work():
    try:
        long(eng)
    except cl.ClosedError as e:
        caught.append(e)
thread = threading.Thread(target=work); thread.start()
time.sleep(0.3)
eng.close(); thread.join()
assert len(caught) == 1
try:
    long(eng); sys.exit("closed engines answer")
except cl.ClosedError:
    pass
""")


def test_fork() -> None:
    """Import, fork, use works in the child; use, fork, use raises ForkError at once in the child, not in the parent."""
    ran("""
import faulthandler; faulthandler.dump_traceback_later(50, exit=True)
p = pairs(50)
def child(f):
    pid = os.fork()
    if pid == 0:
        try:
            f()
        except BaseException as e:
            print(e); os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def use():
    with cl.Engine("cpu") as e:
        e.distance(lib, *p, quat="wxyz")
assert child(use) == 0
eng = cl.Engine("cpu"); roll = eng.rollout_of_shapes(lib, [a, b], [0], [1], worlds=1)
want = eng.distance(lib, *p, quat="wxyz").distance.tobytes()
poses = np.zeros((1, 2, 7)); poses[..., 3] = 1
def refused(f):
    def g():
        try:
            f()
        except cl.ForkError as e:
            assert "spawn" in str(e); return
        os._exit(4)
    return g
call = lambda: eng.distance(lib, *p, quat="wxyz")
for f in (use, call, lambda: roll(poses, quat="wxyz"), lambda: cl.Library.load("x")):
    assert child(refused(f)) == 0
assert child(lambda: eng.close()) == 0
assert eng.distance(lib, *p, quat="wxyz").distance.tobytes() == want
roll(poses, quat="wxyz")
""")


def test_fork_while_the_library_is_loaded() -> None:
    """A fork by another thread while the library is loaded is one after its use: Go's threads are gone in the child."""
    code = """
import os, clearance as cl, clearance._native as nat
init = nat.Native.__init__
def forking(self, path):
    init(self, path)
    nat.Native.__init__ = init
    pid = os.fork()
    if pid == 0:
        try: cl.Engine("cpu")
        except cl.ForkError: os._exit(7)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
nat.Native.__init__ = forking
cl.Engine("cpu").close()
"""
    run = run_python(code)
    assert run.stdout.strip() == "7", run.stdout + run.stderr


def test_spawn() -> None:
    """A pool of spawned processes takes pickled libraries."""
    ran("""
import multiprocessing, tempfile, pathlib, subprocess
source = '''
import multiprocessing, numpy as np, clearance as cl
def work(job):
    lib, n = job
    with cl.Engine("cpu", workers=1) as e:
        q = np.tile([1.0, 0, 0, 0], (n, 1))
        zeros = np.zeros(n, np.int32)
        there = np.full((n, 3), 2.0)
        return float(e.distance(lib, zeros, zeros, np.zeros((n, 3)), q, there, q, quat="wxyz").distance[0])
if __name__ == "__main__":
    lib = cl.Library(); lib.sphere(0.5)
    cl.Engine("cpu").close()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert len(set(pool.map(work, [(lib, n) for n in (1, 10, 100)]))) == 1
'''
path = pathlib.Path(tempfile.mkdtemp()) / "pool.py"
path.write_text(source)
subprocess.run([sys.executable, path], check=True, timeout=1000)
""")


def test_many_engines() -> None:
    """Engines, libraries, rollouts, opened and closed: neither memory nor threads nor files grow."""
    out = ran(
        """
import resource
short = pairs(10)
def cycle():
    one = cl.Library(); one.sphere(0.5)
    with cl.Engine("cpu", workers=1) as e, e.rollout_of_shapes(one, [0, 0], [0], [1], worlds=2) as roll:
        e.distance(lib, *short, quat="wxyz")
        poses = np.zeros((2, 2, 7)); poses[..., 3] = 1
        roll(poses, quat="wxyz")
def state():
    memory = int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1])
    return memory, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
for _ in range(300):
    cycle()
first = state()
for _ in range(COUNT):
    cycle()
last = state()
print(*first, *last)
assert last[0] < first[0] + 20_000 and last[1] <= first[1] + 4 and last[2] <= first[2] + 1
""".replace("COUNT", "700")
    )
    assert out


def test_beside_another_go_runtime() -> None:
    """An ADBC driver, a Go library of its own, works in the same process, in turns and from two threads."""
    reason = "an ADBC driver in Go is not installed: pip install adbc-driver-flightsql adbc-driver-manager"
    pytest.importorskip("adbc_driver_flightsql", reason=reason)
    pytest.importorskip("adbc_driver_manager", reason=reason)
    out = ran(
        """
import threading, adbc_driver_flightsql, adbc_driver_manager
def other():
    # Nothing listens there: the driver's Go code runs until its connection fails.
    options = {"driver": adbc_driver_flightsql._driver_path(), "uri": "grpc://127.0.0.1:9"}
    options["adbc.flight.sql.rpc.timeout_seconds.query"] = "0.2"
    try:
        with adbc_driver_manager.AdbcDatabase(**options) as db, adbc_driver_manager.AdbcConnection(db) as c:
            s = adbc_driver_manager.AdbcStatement(c)
            s.set_sql_query("select 1")
            try: s.execute_query()
            finally: s.close()
    except adbc_driver_manager.Error as e:
        return e.status_code.name
eng, short = cl.Engine("cpu"), pairs(500)
want = eng.distance(lib, *short, quat="wxyz").distance.tobytes()
failed = []
for _ in range(20):
    failed.append(other())
    assert eng.distance(lib, *short, quat="wxyz").distance.tobytes() == want
thread = threading.Thread(target=lambda: [failed.append(other()) for _ in range(20)])
thread.start()
while thread.is_alive():
    assert eng.distance(lib, *short, quat="wxyz").distance.tobytes() == want
thread.join()
print(len(failed), *set(failed))
maps = open("/proc/self/maps").read()
assert "libclearance" in maps and "adbc_driver_flightsql" in maps
"""
    )
    assert out.startswith("40 ") and "None" not in out, out


def test_faulthandler() -> None:
    """faulthandler's traceback of a fault in other native code is printed with the library loaded."""
    run = run_python("""
import ctypes, faulthandler, clearance as cl
eng = cl.Engine("cpu")
faulthandler.enable()
ctypes.string_at(0)
""")
    assert run.returncode == -11 and "Segmentation fault" in run.stderr and "string_at" in run.stderr


def test_import_is_light() -> None:
    """Importing the package loads no native library, and beyond NumPy few modules, none of them of another package."""
    out = run_python("""
import sys
import numpy, numpy.typing, json, ctypes, threading, dataclasses, weakref, pathlib
before = set(sys.modules)
import clearance
assert "libclearance" not in open("/proc/self/maps").read()
print(*sorted(set(sys.modules) - before))
""").stdout.split()
    others = [name for name in out if name.partition(".")[0] != "clearance"]
    assert {name.partition(".")[0] for name in others} <= sys.stdlib_module_names and len(others) <= 100, others
    assert 10 <= len(out) - len(others) <= 44, out


def test_engine_says_what_it_is(engine: cl.Engine) -> None:
    info = engine.info()
    assert [b["usable"] for b in info["backends"] if b["name"] == "cpu"] == [True]
    assert "cuda tensors" in info["transfers"] and info["version"]
    with pytest.raises(cl.NoBackendError):
        cl.Engine("abacus")  # type: ignore[arg-type]
    with pytest.raises(cl.OptionError):
        cl.Engine("cpu", workers=0)
    with pytest.raises(cl.OptionError):
        cl.Engine("cpu", "half")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="process"):
        __import__("pickle").dumps(engine)


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    from clearance import __main__ as program

    assert program.main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "self-test of cpu: passed" in text and "million pairs/s" in text
    assert program.main(["doctor", "--json"]) == 0
    assert all("proof" in b for b in json.loads(capsys.readouterr().out)["backends"])
    assert program.main(["nonsense"]) == 2
    told = capsys.readouterr()
    assert not told.out and "clearance convert" in told.err
    assert program.main(["--help"]) == 0
    assert capsys.readouterr().out == told.err


def test_doctor_names_the_proof(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each usable Vulkan device, what proves its answers, and what it leaves to the CPU."""
    from clearance import _doctor

    def device(number: int, proof: str, usable: bool = True) -> dict[str, Any]:
        name = f"vulkan:{number}"
        return {"name": name, "device": "GPU", "driver": "1", "proof": proof, "usable": usable, "reason": "x"}

    backends = [device(i, proof) for i, proof in enumerate([*_doctor.PROOFS, "", "two floats"])]
    backends[-1]["usable"] = False
    names = ["package", "version", "go", "platform", "python", "numpy", "system"]
    report: dict[str, Any] = dict.fromkeys(names, "1")
    report |= {"backends": backends, "notes": [], "advice": [], "tests": {}}
    monkeypatch.setattr(_doctor, "examine", lambda: report)
    assert _doctor.doctor() == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(backends) + len(_doctor.PROOFS)
    assert "proofs in double precision" in lines[1]
    assert "two floats" in lines[3] and "CPU" not in lines[3]
    assert "two floats" in lines[5] and "precision='double' and growth distances go to the CPU" in lines[5]
    assert all("proof" not in line for line in lines[6:])


@pytest.mark.parametrize(
    ("device", "visible", "capabilities", "words"),
    [
        (False, None, None, []),
        (False, "void", None, []),
        (True, None, None, ["If this is a container", "graphics"]),
        (True, "all", "compute,utility", ["grants the capabilities 'compute,utility' only"]),
        (False, "0", "compute,utility", ["grants the capabilities 'compute,utility' only"]),
        (True, "all", "compute, graphics", []),
        (True, "all", "all", []),
    ],
)
def test_advice_in_containers(
    monkeypatch: pytest.MonkeyPatch, device: bool, visible: str | None, capabilities: str | None, words: list[str]
) -> None:
    """What the doctor says of containers: nothing of GPUs where none is, and no claim that it cannot make."""
    from clearance import _doctor

    monkeypatch.setattr("os.path.exists", lambda path: device and path == "/dev/nvidiactl")
    for name, value in (("NVIDIA_VISIBLE_DEVICES", visible), ("NVIDIA_DRIVER_CAPABILITIES", capabilities)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    advice = _doctor._advice([{"name": "cpu", "usable": True}])
    assert len(advice) == 1 + bool(words) and all(w in advice[-1] for w in words)
    assert _doctor._advice([{"name": "vulkan:0", "usable": True}]) == []


def test_probe_executes_nothing_of_the_working_directory(tmp_path: Path) -> None:
    """The process that tries a device runs the package's own file, whatever modules lie in the working directory or on
    PYTHONPATH."""
    from clearance import _native, _probe

    for name in ("clearance", "numpy", "site", "sitecustomize", "usercustomize"):
        (tmp_path / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (tmp_path / name / file).write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()")
    for name in ("ctypes", "signal", "pathlib"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()")
    command = _probe.command(_native.library_path())
    assert len(command) == 5 and all(Path(word).is_absolute() for word in (command[0], *command[3:]))
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [*command, "1000", "no such verdict"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100
    )
    # It got as far as the library, which has no such device.
    assert run.returncode == 1 and ("device 1000" in run.stderr or "ulkan" in run.stderr), run.stderr
    assert not (tmp_path / "executed").exists()


def test_devices_are_tried(tmp_path: Path) -> None:
    """An engine tries the Vulkan devices of the machine by that command: the verdicts, kept in the cache, are good."""
    out = run_python(
        """
import clearance as cl
with cl.Engine() as e:
    found = [b for b in e.info()["backends"] if b["name"].startswith("vulkan")]
print([b["reason"] for b in found if not b["usable"]], sum(b["usable"] for b in found))
""",
        XDG_CACHE_HOME=str(tmp_path),
    )
    assert out.returncode == 0 and "could not be tried" not in out.stdout, out.stdout + out.stderr


def test_interrupt_of_large_hulls() -> None:
    """A call of few rows of large hulls does not run in the thread of its caller: a signal ends the wait for it."""
    ran("""
rng = np.random.default_rng(1)
d = rng.normal(size=(3000, 3))
big = lib.convex(d / np.linalg.norm(d, axis=1, keepdims=True))
n = 2048
q = np.tile([1.0, 0, 0, 0], (n, 1))
index = np.full(n, big, np.int32)
seen = []
run = cl._jobs.run
def watched(submit, keep, look=None):
    def counted(ms, job, report, error):
        code = submit(0, job, report, error)
        seen.append(code)
        return code
    return run(counted, keep, look)
cl._jobs.run = watched
with cl.Engine("cpu") as eng:
    eng.distance(lib, index, index, np.zeros((n, 3)), q, rng.normal(size=(n, 3)), q, quat="wxyz")
    small = pairs(2)
    eng.distance(lib, *small, quat="wxyz")
assert seen[0] == cl._native.RUNNING, seen
""")


@pytest.mark.parametrize("how", ["points", "mesh"])
def test_interrupted_preparation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """An exception while a hull is made or a mesh is read, such as that of Ctrl-C, ends the work, and no library is
    left behind."""
    n = nat.native()
    points = np.random.default_rng(1).normal(size=(300_000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    path = tmp_path / "ball.stl"
    if how == "mesh":
        record = np.zeros(len(points) // 3, [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
        record["corners"] = points.reshape(-1, 3, 3)
        path.write_bytes(bytes(80) + np.uint32(len(record)).tobytes() + record.tobytes())
    wait, codes = n.job_wait, list[int]()

    def interrupted(*arguments: Any) -> int:
        if not codes:
            codes.append(nat.RUNNING)
            raise KeyboardInterrupt
        codes.append(wait(*arguments))
        return codes[-1]

    monkeypatch.setattr(_jobs, "WAIT_MS", 1)
    monkeypatch.setattr(n, "job_wait", interrupted)
    lib = cl.Library()
    with pytest.raises(KeyboardInterrupt):
        if how == "mesh":
            lib.mesh(path, concave="hull")
        else:
            lib.convex(points)
            lib.support(0, [[1, 0, 0]])
    assert codes[-1] == nat.CANCELLED and len(codes) > 1
