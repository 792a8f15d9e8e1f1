"""Files scored by Ray, whatever fails on the way: nothing is lost, nothing is there twice."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CLUSTER_ROWS, PATIENCE, on_cluster, parts

import clearance as cl

ray = pytest.importorskip("ray")
pq = pytest.importorskip("pyarrow.parquet")
from clearance import _ray_tasks  # noqa: E402
from clearance import ray as cr  # noqa: E402
from clearance._ray_shards import plan  # noqa: E402
from clearance._ray_store import Local, place  # noqa: E402
from clearance._ray_tasks import Asked, _libraries, answer  # noqa: E402


def test_resumed(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """What is missing is answered again; what has changed is refused by name."""
    on_cluster(pair_files, tmp_path, "a.parquet")
    first, second = tmp_path / "part-000000.parquet", tmp_path / "part-000001.parquet"
    kept = first.stat().st_mtime_ns
    second.unlink()
    on_cluster(pair_files, tmp_path, "a.parquet").raise_if_failed()
    assert first.stat().st_mtime_ns == kept and parts(tmp_path).equals(answers)

    with pytest.raises(cl.OptionError, match=r"tolerance was None and is 0\.001"):
        on_cluster(pair_files, tmp_path, "a.parquet", tolerance=1e-3)
    with pytest.raises(cl.FileError, match="exists"):
        on_cluster(pair_files, tmp_path, "a.parquet", resume=False)


def test_a_result_is_altered(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """It is refused by its name and its rows; once it is deleted, these rows are answered."""
    on_cluster(pair_files, tmp_path, "a.parquet")
    second = tmp_path / "part-000001.parquet"
    whole = second.read_bytes()
    second.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(
        cl.FileError, match=r"part-000001\.parquet: it is not the file .* rows 1000 to 1999 of .*a\.par"
    ):
        on_cluster(pair_files, tmp_path, "a.parquet")
    second.unlink()
    on_cluster(pair_files, tmp_path, "a.parquet")
    assert parts(tmp_path).equals(answers)


def test_an_input_changes_between_runs(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    shutil.copy(pair_files / "a.parquet", tmp_path / "x.parquet")
    options: dict[str, Any] = {"library": pair_files / "shapes0.json", "backend": "cpu", "progress": False}
    cr.score(tmp_path / "x.parquet", tmp_path / "out", **options)
    os.utime(tmp_path / "x.parquet")
    with pytest.raises(
        cl.OptionError, match=r"the input .*x\.parquet has changed since its rows 0 to 5999 were answered"
    ):
        cr.score(tmp_path / "x.parquet", tmp_path / "out", **options)
    assert parts(tmp_path / "out").equals(answers)


def test_an_input_changes_in_a_run(pair_files: Path, tmp_path: Path) -> None:
    """Between the plan and the task, or while the task works: there are no answers of it."""
    path = tmp_path / "x.parquet"
    shutil.copy(pair_files / "a.parquet", path)
    lib = cl.Library.load(pair_files / "shapes0.json")
    (shard,) = plan([place(path)], place(tmp_path / "out"), 10_000)
    (tmp_path / "out").mkdir()
    os.utime(path)
    options = {"query": "distance", "precision": "single"}
    asked = Asked("digest of the test", [], options, "cpu", 1, None)
    _libraries["digest of the test"] = lib
    assert "x.parquet has changed since the call began" in answer(asked, shard)["error"]

    class Changing(Local):
        @contextlib.contextmanager
        def reading(self, lo: int, hi: int, head: int = 0) -> Iterator[str]:
            yield self.path
            os.utime(self.path)

    (shard,) = plan([place(path)], place(tmp_path / "out"), 10_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ray_tasks, "place", lambda name, _: Changing(name))
        row = answer(asked, shard)
    assert "x.parquet has changed while its rows 0 to 5999 were answered" in row["error"]
    assert row["separated"] == 0 and not list((tmp_path / "out").iterdir())


def test_two_drivers(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    with place(tmp_path).only_driver(), pytest.raises(cl.FileError, match=f"process {os.getpid()}"):
        on_cluster(pair_files, tmp_path, "a.parquet")
    on_cluster(pair_files, tmp_path, "a.parquet").raise_if_failed()


def test_a_full_disk(pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """Shards that have no room are listed and leave nothing; with room, a second call answers them alone."""
    out = tmp_path / "out"
    out.mkdir()
    program = f"""
import os, subprocess, sys
def mount(*options):
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", {str(out)!r}], check=True)
try:
    mount("-o", "size=200k")
