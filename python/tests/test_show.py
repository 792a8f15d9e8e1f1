"""The page of rows: what it contains, and what a browser draws of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Pairs, every_kind
from test_scene import make_scene

import clearance as cl
from clearance import _describe as doc
from clearance import _page
from clearance.__main__ import main

pytestmark = pytest.mark.usefixtures("page_without_script")


def test_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without its script the page is refused, for the reason that the build found."""
    monkeypatch.undo()
    monkeypatch.setattr(_page, "__file__", str(tmp_path / "_page.py"))
    with pytest.raises(cl.FileError, match=r"viewer\.sh was not run"):
        _page.script()
    (tmp_path / "viewer.missing").write_text("npm was not installed\n")
    with pytest.raises(cl.FileError, match="npm was not installed when the wheel was built"):
        _page.script()


def scene_of(view: cl.View | str) -> Any:
    """The scene description of a page."""
    text = view if isinstance(view, str) else view.html
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def contents(view: cl.View | str) -> Any:
    """The scene description of a page with its rows as records: poses of parts, points of planes, texts."""
    scene = scene_of(view)
    assert scene["format"] == "clearance scene" and scene["version"] == 1
    columns = {k: doc.unpacked(v) for k, v in scene["rows"].items() if k != "count"}

    def vector(name: str, i: int, width: int) -> Any:
        v = columns[name].reshape(-1, width)[i].astype(float)
        return None if not np.isfinite(v).all() else v.tolist() if width > 1 else float(v[0])

    rows = []
    for i in range(scene["rows"]["count"]):
        row: dict[str, Any] = {"row": int(columns["row"][i]), "status": scene["statuses"][int(columns["status"][i])]}
        row |= {"distance": vector("value", i, 1), "gap": vector("gap", i, 1), "planes": []}
        row |= {name: vector(name, i, 3) for name in ("normal", "witness_a", "witness_b")}
        for s in "ab":
            body, pose = int(columns[f"body_{s}"][i]), columns[f"pose_{s}"].reshape(-1, 7)[i : i + 1]
            row[s], row[f"name_{s}"] = [], "" if body < 0 else scene["bodies"][body]["name"]
            if body >= 0 and np.isfinite(pose).all():
                parts = scene["bodies"][body]["parts"]
                own = [np.array(p["pose"]) for p in parts]
                placed = [doc.composed(pose, p[:3], p[3:])[0].tolist() for p in own]
                row[s] = [[p["shape"], at] for p, at in zip(parts, placed, strict=True)]
            plane = vector(f"plane_{s}", i, 1) if f"plane_{s}" in columns else None
            if plane is not None and row["normal"] is not None:
                row["planes"].append((plane * np.array(row["normal"])).tolist())
            for name in ("world", f"place_{s}", "time"):
                if name in columns:
                    row[name] = columns[name][i]
        if "world" in columns:
            row["world"] = scene["worlds"][int(row["world"])]["world"]
        rows.append(row)
    return scene | {"rows": rows}


def test_support_points() -> None:
    """Support points are those of closed forms, and no sampled point lies beyond the support value."""
    lib = every_kind()
    rng = np.random.default_rng(1)
    d = rng.normal(size=(300, 3))
    unit = d / np.linalg.norm(d, axis=1, keepdims=True)
    np.testing.assert_allclose(lib.support(0, d), 0.5 * unit, atol=1e-12)
    crate = np.sign(d) * [0.5, 0.6, 0.7] + 0.01 * unit
    np.testing.assert_allclose(lib.support(5, d), crate, atol=1e-12)
    for s in range(len(lib)):
        points = lib.support(s, d)
        values = d @ points.T
        assert (values <= np.diag(values)[:, None] + 1e-9).all(), lib[s]
    with pytest.raises(cl.OptionError, match="direction 1"):
        lib.support(0, [[1, 0, 0], [0, 0, 0]])
    with pytest.raises(cl.OptionError, match="half-space"):
        lib.support(lib.halfspace(), [[1, 0, 0]])


