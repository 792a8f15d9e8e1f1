"""Files scored by Ray: the rows of one machine, whatever fails on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearance as cl

ray = pytest.importorskip("ray")
pq = pytest.importorskip("pyarrow.parquet")
from clearance import ray as cr  # noqa: E402
from clearance.__main__ import main  # noqa: E402

ROWS = 6000


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, object_store_memory=200_000_000, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, batchbench: Path) -> Path:
    folder = tmp_path_factory.mktemp("ray")
    for seed, name in enumerate(["a.parquet", "b.parquet", "c.npz"]):
        command: list[Any] = [batchbench, "generate", "--set", "mixed", "--pairs", ROWS, "--seed", seed + 1]
        command += ["--shapes", folder / f"shapes{seed}.json", "--out", folder / name]
        subprocess.run([str(c) for c in command], check=True)
    return folder


@pytest.fixture(scope="module")
def want(files: Path, engine: cl.Engine) -> Any:
    """The answers of a.parquet."""
    cl.score_file(files / "a.parquet", files / "want.parquet", library=files / "shapes0.json", engine=engine)
    return pq.read_table(files / "want.parquet")


def read(folder: Path) -> Any:
    import pyarrow as pa

    parts = [pq.read_table(p) for p in sorted(folder.glob("part-*.parquet"))]
    return pa.concat_tables(p.replace_schema_metadata() for p in parts)


def score(files: Path, out: Path, *names: str, **options: Any) -> cr.ScoreReport:
    asked: dict[str, Any] = {"backend": "cpu", "progress": False, "rows_per_shard": 1000, **options}
    return cr.score([files / n for n in names], out, library=files / "shapes0.json", **asked)


def test_rows_of_one_machine(cluster: None, files: Path, want: Any, tmp_path: Path) -> None:
    report = score(files, tmp_path, "a.parquet", rows_per_shard=700, verify=50)
    report.raise_if_failed()
    assert read(tmp_path).equals(want.replace_schema_metadata())
    assert report.rows == ROWS and sum(report.counts.values()) == ROWS and len(report.shards) == 9
    assert all(s["audited"] == 50 and s["refuted"] == 0 for s in report.shards)
    status = want["status"].to_numpy()
    assert report.counts["penetrating"] == int((status == cl.PENETRATING).sum())
    manifest = pq.read_table(tmp_path / cr.MANIFEST).to_pylist()
    assert [(m["lo"], m["hi"]) for m in manifest][:2] == [(0, 700), (700, 1400)]
    with cl.Engine("cpu") as one:
        whole = cl.score_file(files / "a.parquet", tmp_path / "w.parquet", library=files / "shapes0.json", engine=one)
    worst = whole.report.worst_gap, whole.report.worst_row
    assert (report.worst_gap[0], report.worst_gap[2]) == worst


def test_resumed(cluster: None, files: Path, want: Any, tmp_path: Path) -> None:
    """What is missing is answered again; what has changed is refused by name."""
    score(files, tmp_path, "a.parquet")
    first, second = tmp_path / "part-000000.parquet", tmp_path / "part-000001.parquet"
    kept = first.stat().st_mtime_ns
    second.unlink()
    score(files, tmp_path, "a.parquet").raise_if_failed()
    assert first.stat().st_mtime_ns == kept and read(tmp_path).equals(want.replace_schema_metadata())

    with pytest.raises(cl.OptionError, match=r"tolerance was None and is 0\.001"):
        score(files, tmp_path, "a.parquet", tolerance=1e-3)
    with pytest.raises(cl.FileError, match="exists"):
        score(files, tmp_path, "a.parquet", resume=False)
    whole = second.read_bytes()
    second.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(cl.FileError, match=r"part-000001\.parquet: it is not the file"):
        score(files, tmp_path, "a.parquet")
    second.write_bytes(whole)
    os.utime(files / "a.parquet")
    try:
        with pytest.raises(cl.OptionError, match=r"a\.parquet has changed"):
            score(files, tmp_path, "a.parquet")
    finally:
        assert read(tmp_path).equals(want.replace_schema_metadata())


def test_audits_are_resumed(cluster: None, files: Path, tmp_path: Path) -> None:
    """A call that asks for more audits than were made before makes them, and answers no row again."""
    score(files, tmp_path, "a.parquet", rows_per_shard=2500)
    kept = [p.stat().st_mtime_ns for p in sorted(tmp_path.glob("part-*"))]
    report = score(files, tmp_path, "a.parquet", rows_per_shard=2500, verify=40)
    assert [s["audited"] for s in report.shards] == [40, 40, 40]
    assert [p.stat().st_mtime_ns for p in sorted(tmp_path.glob("part-*"))] == kept
    assert [m["audited"] for m in pq.read_table(tmp_path / cr.MANIFEST).to_pylist()] == [40, 40, 40]


def test_two_drivers(cluster: None, files: Path, tmp_path: Path) -> None:
    with cr._only_driver(tmp_path), pytest.raises(cl.FileError, match=f"process {os.getpid()}"):
        score(files, tmp_path, "a.parquet")
    score(files, tmp_path, "a.parquet").raise_if_failed()


def test_a_file_that_is_cut(cluster: None, files: Path, tmp_path: Path) -> None:
    """Its shards are listed with their error, and the others go on."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    cut = inputs / "cut.parquet"
    cut.write_bytes((files / "b.parquet").read_bytes()[:50_000])
    good = inputs / "good.parquet"
    good.write_bytes((files / "a.parquet").read_bytes())
    report = cr.score(
        inputs / "*.parquet", tmp_path / "out", library=files / "shapes0.json", backend="cpu", progress=False,
        rows_per_shard=2000,
    )  # fmt: skip
    assert [s["input"] for s in report.failed] == [str(cut)] and "cut.parquet" in report.failed[0]["error"]
    assert sum(report.counts.values()) == ROWS
    with pytest.raises(cl.FileError, match=r"cut\.parquet"):
        report.raise_if_failed()
    cut.write_bytes((files / "a.parquet").read_bytes())  # other rows than those of the manifest
    with pytest.raises(cl.OptionError, match="changed"):
        cr.score(inputs / "*.parquet", tmp_path / "out", library=files / "shapes0.json", rows_per_shard=2000)


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


