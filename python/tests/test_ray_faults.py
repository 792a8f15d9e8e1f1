"""Files answered by Ray, whatever fails on the way, and hostile ones: strange names, links, altered manifests.

Nothing is lost, and nothing is there twice."""

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
from conftest import CLUSTER_ROWS, PATIENCE, full, on_cluster, parts, same
from stores import Tagged, Untagged
from test_worlds import W, worlds

import clearance as cl

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from clearance import _ray_run  # noqa: E402
from clearance import ray as cr  # noqa: E402
from clearance.__main__ import main  # noqa: E402
from clearance._ray_run import Call, _changed, _libraries, answer  # noqa: E402
from clearance._ray_shards import Kind, answer_file, manifest_of, plan, shapes_of  # noqa: E402
from clearance._ray_store import LOCK, Local, place  # noqa: E402


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


ONE_KIND = "shards fail alike whatever they hold; those of worlds do so here"


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
    call = Call("digest of the test", [], {}, "cpu", 1, None)
    _libraries.clear()
    _libraries["digest of the test"] = shapes_of(files.kind, files.shapes.get("library"), files.shapes.get("scene"))
    assert "x.parquet has changed since the call began" in answer(call, shard)["error"]

    class Changing(Local):
        @contextlib.contextmanager
        def reading(self, lo: int, hi: int, head: int = 0) -> Iterator[str]:
            yield self.path
            os.utime(self.path)

    shard = planned()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ray_run, "place", lambda name, _: Changing(name))
        row = answer(call, shard)
    assert f"x.parquet has changed while its {files.range(0, 1)} were answered" in row["error"]
    assert row["separated"] == 0 and not list((tmp_path / "out").iterdir())
    assert answer(call, planned())["error"] == ""
    assert same(parts(tmp_path / "out"), files.want)


def test_two_drivers(cluster: None, files: Files, tmp_path: Path) -> None:
    with place(tmp_path).only_driver(), pytest.raises(cl.FileError, match=f"process {os.getpid()}"):
        files.score(files.first, tmp_path)
    files.score(files.first, tmp_path).raise_if_failed()
    assert same(parts(tmp_path), files.want)


def test_a_full_disk(files: Files, tmp_path: Path) -> None:
    """Shards that have no room are listed and leave nothing; with room, a second call answers them alone."""
    if files.kind != "worlds":
        full(ONE_KIND)
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
    if files.kind != "worlds":
        full(ONE_KIND)
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
        call = Call("digest of the test", [], {}, "cpu", 1, None)
        row = answer(call, shard)
        assert not row["error"], row
        named[simd] = row["kernels"]
        (tmp_path / "part-000000.parquet").unlink()
        for backend in ("cpu", "auto"):
            row = answer(dataclasses.replace(call, kernels=("cpu: others",), backend=backend), shard)
            assert "cpu: others, whose bits may differ" in row["error"] and row["rows"] == shard.row()["rows"]
            assert row["kernels"] == "" and not list(tmp_path.iterdir())
        assert not answer(dataclasses.replace(call, kernels=("cpu: others", named[simd])), shard)["error"]
        (tmp_path / "part-000000.parquet").unlink()
    assert "portable" in named["portable"] and len({*named.values()}) == 3, named


def test_an_interrupted_driver(files: Files, tmp_path: Path, cluster: None) -> None:
    """Ctrl-C leaves a manifest, and a second call goes on."""
    if files.kind != "worlds":
        full(ONE_KIND)
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


def one(inputs: Any, out: Path | str, files: Path, **options: Any) -> cr.ScoreReport:
    """A call of one shard for each file."""
    asked = {"backend": "cpu", "progress": False, "library": files / "shapes0.json", **options}
    return cr.score(inputs, out, **asked)


