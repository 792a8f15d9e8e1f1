"""Files of pairs, worlds and motions answered by Ray: the rows of one machine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CLUSTER_ROWS, on_cluster, parts, same
from stores import Tagged
from test_worlds import W, worlds

import clearance as cl

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from clearance import ray as cr  # noqa: E402
from clearance.__main__ import main  # noqa: E402
from clearance._ray_shards import Shard, Size, manifest_of, size_of  # noqa: E402
from clearance._ray_store import place, sha256  # noqa: E402


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


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with worlds and motions of a scene, in Parquet and NPZ."""
    scene, bodies, poses = worlds()
    scene.save(tmp_path / "scene.json")
    for ending in ("parquet", "npz"):
        cl.write_worlds(tmp_path / f"worlds.{ending}", scene, poses[:, 0], quat="wxyz", bodies=bodies)
        cl.write_worlds(tmp_path / f"motions.{ending}", scene, poses, quat="wxyz", bodies=bodies)
    return tmp_path


def score(folder: Path, kind: Any, *names: str, **options: Any) -> cr.ScoreReport:
    """Shards of at most 7 worlds of the five listed pairs, or of all six."""
    asked = {"backend": "cpu", "progress": False, "rows_per_shard": 35, "scene": folder / "scene.json", **options}
    out = asked.pop("out", folder / "out")
    return cr.score([folder / n for n in names] if "filesystem" not in asked else list(names), out, kind=kind, **asked)


def one_machine(folder: Path, kind: str, name: str, engine: cl.Engine, **options: Any) -> Path:
    answer: Any = cl.rollout_file if kind == "worlds" else cl.sweep_file
    answer(folder / name, folder / f"want-{name}", scene=folder / "scene.json", engine=engine, **options)
    return folder / f"want-{name}"


CASES: list[tuple[str, dict[str, Any], int]] = [
    ("worlds", {}, 3),
    ("worlds", {"reduce": "world", "query": "penetration", "culling": False}, 3),
    ("worlds", {"max_distance": 0.2, "precision": "double", "columns": ["distance", "normal"]}, 3),
    ("worlds", {"pairs": "all", "max_distance": 0.1}, 4),
    ("worlds", {"pairs": "all", "reduce": "world"}, 4),
    ("motions", {"max_distance": 0.3, "time_tolerance": 1e-4, "max_evaluations": 500}, 3),
]


