"""Scene descriptions in Rerun and Viser: what is logged and drawn, and what is said where a package is absent."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_page import approach, pairs

import clearance as cl
from clearance import _describe as doc
from clearance import _viewers

pytestmark = pytest.mark.usefixtures("page_without_script")


def view_of_pairs(**options: Any) -> tuple[cl.View, Any, Any]:
    arrays = pairs()
    engine = cl.Engine(backend="ref")
    r = engine.distance(*arrays, quat="wxyz", precision="double")
    contacts = engine.contacts(*arrays, quat="wxyz", max_gap=0.1)
    return cl.show(r, *arrays, quat="wxyz", trace=[4], contacts=contacts, **options), r, contacts


def sweep() -> cl.View:
    scene, poses = approach()
    return cl.show(cl.Engine().sweep(scene, poses, quat="wxyz"), scene, poses, quat="wxyz")


SAMPLE = Path(__file__).parents[2] / "internal/scenefile/testdata/python.json"


def kinds_of(value: Any) -> Any:
    """The names of the members of a document, and the kinds of their values."""
    if isinstance(value, dict):
        return {k: kinds_of(v) for k, v in value.items()}
    if isinstance(value, list):
        return [kinds_of(value[0])] if value and isinstance(value[0], dict) else "list"
    return "number" if value is None or isinstance(value, (int, float)) else "text"


def test_sample(tmp_path: Path) -> None:
    """The document that the Go reader is tested with has the members that are written now. To write it again:
    CLEARANCE_SAMPLE=1."""
    view, *_ = view_of_pairs(path=tmp_path / "python.json")
    text = (tmp_path / "python.json").read_text()
    if os.environ.get("CLEARANCE_SAMPLE"):
        SAMPLE.parent.mkdir(exist_ok=True)
        SAMPLE.write_text(text)
    assert json.loads(text) == view.scene
    assert kinds_of(json.loads(SAMPLE.read_text())) == kinds_of(view.scene)


def test_hulls() -> None:
    """The triangles of a cube enclose its volume; flat and thin point sets have two sides or none."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    triangles = _viewers.hull(corners)
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    assert len(triangles) == 12 and abs(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 - 8) < 1e-12
    assert len(_viewers.hull(corners[:4])) == 4 and len(_viewers.hull(corners[:2])) == 0
    with pytest.raises(cl.OptionError, match="no points"):
        _viewers.hull(np.zeros((0, 3)))


@pytest.mark.parametrize(("package", "pip"), [("rerun", "rerun-sdk"), ("viser", "viser")])
def test_absent(monkeypatch: pytest.MonkeyPatch, package: str, pip: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    view, *_ = view_of_pairs()
    with pytest.raises(cl.FileError, match=rf"the package {package} is not installed .*: pip install {pip}"):
        getattr(view, f"to_{package}")()


class Recorder:
    """The calls of Rerun that are used: what was logged, by the time line that was set last."""

    def __init__(self) -> None:
        self.logged: list[tuple[tuple[Any, ...], str, Any]] = []
        self.time: tuple[Any, ...] = ()

    def set_time(self, line: str, **at: Any) -> None:
        self.time = (line, *at.values())

    def reset_time(self) -> None:
        self.time = ()

    def log(self, entity: str, what: Any, static: bool = False) -> None:
        self.logged.append((() if static else self.time, entity, what))

    def of(self, time: tuple[Any, ...], entity: str, kind: str = "") -> Any:
        found = [w for t, e, w in self.logged if t == time and e == entity and kind in ("", w.kind)]
        assert found, (time, entity)
        return found[-1]


class Kinds:
    """Archetypes as records of their arguments."""

    def __getattr__(self, kind: str) -> Any:
        return lambda *values, **named: SimpleNamespace(kind=kind, values=values, **named)


def test_rerun_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poses, witnesses, normals, error balls, contacts, and the bounds of every step are those of the answers."""
    monkeypatch.setitem(sys.modules, "rerun", Kinds())
    view, r, contacts = view_of_pairs()
    rec = Recorder()
    assert view.to_rerun(rec) is rec
    rows = doc.unpacked(view.scene["rows"]["row"]).tolist()
    for i, row in enumerate(rows):
        at = ("row", i)
        np.testing.assert_array_equal(rec.of(at, "row/witnesses").values[0], [r.witness_a[row], r.witness_b[row]])
        assert rec.of(at, "row/error").half_sizes[0][0] == float(r.gap[row])
        assert rec.of(at, "value").values[0] == r.distance[row]
        pose = rec.of(at, "row/b", "Transform3D")
        np.testing.assert_array_equal(pose.translation, pairs()[5][row])
        along = rec.of(at, "row/normal").vectors[0]
        np.testing.assert_allclose(along / np.linalg.norm(along), r.normal[row], atol=1e-12)
    touching = rows.index(1)
    own = contacts.position[contacts.pair == 1]
    np.testing.assert_array_equal(rec.of(("row", touching), "row/contacts").values[0], own)
    steps = view.scene["traces"][0]["steps"]
    last = ("step", len(steps) - 1)
    bounds = [rec.of(last, f"trace/row_4/{name}").values[0] for name in ("lower", "upper")]
    assert bounds == [steps[-1]["lower"], steps[-1]["upper"]]
    rec = sweep().to_rerun(Recorder())
    for time, x in ((0, 5), (1, 3), (2, -1)):
        assert rec.of(("way points", time), "world_0/place_1").translation[0] == x


def test_rerun(tmp_path: Path) -> None:
    """Rerun takes all of it, and writes a file."""
    pytest.importorskip("rerun", reason="Rerun is not installed: pip install rerun-sdk to run this test")
    for name, view in (("pairs", view_of_pairs()[0]), ("sweep", sweep())):
        rec = view.to_rerun(path=tmp_path / f"{name}.rrd")
        rec.flush()
        rec.disconnect()
        data = (tmp_path / f"{name}.rrd").read_bytes()
        assert data[:4] == b"RRF2" and len(data) > 10_000


def test_viser() -> None:
    """Viser draws both bodies where they stand, the contact, and the text of the row."""
    viser: Any = pytest.importorskip("viser", reason="Viser is not installed: pip install viser to run this test")
    view, _, contacts = view_of_pairs()
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        assert view.to_viser(server) is server
        s = _viewers.Scene(view.scene)
        drawn = _viewers._Drawn(s, server)
        drawn.row(doc.unpacked(view.scene["rows"]["row"]).tolist().index(1))
        shown = {h.name: h for h in drawn.handles}
        assert {"/a", "/b", "/witness_0", "/witness_1", "/normal", "/error", "/contact_0"} <= set(shown)
        np.testing.assert_allclose(shown["/b"].position, pairs()[5][1])
        np.testing.assert_allclose(shown["/contact_0"].position, contacts.position[contacts.pair == 1][0])
        assert drawn.text.content.startswith("row 1: penetrating, distance -0.6")
        moving = _viewers._Drawn(_viewers.Scene(sweep().scene), server)
        moving.world(next(iter(moving.scene.worlds())), 1.5)
        np.testing.assert_allclose({h.name: h for h in moving.handles}["/place_1"].position, [1, 0, 0])
    finally:
        server.stop()
