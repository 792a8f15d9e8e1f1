"""Concave meshes: their decomposition by CoACD, and what is said of a mesh that has none."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clearance as cl
from clearance import urdf
from clearance.__main__ import main

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