def test_contents(engine: cl.Engine, tmp_path: Path) -> None:
    """Rows of a pair list: the worst ones, poses, and planes that leave each shape on its side."""
    p = Pairs(every_kind(), 300, seed=4, spread=1.2)
    p.quat_a[5] = 0
    r = engine.distance(*p.arrays(), quat="wxyz", precision="double")
    view = cl.show(r, *p.arrays(), quat="wxyz", most=40, path=tmp_path / "rows.html")
    assert (tmp_path / "rows.html").read_text() == view.html and "http:" not in view.html.split("<script>")[0]
    data = contents(view)
    rows = [row["row"] for row in data["rows"]]
    assert rows[0] == 5 and rows[1:] == np.argsort(np.where(r.failed, np.inf, r.distance), kind="stable")[:39].tolist()
    assert data["rows"][0]["status"] == "invalid" and data["rows"][0]["distance"] is None
    view = cl.show(r, *p.arrays(), quat="wxyz", rows=range(300))
    for row in contents(view)["rows"]:
        i = row["row"]
        if r.failed[i]:
            continue
        assert row["distance"] == r.distance[i] and row["normal"] == r.normal[i].tolist()
        n, (a, b) = r.normal[i], (np.array(x) for x in row["planes"])
        assert abs(n @ (b - a) - r.distance[i]) < 1e-6, "the planes are as far apart as the shapes"
        _, pose = row["a"][0]
        assert pose[:3] == p.pos_a[i].tolist() and len(doc.unpacked(data["shapes"][0]["points"])) >= 3 * 8
    assert "<iframe" in view._repr_html_() and "300 rows" in repr(view)
    masked = contents(cl.show(r, *p.arrays(), quat="wxyz", rows=r.hit, most=7))["rows"]
    hits = np.flatnonzero(r.hit)
    assert [row["row"] for row in masked] == [i for i in rows if i in hits][:7]
    assert len(contents(cl.show(r, *p.arrays(), quat="wxyz", rows=~r.hit, most=1000))["rows"]) == 300 - len(hits)
    assert contents(cl.show(r, *p.arrays(), quat="wxyz", rows=np.zeros(300, bool)))["rows"] == []
    for bad, reason in (
        (r.hit[:-1], r"mask of \[299\], want one of \[300\]"),
        ([0.5], "want indices"),
        ("all", "want indices"),
        (np.zeros(100_001, int), "at most 100000 on a page"),
    ):
        with pytest.raises(cl.ClearanceError, match=rf"rows: .*{reason}"):
            cl.show(r, *p.arrays(), quat="wxyz", rows=bad)
    with pytest.raises(cl.OptionError, match="most: 100001"):
        cl.show(r, *p.arrays(), quat="wxyz", most=100_001)
    with pytest.raises(cl.ArrayError, match="have 2 rows, want 300"):
        cl.show(r, p.library, [0, 1], 1, *[p.pos_a[0], p.quat_a[0]] * 2, quat="wxyz")
    with pytest.raises(cl.OptionError, match="rows: 300"):
        cl.show(r, *p.arrays(), quat="wxyz", rows=[300])
    with pytest.raises(cl.OptionError, match="want show"):
        cl.show(r, quat="wxyz")


@pytest.mark.parametrize("options", [{}, {"reduce": "world"}, {"pairs": "all"}, {"pairs": "all", "reduce": "world"}])
def test_scenes(engine: cl.Engine, options: Any) -> None:
    """Bodies with all their parts stand where the poses put them."""
    scene = make_scene()
    poses = np.random.default_rng(2).normal(0, 0.8, (6, 4, 7))
    r = engine.rollout(scene, worlds=6, precision="double", **options)(poses, quat="wxyz")
    for row in contents(cl.show(r, scene, poses, quat="wxyz"))["rows"]:
        n, i = row["normal"], row["row"]
        assert row["distance"] == r.distance.ravel()[i] and n is not None
        assert len(row["a"]) >= 1 and len(row["b"]) >= 1 and len(row["planes"]) == 2
        a, b = (np.array(x) for x in row["planes"])
        assert abs(np.dot(n, b - a) - row["distance"]) < 1e-6, "the planes are those of the parts of the row"


