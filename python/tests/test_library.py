"""Shapes and files of shapes."""

from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Pairs, every_kind, run_python

import clearance as cl
from clearance import _contact_derivatives, _native, _points, _shapes, contact
from clearance._shape import _RANGES, Shape, open_library


def test_kinds_are_those_of_the_library() -> None:
    """The table of kinds in Python is the library's: names, order and widths of the parameters."""
    about = _native.native().about
    got = {k: [(n, w, li) for n, w, li in p] for k, p in _shapes.KINDS.items()}
    want = {k["name"]: [(p["name"], p["width"], p["list"]) for p in k["params"]] for k in about["kinds"]}
    assert got == want
    assert {a["name"]: a["width"] for a in about["attributes"]} == _shapes.ATTRIBUTES
    assert about["statuses"] == list(cl._result.STATUSES)
    assert about["contact"] == {
        "models": contact.MODELS,
        "rules": contact.RULES,
        "restitution_laws": list(contact.LAWS),
        "statuses": list(contact.STATUSES),
        "step_statuses": list(contact.STEP_STATUSES),
        "manifold_statuses": list(_points.STATUSES),
        "smoothnesses": list(contact.SMOOTHNESSES),
        "modes": list(_contact_derivatives.MODES),
        "impacts": list(contact.IMPACTS),
    }
    assert [tuple(c[k] for k in ("name", "type", "width", "inner")) for c in about["columns"]] == list(
        cl._columns.TABLE
    )


def test_round_trip(tmp_path: Path, engine: cl.Engine) -> None:
    """Saved, loaded and pickled libraries are the same, and give the same bits."""
    lib = every_kind()
    lib.halfspace(name="floor")
    lib.save(tmp_path / "shapes.json")
    loaded = cl.Library.load(tmp_path / "shapes.json")
    copied = pickle.loads(pickle.dumps(lib))
    for other in (loaded, copied):
        assert len(other) == len(lib)
        for got, want in zip(other, lib, strict=True):
            assert (got.kind, got.name, got.margin) == (want.kind, want.name, want.margin)
            for name, value in want.parameters.items():
                np.testing.assert_array_equal(got.parameters[name], value)
            np.testing.assert_array_equal(got.center, want.center) if want.center is not None else None
    p = Pairs(lib, 500)
    p.a[p.a == len(lib) - 1] = 0
    want_bits = engine.growth(*p.arrays(), quat="wxyz").distance.tobytes()
    for other in (loaded, copied):
        assert engine.growth(other, *p.arrays()[1:], quat="wxyz").distance.tobytes() == want_bits
    assert loaded.index("crate") == 5 and "crate" in repr(loaded[5])
    with pytest.raises(KeyError):
        loaded.index("no such name")
    assert "12 shapes" in repr(loaded)


def test_attributes(tmp_path: Path, engine: cl.Engine) -> None:
    """Attributes that are stated are read back; others, and those that a shape cannot have, are errors."""
    lib = cl.Library()
    lib.sphere(1, center=[0.25, 0, 0])
    lib.sphere(1, center=None)
    lib.smooth_hull([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0, -1, 0]], 12, center=[0.1, 0, 0])
    lib.save(tmp_path / "shapes.json")
    loaded = cl.Library.load(tmp_path / "shapes.json")
    for other in (lib, loaded):
        assert list(other[0].attributes) == ["center"] and other[1].attributes == other[2].attributes == {}
        np.testing.assert_array_equal(other[0].center, [0.25, 0, 0])
        np.testing.assert_array_equal(other[2].parameters["center"], [0.1, 0, 0])
        assert "center=[0.25, 0.0, 0.0]" in repr(other[0])
    with pytest.raises(cl.OptionError, match="centre: no option of a sphere, which has center; did you mean center"):
        lib.sphere(1, centre=[0, 0, 0])  # type: ignore[call-arg]
    with pytest.raises(cl.ShapeError, match=r"center has the shape \[2\], want 3 numbers"):
        lib.sphere(1, center=[0, 0])
    q = [[1.0, 0, 0, 0]]
    lib.halfspace(name="floor", center=[0, 0, -1])
    with pytest.raises(cl.ShapeError, match=r'shape 3 \("floor"\): halfspace: center: a half-space does not grow'):
        engine.distance(lib, [0], [0], [[0, 0, 0]], q, [[3, 0, 0]], q, quat="wxyz")


