"""Files of pairs, worlds and motions answered by Ray, whatever fails on the way: nothing is lost, nothing is there
twice."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import pytest
from conftest import CLUSTER_ROWS, PATIENCE, parts, same
from test_worlds import W, worlds

import clearance as cl

ray = pytest.importorskip("ray")
pq = pytest.importorskip("pyarrow.parquet")
from clearance import _ray_run  # noqa: E402
from clearance import ray as cr  # noqa: E402
from clearance.__main__ import main  # noqa: E402
from clearance._ray_run import Asked, _libraries, answer  # noqa: E402
from clearance._ray_shards import Kind, answer_file, manifest_of, plan, shapes_of  # noqa: E402  # noqa: E402
from clearance._ray_store import Local, place  # noqa: E402


@dataclass(frozen=True)
class Files:
    """The files a.parquet and b.parquet of a kind in a folder, each with ``count`` pairs or worlds, and the answers of
    the first by one machine."""

    kind: Kind
    folder: Path
    count: int
    want: Path

    @property
    def first(self) -> Path:
        return self.folder / "a.parquet"

    @property
    def shapes(self) -> dict[str, str]:
        """The argument of the call that names the shapes."""
        return {"library" if self.kind == "pairs" else "scene": str(self.folder / "shapes.json")}

    def asked(self, shards: int = 6) -> dict[str, Any]:
        """The arguments of a call that makes so many shards of a file."""
        most = CLUSTER_ROWS // shards
        return {"kind": self.kind, **self.shapes, "backend": "cpu", "progress": False, "rows_per_shard": most}

    def score(self, inputs: Any, out: Path, shards: int = 6, **options: Any) -> cr.ScoreReport:
        return cr.score(inputs, out, **self.asked(shards), **options)

    def range(self, shard: int, shards: int = 6) -> str:
        """The words for a shard of a file."""
        lo, hi = self.count * shard // shards, self.count * (shard + 1) // shards
        return f"{'rows' if self.kind == 'pairs' else 'worlds'} {lo} to {hi - 1}"


@pytest.fixture(scope="module", params=get_args(Kind))
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, engine: cl.Engine) -> Files:
    kind, folder = request.param, tmp_path_factory.mktemp(request.param)
    count = CLUSTER_ROWS
    if kind == "pairs":
        given = request.getfixturevalue("pair_files")
        for name in ("a.parquet", "b.parquet"):
            shutil.copy(given / name, folder / name)
        shutil.copy(given / "shapes0.json", folder / "shapes.json")
    else:
        count = CLUSTER_ROWS // 5  # the pairs of a world
        for seed, name in enumerate(["a.parquet", "b.parquet"]):
            scene, bodies, poses = worlds(seed + 1)
            poses, bodies = np.tile(poses, (count // W, 1, 1, 1)), np.tile(bodies, (count // W, 1))
            given = poses if kind == "motions" else poses[:, 0]
            cl.write_worlds(folder / name, scene, given, quat="wxyz", bodies=bodies)
        scene.save(folder / "shapes.json")
    found = Files(kind, folder, count, folder / "want.parquet")
    shapes = shapes_of(kind, found.shapes.get("library"), found.shapes.get("scene"))
    answer_file(kind, str(found.first), str(found.want), shapes, (0, count), engine, {})
    return found


def test_resumed(cluster: None, files: Files, tmp_path: Path) -> None:
    """What is missing is answered again; what has changed is refused by name."""
    files.score(files.first, tmp_path)
    first, second = tmp_path / "part-000000.parquet", tmp_path / "part-000001.parquet"
    kept = first.stat().st_mtime_ns
    second.unlink()
    files.score(files.first, tmp_path).raise_if_failed()
    assert first.stat().st_mtime_ns == kept and same(parts(tmp_path), files.want)

    with pytest.raises(cl.OptionError, match=r"max_distance was None and is 0\.5"):
        files.score(files.first, tmp_path, max_distance=0.5)
    with pytest.raises(cl.FileError, match="exists"):
        files.score(files.first, tmp_path, resume=False)


def test_a_result_is_altered(cluster: None, files: Files, tmp_path: Path) -> None:
    """It is refused by its name and its rows; once it is deleted, these rows are answered."""
    files.score(files.first, tmp_path)
    second = tmp_path / "part-000001.parquet"
    whole = second.read_bytes()
    second.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    named = rf"part-000001\.parquet: it is not the file .* {files.range(1)} of .*a\.par"
    with pytest.raises(cl.FileError, match=named):
        files.score(files.first, tmp_path)
    second.unlink()
    files.score(files.first, tmp_path)
    assert same(parts(tmp_path), files.want)


def test_an_input_changes_between_runs(cluster: None, files: Files, tmp_path: Path) -> None:
    path, out = tmp_path / "x.parquet", tmp_path / "out"
    shutil.copy(files.first, path)
    files.score(path, out)
    os.utime(path)
    with pytest.raises(cl.OptionError, match=rf"x\.parquet has changed since its {files.range(0)} were answered"):
        files.score(path, out)
    assert same(parts(out), files.want)


def test_an_input_changes_in_a_run(files: Files, tmp_path: Path) -> None:
    """Between the plan and the task, or while the task works: there are no answers of it."""
    path = tmp_path / "x.parquet"
    shutil.copy(files.first, path)
    (tmp_path / "out").mkdir()

    def planned() -> Any:
        (shard,) = plan([place(path)], place(tmp_path / "out"), CLUSTER_ROWS, files.kind)
        return shard

    shard = planned()
    os.utime(path)
    asked = Asked("digest of the test", [], {}, "cpu", 1, None)
    _libraries.clear()
    _libraries["digest of the test"] = shapes_of(files.kind, files.shapes.get("library"), files.shapes.get("scene"))
    assert "x.parquet has changed since the call began" in answer(asked, shard)["error"]

    class Changing(Local):
        @contextlib.contextmanager
        def reading(self, lo: int, hi: int, head: int = 0) -> Iterator[str]:
            yield self.path
            os.utime(self.path)

    shard = planned()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ray_run, "place", lambda name, _: Changing(name))
        row = answer(asked, shard)
    assert f"x.parquet has changed while its {files.range(0, 1)} were answered" in row["error"]
    assert row["separated"] == 0 and not list((tmp_path / "out").iterdir())
    assert answer(asked, planned())["error"] == ""
    assert same(parts(tmp_path / "out"), files.want)


def test_two_drivers(cluster: None, files: Files, tmp_path: Path) -> None:
    with place(tmp_path).only_driver(), pytest.raises(cl.FileError, match=f"process {os.getpid()}"):
        files.score(files.first, tmp_path)
    files.score(files.first, tmp_path).raise_if_failed()
    assert same(parts(tmp_path), files.want)


def test_a_full_disk(files: Files, tmp_path: Path) -> None:
    """Shards that have no room are listed and leave nothing; with room, a second call answers them alone."""
    out = tmp_path / "out"
    out.mkdir()
    room = files.want.stat().st_size * 2 // 3
    program = f"""
