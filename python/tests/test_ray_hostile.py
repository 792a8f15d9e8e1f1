"""Files of Ray's calls with strange names, links, foreign files, and manifests that were altered."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CLUSTER_ROWS, on_cluster, parts

import clearance as cl

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from stores import Tagged, Untagged  # noqa: E402

from clearance import ray as cr  # noqa: E402
from clearance.__main__ import main  # noqa: E402
from clearance._ray_run import _changed  # noqa: E402
from clearance._ray_shards import manifest_of, plan  # noqa: E402
from clearance._ray_store import LOCK, place  # noqa: E402


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
