"""Mistakes of callers, of options, choices and sizes: each raises an exception of the package that names what is wrong.

Nothing is ignored, and nothing ends the process: what memory cannot hold is refused before it is allocated. Exceptions
survive the way out of a worker process."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, cast, get_args

import numpy as np
import pytest
from conftest import run_python

import clearance as cl
from clearance import _errors, _native, _options, _shape, _shapes, contact, mujoco, ray, urdf

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
    "an option of rollouts that is misspelt": (
        lambda e, li, s: e.rollout(s, worlds=1, colums=["distance"]),
        cl.OptionError,
        "colums: no option of rollouts, which has method, precision, tolerance, max_iterations, columns; did you mean "
        "columns",
    ),
    "an option of lists of pairs in a file": (
        lambda e, li, s: cl.score_file("p", "o.npz", library=li, engine=e, warm_start=None),  # type: ignore[call-arg]
        cl.OptionError,
        "warm_start: no option of files of pairs",
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


Q, AT = np.array([[1.0, 0, 0, 0]]), np.zeros((1, 3))
APART = np.array([[[0.0, 0, 0, 1, 0, 0, 0], [3, 0, 0, 1, 0, 0, 0]]])

# What annotations name, beside bool and Literal.
ALIASES = ("Precision", "Method", "Derivative", "Order", "Rotation", "Model", "Rule", "RestitutionLaw", "UpAxis")


def make_scene() -> cl.Scene:
    lib = cl.Library()
    scene = cl.Scene(lib)
    for radius in (0.5, 1.0):
        scene.add(lib.sphere(radius))
    scene.all_pairs()
    return scene


def options_of(function: FunctionType) -> Iterator[str]:
    """The options of a function that take a choice, also those of a TypedDict."""
    annotations = dict(inspect.get_annotations(function))
    for name, annotation in list(annotations.items()):
        if str(annotation).startswith("Unpack["):
            annotations |= getattr(sys.modules[function.__module__], annotations.pop(name)[7:-1]).__annotations__
    annotations.pop("return", None)
    for name, annotation in annotations.items():
        text = getattr(annotation, "__forward_arg__", annotation)
        if "Literal[" in text or {"bool", *ALIASES} & set(text.split(" | ")):
            yield name


def public() -> dict[str, set[str]]:
    """The options that take a choice, of every public function and method of the package."""
    found: dict[str, set[str]] = {}
    for module in (cl, urdf, mujoco, contact, ray):
        for name in getattr(module, "__all__", ["from_model", "MujocoScene"]):
            made = getattr(module, name)
            members: dict[str, Any] = {name: made}
            if inspect.isclass(made):
                if hasattr(made, "__dataclass_fields__") and not issubclass(made, cl.Scene):
                    members = {f"{name}.{k}": v for k, v in vars(made).items() if not k.startswith("_")}
                else:
                    members = {f"{name}.{k}": v for k, v in vars(made).items() if k[0] != "_" or k in SPECIAL}
            for member, function in members.items():
                if not isinstance(function, FunctionType) or function.__module__.partition(".")[0] != "clearance":
                    continue
                if taken := set(options_of(function)):
                    found.setdefault(member, set()).update(taken)
    return found


SPECIAL = ("__init__", "__call__")

# What engines call, and what hands its options to Result.vjp and from_model.
ELSEWHERE = ("SceneRollout.__init__", "UrdfScene.gradient", "MujocoScene.gradient", "from_mujoco")


def calls(folder: Path) -> dict[str, Callable[..., object]]:
    """Each of these functions, called with nothing wrong but the options given."""
    import_module("ray")  # before decompose loads CoACD: their libraries clash the other way
    scene = make_scene()
    lib, eng = scene.library, cl.Engine("cpu")
    pair = (lib, [0], [1], AT, Q, AT + 3, Q)
    one = eng.distance(*pair, quat="wxyz", grad=True)
    roll = eng.rollout(scene, worlds=1)
    plain = eng.rollout_of_shapes(lib, [0, 1], [0], [1], worlds=1)
    swept = eng.sweep(scene, np.repeat(APART[:, None], 2, axis=1), quat="wxyz", grad=True)
    robot = folder / "robot.urdf"
    robot.write_text('<robot name="r"><link name="a"/></robot>')
    moving = np.repeat(APART[:, None], 2, axis=1)
    worlds, motions, out = folder / "worlds.npz", folder / "motions.npz", folder / "out.npz"
    cl.write_worlds(worlds, scene, APART, quat="wxyz")
    cl.write_worlds(motions, scene, moving, quat="wxyz")

    simulated, started = contact.Simulation(lib, [0], 1.0), contact.Simulation(lib, [0], 1.0)
    started.start(AT[None, :1], Q[None, :1], quat="wxyz")

    free, regions = cast("Any", scene.free_placements), {0: cl.BoxRegion([0, 0, 0], [1, 1, 1])}

    def with_quat(f: Callable[..., object]) -> Callable[..., object]:
        return lambda **o: f(*pair, **({"quat": "wxyz"} | o))

    def solved(**o: Any) -> object:
        index = np.zeros((1, 1), np.int32)
        return contact.solve(
            np.ones((1, 1)), np.ones((1, 1, 6)), np.zeros((1, 1, 6)), np.zeros(1, np.int32), index, index,
            np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), np.zeros((1, 1, 3, 3)), np.zeros((1, 1)), **o,
        )  # fmt: skip

    def step(r: Any) -> Callable[..., object]:
        return lambda **o: r(APART, **({"quat": "wxyz"} | o))

    class Shared(ray.Rollouts):
        def __init__(self) -> None:
            self.ranges = [(0, 1)]

    mesh = folder / "mesh.obj"
    mesh.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n")
    return {
        "Engine.__init__": lambda **o: cl.Engine("cpu", **o),
        "Engine.distance": with_quat(eng.distance),
        "Engine.collide": with_quat(eng.collide),
        "Engine.penetration": with_quat(eng.penetration),
        "Engine.growth": with_quat(eng.growth),
        "Engine.query": lambda **o: eng.query("distance", *pair, **({"quat": "wxyz"} | o)),
        "Engine.vjp": lambda **o: eng.vjp("distance", *pair, distance=1.0, **({"quat": "wxyz"} | o)),
        "Engine.jvp": lambda **o: eng.jvp("distance", *pair, np.zeros((1, 12)), **({"quat": "wxyz"} | o)),
        "Engine.rollout": lambda **o: eng.rollout(scene, worlds=1, **o),
        "Engine.rollout_of_shapes": lambda **o: eng.rollout_of_shapes(lib, [0, 1], [0], [1], worlds=1, **o),
        "Engine.sweep": lambda **o: eng.sweep(scene, moving, **({"quat": "wxyz"} | o)),
        "Engine.contacts": lambda **o: eng.contacts(*pair, max_gap=1.0, **({"quat": "wxyz"} | o)),
        "Engine.scene_contacts": lambda **o: eng.scene_contacts(scene, APART, max_gap=1.0, **({"quat": "wxyz"} | o)),
        "Library.mesh": lambda **o: lib.mesh(mesh, **o),
        "Library.mesh_parts": lambda **o: lib.mesh_parts(mesh, **o),
        "Result.vjp": lambda **o: one.vjp(distance=np.ones(1), **o),
        "Result.jvp": lambda **o: one.jvp(np.zeros((1, 12)), **o),
        "Rollout.__call__": step(plain),
        "SceneRollout.__call__": step(roll),
        "Rollout.vjp": lambda **o: plain.vjp(APART, distance=1.0, **({"quat": "wxyz"} | o)),
        "audit_file": lambda **o: cl.audit_file("pairs.npz", out, library=lib, engine=eng, **o),
        "audit_rollout_file": lambda **o: cl.audit_rollout_file(worlds, out, scene=scene, engine=eng, **o),
        "audit_sweep_file": lambda **o: cl.audit_sweep_file(motions, out, scene=scene, engine=eng, **o),
        "score_file": lambda **o: cl.score_file("pairs.npz", out, library=lib, engine=eng, **o),
        "score_stream": lambda **o: cl.score_stream(_Stream(), library=lib, engine=eng, **o),
        "rollout_file": lambda **o: cl.rollout_file(worlds, out, scene=scene, engine=eng, **o),
        "sweep_file": lambda **o: cl.sweep_file(motions, out, scene=scene, engine=eng, **o),
        "write_worlds": lambda **o: cl.write_worlds(out, scene, APART, **({"quat": "wxyz"} | o)),
        "decompose": lambda **o: cl.decompose(mesh, folder / "parts.obj", **o),
        "show": lambda **o: cl.show(one, *pair, **({"quat": "wxyz"} | o)),
        "View.picture": lambda **o: cl.show(one, *pair, quat="wxyz").picture(**o),
        "View.film": lambda **o: cl.show(one, *pair, quat="wxyz").film(**o),
        "Scene.picture": lambda **o: scene.picture(APART[0], **({"quat": "wxyz"} | o)),
        "Scene.film": lambda **o: scene.film(APART, dt=0.1, **({"quat": "wxyz"} | o)),
        "Scene.placed": lambda **o: scene.placed(APART, **({"quat": "wxyz"} | o)),
        "Scene.free_placements": lambda **o: free(1, **({"regions": None if "ranges" in o else regions} | o)),
        "Simulation.replace": lambda **o: simulated.replace(parts_pose=[[0, 0, 0, 1, 0, 0, 0]], **o),
        "move_poses": lambda **o: cl.move_poses(AT, Q, np.zeros((1, 6)), **o),
        "load": lambda **o: urdf.load(robot, **o),
        "from_model": lambda **o: mujoco.from_model(_Model(), **o),
        "from_urdf": lambda **o: contact.from_urdf(robot, **o),
        "solve": solved,
        "solve_system": lambda **o: contact.solve_system(np.eye(3)[None], np.eye(3)[None, None], AT, [[0.5]], **o),
        "solve_delassus": lambda **o: contact.solve_delassus(np.eye(3)[None], AT[None], [[0.5]], **o),
        "SweepResult.vjp": lambda **o: swept.vjp(time=1.0, **o),
        "Simulation.__init__": lambda **o: contact.Simulation(lib, [0], 1.0, **o),
        "Simulation.start": lambda **o: simulated.start(AT[None, :1], Q[None, :1], **({"quat": "wxyz"} | o)),
        "Simulation.reset": lambda **o: started.reset([True], AT[None, :1], Q[None, :1], **o),
        "Simulation.set_state": lambda **o: started.set_state(started.state(), **o),
        "Simulation.run": lambda **o: simulated.run(AT[None, :1], Q[None, :1], steps=1, **({"quat": "wxyz"} | o)),
        "score": lambda **o: ray.score([], folder / "ray", library=lib, **o),
        "Rollouts.__init__": lambda **o: ray.Rollouts(scene, worlds=1, actors=1, **o),
        "Rollouts.submit": lambda **o: Shared().submit(APART, **o),
        "Rollouts.__call__": lambda **o: Shared().submit(APART, **o),
    }


class _Stream:
    """A stream whose capsule is never taken, since the options are checked before."""

    def __arrow_c_stream__(self) -> Any:
        raise AssertionError


class _Model:
    """Nothing of a model is read before the options are checked."""

    nq = 0

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_every_choice_is_refused(tmp_path: Path) -> None:
    """Every option of a public function whose type is a choice refuses values that are none, by name."""
    known, wanted = calls(tmp_path), public()
    for name in ELSEWHERE:
        del wanted[name]
    assert set(wanted) <= set(known), sorted(set(wanted) - set(known))
    assert sum(map(len, wanted.values())) >= 80
    wrong: list[str] = []
    for function, options in wanted.items():
        for option in sorted(options):
            # The margin of URDF files and meshes is a number.
            for value in NUMBERS if (function, option) == ("load", "margin") else CHOICES[option]:
                try:
                    known[function](**{option: value})
                    wrong.append(f"{function}({option}={value!r}): accepted")
                except cl.OptionError as e:
                    if option not in str(e):
                        wrong.append(f"{function}({option}={value!r}): {e}")
                except Exception as e:
                    wrong.append(f"{function}({option}={value!r}): {type(e).__name__}: {e}")
    assert not wrong, "\n".join(wrong)


TEXTS = ("other", "", 0, True, ["wxyz"])
NUMBERS = ("other", "", -1, np.nan, True, ["wxyz"])
FLAGS = ("no", "", 0, 1, ["x"], np.zeros(2))

# Wrong values of each option.
CHOICES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("precision", "method", "derivative", "quat", "wrt", "reduce", "pairs"), TEXTS),
    **dict.fromkeys(("concave", "model", "margin", "friction_rule", "restitution_rule", "restitution_law"), TEXTS),
    **dict.fromkeys(("up_axis", "inertia", "unfilled", "ranges"), TEXTS),
    **dict.fromkeys(("floor", "tint", "distances", "together"), FLAGS),
    **dict.fromkeys(("copy", "grad", "culling", "audit", "ground", "accept", "bound", "contacts", "tape"), FLAGS),
    **dict.fromkeys(("resume", "skip_adjacent", "strict", "any_kernels"), FLAGS),
    "progress": ("no", "", 0, 1),
}


def test_flags_of_numpy(tmp_path: Path) -> None:
    """True and False of NumPy are such."""
    scene = make_scene()
    with cl.Engine("cpu") as eng:
        roll = eng.rollout(scene, worlds=1, culling=np.True_)  # type: ignore[arg-type]
        assert roll(APART, quat="wxyz", copy=np.False_).distance[0] == 1.5  # type: ignore[arg-type]


SETUP = """
import ctypes, resource, sys
import numpy as np, clearance as cl
from clearance import _native as nat
from clearance._options import SolverOptions, defaults
n = nat.native()
lib = cl.Library(); ball = lib.sphere(1)
scene = cl.Scene(lib); scene.add(ball); scene.add(ball); scene.all_pairs()
eng = cl.Engine("cpu")
error = nat.Error()
def refused(call, *words):
    try:
        call()
    except cl.OptionError as e:
        for word in words:
            assert word in str(e), (word, str(e))
        return
    sys.exit(f"accepted: {call}")