except (OSError, subprocess.CalledProcessError) as e:
    sys.exit(f"no mount: {{e}}")
import ray
import clearance as cl
from clearance import ray as cr
ray.init(num_cpus=2, object_store_memory=200_000_000, include_dashboard=False, address="local", log_to_driver=False)
def score():
    return cr.score({str(pair_files / "a.parquet")!r}, {str(out)!r}, library={str(pair_files / "shapes0.json")!r},
                    backend="cpu", progress=False, rows_per_shard=1000)
report = score()
failed = [s["shard"] for s in report.failed]
assert 0 < len(failed) < 6, failed
for s in report.failed:
    assert "no space left on device" in s["error"] and s["out"] in s["error"], s["error"]
names = sorted(n for n in os.listdir({str(out)!r}) if not n.startswith("_"))
assert names == [s["out"] for s in report.shards if not s["error"]], names
try:
    report.raise_if_failed()
    sys.exit("no error")
except cl.FileError as e:
    assert f"a.parquet rows {{1000 * failed[0]}} to {{1000 * failed[0] + 999}}" in str(e), e
kept = {{n: os.stat(os.path.join({str(out)!r}, n)).st_mtime_ns for n in names}}
mount("-o", "remount,size=10m")
report = score()
report.raise_if_failed()
assert all(os.stat(os.path.join({str(out)!r}, n)).st_mtime_ns == t for n, t in kept.items())
import shutil
shutil.copytree({str(out)!r}, {str(tmp_path / "copy")!r})
"""
    unshared = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-c", program]
    run = subprocess.run(unshared, capture_output=True, text=True, timeout=PATIENCE)
    if run.returncode and ("unshare" in run.stderr or "no mount" in run.stderr):
        pytest.skip(f"no mounts in a namespace: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr
    assert parts(tmp_path / "copy").equals(answers)


def test_a_file_that_is_cut(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    """Its shards are listed with their error, and the others go on."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    cut = inputs / "cut.parquet"
    cut.write_bytes((pair_files / "b.parquet").read_bytes()[:50_000])
    good = inputs / "good.parquet"
    good.write_bytes((pair_files / "a.parquet").read_bytes())
    report = cr.score(
        inputs / "*.parquet", tmp_path / "out", library=pair_files / "shapes0.json", backend="cpu", progress=False,
        rows_per_shard=2000,
    )  # fmt: skip
    assert [s["input"] for s in report.failed] == [str(cut)] and "cut.parquet" in report.failed[0]["error"]
    assert sum(report.counts.values()) == CLUSTER_ROWS
    with pytest.raises(cl.FileError, match=r"cut\.parquet"):
        report.raise_if_failed()
    cut.write_bytes((pair_files / "a.parquet").read_bytes())  # other rows than those of the manifest
    with pytest.raises(cl.OptionError, match="changed"):
        cr.score(inputs / "*.parquet", tmp_path / "out", library=pair_files / "shapes0.json", rows_per_shard=2000)


def tasks() -> list[int]:
    """Processes that work on a shard: Ray gives them the name of the task."""
    found = []
    for p in Path("/proc").iterdir():
        try:
            if p.name.isdigit() and (p / "cmdline").read_bytes().startswith(b"ray::score a.parquet"):
                found.append(int(p.name))
        except OSError:
            continue
    return found


def test_a_worker_is_killed(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """Ray runs its task again: nothing is lost, nothing is there twice."""
    done: list[cr.ScoreReport] = []
    call = threading.Thread(
        target=lambda: done.append(on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=200))
    )
    call.start()
    killed = 0
    while call.is_alive() and not killed:
        for pid in tasks()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    call.join()
    assert killed, "no task was seen at work"
    done[0].raise_if_failed()
    assert parts(tmp_path).equals(answers)


def test_the_driver_is_killed(pair_files: Path, answers: Any, tmp_path: Path, cluster: None) -> None:
    program = f"""
import ray
from clearance import ray as cr
ray.init(num_cpus=1, object_store_memory=200_000_000, include_dashboard=False, address="local")
cr.score({str(pair_files / "a.parquet")!r}, {str(tmp_path)!r}, library={str(pair_files / "shapes0.json")!r},
         backend="cpu", progress=False, rows_per_shard=100)
"""
    driver = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    while driver.poll() is None and len(list(tmp_path.glob("part-*.parquet"))) < 3:
        time.sleep(0.01)
    assert driver.poll() is None, "it ended before it was killed"
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    report = on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=100)
    report.raise_if_failed()
    assert parts(tmp_path).equals(answers)
