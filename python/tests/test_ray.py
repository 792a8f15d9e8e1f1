"""Files scored by Ray: the rows of one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CLUSTER_ROWS, on_cluster, parts

import clearance as cl

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from clearance import ray as cr  # noqa: E402
from clearance.__main__ import main  # noqa: E402
from clearance._ray_shards import manifest_of  # noqa: E402
from clearance._ray_store import sha256  # noqa: E402


def test_rows_of_one_machine(cluster: None, pair_files: Path, answers: Any, tmp_path: Path) -> None:
    report = on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=700, verify=50)
    report.raise_if_failed()
    assert parts(tmp_path).equals(answers)
    assert report.rows == CLUSTER_ROWS and sum(report.counts.values()) == CLUSTER_ROWS and len(report.shards) == 9
    assert all(s["audited"] == 50 and s["refuted"] == 0 for s in report.shards)
    status = answers["status"].to_numpy()
    assert report.counts["penetrating"] == int((status == cl.PENETRATING).sum())
    manifest = pq.read_table(tmp_path / cr.MANIFEST).to_pylist()
    assert [(m["lo"], m["hi"]) for m in manifest][:2] == [(0, 666), (666, 1333)]
    with cl.Engine("cpu") as one:
        whole = cl.score_file(
            pair_files / "a.parquet", tmp_path / "w.parquet", library=pair_files / "shapes0.json", engine=one
        )
    worst = whole.report.worst_gap, whole.report.worst_row
    assert (report.worst_gap[0], report.worst_gap[2]) == worst


def test_metrics(cluster: None, pair_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counters that Ray's dashboard shows."""
    counted: dict[tuple[str, str], float] = {}

    class Counter:
        def __init__(self, name: str, description: str, tag_keys: tuple[str, ...]) -> None:
            self.name = name

        def inc(self, value: float, tags: dict[str, str]) -> None:
            (tag,) = tags.values()
            counted[self.name, tag] = counted.get((self.name, tag), 0) + value

    monkeypatch.setattr("ray.util.metrics.Counter", Counter)
    report = on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=3000, verify=20)
    rows = {("clearance_rows", status): n for status, n in report.counts.items() if n}
    assert counted == {**rows, ("clearance_shards", "answered"): 2, ("clearance_rows_audited", "not refuted"): 40}


def test_memory(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    """Workers keep within the budget, of which Ray is asked; one that they would not keep within is refused."""
    report = on_cluster(pair_files, tmp_path, "a.parquet", memory=500_000_000)
    assert all(0 < s["peak_memory"] < 500_000_000 for s in report.shards) and report.peak_memory > 50_000_000
    with pytest.raises(cl.OptionError, match=r"memory: 1,000,000 bytes, and a task of 1 threads takes \d+,\d+"):
        on_cluster(pair_files, tmp_path, "a.parquet", memory=1_000_000)


def test_poisoned_answers(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    """The audit of a shard whose answers were altered after it was written refutes it, and no other."""
    on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=2000)
    part, manifest = tmp_path / "part-000001.parquet", tmp_path / cr.MANIFEST
    table, listed = pq.read_table(part), pq.read_table(manifest)
    at = table.column_names.index("distance")
    values = table.column("distance").to_numpy() + np.float32(1)
    pq.write_table(table.set_column(at, table.field(at), pa.array(values)), part)
    rows = listed.to_pylist()
    rows[1]["sha256"] = sha256(str(part))  # as if it had been written so
    manifest.write_bytes(manifest_of(json.loads(listed.schema.metadata[b"options"]), rows))
    report = on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=2000, verify=30)
    refuted = [s["refuted"] for s in report.shards]
    assert refuted[1] > 0 and refuted[0] == refuted[2] == 0 and all(s["audited"] == 30 for s in report.shards)
    with pytest.raises(cl.RefutedError, match=r"a\.parquet rows 2000 to 3999: the audit refuted"):
        report.raise_if_failed()


def test_audits_are_resumed(cluster: None, pair_files: Path, tmp_path: Path) -> None:
    """A call that asks for more audits than were made before makes them, and answers no row again."""
    on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=2500)
    kept = [p.stat().st_mtime_ns for p in sorted(tmp_path.glob("part-*"))]
    report = on_cluster(pair_files, tmp_path, "a.parquet", rows_per_shard=2500, verify=40)
    assert [s["audited"] for s in report.shards] == [40, 40, 40]
    assert [p.stat().st_mtime_ns for p in sorted(tmp_path.glob("part-*"))] == kept
    assert [m["audited"] for m in pq.read_table(tmp_path / cr.MANIFEST).to_pylist()] == [40, 40, 40]


def test_scorer(pair_files: Path, answers: Any) -> None:
    scorer = cr.Scorer(pair_files / "shapes0.json", backend="cpu", columns=["distance", "status"])
    table = pq.read_table(pair_files / "a.parquet")
    got = scorer(table.append_column("label", table["shape_a"]))
    assert got.column_names == ["distance", "status", "label"] and got["distance"].equals(answers["distance"])


def test_map_batches(cluster: None, pair_files: Path, answers: Any) -> None:
    pytest.importorskip("pandas", reason="Ray's data sets need pandas")
    data = ray.data.read_parquet(str(pair_files / "a.parquet"))
    scored = data.map_batches(
        cr.Scorer, fn_constructor_args=(str(pair_files / "shapes0.json"),), fn_constructor_kwargs={"backend": "cpu"},
        batch_format="pyarrow", batch_size=1000, concurrency=1,
    )  # fmt: skip
    got = np.sort(np.concatenate([b["distance"] for b in scored.iter_batches(batch_format="numpy")]))
    assert np.array_equal(got, np.sort(answers["distance"].to_numpy()))


def test_command(
    cluster: None, pair_files: Path, answers: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "ray-score",
        str(pair_files / "a.parquet"),
        "--library",
        str(pair_files / "shapes0.json"),
        "--backend",
        "cpu",
    ]
    assert main([*words, "--out", str(tmp_path), "--rows-per-shard", "4000", "--verify", "10"]) == 0
    assert parts(tmp_path).equals(answers)
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