def message(code, want=nat.ARGUMENT):
    assert code == want, (code, error.message)
    return error.message.decode()
"""


def ran(code: str) -> None:
    run = run_python(SETUP + code + "\nprint('alive')", 120)
    assert (run.returncode, run.stdout) == (0, "alive\n"), f"{run.returncode}\n{run.stdout}\n{run.stderr[-3000:]}"


@pytest.mark.parametrize("worlds", ["2**40", "2**50", "2**62", "2**63 - 1"])
def test_worlds(worlds: str) -> None:
    """A rollout of more worlds than memory holds is refused with the memory that it would take."""
    ran(f"""
w = {worlds}
words = (str(w), "of memory", "available")
for options in ({{}}, {{"reduce": "world"}}, {{"pairs": "all"}}, {{"query": "collide", "columns": ["bits"]}}):
    refused(lambda: eng.rollout(scene, worlds=w, **options), *words)
refused(lambda: eng.rollout_of_shapes(lib, [ball, ball], [0], [1], worlds=w), *words)
""")


def test_worlds_that_are_none() -> None:
    ran("""
for w in (-1, -(2**63), 2**63, 2**64, 1.5, "7", None, True):
    refused(lambda: eng.rollout(scene, worlds=w), "worlds")
    refused(lambda: eng.rollout_of_shapes(lib, [ball], [], [], worlds=w), "worlds")