def test_invalid_shapes(engine: cl.Engine) -> None:
    lib = cl.Library()
    for make, reason in (
        (lambda: lib.box([1, 2]), r"half_extents has the shape \[2\]"),
        (lambda: lib.box([1, 2, np.nan]), r"half_extents\[2\] is not finite"),
        (lambda: lib.sphere("big"), "radius"),  # type: ignore[arg-type]
        (lambda: lib.sphere(-1), "radius = -1, want 1e-09 to 1e"),
        (lambda: lib.box([1, 2, 0]), r"half_extents\[2\] = 0"),
        (lambda: lib.sphere(1, margin=-1), "margin = -1"),
        (lambda: lib.convex([[0, 0], [1, 1]]), r"vertices has the shape \[2, 2\]"),
        (lambda: lib.convex([[0, 0, 0], [1e-12, 0, 0]], name="speck"), r"^convex: extent = 1e-12"),
        (lambda: lib.add("cube", {}), "unknown kind 'cube'"),
        (lambda: lib.add("sphere", {"r": 1}), "want \\['radius'\\]"),
    ):
        with pytest.raises(cl.ShapeError, match=reason):
            make()  # type: ignore[no-untyped-call]
    assert len(lib) == 0
    lib.sphere(1)
    lib.box([1, 1, 1], center=[2, 0, 0], name="crate")  # only the native library looks at centers
    q = [[1.0, 0, 0, 0]]
    with pytest.raises(cl.ShapeError, match=r'shape 1 \("crate"\).*center'):
        engine.distance(lib, [0], [0], [[0, 0, 0]], q, [[3, 0, 0]], q, quat="wxyz")


def test_grows(engine: cl.Engine) -> None:
    """A shape that is added after a call is there at the next one."""
    lib = cl.Library()
    q, origin, there = [[1.0, 0, 0, 0]], [[0, 0, 0]], [[3, 0, 0]]
    a = lib.sphere(1)
    assert engine.distance(lib, [a], [a], origin, q, there, q, quat="wxyz").distance[0] == 1
    b = lib.sphere(0.5)
    assert engine.distance(lib, [a], [b], origin, q, there, q, quat="wxyz").distance[0] == 1.5


CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
FACES = "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"


def test_meshes(tmp_path: Path) -> None:
    """Convex meshes are hulls; of others the caller decides."""
    (tmp_path / "cube.obj").write_text(CUBE + FACES)
    second = CUBE.replace("v 0", "v 3").replace("v 1", "v 4")
    numbers = re.sub(r"\d", lambda m: str(int(m[0]) + 8), FACES)
    (tmp_path / "two.obj").write_text("o one\n" + CUBE + FACES + "o two\n" + second + numbers)
    (tmp_path / "one.obj").write_text(CUBE + second + FACES + numbers)
    lib = cl.Library()
    assert lib[lib.mesh(tmp_path / "cube.obj", name="cube", margin=0.1)].parameters["vertices"].shape == (8, 3)
    assert lib[0].name == "cube" and lib[0].margin == 0.1
    assert lib.mesh_parts(tmp_path / "two.obj") == [1, 2] and lib[1].name == "one"
    with pytest.raises(cl.ShapeError, match="2 parts"):
        lib.mesh(tmp_path / "two.obj")
    with pytest.raises(cl.ShapeError, match="2 parts"):  # disconnected
        lib.mesh(tmp_path / "one.obj")
    assert lib.mesh_parts(tmp_path / "one.obj") == [3, 4] and [s.name for s in lib][3:] == ["one.0", "one.1"]
    assert [s.dent for s in lib] == [0] * 5
    assert lib[lib.mesh(tmp_path / "one.obj", concave="hull")].parameters["vertices"].shape[1] == 3
    with pytest.raises(cl.FileError, match=r"missing\.obj"):
        lib.mesh(tmp_path / "missing.obj")