import os, subprocess, sys
def mount(*options):
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", {str(out)!r}], check=True)
try:
    mount("-o", "size={room}")
except (OSError, subprocess.CalledProcessError) as e:
    sys.exit(f"no mount: {{e}}")
import ray
import clearance as cl
from clearance import ray as cr
ray.init(num_cpus=2, object_store_memory=200_000_000, include_dashboard=False, address="local", log_to_driver=False)
def score():
    return cr.score({str(files.first)!r}, {str(out)!r}, **{files.asked()!r})
report = score()
failed = [s["shard"] for s in report.failed]
assert 0 < len(failed) < 6, failed
for s in report.failed:
    assert "no space left on device" in s["error"] or "is free there" in s["error"], s["error"]
    assert s["out"] in s["error"], s["error"]
names = sorted(n for n in os.listdir({str(out)!r}) if not n.startswith("_"))
assert names == [s["out"] for s in report.shards if not s["error"]], names
try:
    report.raise_if_failed()
    sys.exit("no error")
except cl.FileError as e:
    assert "a.parquet " + {[files.range(i) for i in range(6)]!r}[failed[0]] in str(e), e
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
    assert same(parts(tmp_path / "copy"), files.want)


def test_a_file_that_is_cut(cluster: None, files: Files, tmp_path: Path) -> None:
    """Its shards are listed with their error, and the others go on."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    cut, good = inputs / "cut.parquet", inputs / "good.parquet"
    whole = (files.folder / "b.parquet").read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    shutil.copy(files.first, good)
    report = files.score(inputs / "*.parquet", tmp_path / "out")
    assert [s["input"] for s in report.failed] == [str(cut)] and "cut.parquet" in report.failed[0]["error"]
    assert same(parts(tmp_path / "out"), files.want) and sum(report.counts.values()) == len(pq.read_table(files.want))
    with pytest.raises(cl.FileError, match=r"cut\.parquet"):
        report.raise_if_failed()
    shutil.copy(files.first, cut)  # other rows than those of the manifest
    with pytest.raises(cl.OptionError, match="changed"):
        files.score(inputs / "*.parquet", tmp_path / "out")


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


def test_a_worker_is_killed(cluster: None, files: Files, tmp_path: Path) -> None:
    """Ray runs its task again: nothing is lost, nothing is there twice."""
    done: list[cr.ScoreReport] = []
    call = threading.Thread(target=lambda: done.append(files.score(files.first, tmp_path, 30)))
    call.start()
    killed = 0
    while call.is_alive() and not killed:
        for pid in tasks()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    call.join()
    assert killed, "no task was seen at work"
    done[0].raise_if_failed()
    assert same(parts(tmp_path), files.want)


def test_the_driver_is_killed(files: Files, tmp_path: Path, cluster: None) -> None:
    program = f"""