""")


def test_limit_of_the_address_space() -> None:
    """Memory is compared with the limit that a batch system sets, too."""
    ran("""
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
refused(lambda: eng.rollout(scene, worlds=20_000_000), "of memory")
poses = np.zeros((1000, 2, 7)); poses[..., 3] = 1
assert eng.rollout(scene, worlds=1000)(poses, quat="wxyz").hit.all()
""")


@pytest.mark.parametrize("kernels", ["portable", "off"])
def test_memory_of_newtons_method(kernels: str) -> None:
    """A contact problem of more bodies than Newton's method has memory for, of which there is 1 GB, is undecided."""
    ran(f"""
import os
os.environ["CLEARANCE_SIMD"] = {kernels!r}
from clearance import contact
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
n = 15000
for count, ends in ((n, (1,)), (3, (0,))):
    s = contact.solve(
        np.ones((1, n)), np.tile([0.01, 0.01, 0.01, 0, 0, 0], (1, n, 1)), np.tile([0, 0, -1.0, 0, 0, 0], (1, n, 1)),
        [count], [[-1, *range(n - 1)]], [list(range(n))], np.zeros((1, n, 3)), np.zeros((1, n, 3)),
        np.tile(np.eye(3), (1, n, 1, 1)), np.full((1, n), 0.5), workers=1, tolerance=1e-9,
    )
    assert s.status[0] in ends and np.isfinite(s.velocity).all(), s
""")