def test_tolerance_of_meshes(tmp_path: Path) -> None:
    """A dent beyond what the digits of the file explain is refused, unless a tolerance allows it, and is reported."""
    low = CUBE.replace("v 0 0 0", "v 0 0 0.01")  # its bottom is bent
    for text, dent in ((CUBE, 0.0), (CUBE.replace("v 0 0 0", "v 0 0 0.000001"), 1e-6), (low, 0.01)):
        (tmp_path / "cube.obj").write_text(text + FACES)
        lib = cl.Library()
        if dent < 1e-3:
            lib.mesh(tmp_path / "cube.obj")
            lib.mesh_parts(tmp_path / "cube.obj")
        else:
            with pytest.raises(cl.FileError, match=r"not convex.*rounding of the file.*tolerance="):
                lib.mesh(tmp_path / "cube.obj")
            with pytest.raises(cl.FileError, match="not convex"):
                lib.mesh_parts(tmp_path / "cube.obj", tolerance=0.001)
            lib.mesh(tmp_path / "cube.obj", tolerance=0.03)
            lib.mesh_parts(tmp_path / "cube.obj", tolerance=0.03)
        assert [s.dent for s in lib] == pytest.approx([dent, dent], rel=1)
        assert np.isnan(lib[lib.mesh(tmp_path / "cube.obj", concave="hull")].dent)
    for wrong in (-1, 1.5, float("nan")):
        with pytest.raises(cl.OptionError, match="tolerance"):
            lib.mesh(tmp_path / "cube.obj", tolerance=wrong)


SCENE = """{"version": 1, "shapes": [{"kind": "sphere", "radius": 1, "name": "ball"}, {"kind": "box",
  "half_extents": [1, 2, 3]}], "bodies": [{"name": "two", "parts": [{"shape": "ball", "position": [1, 2, 3]},
  {"shape": 1, "rotation": [0, 1, 0, 0]}]}, {"name": "cube", "mesh": "cube.obj"}, {"parts": [{"shape": 0}]}]PAIRS}"""


@pytest.mark.parametrize("pairs", ["", ', "pairs": []', ', "pairs": [["two", "cube"], [2, 0]]'])
def test_bodies_of_files_are_kept(tmp_path: Path, pairs: str) -> None:
    """A library that is loaded and saved keeps the bodies and pairs of the file, and so does a scene."""
    (tmp_path / "cube.obj").write_text(CUBE + FACES)
    path, again = tmp_path / "scene.json", tmp_path / "again.json"
    path.write_text(SCENE.replace("PAIRS", pairs))
    lib = pickle.loads(pickle.dumps(cl.Library.load(path)))
    assert [s.kind for s in lib] == ["sphere", "box", "convex"]
    lib.sphere(2)
    lib.save(again)
    want = [(0, 1), (2, 0)] if "two" in pairs else []
    scene = cl.Scene.load(again)
    assert [b.name for b in scene.bodies] == ["two", "cube", ""] and scene.pairs == want
    assert [[p.shape for p in b.parts] for b in scene.bodies] == [[0, 1], [2], [0]]
    two = scene.bodies[0].parts
    assert list(two[0].position) == [1, 2, 3] and list(two[1].rotation) == [0, 1, 0, 0]
    assert len(scene.library) == 4 and ('"pairs"' in again.read_text()) == bool(pairs)
    other = scene.add(3, name="other")
    scene.pairs.append((other, 1))
    scene.save(path)
    back = cl.Scene.load(path)
    assert back.pairs == [*want, (3, 1)] and [b.name for b in back.bodies] == ["two", "cube", "", "other"]
    # The bodies of the file are those of the scene, no longer those of its library.
    scene.library.save(path)
    assert "bodies" not in path.read_text()
    assert [b.name for b in cl.Scene.load(path).bodies] == [s.name for s in scene.library]