def test_masks_of_rollouts(engine: cl.Engine) -> None:
    """A mask [W,P] of a rollout selects its rows."""
    scene = make_scene()
    poses = np.random.default_rng(2).normal(0, 0.8, (6, 4, 7))
    r = engine.rollout(scene, worlds=6)(poses, quat="wxyz")
    shown = [row["row"] for row in contents(cl.show(r, scene, poses, quat="wxyz", rows=r.hit))["rows"]]
    assert sorted(shown) == np.flatnonzero(r.hit).tolist()


def test_sweeps(engine: cl.Engine) -> None:
    """A sweep is shown at its first contact, a free row where it is closest, with bodies between way points."""
    scene = cl.Scene()
    ball, box = scene.library.sphere(0.5), scene.library.box([1, 1, 1])
    for shape, name in ((box, "wall"), (ball, "comes"), (ball, "passes")):
        scene.add(shape, name=name)
    scene.pairs = [(0, 1), (0, 2)]
    poses = np.zeros((1, 3, 3, 7))
    poses[..., 3] = 1
    poses[0, :, 1, 0] = [5, 3, -1]  # at 1.5 at the time 1.375
    poses[0, :, 2] = [[-4, 3, 0, 1, 0, 0, 0], [0, 3, 0, 0, 0, 0, 1], [4, 3, 0, 1, 0, 0, 0]]
    poses[0, 2, 2, 3:] = [0, 0, 0, -1]
    r = engine.sweep(scene, poses, quat="wxyz")
    page = contents(cl.show(r, scene, poses, quat="wxyz"))
    hit, free = page["rows"]
    assert (hit["row"], hit["status"], hit["distance"]) == (0, "contact", 0)
    assert "comes" in hit["name_b"] and abs(hit["time"] - 1.375) < 1e-6
    np.testing.assert_allclose(hit["b"][0][1][:3], [1.5, 0, 0], atol=1e-5)
    assert (free["row"], free["status"], free["distance"]) == (1, "free", float(r.lower[0, 1]))
    assert 1 < free["distance"] <= 1.5 + 1e-9 and abs(r.upper[0, 1] - 1.5) < 1e-6
    assert cl.show(r, scene, poses, quat="wxyz", rows=r.hit).rows == 1
    half = doc.between(poses[0, 0, 2], poses[0, 1, 2], 0.5)
    np.testing.assert_allclose(half, [-2, 3, 0, 0.5**0.5, 0, 0, 0.5**0.5])
    np.testing.assert_allclose(doc.between(poses[0, 1, 2], poses[0, 2, 2], 0.7), [2.8, 3, 0, 0, 0, 0, 1])
    with pytest.raises(cl.OptionError, match="want show"):
        cl.show(
            r, scene.library, [0], [1], np.zeros((1, 3)), [[1, 0, 0, 0]], np.zeros((1, 3)), [[1, 0, 0, 0]], quat="wxyz"
        )
    with pytest.raises(cl.ArrayError, match="poses"):
        cl.show(r, scene, poses[:, 0], quat="wxyz")


