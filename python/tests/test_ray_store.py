"""Files on what pyarrow's filesystems reach: complete or not at all."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CLUSTER_ROWS, PATIENCE, parts
from test_worlds import worlds

import clearance as cl

ray = pytest.importorskip("ray")
pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
from pyarrow import fs  # noqa: E402
from stores import Failing, Tagged  # noqa: E402

from clearance import ray as cr  # noqa: E402
from clearance._ray_shards import Shard, cuts, plan  # noqa: E402
from clearance._ray_store import LOCK, Local, file_order, place  # noqa: E402


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def bucket(pair_files: Path, tmp_path: Path) -> Path:
    """A folder as an object store, with pairs in in/."""
    root = tmp_path / "bucket"
    (root / "in").mkdir(parents=True)
    for name in ("a.parquet", "c.npz"):
        shutil.copy(pair_files / name, root / "in" / name)
    return root


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("/results/part-000000.parquet", "part-000000.parquet"),
        ("/results/what?.parquet", "what?.parquet"),
        ("s3://bucket/out/part-000000.parquet?region=us-west-2&endpoint_override=a/b", "part-000000.parquet"),
    ],
)
def test_manifest_names(name: str, last: str) -> None:
    """The manifest and Ray's dashboard name objects without the query of their URI."""
    shard = Shard(0, name, 0, 7, "identity", name)
    assert shard.row()["out"] == last and shard.title == f"{last}[0:7]"


def score(inputs: Any, out: str, library: Path, **options: Any) -> cr.ScoreReport:
    asked = {"backend": "cpu", "progress": False, "rows_per_shard": 1000, **options}
    return cr.score(inputs, out, library=library, **asked)


@pytest.mark.parametrize("kind", ["subtree", "fsspec", "uri"])
def test_rows_of_files(cluster: None, pair_files: Path, answers: Any, bucket: Path, kind: str) -> None:
    """Rows, audits and a second call are those of folders, and nothing else is left in the folder of results."""
    head, options = "", {}
    if kind == "uri":
        head = f"file://{bucket}/"
    elif kind == "subtree":
        options = {"filesystem": fs.SubTreeFileSystem(str(bucket), fs.LocalFileSystem())}
    else:
        options = {"filesystem": Tagged(str(bucket))}
    library = pair_files / "shapes0.json"
    report = score(f"{head}in/*.parquet", f"{head}results", library, verify=30, **options)
    report.raise_if_failed()
    assert parts(bucket / "results").equals(answers)
    assert all(s["audited"] == 30 and s["refuted"] == 0 for s in report.shards)
    assert names(bucket / "results") == [cr.MANIFEST, *(f"part-{i:06d}.parquet" for i in range(6))]
    kept = [p.stat().st_mtime_ns for p in sorted((bucket / "results").glob("part-*"))]
    again = score(f"{head}in/*.parquet", f"{head}results", library, verify=30, **options)
    assert again.shards == report.shards
    assert [p.stat().st_mtime_ns for p in sorted((bucket / "results").glob("part-*"))] == kept

    second = bucket / "results/part-000001.parquet"
    second.write_bytes(second.read_bytes())
    with pytest.raises(cl.FileError, match=r"part-000001\.parquet: it is not the file .* rows 1000 to 1999"):
        score(f"{head}in/*.parquet", f"{head}results", library, **options)
    second.unlink()
    os.utime(bucket / "in/a.parquet")
    with pytest.raises(cl.OptionError, match=r"in/a\.parquet has changed since its rows 0 to 999"):
        score(f"{head}in/*.parquet", f"{head}results", library, **options)


