"""cl.load: files of models and meshes by what they are, those that are refused by name, and concave meshes by CoACD."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import urdf
from clearance.__main__ import main

URDF = """<robot name="two">
  <link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="tip"><collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="tip"/><origin xyz="2 0 0"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
</robot>"""
MJCF = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body name="ball" pos="0 0 2"><freejoint/><geom type="sphere" size="0.5"/></body></worldbody></mujoco>"""
WEDGE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
# Two triangles that meet at an edge at a right angle: no convex surface.
BENT = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv .2 .2 .2\nf 1 2 3\nf 1 2 4\nf 1 5 2\n"


@pytest.mark.parametrize("begin", ["", '\ufeff<?xml version="1.0"?>\n<!-- <mujoco> -->\n', "<!DOCTYPE robot>\n"])
def test_urdf_whatever_its_name(tmp_path: Path, begin: str) -> None:
    (tmp_path / "wedge.obj").write_text(WEDGE)
    path = tmp_path / "model.xml"
    path.write_text(begin + URDF.format(mesh="wedge.obj"))
    scene = cl.load(path)
    assert type(scene).__name__ == "UrdfScene" and [b.name for b in scene.bodies] == ["base", "tip"]
    assert cl.load(str(path), skip_adjacent=False).pairs == [(0, 1)] and scene.pairs == []