@pytest.mark.parametrize("options", [{}, {"reduce": "world"}, {"pairs": "all"}, {"pairs": "all", "reduce": "world"}])
@pytest.mark.parametrize("bodies", [[1, 0, 2, 3], [2, -1, 0], [[3, 1, 0], [0, 2, -1], [1, 1, 1]]])
def test_places(engine: cl.Engine, options: Any, bodies: Any) -> None:
    """What is drawn are the bodies that were asked about, also where the scene and the list of bodies have changed."""
    scene = make_scene()
    kinds = [[part.shape for part in b.parts] for b in scene.bodies]
    scene.pairs = [(0, 1), (2, 0), (1, 2)]
    places = np.array(bodies, np.int32)
    poses = np.random.default_rng(3).normal(0, 0.8, (3, places.shape[-1], 7))
    r = engine.rollout(scene, worlds=3, bodies=places, precision="double", **options)(poses, quat="wxyz")
    stands = np.broadcast_to(places, poses.shape[:2]).copy()
    places[:] = 0
    scene.pairs = [(1, 2)]
    page = contents(cl.show(r, scene, poses, quat="wxyz"))
    for row in page["rows"]:
        if row["place_a"] < 0:
            assert row["distance"] is None and not row["a"] and not row["b"], "all pairs of the world have no body"
            continue
        for side in "ab":
            body = int(stands[row["world"], int(row[f"place_{side}"])])
            used = [page["shapes"][s]["kind"] for s, _ in row[side]]
            assert used == [scene.library[s].kind for s in (kinds[body] if body >= 0 else [])]
        if row["normal"] is not None:
            assert len(row["planes"]) == 2
            assert abs(np.dot(row["normal"], np.subtract(*row["planes"][::-1])) - row["distance"]) < 1e-6
    with pytest.raises(cl.ArrayError, match="poses"):
        cl.show(r, scene, poses[:2], quat="wxyz")
    with pytest.raises(cl.OptionError, match=r"scene has 0 bodies"):
        cl.show(r, cl.Scene(), poses, quat="wxyz")


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_view_of_files(
    engine: cl.Engine, batchbench: Path, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command shows rows of files as they stand there."""
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pyarrow to run this test")
    shapes, pairs, out = tmp_path / "shapes.json", tmp_path / f"pairs.{ending}", tmp_path / f"out.{ending}"
    made = ["generate", "--set", "boxes", "--pairs", "200", "--shapes", str(shapes), "--out", str(pairs)]
    subprocess.run([str(batchbench), *made], check=True)
    cl.score_file(pairs, out, library=shapes, engine=engine, audit=False)
    words = ["view", "--shapes", str(shapes), "--pairs", str(pairs), "--results", str(out)]
    words += ["--out", str(tmp_path / "rows.html"), "--rows", "7,3"]
    assert main(words) == 0 and "2 rows" in capsys.readouterr().out
    page = (tmp_path / "rows.html").read_text()
    words[words.index("--out") + 1] = str(tmp_path / "same.html")
    environment = os.environ | {"CLEARANCE_PYTHON": sys.executable}
    subprocess.run([str(batchbench), *words], check=True, env=environment)
    assert (tmp_path / "same.html").read_bytes() == (tmp_path / "rows.html").read_bytes()
    traced = [*words, "--trace", "3,11", "--method", "gjk"]
    subprocess.run([str(batchbench), *traced], check=True, env=environment)
    scene = scene_of((tmp_path / "same.html").read_text())
    assert scene["rows"]["row"] == [7, 3, 11] and [t["row"] for t in scene["traces"]] == [1, 2]
    assert all(t["method"] == "gjk" and t["steps"][-1]["solver"] == "answer" for t in scene["traces"])
    rows = contents(page)["rows"]
    assert [r["row"] for r in rows] == [7, 3] and all(len(r["planes"]) == 2 and r["a"] and r["b"] for r in rows)
    for r in rows:
        assert abs(np.dot(r["normal"], np.subtract(*r["planes"][::-1])) - r["distance"]) < 1e-5
    mesh, link, hard = tmp_path / "part.obj", tmp_path / "link.html", tmp_path / "hard.html"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n")
    document = json.loads(shapes.read_text())
    document["shapes"].append({"kind": "convex", "mesh": "part.obj"})
    shapes.write_text(json.dumps(document))
    link.symlink_to(out)
    os.link(shapes, hard)
    before = [p.read_bytes() for p in (shapes, pairs, out, mesh)]
    for eaten in (shapes, pairs, out, mesh, link, hard):
        words[words.index("--out") + 1] = str(eaten)
        assert main(words) == 3 and "are one file" in capsys.readouterr().err
        assert before == [p.read_bytes() for p in (shapes, pairs, out, mesh)]
    words[words.index("--out") + 1] = str(tmp_path / "same.html")
    assert main([*words[:3], "--pairs", str(out), *words[5:]]) == 3
    assert "has no column shape_a" in capsys.readouterr().err


def test_view_of_folders(engine: cl.Engine, batchbench: Path, tmp_path: Path) -> None:
    """A folder of parts is one table, in the order of the numbers in the names, to score_file and to the command."""
    shapes, pairs, out = tmp_path / "shapes.json", tmp_path / "pairs.npz", tmp_path / "out.npz"
    made = ["generate", "--set", "boxes", "--pairs", "30", "--shapes", str(shapes), "--out", str(pairs)]
    subprocess.run([str(batchbench), *made], check=True)
    cl.score_file(pairs, out, library=shapes, engine=engine)

    def pages(pairs: Path, results: Path) -> str:
        page = tmp_path / "rows.html"
        words = ["view", "--shapes", str(shapes), "--pairs", str(pairs), "--results", str(results), "--out", str(page)]
        assert main([*words, "--rows", "3,12,29"]) == 0
        return page.read_text()

    want = pages(pairs, out)
    for file in (pairs, out):
        file.with_suffix("").mkdir()
        with np.load(file) as z:
            for name, rows in [("9", slice(0, 8)), ("10", slice(8, 11)), ("11", slice(11, 30))]:
                part = {k: z[k][rows] if z[k].ndim else z[k] for k in z.files}
                np.savez(file.with_suffix("") / f"{name}.npz", **part)
    assert pages(tmp_path / "pairs", tmp_path / "out") == want
    again = tmp_path / "again.npz"
    cl.score_file(tmp_path / "pairs", again, library=shapes, engine=engine)
    assert again.read_bytes() == out.read_bytes()
    (tmp_path / "out" / "9.npz").unlink()
    (tmp_path / "out" / "10.npz").unlink()
    words = ["view", "--shapes", str(shapes), "--pairs", str(pairs), "--results", str(tmp_path / "out")]
    assert main([*words, "--out", str(tmp_path / "none.html")]) == 3


def test_view_of_a_model(engine: cl.Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page of pairs of the shapes of a model is that of the file of shapes that convert writes."""
    (tmp_path / "part.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    model, shapes = tmp_path / "model.urdf", tmp_path / "shapes.json"
    link = '<link name="{}"><collision><geometry>{}</geometry></collision></link>'
    links = link.format("a", '<mesh filename="package://p/part.obj"/>') + link.format("b", '<sphere radius="0.3"/>')
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    model.write_text(f'<robot name="r">{links}{joint}</robot>')
    flags = ["--package", f"p={tmp_path}", "--concave", "hull"]
    assert main(["convert", str(model), str(shapes), *flags]) == 0
    pairs, out, rest = tmp_path / "pairs.npz", tmp_path / "out.npz", np.tile([1.0, 0, 0, 0], (3, 1))
    columns: dict[str, Any] = {
        "position_a": np.zeros((3, 3)),
        "rotation_a": rest,
        "position_b": np.eye(3) * 2,
        "rotation_b": rest,
    }
    np.savez(pairs, shape_a=np.zeros(3, np.int32), shape_b=np.ones(3, np.int32), **columns)
    cl.score_file(pairs, out, library=shapes, engine=engine)
    words = ["view", "--pairs", str(pairs), "--results", str(out), "--out"]
    assert main([*words, str(tmp_path / "1.html"), "--shapes", str(shapes)]) == 0
    assert main([*words, str(tmp_path / "2.html"), "--model", str(model), *flags]) == 0
    assert (tmp_path / "1.html").read_text() == (tmp_path / "2.html").read_text()
    for eaten in (model, tmp_path / "part.obj"):
        before = eaten.read_bytes()
        assert main([*words, str(eaten), "--model", str(model), *flags]) == 3 and eaten.read_bytes() == before
    for wrong in (["--shapes", str(shapes), *flags], ["--shapes", str(shapes), "--model", str(model)], []):
        with pytest.raises(SystemExit, match="2"):
            main([*words, str(tmp_path / "3.html"), *wrong])
    assert "are about --model" in capsys.readouterr().err and not (tmp_path / "3.html").exists()


@pytest.mark.parametrize("ending", ["npz", "parquet"])
@pytest.mark.parametrize("query", ["growth", "penetration"])
def test_view_of_a_query(engine: cl.Engine, batchbench: Path, tmp_path: Path, ending: str, query: Any) -> None:
    """The query is that of the metadata: growth distances are titled factors and have no planes."""
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pyarrow to run this test")
    shapes, pairs, out = tmp_path / "shapes.json", tmp_path / f"pairs.{ending}", tmp_path / f"out.{ending}"
    made = ["generate", "--set", "boxes", "--pairs", "20", "--shapes", str(shapes), "--out", str(pairs)]
    subprocess.run([str(batchbench), *made], check=True)
    cl.score_file(pairs, out, library=shapes, engine=engine, audit=False, query=query)
    words = ["view", "--shapes", str(shapes), "--pairs", str(pairs), "--results", str(out)]
    assert main([*words, "--out", str(tmp_path / "rows.html")]) == 0
    page = (tmp_path / "rows.html").read_text()
    data = contents(page)
    assert f"{query}, single precision: 20 of 20 rows" in page
    assert data["value"] == ("factor" if query == "growth" else "distance")
    assert all(bool(row["planes"]) == (query != "growth" and row["normal"] is not None) for row in data["rows"])


def test_view_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read ends in a message that names the file, and in no traceback."""
    p = Pairs(every_kind(), 6)
    names = ("shape_a", "shape_b", "position_a", "rotation_a", "position_b", "rotation_b")
    columns = dict(zip(names, p.arrays()[1:], strict=True))
    shapes, pairs, out, page = (tmp_path / n for n in ("shapes.json", "pairs.npz", "out.npz", "rows.html"))
    p.library.save(shapes)
    np.savez(pairs, **columns)
    status = np.zeros(6, np.uint8)

    def view(*more: str, to: Path = page) -> tuple[int, str]:
        words = ["view", "--shapes", str(shapes), "--pairs", str(pairs), "--results", str(out), "--out", str(to)]
        return main([*words, *more]), capsys.readouterr().err

    np.savez(out, status=status)
    assert view() == (0, "")
    assert view(to=tmp_path / "none" / "rows.html")[0] == 3
    with pytest.raises(SystemExit, match="2"):
        view("--rows", "7,x")
    assert "--rows: '7,x', want numbers of rows" in capsys.readouterr().err
    whole = out.read_bytes()
    for damage, says in (
        (whole[: len(whole) // 2], "is damaged"),
        (whole.replace(b"NUMPY", b"NUMPX"), "is damaged"),
        (b"", "is damaged"),
        (b"PK\x03\x04", "is damaged"),
    ):
        out.write_bytes(damage)
        code, text = view()
        assert code == 3 and f"{out} {says}" in text, (code, text)
    for arrays, says in (
        ({"status": status, "query": np.array("nearness")}, "metadata query: 'nearness', want one of"),
        ({"status": status, "distance": np.zeros(5)}, "distance has the shape [5], want as many rows as status"),
        ({"status": np.array(3)}, "status has the shape []"),
        ({"status": status + 5}, "status: want codes from 0 to 4"),
        ({"status": status[:5]}, "has 5 rows"),
    ):
        np.savez(out, **arrays)
        code, text = view()
        assert code == 3 and says in text, (code, text)
    array = tmp_path / "out.npy"
    np.save(array, status)
    array.rename(out)
    assert view() == (3, f"clearance: {out} is one array, want a file of columns, .npz or .parquet\n")
    out.unlink()
    assert view() == (3, f"clearance: {out}: No such file or directory\n")