def test_every_entry_of_the_interface() -> None:
    """Counts of structs that no memory has: an error of the call, by every function that takes one."""
    ran("""
huge = (2**40 + 1, 2**50, 2**62, 2**63 - 1, -1, -(2**63))
handle, report, job, out = lib._open(), nat.Report(), ctypes.c_uint64(), ctypes.c_uint64()
q = eng._query("distance", lib, defaults(SolverOptions))
some = np.zeros(64)
at = some.ctypes.data
one = np.zeros(1, np.int32)
for count in huge:
    sphere = nat.Shape(kind=0, values=at, counts=(count, 0, 0, 0))
    message(n.library_new(sphere, 1, 60_000, out, job, error))
    message(n.library_new(nat.Shape(kind=10, values=at, counts=(count, 0, 0, 0)), 1, 60_000, out, job, error))
    message(n.library_new(sphere, count, 60_000, out, job, error))
    message(n.library_support(handle.number, 0, count, None, None, error))
    message(n.library_shape(handle.number, count, nat.Shape(), at, count, ctypes.c_int64(), None, count, error))
    message(n.submit(eng._number, q, nat.Pairs(count, *[at] * 7), nat.Results(1, at), 0, job, report, error))
    message(n.submit(eng._number, q, nat.Pairs(1, *[at] * 7), nat.Results(count, at), 0, job, report, error))
    first = np.array([0, 1], np.int32)
    message(n.bodies_new(handle.number, nat.Part(), first.ctypes.data, count, None, out, error))
    for sizes in ((count, 2, 1), (1, count, 1), (1, 2, count), (count, count, count)):
        worlds = nat.Worlds(*sizes, one.ctypes.data, one.ctypes.data, one.ctypes.data, None)
        message(n.rollout_open(eng._number, q, worlds, out, error))
        table = cl._bodies.Table(lib, scene.bodies)
        for each, reduce, every in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1)):
            record = nat.Scene(table.number, *sizes, each, reduce, one.ctypes.data, None, None)
            record.all_pairs = every
            message(n.scene_open(eng._number, q, record, out, error))
    table = cl._bodies.Table(lib, scene.bodies)
    for sizes in ((count, 2, 2, 1), (1, count, 2, 1), (1, 2, count, 1), (1, 2, 2, count), (count, count, count, count)):
        motions = nat.Motions(table.number, *sizes)
        for rows in (count, 1):
            contacts = nat.Contacts(rows, *[at] * 9)
            message(n.sweep(eng._number, motions, contacts, 0, job, report, error))
    message(n.engine_open(nat.Options(workers=2**31 - 1), out, error))
    name = ctypes.create_string_buffer(8)
    size = abs(count) % 2**63
    record = nat.Shape()
    code = n.library_shape(handle.number, 0, record, at, 64, ctypes.c_int64(), ctypes.addressof(name), size, error)
    assert code == nat.OK, error.message
assert n.describe(None, -1) > 0
roll = eng.rollout_of_shapes(lib, [ball, ball], [0], [1], worlds=1)
for count in huge:
    message(n.rollout_submit(roll._number, at, nat.Results(count, at), 0, job, report, error))
""")


