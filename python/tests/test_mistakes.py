"""Mistakes that users make: each raises an exception of the package that names what is wrong; nothing is ignored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

import clearance as cl
from clearance import _native, _options, _shape, _shapes

# A mistake: a call with an engine, a library of two shapes and a scene of two bodies; the exception; its message.
Call = Callable[[Any, Any, Any], object]

Q = np.array([[1.0, 0, 0, 0]])
AT, THERE = np.zeros((1, 3)), np.array([[3.0, 0, 0]])


def pair(lib: Any) -> tuple[Any, ...]:
    return lib, [0], [1], AT, Q, THERE, Q


def distance(engine: Any, lib: Any, **options: Any) -> Any:
    return engine.distance(*pair(lib), **({"quat": "wxyz"} | options))


POSES = np.concatenate([np.array([AT, THERE]).swapaxes(0, 1), np.tile(Q, (1, 2, 1))], axis=-1)

MISTAKES: dict[str, tuple[Call, type[Exception], str]] = {
    "an option misspelled": (lambda e, li, s: distance(e, li, tolerence=1e-3), cl.OptionError, "mean tolerance"),
    "an option of another query": (lambda e, li, s: distance(e, li, max_factor=2), cl.OptionError, "max_distance"),
    "a tolerance as text": (lambda e, li, s: distance(e, li, tolerance="1e-6"), cl.OptionError, "tolerance: '1e-6'"),
    "a tolerance of nothing": (lambda e, li, s: distance(e, li, tolerance=0), cl.OptionError, "tolerance: 0, want"),
    "a list of tolerances": (lambda e, li, s: distance(e, li, tolerance=[1, 2]), cl.OptionError, "want a number"),
    "columns that are no list": (lambda e, li, s: distance(e, li, columns=3), cl.OptionError, "columns: 3"),
    "a column that is no text": (lambda e, li, s: distance(e, li, columns=[["gap"]]), cl.OptionError, "columns"),
    "a column of another name": (lambda e, li, s: distance(e, li, columns=["depth"]), cl.OptionError, "'depth'"),
    "an array as out": (lambda e, li, s: distance(e, li, out=np.empty(1)), cl.OptionError, "out: a ndarray"),
    "a method that is none": (lambda e, li, s: distance(e, li, method="sat"), cl.OptionError, "method: 'sat'"),
    "a method that is a list": (lambda e, li, s: distance(e, li, method=["gjk"]), cl.OptionError, "method"),
    "an order that is none": (lambda e, li, s: distance(e, li, quat="zyx"), cl.OptionError, "quat: 'zyx'"),
    "an order that is a list": (lambda e, li, s: distance(e, li, quat=["wxyz"]), cl.OptionError, "quat"),
    "no library": (lambda e, li, s: distance(e, s), cl.OptionError, "library: a Scene"),
    "no array": (lambda e, li, s: e.distance(li, 0, 1, None, Q, AT, Q, quat="wxyz"), cl.ArrayError, "pos_a"),
    "a shape by name": (lambda e, li, s: e.distance(li, "ball", 1, AT, Q, AT, Q, quat="wxyz"), cl.ArrayError, "a: "),
    "an unknown query": (lambda e, li, s: e.query("depth", *pair(li), quat="wxyz"), cl.OptionError, "depth"),
    "a query that is a list": (lambda e, li, s: e.query([], *pair(li), quat="wxyz"), cl.OptionError, "query"),
    "a back end as a number": (lambda e, li, s: cl.Engine(3), cl.OptionError, "backend: 3"),  # type: ignore[arg-type]
    "an unknown precision": (
        lambda e, li, s: cl.Engine("cpu", "half"),  # type: ignore[arg-type]
        cl.OptionError,
        "half",
    ),
    "a shape that is not there": (lambda e, li, s: li[7], cl.NotFoundError, "shape 7: the library has 2 shapes"),
    "a shape by its name": (lambda e, li, s: li["ball"], cl.NotFoundError, "index"),
    "no such name": (lambda e, li, s: li.index("box"), cl.NotFoundError, "0 shapes have the name 'box'"),
    "no such body": (lambda e, li, s: s.index("arm"), cl.NotFoundError, "0 bodies have the name 'arm'"),
    "a sphere inside out": (lambda e, li, s: li.sphere(-1), cl.ShapeError, "radius = -1"),
    "a name as a number": (lambda e, li, s: li.sphere(1, name=3), cl.OptionError, "name: 3"),
    "a margin as text": (lambda e, li, s: li.sphere(1, margin="thin"), cl.ShapeError, "margin"),
    "parameters in a list": (lambda e, li, s: li.add("sphere", [1]), cl.ShapeError, "parameters"),
    "a kind that is a list": (lambda e, li, s: li.add([], {}), cl.ShapeError, "unknown kind"),
    "a file as a number": (lambda e, li, s: cl.Library.load(3.5), cl.FileError, "3.5"),  # type: ignore[arg-type]
    "a body of a fraction": (lambda e, li, s: s.add(1.9), cl.OptionError, "1.9"),
    "a body by its name": (lambda e, li, s: s.add("ball"), cl.OptionError, "'ball'"),
    "a part with a position of four": (lambda e, li, s: cl.Part(0, (0, 0, 0, 1)), cl.ShapeError, "want 3 numbers"),
    "a part with a rotation of three": (lambda e, li, s: cl.Part(0, (0, 0, 0), (1, 0, 0)), cl.ShapeError, "want 4"),
    "a part with texts": (
        lambda e, li, s: cl.Part(0, ("a", "b", "c")),  # type: ignore[arg-type]
        cl.ShapeError,
        "want 3",
    ),
    "a rollout of a library": (lambda e, li, s: e.rollout(li, worlds=1), cl.OptionError, "scene: a Library"),
    "a sweep of a library": (lambda e, li, s: e.sweep(li, POSES[:, None], quat="wxyz"), cl.OptionError, "scene"),
    "worlds as text": (lambda e, li, s: e.rollout(s, worlds="4"), cl.OptionError, "worlds: '4'"),
    "pairs to skip as a list": (lambda e, li, s: e.rollout(s, worlds=1, pairs="all", skip=[1]), cl.OptionError, "skip"),
    "a pair to skip": (lambda e, li, s: e.rollout(s, worlds=1, pairs="all", skip=(0, 1)), cl.OptionError, "skip"),
    "no order of poses": (lambda e, li, s: e.rollout(s, worlds=1)(POSES), cl.OptionError, "quat: None"),
    "poses of two worlds": (
        lambda e, li, s: e.rollout(s, worlds=1)(np.tile(POSES, (2, 1, 1)), quat="wxyz"), cl.ArrayError, "poses"
    ),
    "a world that is not there": (
        lambda e, li, s: e.rollout(s, worlds=1, pairs="all")(POSES, quat="wxyz").of(1), cl.NotFoundError, "world 1 of 1"
    ),
    "bounds without a gap": (lambda e, li, s: distance(e, li, columns=["distance"]).lower, cl.OptionError, "gap"),
    "a result that is none": (
        lambda e, li, s: cl.show(3, s, POSES, quat="wxyz"),  # type: ignore[arg-type]
        cl.OptionError,
        "result: a int",
    ),
    "a radius as text": (lambda e, li, s: li.sphere("1"), cl.ShapeError, "radius: '1'"),
    "an attribute misspelled": (lambda e, li, s: li.sphere(1, centre=[0, 0, 0]), cl.OptionError, "mean center"),
    "a mesh of no path": (lambda e, li, s: li.mesh(None), cl.FileError, "None, want a path"),
    "a mesh with a tolerance as text": (
        lambda e, li, s: li.mesh("m.obj", tolerance="x"),
        cl.OptionError,
        "tolerance: 'x'",
    ),
    "a scene saved to a number": (lambda e, li, s: s.save(3.5), cl.FileError, "3.5"),
    "a pair that is a number": (lambda e, li, s: s.all_pairs(skip=[0]), cl.OptionError, "skip"),
    "pairs that are none": (lambda e, li, s: s.all_pairs(skip=None), cl.OptionError, "skip"),
    "pairs that are a number": (lambda e, li, s: s.skip(3), cl.OptionError, "pairs"),
    "bodies that are numbers": (
        lambda e, li, s: e.rollout(cl.Scene(li, [3]), worlds=1),  # type: ignore[list-item]
        cl.OptionError,
        "bodies[0]: 3, want a Body",
    ),
    "names that are a number": (
        lambda e, li, s: e.rollout(s, worlds=1)(xpos=POSES[..., :3], xmat=np.zeros((1, 2, 9)), names=3),
        cl.OptionError,
        "names: 3",
    ),
    "rows that are a number": (
        lambda e, li, s: cl.show(distance(e, li), *pair(li), quat="wxyz", rows=3), cl.ArrayError, "rows"
    ),
    "a file of pairs that is none": (
        lambda e, li, s: cl.score_file(None, "o.npz", library=li, engine=e),  # type: ignore[arg-type]
        cl.OptionError,
        "pairs: None",
    ),
    "a file of results that is none": (
        lambda e, li, s: cl.score_file("p.npz", None, library=li, engine=e),  # type: ignore[arg-type]
        cl.OptionError,
        "out: None",
    ),
    "a library that is a number": (
        lambda e, li, s: cl.score_file("p.npz", "o.npz", library=3.5, engine=e),  # type: ignore[arg-type]
        cl.OptionError,
        "library: 3.5",
    ),
    "an engine by its name": (
        lambda e, li, s: cl.score_file("p.npz", "o.npz", library=li, engine="cpu"),  # type: ignore[arg-type]
        cl.OptionError,
        "engine: 'cpu', want an Engine",
    ),
    "progress as text": (
        lambda e, li, s: cl.score_file("p.npz", "o.npz", library=li, progress="yes"),  # type: ignore[arg-type]
        cl.OptionError,
        "progress: 'yes'",
    ),
    "the gradient of a number": (
        lambda e, li, s: cl.distance_gradient(3, AT, AT),  # type: ignore[arg-type]
        cl.OptionError,
        "want the result of Engine.distance",
    ),
    "a mesh to decompose that is none": (
        lambda e, li, s: cl.decompose(None, "x.obj"),  # type: ignore[arg-type]
        cl.FileError,
        "None, want a path",
    ),
    "directions of one number": (lambda e, li, s: li.support(0, [1, 0, 0]), cl.ArrayError, "directions"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(engine: cl.Engine, name: str) -> None:
    lib = cl.Library()
    lib.sphere(1, name="ball")
    lib.sphere(0.5)
    scene = cl.Scene(lib)
    scene.add(0)
    scene.add(1)
    scene.all_pairs()
    call, error, text = MISTAKES[name]
    assert issubclass(error, cl.ClearanceError)
    with pytest.raises(error) as raised:
        call(engine, lib, scene)
    assert type(raised.value) is error and text in str(raised.value)
    assert len(lib) == 2 and len(scene.bodies) == 2, "nothing was added"


def test_devices_by_index() -> None:
    """device=0 is the first device, not the default."""
    with pytest.raises(cl.ClearanceError, match="99"):
        cl.Engine("vulkan", device=99)
    with pytest.raises(cl.OptionError, match="device"):
        cl.Engine("vulkan", device=True)


BAD = [-1, -1e-300, math.nan, math.inf, -math.inf, "1", True, [1.0]]


@pytest.mark.parametrize("value", BAD, ids=str)
def test_distances_that_are_none(engine: cl.Engine, value: Any) -> None:
    """max_distance and max_factor below 0 and what is no number are refused wherever they are taken."""
    lib = cl.Library()
    lib.sphere(1)
    scene = cl.Scene(lib)
    scene.add(0)
    scene.add(0)
    scene.all_pairs()
    arrays = (lib, 0, 0, [0, 0, 0], Q[0], [3, 0, 0], Q[0])
    moving = np.repeat(POSES[:, None], 2, axis=1)
    calls: list[tuple[str, Callable[[Any], object]]] = [
        ("max_distance", lambda v: engine.distance(*arrays, quat="wxyz", max_distance=v)),
        ("max_factor", lambda v: engine.growth(*arrays, quat="wxyz", max_factor=v)),
        ("cut_off", lambda v: engine.query("distance", *arrays, quat="wxyz", cut_off=v)),
        ("max_distance", lambda v: engine.rollout_of_shapes(lib, [0, 0], [0], [1], worlds=1, max_distance=v)),
        ("max_distance", lambda v: engine.rollout(scene, worlds=1, max_distance=v)),
        ("max_distance", lambda v: engine.sweep(scene, moving, quat="wxyz", max_distance=v)),
        ("max_distance", lambda v: cl.score_file("p.npz", "o.npz", library=lib, max_distance=v, engine=engine)),
        ("tolerance", lambda v: engine.rollout(scene, worlds=1, tolerance=v)),
        ("tolerance", lambda v: engine.sweep(scene, moving, quat="wxyz", tolerance=v)),
        ("time_tolerance", lambda v: engine.sweep(scene, moving, quat="wxyz", time_tolerance=v)),
    ]
    for name, call in calls:
        with pytest.raises(cl.OptionError, match=name):
            call(value)


def test_misspelled_options_are_type_errors(engine: cl.Engine) -> None:
    """A type checker finds the option that a query does not have: mypy fails where an ignored line has no error."""
    lib = cl.Library()
    lib.sphere(1)
    with pytest.raises(cl.OptionError, match="mean tolerance"):
        engine.distance(lib, 0, 0, AT, Q, THERE, Q, quat="wxyz", tolerence=1e-3)  # type: ignore[call-arg]
    with pytest.raises(cl.OptionError, match="max_factor: no option of the query collide"):
        engine.collide(lib, 0, 0, AT, Q, THERE, Q, quat="wxyz", max_factor=2)  # type: ignore[call-arg]
    with pytest.raises(cl.OptionError, match="method"):
        engine.distance(lib, 0, 0, AT, Q, THERE, Q, quat="wxyz", method="sat")  # type: ignore[arg-type]
    assert set(get_args(_options.Method)) == set(_native.native().methods)
    assert set(get_args(_options.Precision)) == set(_native.native().precisions)


@pytest.mark.parametrize("kind", [k for k in _shapes.KINDS if k != "halfspace"])
def test_ranges(kind: str) -> None:
    """A number out of its range is refused at once, and so does the native library refuse it."""
    good: dict[str, Any] = {
        "radius": 1.0, "half_length": 1.0, "radius_bottom": 1.0, "radius_top": 1.0, "half_extents": [1.0] * 3,
        "semi_axes": [1.0] * 3, "exponents": [1.0] * 2, "sharpness": 10.0, "flatness": 1.0, "center": [0.0] * 3,
        "vertices": [[1, 1, 1], [-1, 1, 1], [0, -1, 1], [0, 0, -1]], "profile": [[0.2, -0.5], [0.5, 0], [0.2, 0.5]],
    }  # fmt: skip
    tried = 0
    for name, width, is_list in _shapes.KINDS[kind]:
        if is_list or name == "center":
            continue
        low, high = _shape._RANGES[name]
        values = [low, high, math.nextafter(low, 0), math.nextafter(high, math.inf), 0.0, -0.0, -low, -1.0]
        for value in values:
            parameters = {p[0]: good[p[0]] for p in _shapes.KINDS[kind]}
            parameters[name] = [value] * width if width > 1 else value
            shape = _shape.Shape(kind, {k: np.asarray(v, float) for k, v in parameters.items()})
            try:
                _shape.open_library(_native.native(), [shape])
                accepted = True
            except cl.ShapeError:
                accepted = False
            lib = cl.Library()
            inside = low <= value <= high or (value == 0 and (kind, name) in _shape._OR_ZERO)
            if accepted:
                assert inside
                lib.add(kind, parameters)
            else:  # a number within its range may be too much beside another
                with pytest.raises(cl.ShapeError, match=kind if inside else name):
                    lib.add(kind, parameters)
            tried += 1
    assert tried or kind == "convex"


def test_many_points(engine: cl.Engine) -> None:
    """More points than a hull may have vertices are hulled; a hull of too many vertices is refused."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (100_000, 3))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    lib = cl.Library()
    lib.convex(np.concatenate([points, corners]))
    lib.box([1, 1, 1])
    r = engine.distance(lib, [0, 1], 1, [0, 0, 0], Q[0], [3, 0.2, 0.1], Q[0], quat="wxyz", precision="double")
    assert abs(r.distance - 1).max() < 1e-9
    direction = rng.normal(size=(70_000, 3))
    ball = cl.Library()
    with pytest.raises(cl.ShapeError, match="more than 65535 vertices"):
        ball.convex(direction / np.linalg.norm(direction, axis=1, keepdims=True))
    assert len(ball) == 0