def test_cuts() -> None:
    """Shards begin where row groups do, unless these are larger, and are of about one size."""
    assert cuts(10, 4, []) == [0, 3, 6, 10] and cuts(0, 4, []) == [0, 0] and cuts(10, 4, [5]) == [0, 3, 6, 10]
    assert cuts(10, 10, [3, 6]) == [0, 10], "one shard is enough"
    assert cuts(12, 7, [3, 6, 9]) == [0, 6, 12] and cuts(13, 6, [3, 6, 9, 12]) == [0, 3, 9, 13]
    rng = np.random.default_rng(5)
    for _ in range(300):
        count, most = (int(n) for n in rng.integers(1, 200, 2))
        starts = sorted({int(n) for n in rng.integers(1, count + 1, rng.integers(0, 40))} - {count})
        found = cuts(count, most, starts)
        sizes = np.diff(found)
        assert (found[0], found[-1]) == (0, count) and sizes.min() > 0 and sizes.max() <= most
        least = -(-count // most)
        if least > 1 and np.diff([0, *starts, count]).max() <= most:
            assert set(found[1:-1]) <= set(starts) and len(sizes) <= 2 * least
        else:
            assert len(sizes) == least and sizes.max() - sizes.min() <= 1


def test_files_are_looked_at_together(pair_files: Path, tmp_path: Path) -> None:
    """Their shards are in the order of the files all the same."""
    both = threading.Barrier(2, timeout=PATIENCE)

    class Waiting(Local):
        def identity(self) -> str:
            both.wait()
            return super().identity()

    files: list[Any] = [Waiting(str(pair_files / name)) for name in ("b.parquet", "a.parquet")]
    found = plan(files, place(tmp_path), 3000)
    assert [(Path(s.path).name, s.lo) for s in found] == [(f"{n}.parquet", lo) for n in "ba" for lo in (0, 3000)]


@pytest.mark.parametrize("store", [False, True])
def test_shards_begin_with_row_groups(pair_files: Path, tmp_path: Path, store: bool) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(pair_files / "a.parquet"), tmp_path / "groups.parquet", row_group_size=800)
    one = place("groups.parquet", Tagged(str(tmp_path))) if store else place(tmp_path / "groups.parquet")
    assert one.groups() == [800] * 7 + [400]
    assert [s.lo for s in plan([one], place(tmp_path / "out"), 2000)] == [0, 1600, 3200, 4800]
    assert [s.lo for s in plan([one], place(tmp_path / "out"), 700)] == [6000 * k // 9 for k in range(9)]
    scene, bodies, poses = worlds()  # 20 worlds of four rows
    cl.write_worlds(tmp_path / "written.parquet", scene, poses[:, 0], quat="wxyz", bodies=bodies)
    template = pq.read_metadata(tmp_path / "written.parquet").metadata[b"template"]
    table = pq.read_table(tmp_path / "written.parquet").replace_schema_metadata({b"template": template})
    pq.write_table(table, tmp_path / "worlds.parquet", row_group_size=12)
    one = place("worlds.parquet", Tagged(str(tmp_path))) if store else place(tmp_path / "worlds.parquet")
    assert [s.lo for s in plan([one], place(tmp_path / "out"), 35, "worlds")] == [0, 6, 9, 15]


def test_npz(cluster: None, pair_files: Path, bucket: Path, engine: cl.Engine, tmp_path: Path) -> None:
    report = score("in/c.npz", "results", pair_files / "shapes2.json", filesystem=Tagged(str(bucket)))
    report.raise_if_failed()
    cl.score_file(pair_files / "c.npz", tmp_path / "w.npz", library=pair_files / "shapes2.json", engine=engine)
    found = [np.load(p)["distance"] for p in sorted((bucket / "results").glob("part-*"))]
    assert np.array_equal(np.concatenate(found), np.load(tmp_path / "w.npz")["distance"]) and len(found) == 6


def test_order_of_names() -> None:
    """The order of dataset.compareNames, with the names of its test; and folders before names."""
    want = ["a", "a01", "a1", "a2", "a10", "a10b", "a010c", "b", "part-9.x", "part-10.w"]
    paths = ["in/2/10.parquet", "in/10/1.parquet", "in/10/9\udcff.parquet", "in/10/\u00e9.parquet", "in/a/0.parquet"]
    for listed in (want, paths):
        keys = [file_order(name) for name in listed]
        assert all(a < b and not b < a for a, b in itertools.pairwise(keys))


@pytest.mark.parametrize("store", [False, True])
def test_order_of_files(cluster: None, pair_files: Path, engine: cl.Engine, tmp_path: Path, store: bool) -> None:
    """The files of a pattern are answered in the order in which score_file reads the folder."""
    import pyarrow.parquet as pq

    pairs, library = pq.read_table(pair_files / "a.parquet"), pair_files / "shapes0.json"
    (tmp_path / "in").mkdir()
    for i in range(12):
        pq.write_table(pairs.slice(10 * i, 10), tmp_path / f"in/part.{i}.parquet")
    cl.score_file(tmp_path / "in", tmp_path / "want.parquet", library=library, engine=engine)
    report = (
        score("in/*.parquet", "out", library, filesystem=Tagged(str(tmp_path)))
        if store
        else score(tmp_path / "in/*.parquet", str(tmp_path / "out"), library)
    )
    report.raise_if_failed()
    assert parts(tmp_path / "out").equals(pq.read_table(tmp_path / "want.parquet").replace_schema_metadata())


def test_an_upload_fails(cluster: None, pair_files: Path, answers: Any, bucket: Path) -> None:
    """It leaves nothing, is listed by name, and the rest goes on; a second call answers what is missing."""
    library = pair_files / "shapes0.json"
    report = score("in/a.parquet", "results", library, filesystem=Failing(str(bucket)))
    assert [s["shard"] for s in report.failed] == [1, 2, 3, 4, 5]
    for s in report.failed:
        assert s["out"] in s["error"] and "the connection is gone" in s["error"]
    assert names(bucket / "results") == [cr.MANIFEST, "part-000000.parquet"]
    with pytest.raises(cl.FileError, match=r"in/a\.parquet rows 1000 to 1999: .*part-000001"):
        report.raise_if_failed()
    kept = (bucket / "results/part-000000.parquet").stat().st_mtime_ns
    score("in/a.parquet", "results", library, filesystem=Tagged(str(bucket))).raise_if_failed()
    assert parts(bucket / "results").equals(answers)
    assert (bucket / "results/part-000000.parquet").stat().st_mtime_ns == kept


def test_a_cut_object(cluster: None, pair_files: Path, bucket: Path) -> None:
    whole = (bucket / "in/a.parquet").read_bytes()
    (bucket / "in/b.parquet").write_bytes(whole[: len(whole) // 2])
    report = score("in/*.parquet", "results", pair_files / "shapes0.json", filesystem=Tagged(str(bucket)))
    assert [s["input"] for s in report.failed] == ["in/b.parquet"] and "in/b.parquet" in report.failed[0]["error"]
    assert sum(report.counts.values()) == CLUSTER_ROWS


def test_two_drivers(cluster: None, pair_files: Path, bucket: Path) -> None:
    """The lock of a driver that works is kept; that of a process of this machine that has ended is taken over."""
    library, store = pair_files / "shapes0.json", Tagged(str(bucket))
    folder = place("results", store)
    folder.make()
    with folder.only_driver(), pytest.raises(cl.FileError, match=rf"process {os.getpid()} on .*delete results/{LOCK}"):
        score("in/a.parquet", "results", library, filesystem=store)
    assert not names(bucket / "results")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine = (bucket / "results" / LOCK).write_text
    with folder.only_driver():
        left = (bucket / "results" / LOCK).read_text()
    mine(left.replace(f"process {os.getpid()}", f"process {ended.pid}"))
    (bucket / "results/_uploading-part-000000.parquet-1").write_text("half")
    score("in/a.parquet", "results", library, filesystem=store).raise_if_failed()
    assert names(bucket / "results") == [cr.MANIFEST, *(f"part-{i:06d}.parquet" for i in range(6))]


def test_only_the_rows_are_read(pair_files: Path, answers: Any, tmp_path: Path, engine: cl.Engine) -> None:
    """Of a Parquet object with several row groups those of the rows are copied, each byte at its place."""
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(pair_files / "a.parquet"), tmp_path / "groups.parquet", row_group_size=1000)
    one = place("groups.parquet", fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    with one.reading(2500, 3500) as local:
        about = Path(local).stat()
        assert about.st_size == (tmp_path / "groups.parquet").stat().st_size
        assert about.st_blocks * 512 < 0.55 * about.st_size
        out = tmp_path / "out.parquet"
        cl.score_file(local, out, library=pair_files / "shapes0.json", rows=(2500, 3500), audit=False, engine=engine)
        with pytest.raises(cl.FileError):
            cl.score_file(local, out, library=pair_files / "shapes0.json", rows=(0, 10), audit=False, engine=engine)
    assert pq.read_table(out).replace_schema_metadata().equals(answers.slice(2500, 1000))