# An instance of every exception.
EVERY: list[cl.ClearanceError] = [
    cl.ClearanceError("any"),
    cl.ArrayError("pos_a", "is not finite", 7),
    cl.ArrayError("pos_b", "has the wrong shape"),
    cl.CopyError("quat_a", "is float32"),
    cl.RowError("2 rows without an answer", "pos_a", 3, "NaN"),
    cl.ShapeError("sphere: radius = -1"),
    cl.FileError("a.json: no such file"),
    cl.OptionError("columns: 'x'"),
    cl.RefusedError("no back end supports it"),
    cl.NoBackendError("no back end"),
    cl.NotFoundError("2 shapes have the name 'x'"),
    cl.ClosedError("the engine is closed"),
    cl.ForkError("forked"),
    cl.RefutedError("out.npz: 1 of 2"),
    cl.CallError("the call failed"),
    cl.ConcaveError("part.obj: dent of 0.1", "tolerance=0.1 takes it"),
    cl.StillError("no world advanced"),
    cl.PlacementError("world 3 is not filled"),
]


def test_every_exception_is_tested() -> None:
    own = {e for _, e in inspect.getmembers(_errors, inspect.isclass) if e.__module__ == _errors.__name__}
    assert {type(e) for e in EVERY} == own
    assert all(getattr(cl, e.__name__) is e and e.__name__ in cl.__all__ for e in own)