def test_names(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """Names that the name of a process cuts inside a character, and such that are not UTF-8."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("東京都.parquet", "x東京都.parquet", "xy東京都.parquet"):
        shutil.copy(pair_files / "a.parquet", folder / name)
    strange = folder / os.fsdecode(b"z\xff\xfe.parquet")
    try:
        shutil.copy(pair_files / "a.parquet", strange)
    except OSError:  # the file system takes UTF-8 alone
        assert not strange.exists()
    report = one(folder / "*.parquet", tmp_path / "out", pair_files, verify=10)
    report.raise_if_failed()
    assert parts(tmp_path / "out").equals(pa.concat_tables([answers] * len(report.shards)))
    assert len(report.shards) == 3 + strange.exists() and report.peak_memory > 50_000_000
    if strange.exists():
        assert any(s["input"].endswith(r"/z\udcff\udcfe.parquet") for s in report.shards)
        strange.write_bytes(b"none")
        (failed,) = one(strange, tmp_path / "none", pair_files).failed
        assert "z\ufffd\ufffd.parquet: not a complete Parquet file" in failed["error"]


@pytest.mark.parametrize("store", [False, True])
def test_a_name_that_is_there_is_no_pattern(cluster: None, pair_files: Path, tmp_path: Path, store: bool) -> None:
    table = pq.read_table(pair_files / "a.parquet")
    pq.write_table(table.slice(0, 10), tmp_path / "p[1].parquet")
    pq.write_table(table.slice(10, 20), tmp_path / "p1.parquet")
    head, filesystem = ("", Tagged(str(tmp_path))) if store else (f"{tmp_path}/", None)
    for out, rows in (("one", 10), ("two", 20)):
        report = one(f"{head}p[1].parquet", f"{head}{out}", pair_files, filesystem=filesystem)
        assert report.rows == rows
        (tmp_path / "p[1].parquet").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["symbolic", "hard", "mine", "fifo", "folder"])
def test_a_lock_is_no_file_of_others(pair_files: Path, tmp_path: Path, kind: str) -> None:
    """What stands in the place of the lock is refused by name and keeps its bytes."""
    mine, out = tmp_path / "mine.txt", tmp_path / "out"
    mine.write_text("years of work")
    out.mkdir()
    lock = out / LOCK
    if kind == "symbolic":
        lock.symlink_to(mine)
    elif kind == "hard":
        lock.hardlink_to(mine)
    elif kind == "mine":
        lock.write_text("years of work")
    elif kind == "fifo":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    with pytest.raises(cl.FileError, match=LOCK):
        one(pair_files / "a.parquet", out, pair_files)
    assert mine.read_text() == "years of work" and (kind != "mine" or lock.read_text() == "years of work")


def test_small_files_are_written_anew(tmp_path: Path) -> None:
    """A manifest replaces a link, and does not write to the file that it names."""
    mine, at = tmp_path / "mine", place(tmp_path / "_manifest.parquet")
    mine.write_text("mine")
    Path(at.path).symlink_to(mine)
    at.put(b"manifest")
    assert mine.read_text() == "mine" and at.get() == b"manifest" and len(list(tmp_path.iterdir())) == 2


def altered(path: Path) -> None:
    """Another byte in the middle of a file, which keeps its size and its time."""
    about, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.mark.parametrize("kind", ["folder", "untagged"])
def test_the_middle_of_an_input_changes(cluster: None, pair_files: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.parquet"
    shutil.copy(pair_files / "a.parquet", path)
    assert path.stat().st_size > 1 << 18
    filesystem = None if kind == "folder" else Untagged(str(tmp_path))
    given, out = ("x.parquet", "out") if filesystem else (path, tmp_path / "out")
    one(given, out, pair_files, filesystem=filesystem).raise_if_failed()
    (shard,) = plan([place(given, filesystem)], place(out, filesystem), CLUSTER_ROWS)
    assert not _changed(place(given, filesystem), shard)
    altered(path)
    with pytest.raises(cl.OptionError, match=r"x\.parquet has changed since its rows 0 to 5999 were answered"):
        one(given, out, pair_files, filesystem=filesystem)
    if kind == "folder":  # while a call runs, a store without tags tells sizes and times alone
        assert _changed(place(given), shard)
        shutil.copy(pair_files / "a.parquet", path)
        os.utime(path, ns=(0, int(shard.version.split(":")[1])))
        path.chmod(0o600)
        assert not _changed(place(given), shard), "another mode is no other input"


def test_altered_manifests(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    """Each is refused by its name, whatever was altered in it, and the results stay as they are."""
    out, path = tmp_path / "out", tmp_path / "out" / cr.MANIFEST
    on_cluster(pair_files, out, "a.parquet", rows_per_shard=3000, verify=5)
    whole, kept = path.read_bytes(), sorted(p.stat().st_mtime_ns for p in out.glob("part-*"))
    table = pq.read_table(path)
    rows, options = table.to_pylist(), json.loads(table.schema.metadata[b"options"])

    def refused(data: bytes, match: str) -> None:
        path.write_bytes(data)
        with pytest.raises(cl.FileError, match=rf"_manifest\.parquet.*{match}"):
            on_cluster(pair_files, out, "a.parquet", rows_per_shard=3000, verify=20)
        assert path.read_bytes() == data and kept == sorted(p.stat().st_mtime_ns for p in out.glob("part-*"))

    for column, value, match in [
        ("separated", rows[1]["separated"] + 1, "the numbers do not add up: 3000 rows, with 3001 statuses"),
        ("rows", 2999, "do not add up"),
        ("audited", 10**9, "1000000000 answers audited and 0 refuted, of 3000"),
        ("audited", 2, "altered"),
        ("refuted", 6, "5 answers audited and 6 refuted"),
        ("invalid", -1, "invalid -1"),
        ("out", "part-000000.parquet", "shard 1 in part-000000"),
        ("shard", 0, "shard 0 in part-000001"),
    ]:
        lie = [rows[0], {**rows[1], column: value}]
        if match != "altered":
            refused(manifest_of(options, lie), match)
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(lie, table.schema), sink)
        refused(sink.getvalue().to_pybytes(), "altered after it was written")
    both = {"separated": rows[0]["separated"] - 1, "penetrating": rows[0]["penetrating"] + 1}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([{**rows[0], **both}, rows[1]], table.schema), sink)
    refused(sink.getvalue().to_pybytes(), "altered after it was written")

    for other, match in [
        (table.drop_columns(["lo"]), "column lo"),
        (table.drop_columns(["sha256"]), "column sha256"),
        (table.set_column(4, "identity", pa.array([1, 2])), "column identity"),
        (table.set_column(2, "lo", pa.array([0, None], pa.int64())), "column lo has nulls"),
        (table.replace_schema_metadata(), "no options"),
        (table.replace_schema_metadata({b"options": b"[1]"}), "no options"),
        (table.replace_schema_metadata({b"options": b"{"}), "no manifest"),
        (table.replace_schema_metadata({b"options": json.dumps(options).encode()}), "altered"),
    ]:
        sink = pa.BufferOutputStream()
        pq.write_table(other, sink)
        refused(sink.getvalue().to_pybytes(), match)
    for data in (b"", b"PAR1", whole[:-20], whole[:100] + bytes(100) + whole[200:]):
        refused(data, "no manifest of results")
    path.write_bytes(whole)
    report = on_cluster(pair_files, out, "a.parquet", rows_per_shard=3000, verify=20)
    assert [s["audited"] for s in report.shards] == [20, 20]


def test_foreign_files(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    """Files that would be read as results are refused, before and after there is a manifest, and are kept."""
    out = tmp_path / "out"
    out.mkdir()
    mine = out / "part-000000.parquet"
    mine.write_text("mine")
    for resume in (True, False):
        with pytest.raises(cl.FileError, match=r"part-000000\.parquet, which is no result"):
            one(pair_files / "a.parquet", out, pair_files, resume=resume)
    assert mine.read_text() == "mine"
    mine.rename(out / "_mine")
    one(pair_files / "a.parquet", out, pair_files).raise_if_failed()
    (out / "more.parquet").write_text("mine")
    with pytest.raises(cl.FileError, match=r"has more\.parquet"):
        one(pair_files / "a.parquet", out, pair_files)
    (out / "more.parquet").unlink()
    (out / "_uploading-_manifest.parquet-0123abcd").write_text("half")
    one(pair_files / "a.parquet", out, pair_files)
    assert sorted(p.name for p in out.iterdir()) == [LOCK, cr.MANIFEST, "_mine", "part-000000.parquet"]
    assert parts(out).equals(answers)


def test_codes_of_the_command(
    pair_files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad output is code 2, and what nobody expected is not code 1, that of refuted rows."""
    file = tmp_path / "file"
    file.write_text("mine")
    words = ["ray-score", str(pair_files / "a.parquet"), "--library", str(pair_files / "shapes0.json"), "--out"]
    for out in (file, file / "below", "/proc/none", "a\0b"):
        assert main([*words, str(out)]) == 2
        assert capsys.readouterr().err.startswith(f"clearance: {out}: ")
    assert file.read_text() == "mine"
    assert main(["ray-score", str(file) + "\udcff", *words[2:], str(tmp_path / "new")]) == 2
    assert "clearance: " in capsys.readouterr().err

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no cluster")

    monkeypatch.setattr("clearance.ray.score", fails)
    assert main([*words, str(tmp_path / "new")]) == 3
    assert "no cluster" in capsys.readouterr().err


def test_numbers_of_every_kind_add_up(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    """Manifests of worlds, of all pairs, reduced, and of motions are taken over."""
    lib = cl.Library()
    ball = lib.sphere(0.5)
    scene = cl.Scene(lib)
    for i in range(3):
        scene.add(ball, name=f"b{i}")
    scene.all_pairs()
    scene.save(tmp_path / "scene.json")
    poses = np.zeros((8, 2, 3, 7))
    poses[..., 3] = 1
    poses[..., 0] = np.arange(3) * np.linspace(0.2, 2, 8)[:, None, None]
    cl.write_worlds(tmp_path / "motions.npz", scene, poses, quat="wxyz")
    cl.write_worlds(tmp_path / "worlds.npz", scene, poses[:, 0], quat="wxyz")
    asked: list[tuple[str, dict[str, Any]]] = [
        ("worlds", {}),
        ("worlds", {"reduce": "world"}),
        ("worlds", {"pairs": "all", "max_distance": 0.5}),
        ("motions", {}),
    ]
    for i, (kind, options) in enumerate(asked):
        given: dict[str, Any] = {
            "kind": kind, "scene": tmp_path / "scene.json", "backend": "cpu", "progress": False, "rows_per_shard": 9,
        }  # fmt: skip
        for verify in (0, 6):
            report = cr.score(tmp_path / f"{kind}.npz", tmp_path / str(i), verify=verify, **given, **options)
            report.raise_if_failed()
        again = cr.score(tmp_path / f"{kind}.npz", tmp_path / str(i), verify=6, **given, **options)
        assert again.shards == report.shards and all(s["audited"] > 0 for s in again.shards)