def test_options_pass_on(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/bent.obj").write_text(BENT)
    path = tmp_path / "model.urdf"
    path.write_text(URDF.format(mesh="package://other/bent.obj"))
    with pytest.raises(cl.FileError, match="packages="):
        cl.load(path, concave="hull")
    with pytest.raises(cl.ConcaveError, match='concave="hull"'):
        cl.load(path, packages={"other": tmp_path / "parts"})
    scene = cl.load(path, packages={"other": tmp_path / "parts"}, concave="hull", margin=0.25)
    assert [s.margin for s in scene.library] == [0.25, 0.25]


def test_mjcf_whatever_its_name(tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    path = tmp_path / "model.urdf"
    path.write_text(MJCF)
    scene = cl.load(path)
    assert type(scene).__name__ == "MujocoScene" and [b.name for b in scene.bodies] == ["world", "ball"]
    assert cl.load(path, omit=("geom 0",)).bodies[0].name == "ball"
    mujoco: Any = sys.modules["mujoco"]
    compiled = tmp_path / "model.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_path(str(path)), str(compiled))
    assert cl.load(compiled).pairs == scene.pairs == [(0, 1)]


def test_mjcf_without_mujoco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.xml"
    path.write_text(MJCF)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match=r"model\.xml is MJCF, .*pip install mujoco"):
        cl.load(path)


def test_mesh(tmp_path: Path) -> None:
    path = tmp_path / "wedge.OBJ"
    path.write_text(WEDGE)
    scene = cl.load(path, margin=0.5)
    assert type(scene) is cl.Scene and [b.name for b in scene.bodies] == ["wedge"] and scene.pairs == []
    assert scene.library[0].margin == 0.5 and scene.library[0].dent < 1e-15
    (tmp_path / "bent.obj").write_text(BENT)
    with pytest.raises(cl.ConcaveError):
        cl.load(tmp_path / "bent.obj")
    assert len(cl.load(tmp_path / "bent.obj", concave="hull").library) == 1
    assert len(cl.load(tmp_path / "bent.obj", tolerance=1.0).library) == 1
    path.write_text(WEDGE + WEDGE.replace("v 0 0 0", "v 9 9 9").replace("f ", "g two\nf ", 1))
    two = cl.load(path)
    assert len(two.bodies) == 1 and len(two.bodies[0].parts) == len(two.library) == 2


def test_mesh_of_trimesh(tmp_path: Path) -> None:
    trimesh: Any = pytest.importorskip("trimesh", reason="trimesh is not installed")
    box = trimesh.creation.box((1, 2, 3))
    for name in ("box.off", "box.glb"):
        box.export(tmp_path / name)
        lib = cl.load(tmp_path / name).library
        assert np.ptp(lib[0].parameters["vertices"], axis=0).tolist() == [1, 2, 3]


def test_scene_of_shapes(tmp_path: Path) -> None:
    lib = cl.Library()
    scene = cl.Scene(lib)
    scene.add(lib.sphere(1), name="ball")
    scene.add(lib.box([1, 1, 1]), name="crate")
    scene.all_pairs()
    scene.save(tmp_path / "scene.json")
    loaded = cl.load(tmp_path / "scene.json")
    assert [b.name for b in loaded.bodies] == ["ball", "crate"] and loaded.pairs == [(0, 1)]
    with pytest.raises(cl.OptionError, match=r"concave: .*shapes\.json"):
        cl.load(tmp_path / "scene.json", concave="hull")


@pytest.mark.parametrize(
    ("name", "contents", "reason"),
    [
        ("world.sdf", b"<?xml version='1.0'?><sdf version='1.9'><world/></sdf>", "is SDF, which is not read"),
        ("model.urdf", b"<sdf version='1.9'/>", "is SDF, which is not read"),
        ("empty.SDF", b"", "is SDF, which is not read"),
        ("robot.usd", b"PXR-USDC\0\0\0", "is USD, which is not read"),
        ("robot.usda", b"#usda 1.0\n", "is USD, which is not read"),
        ("robot.usdc", b"", "is USD, which is not read"),
        ("robot.usdz", b"PK\3\4", "is USD, which is not read"),
        ("robot.xml", b"#usda 1.0\n", "is USD, which is not read"),
        ("robot.srdf", b"<robot name='r'><disable_collisions link1='a' link2='b'/></robot>", "srdf="),
        ("robot.xacro", b"<robot xmlns:xacro='http://ros.org/wiki/xacro'><xacro:arm/></robot>", "xacro"),
        ("page.html", b"<html></html>", r"begins with <html>; want URDF .*MJCF.*OBJ.*shapes\.json"),
        ("mesh.fbx", b"Kaydara FBX Binary", r"want URDF .*MJCF.*OBJ"),
        ("notes.txt", b"no model", r"want URDF .*MJCF.*OBJ"),
        ("mesh.dat", b"ply\nformat ascii 1.0\n", r"PLY.*\.ply"),
        ("shapes.yaml", b'{"shapes": []}', r"want URDF"),
        ("list.json", b'{"list": []}', r"want URDF"),
        ("empty", b"", "is empty"),
        ("broken.xml", b"<!-- no end", "want URDF"),
    ],
)
def test_refused_by_name(tmp_path: Path, name: str, contents: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(cl.FileError, match=rf"{name}.*{reason}"):
        cl.load(path)


def test_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of packages are found in the folders of ROS, before those that packages= does not name; meshes too."""
    home = tmp_path / "ros" / "gripper"
    (home / "urdf").mkdir(parents=True)
    (home / "finger.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    mesh = '<collision><geometry><mesh filename="package://gripper/finger.obj"/></geometry></collision>'
    (home / "urdf" / "g.urdf").write_text(f'<robot name="g"><link name="finger">{mesh}</link></robot>')
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    with pytest.raises(cl.FileError, match="gripper is in no folder"):
        cl.load("package://gripper/urdf/g.urdf")
    assert len(cl.load("package://gripper/urdf/g.urdf", packages={"gripper": home}).bodies) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'ros'}")
    assert len(cl.load("package://gripper/urdf/g.urdf").bodies) == 1
    (home / "g.srdf").write_text('<robot name="g"/>')
    assert len(cl.load("package://gripper/urdf/g.urdf", srdf="package://gripper/g.srdf").bodies) == 1
    elsewhere = tmp_path / "copy.urdf"  # whose mesh is in the folder of ROS alone
    elsewhere.write_bytes((home / "urdf" / "g.urdf").read_bytes())
    assert len(cl.load(elsewhere).bodies) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", "")
    with pytest.raises(cl.FileError, match="packages="):
        cl.load(elsewhere)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    (tmp_path / "install").mkdir()
    (tmp_path / "ros").rename(tmp_path / "install" / "share")
    assert len(cl.load(elsewhere).bodies) == 1
    with pytest.raises(cl.FileError, match="leaves its package"):
        cl.load("package://gripper/../../copy.urdf")


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(cl.FileError, match=r"none\.urdf: No such file"):
        cl.load(tmp_path / "none.urdf")
    with pytest.raises(cl.FileError, match="is a folder"):
        cl.load(tmp_path)
    wrong: Any = 7
    with pytest.raises(cl.OptionError, match="want the path"):
        cl.load(wrong)


@pytest.mark.parametrize(
    ("name", "contents", "options", "reason"),
    [
        ("m.obj", WEDGE, {"packages": {}}, "packages: no option of the reader of mesh files, which has"),
        ("m.xml", MJCF, {"strict": True}, "strict: no option of the reader of MJCF files"),
        ("m.xml", MJCF, {"concave": "coacd"}, "concave: 'coacd'"),
        ("m.urdf", URDF, {"conclave": "hull"}, "conclave: .*did you mean concave"),
        ("m.obj", WEDGE, {"up_axis": "y"}, "up_axis: 'y'"),
    ],
)
def test_options_of_another_kind(
    tmp_path: Path, name: str, contents: str, options: dict[str, Any], reason: str
) -> None:
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    path = tmp_path / name
    path.write_text(contents)
    with pytest.raises(cl.OptionError, match=reason):
        cl.load(path, **options)


def test_convert_and_the_command_line(
    tmp_path: Path, batchbench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model that is converted has the bodies of cl.load, and --model of batchbench answers as --shapes does."""
    (tmp_path / "bent.obj").write_text(BENT)
    path, shapes = tmp_path / "model.urdf", tmp_path / "shapes.json"
    path.write_text(URDF.format(mesh="bent.obj") + "<extra/>")
    words = ["convert", str(path), str(shapes), "--package", f"other={tmp_path}"]
    assert main(words) == 3 and "--concave hull" in capsys.readouterr().err and not shapes.exists()
    assert main([*words, "--concave", "hull"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{shapes}: 2 bodies of 2 shapes, 0 pairs" and said[1].startswith("note: ") and len(said) == 2
    scene = cl.load(path, concave="hull", skip_adjacent=False)
    assert [b.name for b in cl.Scene.load(shapes).bodies] == [b.name for b in scene.bodies]
    worlds = tmp_path / "worlds.npz"
    cl.write_worlds(worlds, scene, scene.poses(np.array([[0.0], [0.5], [1.0]])))  # type: ignore[attr-defined]
    monkeypatch.setenv("CLEARANCE_PYTHON", sys.executable)
    outs: list[Path] = []
    for flags in (["--shapes", shapes], ["--model", path, "--concave", "hull"]):
        outs.append(tmp_path / f"out{len(outs)}.npz")
        given = [batchbench, "rollout", "--worlds", worlds, "--out", outs[-1], *flags]
        done = subprocess.run(list(map(str, given)), check=True, capture_output=True, text=True)
        assert ("note" in done.stderr or "content after the root" in done.stderr) == ("--model" in flags)
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_options_of_convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that are given reach cl.load, also those that are zero, and no others do. The file is looked at once."""
    asked: list[dict[str, Any]] = []

    def read_as(kind: str, file: Path, options: dict[str, Any]) -> cl.Scene:
        asked.append(options)
        assert kind == "mesh"
        return cl.load(file)

    monkeypatch.setattr("clearance._view.read_as", read_as)
    (tmp_path / "wedge.obj").write_text(WEDGE)
    words = ["convert", str(tmp_path / "wedge.obj"), str(tmp_path / "shapes.json")]
    flags = [*("--tolerance", "0", "--concave", "raise", "--omit", "a", "--omit", "b"), "--strict"]
    assert main(words) == 0 and main([*words, *flags, "--package", "p=/q", "--srdf", "s"]) == 0
    given = {"tolerance": 0.0, "concave": "raise", "omit": ["a", "b"], "strict": True}
    assert asked == [{}, given | {"packages": {"p": "/q"}, "srdf": "s"}]


def test_advice_of_convert_on_concave_meshes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the options that the reader of the model has: MuJoCo collides hulls, and no convex parts."""
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    (tmp_path / "bent.obj").write_text(BENT.replace("f 1 5 2", "f 1 5 2\nf 2 4 3\nf 1 3 4"))
    model = '<mujoco><asset><mesh name="bent" file="bent.obj"/></asset><worldbody><geom type="mesh" mesh="bent"/>'
    (tmp_path / "model.xml").write_text(model + "</worldbody></mujoco>")
    for name, parts in (("model.xml", False), ("bent.obj", True)):
        assert main(["convert", str(tmp_path / name), str(tmp_path / "out.json")]) == 3
        told = capsys.readouterr().err
        assert "--concave hull" in told and ("--concave coacd" in told) == parts


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["shapes.json", "out.json"], "is a file of shapes already"),
        (["wedge.obj", "out.txt"], "ends in .json"),
        (["wedge.obj", "wedge.obj"], "ends in .json"),
        (["world.sdf", "out.json"], "is SDF"),
    ],
)
def test_convert_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], reason: str) -> None:
    (tmp_path / "shapes.json").write_text('{"version": 1, "shapes": []}')
    (tmp_path / "wedge.obj").write_text(WEDGE)
    (tmp_path / "world.sdf").write_text("<sdf/>")
    assert main(["convert", *(str(tmp_path / w) for w in words)]) == 3
    assert reason in capsys.readouterr().err