def test_bad_scenes(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_text(SCENE.replace("PAIRS", ', "pairs": [[0, 7]]').replace("cube.obj", "two.obj"))
    with pytest.raises(cl.FileError, match=r"scene\.json.*body 1 .*two\.obj"):
        cl.Scene.load(path)
    (tmp_path / "two.obj").write_text(CUBE + FACES)
    with pytest.raises(cl.FileError, match=r"pairs: pair 0: 7, want"):
        cl.Scene.load(path)
    scene = cl.Scene()
    scene.add(scene.library.sphere(1))
    scene.pairs = [(0, 0)]
    with pytest.raises(cl.OptionError, match="pairs: pair 0"):
        scene.save(path)
    with pytest.raises(cl.FileError, match="nowhere"):
        cl.Scene(scene.library, scene.bodies).save(tmp_path / "nowhere/scene.json")


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "shapes.json"
    path.write_text('{"version": 1, "shapes": [{"kind": "box", "half_extents": [1, 2]}]}')
    with pytest.raises(cl.FileError, match=r"shapes\.json: shape 0: box: half_extents has 2 numbers, want 3"):
        cl.Library.load(path)
    with pytest.raises(cl.FileError, match="no such file"):
        cl.Library.load(tmp_path / "missing.json")


def sized(kind: str, size: float, rng: np.random.Generator) -> dict[str, object]:
    """Parameters of a kind of about a size."""
    values: dict[str, object] = {}
    for name, width, is_list in _shapes.KINDS[kind]:
        low, high = _RANGES.get(name, (0.0, 0.0))
        if name in ("exponents", "sharpness", "flatness"):
            some = rng.uniform(max(low, 0.05), min(high, 20), width)
            values[name] = some if width > 1 else float(some[0])
        elif is_list:
            points = size * rng.uniform(-1, 1, (12, width))
            values[name] = np.abs(points) * [1, 0] + points * [0, 1] if name == "profile" else points
        elif name == "center":
            values[name] = (0.0, 0.0, 0.0)
        else:
            some = np.clip(size * rng.uniform(0.3, 1, width), low, high)
            values[name] = some if width > 1 else float(some[0])
    return values


@pytest.mark.parametrize("kind", list(_shapes.KINDS))
def test_sizes_are_checked_where_a_shape_is_made(kind: str, engine: cl.Engine) -> None:
    """A shape that a library takes spoils no query of it; what it refuses the native library refuses as well."""
    rng = np.random.default_rng(11)
    taken = refused = 0
    for size in np.logspace(-11, 10, 85):
        values, margin = sized(kind, float(size), rng), float(rng.choice([0, size, 1e9 - size if size < 1e9 else 0]))
        lib = cl.Library()
        ball = lib.sphere(1)
        try:
            lib.add(kind, values, margin=margin)
        except cl.ShapeError as e:
            assert kind in str(e) and "shape 0" not in str(e) and len(lib) == 1
            refused += 1
            with pytest.raises(cl.ShapeError):
                parameters = {name: np.asarray(value, np.float64) for name, value in values.items()}
                open_library(_native.native(), [Shape(kind, parameters, margin)])
        else:
            taken += 1
            engine.distance(lib, ball, 1, [[0, 0, 0]], [1, 0, 0, 0], [[0, 0, 3e8]], [1, 0, 0, 0], quat="wxyz")
    assert taken > 30 and (refused > 0)


def test_what_spoiled_a_library_is_refused() -> None:
    lib = cl.Library()
    tetrahedron = np.array([[1, 1, 1], [-1, 1, 1], [0, -1, 1], [0, 0, -1]])
    with pytest.raises(cl.ShapeError, match=r"^box: bounding radius 1\.73.*e\+09 m, want at most 1e\+09"):
        lib.box([1e9] * 3)
    with pytest.raises(cl.ShapeError, match="bounding radius"):
        lib.capsule(1e9, 1e9)
    with pytest.raises(cl.ShapeError, match="bounding radius"):
        lib.box([1, 1, 1], margin=1e9)
    with pytest.raises(cl.ShapeError, match="margin"):
        lib.halfspace(margin=2e9)
    with pytest.raises(cl.ShapeError, match="extent"):
        lib.convex(np.eye(3) * 1e-12)
    with pytest.raises(cl.ShapeError, match="vertices"):
        lib.convex([[1e10, 0, 0], [0, 0, 0]])
    with pytest.raises(cl.ShapeError, match="farthest vertex"):
        lib.smooth_hull(1e9 * tetrahedron, 2.1)
    assert len(lib) == 0


def test_ordinary_sizes_take_no_native_library() -> None:
    """A library may be made before a fork: of ordinary shapes, of each kind, without the native library."""
    run = run_python("""
from conftest import every_kind
from clearance import _native
assert len(every_kind()) == 11
assert _native._native is None
print("made")
""", PYTHONPATH=os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))  # fmt: skip
    assert run.stdout == "made\n", run.stderr
