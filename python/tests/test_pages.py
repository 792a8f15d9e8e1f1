"""The blocks of Python in the pages run, page by page, one block after the other, in a folder of their own.

A page may assume files and names that its reader has; ``GIVEN`` makes them. python/README.md and docs/learning.md have
tests of their own, which compare what they print and what they learn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl

ELSEWHERE = {"python/README.md": "test_examples.py", "docs/learning.md": "test_learning.py"}
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def pages() -> list[str]:
    """The pages with blocks, by their paths from the root."""
    found = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("python/*.md")]
    return sorted(str(p.relative_to(ROOT)) for p in found if BLOCK.search(p.read_text()))


def files_page(_: pytest.FixtureRequest) -> dict[str, Any]:
    """One world of three bodies, as columns."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rotation = np.tile([1.0, 0, 0, 0], (3, 1))
    columns = {"world": np.zeros(3, np.int32), "body": np.arange(3, dtype=np.int32)}
    return columns | {"position": np.zeros((3, 3)), "rotation": rotation, "pa": pa, "pq": pq, "json": json}


def scale_page(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Folders of pairs, worlds and motions, a cluster of Ray, and a source of Arrow batches."""
    pa = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    request.getfixturevalue("cluster")
    scene = cl.Scene()
    lib = scene.library
    ball = lib.sphere(0.5)
    scene.add(ball)
    scene.add(ball)
    scene.pairs = [(0, 1)]
    scene.save("scene.json")
    lib.save("shapes.json")
    poses = np.zeros((4, 2, 2, 7))
    poses[..., 3], poses[:, :, 1, 0] = 1, 1.04
    for folder in ("pairs", "worlds", "motions"):
        Path(folder).mkdir()
    cl.write_worlds("worlds/0.parquet", scene, poses[:, 0], quat="wxyz")
    cl.write_worlds("motions/0.parquet", scene, poses, quat="wxyz")

    def rows(values: Any) -> Any:
        return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])

    shape, place, unit = np.zeros(8, np.int32), np.arange(24.0).reshape(8, 3), np.tile([1.0, 0, 0, 0], (8, 1))
    one = {"shape_a": pa.array(shape), "position_a": rows(0 * place), "rotation_a": rows(unit)}
    other = {"shape_b": pa.array(shape), "position_b": rows(place), "rotation_b": rows(unit)}
    source = pa.table(one | other)
    pytest.importorskip("pyarrow.parquet").write_table(source, "pairs/0.parquet")
    given = {"cl": cl, "lib": lib, "source": source, "schema": source.schema, "pa": pa}
    return given | {"pl": polars, "duckdb": duckdb}


def robots_page(_: pytest.FixtureRequest) -> dict[str, Any]:
    """A robot of two boxes and one joint, in the air."""
    pytest.importorskip("pinocchio")
    inertia = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
    box = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    links = "".join(
        f'<link name="{n}"><inertial><mass value="1"/>{inertia}</inertial>{box}</link>' for n in ("base", "arm")
    )
    ends = '<parent link="base"/><child link="arm"/><origin xyz="0.2 0 0"/><axis xyz="0 0 1"/>'
    joint = f'<joint name="j" type="revolute">{ends}<limit effort="1" lower="-1" upper="1" velocity="1"/></joint>'
    Path("robot.urdf").write_text(f'<robot name="two">{links}{joint}</robot>')
    Path("robot.srdf").write_text('<robot name="two"></robot>')
    q, v = np.zeros((2, 8)), np.zeros((2, 7))
    q[:, 6] = 1
    return {"q": q, "v": v, "tau": 0 * v, "taus": np.zeros((3, *v.shape)), "dq": v + 1, "dv": v + 1}


def calls_page(_: pytest.FixtureRequest) -> dict[str, Any]:
    """Objects of Pinocchio and SciPy are among the poses."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("scipy.spatial.transform")
    return {}


GIVEN: dict[str, Callable[[pytest.FixtureRequest], dict[str, Any]]] = {
    "docs/files.md": files_page,
    "docs/python-calls.md": calls_page,
    "docs/robots.md": robots_page,
    "docs/scale.md": scale_page,
}


def test_pages_are_found() -> None:
    found = pages()
    assert {"README.md", "docs/guides/rollouts.md", *ELSEWHERE, *GIVEN} <= set(found)


@pytest.mark.parametrize("page", [p for p in pages() if p not in ELSEWHERE])
def test_blocks(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    names = GIVEN[page](request) if page in GIVEN else {}
    for n, block in enumerate(BLOCK.findall(text), 1):
        if page == "docs/scale.md":  # workers of Ray have the folder in which the cluster of the tests was started
            block = re.sub(r'"(\w+(?:/|\.json))', lambda m: f'"{tmp_path}/{m[1]}', block)
        exec(compile(block, f"{page}, block {n}", "exec"), names)
    if page == "README.md":
        assert names["r"].ok.all() and 0 < (~names["r"].hit).sum() < 4096
        assert names["done"].report.done == names["n"] and names["done"].audited == names["n"]