# The outline of an L, counterclockwise: two bars of 2 × 1 that share a unit square. It is extruded over 0 <= z <= 1.
OUTLINE = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))
NOTCH = (1.5, 1.5, 0.5)  # a point outside the L, inside its hull up to its face x + y = 3

needs_coacd = pytest.mark.skipif(importlib.util.find_spec("coacd") is None, reason="coacd is not installed")


def prism() -> list[str]:
    """The lines of the L as an OBJ file: the caps are split into quads, the top after the bottom."""
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in OUTLINE]
    for quad in ((1, 2, 3, 4), (1, 4, 5, 6)):
        lines.append("f " + " ".join(str(i) for i in reversed(quad)))
        lines.append("f " + " ".join(str(i + 6) for i in quad))
    for i in range(6):
        j = (i + 1) % 6
        lines.append(f"f {i + 1} {j + 1} {j + 7} {i + 7}")
    return lines


def torus(rings: int, sides: int) -> list[str]:
    """The lines of a torus as an OBJ file; it has so many near ties that the search depends on its seed."""
    lines = []
    for u in np.arange(rings) * 2 * np.pi / rings:
        for v in np.arange(sides) * 2 * np.pi / sides:
            r = 1 + 0.3 * np.cos(v)
            lines.append(f"v {r * np.cos(u)} {r * np.sin(u)} {0.3 * np.sin(v)}")
    for i, j in itertools.product(range(rings), range(sides)):
        k, m = (i + 1) % rings * sides, (j + 1) % sides
        lines.append(f"f {i * sides + j + 1} {k + j + 1} {k + m + 1} {i * sides + m + 1}")
    return lines


