"""The programs of lab/python run, and their tables have the figures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def ran(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "lab/python" / name), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_calls() -> None:
    lines = ran("calls.py", "--small", "--rounds", "1", "--calls", "3").splitlines()
    assert len(lines) == 5
    for line in lines:
        assert re.search(r" +\d+\.\d µs \(\d+\.\d to \d+\.\d\)$", line), line


def test_arms() -> None:
    """The rollouts, and the loops over what is installed, with the same distances."""
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install gymnasium to run this test")
    lines = ran("arms.py", "--worlds", "8", "--looped", "8", "--rounds", "1", "--steps", "1").splitlines()
    assert sum("rollout, " in line and "arm steps/s" in line for line in lines) == 4
    differences = [line for line in lines if "differences from ours" in line]
    loops = [line for line in lines if ", a loop  " in line]
    assert len(differences) == len(loops)
    for line in differences:
        assert float(re.findall(r"([0-9.e-]+) m of separated", line)[0]) < 1e-6, line


def test_tasks() -> None:
    """The arm and the grasps; the program itself compares the column of names."""
    for name in ("gymnasium", "pyarrow"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install {name} to run this test")
    lines = ran("tasks.py", "--worlds", "8", "--steps", "1", "--grasps", "2500").splitlines()
    assert re.search(r"^arm: 8 worlds of 30 pairs: .*arm steps/s", lines[0]), lines
    assert "2,500 answered in" in lines[1] and "2,500 answered and audited in" in lines[2], lines
    assert "stands in the results" in lines[3] and len(lines) == 4, lines


ROBOT = """
<robot name="two">
  <link name="base"><collision><geometry><box size=".2 .2 .3"/></geometry></collision></link>
  <link name="tool"><collision><geometry><cylinder radius=".05" length=".4"/></geometry></collision></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="tool"/>
    <origin xyz="0 .1 .4"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
</robot>
"""


def test_panda(tmp_path: Path) -> None:
    """The loops over MuJoCo find the same rows, of another arm."""
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco to run this test")
    robot, page = tmp_path / "two.urdf", tmp_path / "page.md"
    robot.write_text(ROBOT)
    sizes = ("--worlds", "9", "--looped", "9", "--rounds", "1", "--steps", "1")
    text = ran("panda.py", "--urdf", str(robot), "--out", str(page), *sizes)
    assert page.read_text() == text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 3 + 1 + 2 * 4 and all(line.count("|") == 7 for line in rows)
    apart = re.findall(r"`mj_geomDistance`.*: ([0-9.e-]+) m of \d+ separated rows; 0 rows missed, 0 contacts", text)
    assert len(apart) == 2 and all(float(x) < 1e-6 for x in apart), text


def test_manifolds(tmp_path: Path) -> None:
    """Points lie on their bodies within their bounds, and parallel capsules have two, beside those of the peers."""
    for name in ("coal", "mujoco"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install {name} to run this test")
    page = tmp_path / "page.md"
    text = ran("manifolds.py", "--pairs", "20", "--out", str(page))
    assert page.read_text() == text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 3 * 10 and all(len(row) == 9 for row in rows)
    for row in rows[1::3]:
        assert row[1] == "Clearance" and row[7] == "0 %", row
    assert next(row[2] for row in rows if row[0] == "capsules, parallel") == "2 (2 to 2)"
    assert "with a gap below the lower bound: 0." in text


def test_ray_beside_the_command(cluster: None, pair_files: Path, batchbench: Path, tmp_path: Path) -> None:
    """Files of a folder: the answers of Ray are those of the command, in order."""
    for name in "ab":
        (tmp_path / f"{name}.parquet").symlink_to(pair_files / f"{name}.parquet")
    words = [str(tmp_path), str(pair_files / "shapes0.json"), "--rounds", "1", "--only", "batchbench", "ray"]
    lines = ran("streams.py", *words, "--compare").splitlines()
    assert [line.split()[0] for line in lines] == ["batchbench", "ray", "the"]


def test_solvers(batchbench: Path, tmp_path: Path) -> None:
    """Answers have the residuals that were asked for, recomputed, and MuJoCo's that of its compliance."""
    problems, page = tmp_path / "stack4.npz", tmp_path / "page.md"
    command = [str(batchbench), "step", "--scene", "stack4", "--count", "4", "--steps", "5", "--every", "5"]
    subprocess.run([*command, "--problems", str(problems), "--out", str(tmp_path / "states.npz")], check=True)
    text = ran("solvers.py", str(problems), "--rounds", "1", "--out", str(page))
    assert text.endswith(page.read_text())  # after the peers that are left out
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) >= 1 + 3 and all(len(row) == 9 for row in rows)
    residuals = {row[1]: (float(row[6]), float(row[7])) for row in rows[1:]}
    assert residuals["Clearance, ncp to 1e-6"][0] <= 2e-6 and residuals["Clearance, ccp to 1e-6"][1] <= 2e-6
    if "MuJoCo Newton" in residuals:
        assert 1e-7 < residuals["MuJoCo Newton"][1] < 1e-3


def test_streams(pair_files: Path) -> None:
    for name in ("polars", "duckdb", "pyarrow"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install {name} to run this test")
    cases = ["file", "pyarrow", "pyarrow_writes", "polars", "duckdb"]
    files = str(pair_files / "a.parquet"), str(pair_files / "shapes0.json")
    lines = ran("streams.py", *files, "--rounds", "1", "--only", *cases).splitlines()
    assert [line.split()[0] for line in lines] == cases
    for line in lines:
        assert re.fullmatch(r"\w+ +\d+\.\d\d s, CPU \d+\.\d\d s, peak [\d,]+ MB", line), line


def test_mujoco_models(tmp_path: Path) -> None:
    """Poses, pairs and rows of a model beside MuJoCo; one of a geom without a shape is loaded without it."""
    pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco to run this test")
    world = """<mujoco><asset><hfield name="hills" nrow="4" ncol="4" size="1 1 1 .1"/></asset><worldbody>
    GROUND<body mocap="true" pos="1 0 1"><geom size=".1"/></body>
    <body pos="0 0 1"><joint/><geom size=".1"/><body pos="0 0 .5"><joint axis="1 0 0" pos="0 0 -.2"/>
    <geom type="capsule" size=".05 .1"/></body></body></worldbody></mujoco>"""
    (tmp_path / "flat.xml").write_text(world.replace("GROUND", '<geom type="plane" size="1 1 1"/>'))
    (tmp_path / "hills.xml").write_text(world.replace("GROUND", '<geom name="g" type="hfield" hfield="hills"/>'))
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    text = ran("mujoco_models.py", str(tmp_path), "--rows", "100")
    assert "3 files, 2 compiled" in text and "as they are 1, without geoms and flexes by name 1, refused 0" in text
    pairs = re.search(r"pairs: (\d+); 0 models differ \[\]; not compared 0", text)
    rows = re.search(r"rows: (\d+), \d+ penetrate; (\d+) within", text)
    poses = re.search(r"positions to (\S+) .*axes to (\S+)", text)
    assert pairs is not None and int(pairs[1]) >= 4
    assert rows is not None and rows[1] == rows[2] and int(rows[1]) > 10
    assert poses is not None and float(poses[1]) < 1e-14 and float(poses[2]) < 1e-14