@pytest.mark.parametrize(("kind", "options", "shards"), CASES)
def test_worlds_of_one_machine(
    cluster: None, inputs: Path, engine: cl.Engine, kind: str, options: dict[str, Any], shards: int
) -> None:
    report = score(inputs, kind, f"{kind}.parquet", **options)
    report.raise_if_failed()
    want = one_machine(inputs, kind, f"{kind}.parquet", engine, **options)
    got = parts(inputs / "out")
    assert same(got, want)
    assert len(report.shards) == shards and report.rows == len(got) == sum(report.counts.values())
    manifest = pq.read_table(inputs / "out" / cr.MANIFEST).to_pylist()
    assert [m["lo"] for m in manifest] == [W * k // shards for k in range(shards)] and manifest[-1]["hi"] == W
    assert [m["rows"] for m in manifest] == [len(pq.read_table(p)) for p in sorted((inputs / "out").glob("part-*"))]
    column = pq.read_table(want)["state" if kind == "motions" else "status"].to_numpy()
    contact = 1 if kind == "motions" else cl.PENETRATING
    assert report.counts["penetrating"] == int((column == contact).sum())


@pytest.mark.parametrize("kind", ["worlds", "motions"])
def test_npz(cluster: None, inputs: Path, engine: cl.Engine, kind: str) -> None:
    score(inputs, kind, f"{kind}.npz").raise_if_failed()
    found = [np.load(p) for p in sorted((inputs / "out").glob("part-*"))]
    with np.load(one_machine(inputs, kind, f"{kind}.npz", engine)) as want:
        for name in {"distance", "part_a", "state", "lower"} & set(want.files):
            assert np.array_equal(
                np.concatenate([f[name] for f in found]), want[name], equal_nan=want[name].dtype == float
            )
    assert len(found) == 3


@pytest.mark.parametrize("kind", ["worlds", "motions"])
def test_other_questions(cluster: None, inputs: Path, kind: str) -> None:
    """Another scene, and another kind, than those of the results are refused by name."""
    name = f"{kind}.parquet"
    score(inputs, kind, name).raise_if_failed()
    with pytest.raises(cl.OptionError, match="scene was"):
        score(inputs, kind, name, scene=cl.Scene(cl.Library()))
    with pytest.raises(cl.OptionError, match="kind was"):
        score(inputs, "motions" if kind == "worlds" else "worlds", name)


@pytest.mark.parametrize("kind", ["worlds", "motions"])
def test_objects(cluster: None, tmp_path: Path, engine: cl.Engine, kind: str) -> None:
    """Of an object the row groups of the worlds are copied, and those that tell their bodies."""
    count = 9000 if kind == "worlds" else 3000  # 36,000 rows of the file, of which the library looks at 16,384 first
    scene, bodies, poses = worlds()
    scene.save(tmp_path / "scene.json")
    poses = np.tile(poses, (count // W, 1, 1, 1))
    given = poses[:, 0] if kind == "worlds" else poses
    cl.write_worlds(tmp_path / "written.parquet", scene, given, quat="wxyz", bodies=np.tile(bodies, (count // W, 1)))
    template = pq.read_metadata(tmp_path / "written.parquet").metadata[b"template"]
    table = pq.read_table(tmp_path / "written.parquet").replace_schema_metadata({b"template": template})
    pq.write_table(table, tmp_path / "groups.parquet", row_group_size=3000)
    store, path = Tagged(str(tmp_path)), tmp_path / "groups.parquet"
    asked = {"filesystem": store, "out": "out", "rows_per_shard": 5 * count // 3}
    score(tmp_path, kind, "groups.parquet", **asked).raise_if_failed()
    assert same(parts(tmp_path / "out"), one_machine(tmp_path, kind, "groups.parquet", engine))
    one = place("groups.parquet", store)
    size = size_of(one, kind, {})  # type: ignore[arg-type]
    assert size == Size(count, 5, 5, 4 if kind == "worlds" else 12)
    last = Shard(2, "groups.parquet", count // 3 * 2, count, "", "", kind, size)  # type: ignore[arg-type]
    with one.reading(*last.lines) as local:
        about = Path(local).stat()
        assert about.st_size == path.stat().st_size and 0.5 < about.st_blocks * 512 / about.st_size < 0.95


def test_a_world_of_many_rows(tmp_path: Path) -> None:
    """The sizes of an object whose first world has more rows than the library reads at a time."""
    scene, points = cl.Scene(cl.Library()), 6000
    for _ in range(3):
        scene.add(scene.library.sphere(0.5) if not len(scene.library) else 0)
    scene.all_pairs()
    poses = np.tile([0.0, 0, 0, 1, 0, 0, 0], (2, points, 3, 1))
    cl.write_worlds(tmp_path / "written.parquet", scene, poses, quat="wxyz")
    template = pq.read_metadata(tmp_path / "written.parquet").metadata[b"template"]
    table = pq.read_table(tmp_path / "written.parquet").replace_schema_metadata({b"template": template})
    pq.write_table(table, tmp_path / "groups.parquet", row_group_size=2000)
    one = place("groups.parquet", Tagged(str(tmp_path)))
    assert size_of(one, "motions", {}) == Size(2, 3, 3, 3 * points)


def poison(folder: Path, index: int) -> None:
    """Alter the distances, or their lower bounds, of a part, and its checksum as if it had been written so."""
    part, manifest = folder / f"part-{index:06d}.parquet", folder / cr.MANIFEST
    table = pq.read_table(part).replace_schema_metadata(pq.read_metadata(part).metadata)
    name = "lower" if "lower" in table.column_names else "distance"
    values = table.column(name).to_numpy() + 2
    at = table.column_names.index(name)
    pq.write_table(table.set_column(at, table.field(at), pa.array(values)), part)
    listed = pq.read_table(manifest)
    rows = listed.to_pylist()
    rows[index]["sha256"] = sha256(str(part))
    manifest.write_bytes(manifest_of(json.loads(listed.schema.metadata[b"options"]), rows))


@pytest.mark.parametrize(("kind", "options", "shards"), CASES)
def test_audits(
    cluster: None, inputs: Path, engine: cl.Engine, kind: str, options: dict[str, Any], shards: int
) -> None:
    """Some worlds of every shard are audited in tasks of their own, with the report of one machine; poisoned results
    are found, and those of other shards pass."""
    name, each = f"{kind}.parquet", 1 if "reduce" in options else 6 if "pairs" in options else 5
    score(inputs, kind, name, **options)
    report = score(inputs, kind, name, verify=each + 1, **options)
    assert not report.failed
    proved = [s["audited"] for s in report.shards]
    bounded = "columns" not in options  # without a gap the reference alone bounds distances
    assert proved == [2 * each] * shards if kind == "worlds" and bounded else max(proved) <= 2 * each
    assert sum(s["refuted"] for s in report.shards) == 0
    poison(inputs / "out", 1)
    report = score(inputs, kind, name, verify=1000, **options)
    refuted = [s["refuted"] for s in report.shards]
    assert refuted[1] > 0 and sum(refuted) == refuted[1], "only the poisoned shard is refuted"
    with pytest.raises(cl.RefutedError, match=rf"{kind}\.parquet worlds {W // shards} to .*the audit refuted"):
        report.raise_if_failed()
    part = (report.shards[1]["lo"], report.shards[1]["hi"])
    asked = {k: v for k, v in options.items() if k not in ("columns", "culling", "max_evaluations")}
    audit: Any = cl.audit_rollout_file if kind == "worlds" else cl.audit_sweep_file
    one = inputs / "out" / "part-000001.parquet"
    found = audit(inputs / name, one, scene=inputs / "scene.json", part=part, engine=engine, **asked)
    assert found == (report.shards[1]["audited"], report.shards[1]["refuted"]), "the report of one machine"
    whole = audit(inputs / name, one_machine(inputs, kind, name, engine, **options), scene=inputs / "scene.json",
                  engine=engine, **asked)  # fmt: skip
    assert whole[1] == 0 and whole[0] >= sum(s["audited"] for s in report.shards) - report.shards[1]["audited"]
    with pytest.raises(cl.FileError, match=r"states worlds .* they do not belong together"):
        audit(inputs / name, one, scene=inputs / "scene.json", engine=engine, **asked)


def test_failures(cluster: None, inputs: Path) -> None:
    """A file of another kind is listed, and the rest goes on; so are rows without an answer, by their world."""
    scene, bodies, poses = worlds()
    poses[13, 0, 2, 4], bodies[13] = np.nan, [0, 1, 2, 3]
    cl.write_worlds(inputs / "worlds.parquet", scene, poses[:, 0], quat="wxyz", bodies=bodies)
    report = score(inputs, "worlds", "motions.parquet", "worlds.parquet")
    assert {s["input"] for s in report.failed} == {str(inputs / "motions.parquet")}
    assert "way_point" in report.failed[0]["error"]
    with pytest.raises(cl.FileError, match=r"motions\.parquet worlds 0 to 5"):
        report.raise_if_failed()
    bad = [s for s in report.shards if s["invalid"]]
    assert [s["first_invalid_row"] for s in bad] == [13] and bad[0]["lo"] <= 13 < bad[0]["hi"]
    shutil.rmtree(inputs / "out")
    with pytest.raises(cl.RowError, match=r"worlds\.parquet, worlds 13 to 19: .*poses\[13\]: body 2"):
        score(inputs, "worlds", "worlds.parquet").raise_if_failed()


def test_mistakes(inputs: Path) -> None:
    lib = cl.Library()
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("worlds", {"time_tolerance": 0.1}, "time_tolerance: 0.1, but files of worlds"),
        ("motions", {"query": "penetration"}, "query: 'penetration', but files of motions"),
        ("motions", {"precision": "double"}, "precision: 'double', but files of motions"),
        ("motions", {"pairs": "all"}, "pairs: 'all', but files of motions"),
        ("worlds", {"library": lib}, "scene: files of worlds want scene=, and it alone"),
        ("pairs", {}, "library: files of pairs want library=, and it alone"),
        ("pairs", {"scene": None, "library": lib, "culling": False}, "culling: False, but files of pairs"),
        ("world", {}, "kind: 'world'"),
    ]
    for kind, options, why in wrong:
        with pytest.raises(cl.OptionError, match=why):
            score(inputs, kind, "worlds.parquet", **options)
    assert not (inputs / "out").exists()


def test_command_of_worlds(cluster: None, inputs: Path, engine: cl.Engine, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ray-score", "--scene", str(inputs / "scene.json"), "--backend", "cpu", "--rows-per-shard", "35"]
    worlds_of = [*words, str(inputs / "worlds.parquet"), "--kind", "worlds", "--out", str(inputs / "w")]
    assert main([*worlds_of, "--reduce", "world", "--all-pairs", "--max-distance", "0.2"]) == 0
    asked: dict[str, Any] = {"reduce": "world", "pairs": "all", "max_distance": 0.2}
    assert same(parts(inputs / "w"), one_machine(inputs, "worlds", "worlds.parquet", engine, **asked))
    said = capsys.readouterr()
    assert f"{W} rows in 4 shards" in said.out and f"{W} of {W} worlds, 4 of 4 shards" in said.err
    motions_of = [*words, str(inputs / "motions.parquet"), "--kind", "motions", "--out", str(inputs / "m")]
    assert main([*motions_of, "--time-tolerance", "1e-4", "--verify", "5"]) == 0
    audited = capsys.readouterr().out.split("; ")[1]
    assert audited.endswith("audited, 0 refuted\n") and int(audited.split()[0]) > 0
    assert same(parts(inputs / "m"), one_machine(inputs, "motions", "motions.parquet", engine, time_tolerance=1e-4))
    assert main([*motions_of, "--no-culling"]) == 2
    assert "culling" in capsys.readouterr().err