@pytest.fixture
def mesh(tmp_path: Path) -> Path:
    path = tmp_path / "ell.obj"
    path.write_text("\n".join(prism()) + "\n")
    return path


def distance(engine: cl.Engine, lib: cl.Library, parts: list[int], at: tuple[float, ...], radius: float) -> cl.Result:
    """The distance of a body of parts from a ball."""
    scene = cl.Scene(lib)
    scene.add(*parts, name="mesh")
    scene.add(lib.sphere(radius), name="probe")
    scene.all_pairs()
    poses = np.zeros((1, 2, 7))
    poses[..., 3] = 1
    poses[0, 1, :3] = at
    return engine.rollout(scene, worlds=1)(poses, quat="wxyz")


@needs_coacd
def test_notch(engine: cl.Engine, mesh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The parts of the command are a body that leaves the notch free, which the hull does not, and contain the mesh."""
    out = tmp_path / "parts.obj"
    assert main(["decompose", str(mesh), str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 2 convex parts\n"
    lib = cl.Library()
    parts, hull = lib.mesh_parts(out), [lib.mesh(mesh, concave="hull")]
    assert len(parts) == 2
    free = distance(engine, lib, parts, NOTCH, 0.1)
    full = distance(engine, lib, hull, NOTCH, 0.1)
    assert free.lower[0, 0] > full.upper[0, 0]
    # The notch is 0.5 from both walls and 0 from the face x + y = 3 of the hull.
    assert free.distance[0, 0] == pytest.approx(0.5 - 0.1, abs=0.02)
    assert full.distance[0, 0] == pytest.approx(-0.1, abs=1e-6)
    for z in (0, 1):
        for x, y in OUTLINE:
            assert distance(engine, lib, parts, (x, y, z), 0.01).upper[0, 0] < 0
    # The same parts without the file, and as the mesh of a URDF model.
    direct = cl.Library()
    assert len(direct.mesh_parts(mesh, concave="coacd")) == 2
    for got, want in zip(direct, lib, strict=False):
        assert (got.name, got.parameters["vertices"].tolist()) == (want.name, want.parameters["vertices"].tolist())
    model = tmp_path / "one.urdf"
    model.write_text(
        '<robot name="one"><link name="ell"><collision><geometry><mesh filename="ell.obj"/></geometry></collision>'
        "</link></robot>"
    )
    assert len(urdf.load(model, concave="coacd").bodies[0].parts) == 2
    with pytest.raises(cl.FileError, match=r"^concave=\"hull\".*ell\.obj.*not convex.*coacd.*clearance decompose"):
        urdf.load(model)


@needs_coacd
def test_same_file(tmp_path: Path) -> None:
    """Another process writes the same bytes, another seed does not."""
    ring, one, two, other = (tmp_path / f"{name}.obj" for name in ("ring", "one", "two", "other"))
    ring.write_text("\n".join(torus(8, 6)) + "\n")
    assert cl.decompose(ring, one, threshold=0.2) > 2
    words = ["decompose", str(ring), str(two), "--threshold", "0.2", "--seed", "0"]
    subprocess.run([sys.executable, "-m", "clearance", *words], check=True, timeout=1800, capture_output=True)
    assert one.read_bytes() == two.read_bytes()
    cl.decompose(ring, other, threshold=0.2, seed=1)
    assert other.read_text().splitlines()[1:] != one.read_text().splitlines()[1:]
    assert len(cl.Library().mesh_parts(one)) > 2


@needs_coacd
def test_triangles_of_their_own(engine: cl.Engine, mesh: Path, tmp_path: Path) -> None:
    """STL, whose triangles share no vertices, is closed as well, and may be inside out."""
    corners = [[float(x) for x in line.split()[1:]] for line in prism() if line[0] == "v"]
    lines = ["solid ell"]
    for line in prism():
        if line[0] == "f":
            face = [int(i) - 1 for i in line.split()[1:]]
            for i, j in itertools.pairwise(face[1:]):
                lines += ["facet normal 0 0 0", "outer loop"]
                lines += ["vertex {} {} {}".format(*corners[k]) for k in (face[0], j, i)]  # inside out
                lines += ["endloop", "endfacet"]
    (tmp_path / "ell.stl").write_text("\n".join([*lines, "endsolid ell"]) + "\n")
    assert cl.decompose(tmp_path / "ell.stl", tmp_path / "parts.obj") == 2
    lib = cl.Library()
    free = distance(engine, lib, lib.mesh_parts(tmp_path / "parts.obj"), NOTCH, 0.1)
    assert free.distance[0, 0] == pytest.approx(0.5 - 0.1, abs=0.02)
    assert cl.decompose(mesh, tmp_path / "most.obj", max_parts=1) == 1


@needs_coacd
def test_no_single_shape(mesh: Path) -> None:
    """A decomposition of several parts is no shape: the error says what is; a convex mesh needs none."""
    lib = cl.Library()
    with pytest.raises(
        cl.ShapeError, match=r"2 parts.*body: scene\.add\(\*lib\.mesh_parts\(path, concave=\"coacd\"\)\)"
    ):
        lib.mesh(mesh, concave="coacd")
    assert len(lib) == 0


@needs_coacd
def test_bad_meshes(mesh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with a mesh is named before CoACD sees it."""
    lines, out, bad = prism(), tmp_path / "parts.obj", tmp_path / "bad.obj"
    inverted = lines[-1].split()
    flat = [" ".join((*line.split()[:3], "0")) if line[0] == "v" else line for line in lines]
    for text, reason in (
        (lines[:-1], r"not closed: 4 edges.*runs from \("),
        ([*lines[:-1], " ".join(["f", *inverted[:0:-1]])], "not closed"),
        ([line for line in lines if line[0] == "v"], "no triangles"),
        (["v nan 0 0", *lines[1:]], "vertex 0 is not finite"),
        (flat, "has no volume"),
    ):
        bad.write_text("\n".join(text) + "\n")
        with pytest.raises(cl.FileError, match=rf"bad\.obj.*({reason})"):
            cl.decompose(bad, out)
    assert main(["decompose", str(tmp_path / "missing.obj"), str(out)]) == 3
    assert f"clearance: {tmp_path / 'missing.obj'}: no such file" in capsys.readouterr().err
    with pytest.raises(cl.FileError, match=r"parts\.stl: parts are written as OBJ"):
        cl.decompose(mesh, tmp_path / "parts.stl")
    with pytest.raises(cl.FileError, match=r"none.parts\.obj: No such file"):
        cl.decompose(mesh, tmp_path / "none" / "parts.obj")
    for options, name in (({"threshold": float("nan")}, "threshold"), ({"max_parts": 0}, "max_parts")):
        with pytest.raises(cl.OptionError, match=name):
            cl.decompose(mesh, out, **options)
    assert not out.exists()


def test_without_coacd(
    mesh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What to install is said; the error of a concave mesh names the command; convex meshes need no package."""
    monkeypatch.setitem(sys.modules, "coacd", None)
    lib = cl.Library()
    with pytest.raises(ImportError, match="pip install coacd"):
        lib.mesh_parts(mesh, concave="coacd")
    assert main(["decompose", str(mesh), str(tmp_path / "parts.obj")]) == 3
    assert "pip install coacd" in capsys.readouterr().err
    with pytest.raises(cl.FileError, match=r"^concave=\"hull\".*ell\.obj.*not convex.*coacd.*clearance decompose"):
        lib.mesh(mesh)
    with pytest.raises(cl.OptionError, match="concave: 'split'"):
        lib.mesh(mesh, concave="split")  # type: ignore[arg-type]
    with pytest.raises(cl.FileError, match=r"missing\.obj"):
        lib.mesh_parts(tmp_path / "missing.obj", concave="coacd")
    faces = ("1 2 3", "1 4 2", "2 4 3", "3 4 1")
    (tmp_path / "wedge.obj").write_text("v 0 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 1\n" + "".join(f"f {f}\n" for f in faces))
    assert lib.mesh(tmp_path / "wedge.obj", concave="coacd") == 0


def test_output_is_no_input(mesh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts are not written onto the mesh, by whatever name; CoACD is not asked."""
    before = mesh.read_bytes()
    link, hard = mesh.with_name("link.obj"), mesh.with_name("hard.obj")
    link.symlink_to(mesh)
    hard.hardlink_to(mesh)
    for out in (mesh, link, hard, mesh.parent / "." / mesh.name):
        with pytest.raises(cl.FileError, match=r"is the input .*ell\.obj"):
            cl.decompose(mesh, out)
    assert main(["decompose", str(mesh), str(mesh)]) == 3 and "is the input" in capsys.readouterr().err
    assert mesh.read_bytes() == before