def test_a_worker_is_killed(cluster: None, files: Path, want: Any, tmp_path: Path) -> None:
    """Ray runs its task again: nothing is lost, nothing is there twice."""
    done: list[cr.ScoreReport] = []
    call = threading.Thread(target=lambda: done.append(score(files, tmp_path, "a.parquet", rows_per_shard=200)))
    call.start()
    killed = 0
    while call.is_alive() and not killed:
        for pid in tasks()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    call.join()
    assert killed, "no task was seen at work"
    done[0].raise_if_failed()
    assert read(tmp_path).equals(want.replace_schema_metadata())


def test_the_driver_is_killed(files: Path, want: Any, tmp_path: Path, cluster: None) -> None:
    program = f"""
import ray
from clearance import ray as cr
ray.init(num_cpus=1, object_store_memory=200_000_000, include_dashboard=False, address="local")
cr.score({str(files / "a.parquet")!r}, {str(tmp_path)!r}, library={str(files / "shapes0.json")!r}, backend="cpu",
         progress=False, rows_per_shard=100)
"""
    driver = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    while driver.poll() is None and len(list(tmp_path.glob("part-*.parquet"))) < 3:
        time.sleep(0.01)
    assert driver.poll() is None, "it ended before it was killed"
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    report = score(files, tmp_path, "a.parquet", rows_per_shard=100)
    report.raise_if_failed()
    assert read(tmp_path).equals(want.replace_schema_metadata())


def test_scorer(files: Path, want: Any) -> None:
    scorer = cr.Scorer(files / "shapes0.json", backend="cpu", columns=["distance", "status"])
    table = pq.read_table(files / "a.parquet")
    got = scorer(table.append_column("label", table["shape_a"]))
    assert got.column_names == ["distance", "status", "label"] and got["distance"].equals(want["distance"])


def test_map_batches(cluster: None, files: Path, want: Any) -> None:
    pytest.importorskip("pandas", reason="Ray's data sets need pandas")
    data = ray.data.read_parquet(str(files / "a.parquet"))
    scored = data.map_batches(
        cr.Scorer, fn_constructor_args=(str(files / "shapes0.json"),), fn_constructor_kwargs={"backend": "cpu"},
        batch_format="pyarrow", batch_size=1000, concurrency=1,
    )  # fmt: skip
    got = np.sort(np.concatenate([b["distance"] for b in scored.iter_batches(batch_format="numpy")]))
    assert np.array_equal(got, np.sort(want["distance"].to_numpy()))


def test_command(cluster: None, files: Path, want: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ray-score", str(files / "a.parquet"), "--library", str(files / "shapes0.json"), "--backend", "cpu"]
    assert main([*words, "--out", str(tmp_path), "--rows-per-shard", "4000", "--verify", "10"]) == 0
    assert read(tmp_path).equals(want.replace_schema_metadata())
    said = capsys.readouterr()
    assert "6,000 rows in 2 shards" in said.out and "20 audited" in said.out and "2 of 2 shards" in said.err
    assert main([*words, "--out", str(tmp_path), "--rows-per-shard", "4000", "--query", "penetration"]) == 2
    assert "query was 'distance' and is 'penetration'" in capsys.readouterr().err


def test_rollouts(cluster: None, engine: cl.Engine) -> None:
    lib = cl.Library()
    box, ball = lib.box([0.5, 0.5, 0.5]), lib.sphere(0.4)
    scene = cl.Scene(lib)
    for i in range(4):
        scene.add(box if i % 2 else ball, name=f"body{i}")
    scene.all_pairs()
    rng = np.random.default_rng(4)
    poses = np.concatenate([rng.normal(0, 1, (11, 4, 3)), rng.normal(size=(11, 4, 4))], -1)
    rollouts = cr.Rollouts(scene, worlds=11, actors=2, backend="cpu")
    got = rollouts(poses, quat="wxyz")
    one = engine.rollout(scene, worlds=11)(poses, quat="wxyz")
    assert np.array_equal(got["distance"], one.distance) and np.array_equal(got["status"], one.status)
    with pytest.raises(cl.ArrayError, match="of 3 worlds"):
        rollouts(poses[:3], quat="wxyz")