import ray
from clearance import ray as cr
ray.init(num_cpus=1, object_store_memory=200_000_000, include_dashboard=False, address="local")
cr.score({str(files.first)!r}, {str(tmp_path)!r}, **{files.asked(60)!r})
"""
    driver = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    while driver.poll() is None and len(list(tmp_path.glob("part-*.parquet"))) < 3:
        time.sleep(0.01)
    assert driver.poll() is None, "it ended before it was killed"
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    report = files.score(files.first, tmp_path, 60)
    report.raise_if_failed()
    assert same(parts(tmp_path), files.want)


def test_other_kernels(cluster: None, files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The manifest says which kernels answered each shard. A second call takes no answers of others, unless it is told
    to; the report then lists both."""
    first = files.score(files.first, tmp_path, 3)
    ((mine, count),) = first.kernels.items()
    assert count == 3 and mine.startswith("cpu: ") and "; clearance " in mine
    manifest, second = tmp_path / cr.MANIFEST, tmp_path / "part-000001.parquet"
    table, kept = pq.read_table(manifest), (tmp_path / "part-000000.parquet").stat().st_mtime_ns
    theirs = mine.replace("cpu: ", "cpu: other ")  # as if another machine had answered
    rows = [{**row, "kernels": theirs} for row in table.to_pylist()]
    manifest.write_bytes(manifest_of(json.loads(table.schema.metadata[b"options"]), rows))
    assert files.score(files.first, tmp_path, 3).kernels == {theirs: 3}, "what is there stays"
    second.unlink()
    report = files.score(files.first, tmp_path, 3)
    (failed,) = report.failed
    assert failed["shard"] == 1 and not second.exists() and report.kernels == {theirs: 2}
    for word in (mine, theirs, "any_kernels=True", failed["host"]):
        assert word in failed["error"], failed["error"]
    with pytest.raises(cl.FileError, match="whose bits may differ"):
        report.raise_if_failed()
    words = ["ray-score", str(files.first), "--kind", files.kind, "--backend", "cpu", "--rows-per-shard", "2000"]
    words += [
        "--library" if files.kind == "pairs" else "--scene",
        next(iter(files.shapes.values())),
        "--out",
        str(tmp_path),
    ]
    assert main(words) == 2 and "--any-kernels" not in (said := capsys.readouterr()).out and theirs in said.err
    assert main([*words, "--any-kernels"]) == 0
    assert f"1 by {mine}" in (out := capsys.readouterr().out) and f"2 by {theirs}" in out
    report = files.score(files.first, tmp_path, 3)
    assert report.kernels == {mine: 1, theirs: 2} and same(parts(tmp_path), files.want)
    assert (tmp_path / "part-000000.parquet").stat().st_mtime_ns == kept


def test_kernels_of_a_task(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task says which kernels it has, and refuses those that the folder has not."""
    (shard,) = plan([place(files.first)], place(tmp_path), CLUSTER_ROWS, files.kind)
    _libraries.clear()
    _libraries["digest of the test"] = shapes_of(files.kind, files.shapes.get("library"), files.shapes.get("scene"))
    named: dict[str | None, str] = {}
    for simd in (None, "portable", "off"):
        engines = {(b, "single", 1): cl.Engine(cast(Any, b), workers=1, simd=simd) for b in ("cpu", "auto")}
        monkeypatch.setattr(_ray_run, "_engines", engines)
        asked = Asked("digest of the test", [], {}, "cpu", 1, None)
        row = answer(asked, shard)
        assert not row["error"], row
        named[simd] = row["kernels"]
        (tmp_path / "part-000000.parquet").unlink()
        for backend in ("cpu", "auto"):
            row = answer(dataclasses.replace(asked, kernels=("cpu: others",), backend=backend), shard)
            assert "cpu: others, whose bits may differ" in row["error"] and row["rows"] == shard.row()["rows"]
            assert row["kernels"] == "" and not list(tmp_path.iterdir())
        assert not answer(dataclasses.replace(asked, kernels=("cpu: others", named[simd])), shard)["error"]
        (tmp_path / "part-000000.parquet").unlink()
    assert "portable" in named["portable"] and len({*named.values()}) == 3, named


def test_an_interrupted_driver(files: Files, tmp_path: Path, cluster: None) -> None:
    """Ctrl-C leaves a manifest, and a second call goes on."""
    program = f"""
import os, signal, sys
import ray
from clearance import _ray_run
from clearance import ray as cr
signal.signal(signal.SIGINT, signal.default_int_handler)
ray.init(num_cpus=1, object_store_memory=200_000_000, include_dashboard=False, address="local", log_to_driver=False)
take, taken = _ray_run.Run._take, []
def interrupted(run):
    take(run)
    taken.append(1)
    if len(taken) == 2:
        os.kill(os.getpid(), signal.SIGINT)
_ray_run.Run._take = interrupted
try:
    cr.score({str(files.first)!r}, {str(tmp_path)!r}, **{files.asked(20)!r})
    sys.exit("not interrupted")
except KeyboardInterrupt:
    pass
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    listed = [row for row in pq.read_table(tmp_path / cr.MANIFEST).to_pylist() if row["sha256"]]
    assert 2 <= len(listed) < 20
    kept = {row["out"]: (tmp_path / row["out"]).stat().st_mtime_ns for row in listed}
    files.score(files.first, tmp_path, 20).raise_if_failed()
    assert same(parts(tmp_path), files.want)
    assert all((tmp_path / name).stat().st_mtime_ns == t for name, t in kept.items())