@pytest.mark.parametrize("error", EVERY, ids=lambda e: type(e).__name__)
def test_round_trip(error: cl.ClearanceError) -> None:
    """Pickled and copied exceptions have the type, the text and all attributes."""
    error.add_note("while testing")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        got = pickle.loads(pickle.dumps(error, protocol))
        assert type(got) is type(error) and str(got) == str(error) and got.args == error.args
        assert got.__dict__ == error.__dict__
    assert copy.copy(error).__dict__ == error.__dict__ and str(copy.deepcopy(error)) == str(error)


class Mine(cl.ArrayError):
    """An exception of a caller, with a constructor of its own."""

    def __init__(self, worker: int) -> None:
        super().__init__("pos_a", "is bad", worker)
        self.worker = worker


def test_exceptions_of_callers() -> None:
    got = pickle.loads(pickle.dumps(Mine(4)))
    assert type(got) is Mine and (got.worker, got.row, str(got)) == (4, 4, "pos_a[4]: is bad")


POOLS = """
import concurrent.futures, multiprocessing, sys
import numpy as np, clearance as cl
def work(kind):
    if kind == "array":
        raise cl.ArrayError("pos_a", "is bad", 3)
    lib = cl.Library(); lib.sphere(1)
    q, zero = np.array([[1.0, 0, 0, 0]]), np.zeros((1, 3))
    with cl.Engine("cpu", workers=1) as e:
        if kind == "copy":
            e.distance(lib, [0], [0], zero, q, zero, q, quat="wxyz", copy=False)
        if kind == "row":
            e.distance(lib, [0], [0], zero * np.nan, q, zero, q, quat="wxyz").raise_if_failed()
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    want = {"array": (cl.ArrayError, "pos_a", 3), "copy": (cl.CopyError, "a", -1), "row": (cl.RowError, "pos_a", 0)}
    with context.Pool(1) as pool, concurrent.futures.ProcessPoolExecutor(1, context) as executor:
        for kind, (error, array, row) in want.items():
            # A worker's error that cannot be pickled is never returned: the wait would last for ever.
            for wait in (pool.apply_async(work, (kind,)).get, executor.submit(work, kind).result):
                try:
                    wait(60)
                    sys.exit("no error")
                except cl.ClearanceError as e:
                    assert type(e) is error and (e.array, e.row) == (array, row) and e.reason, repr(e)
    print("good")
"""


def test_pools(tmp_path: Path) -> None:
    """Errors of workers come out of multiprocessing.Pool and concurrent.futures as they were raised."""
    path = tmp_path / "pools.py"
    path.write_text(POOLS)
    run: Any = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=150)
    assert run.returncode == 0 and run.stdout == "good\n", run.stdout + run.stderr
