"""Options that take True or False, or one of some texts, refuse every other value: "no" does not count as True."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import clearance as cl
from clearance import contact, mujoco, ray, urdf

Q, AT = np.array([[1.0, 0, 0, 0]]), np.zeros((1, 3))
POSES = np.array([[[0.0, 0, 0, 1, 0, 0, 0], [3, 0, 0, 1, 0, 0, 0]]])

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
    robot = folder / "robot.urdf"
    robot.write_text('<robot name="r"><link name="a"/></robot>')
    moving = np.repeat(POSES[:, None], 2, axis=1)
    worlds, motions, out = folder / "worlds.npz", folder / "motions.npz", folder / "out.npz"
    cl.write_worlds(worlds, scene, POSES, quat="wxyz")
    cl.write_worlds(motions, scene, moving, quat="wxyz")

    simulated, started = contact.Simulation(lib, [0], 1.0), contact.Simulation(lib, [0], 1.0)
    started.start(AT[None, :1], Q[None, :1], quat="wxyz")

    def with_quat(f: Callable[..., object]) -> Callable[..., object]:
        return lambda **o: f(*pair, **({"quat": "wxyz"} | o))

    def solved(**o: Any) -> object:
        index = np.zeros((1, 1), np.int32)
        return contact.solve(
            np.ones((1, 1)), np.ones((1, 1, 6)), np.zeros((1, 1, 6)), np.zeros(1, np.int32), index, index,
            np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), np.zeros((1, 1, 3, 3)), np.zeros((1, 1)), **o,
        )  # fmt: skip

    def step(r: Any) -> Callable[..., object]:
        return lambda **o: r(POSES, **({"quat": "wxyz"} | o))

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
        "Engine.scene_contacts": lambda **o: eng.scene_contacts(scene, POSES, max_gap=1.0, **({"quat": "wxyz"} | o)),
        "Library.mesh": lambda **o: lib.mesh(mesh, **o),
        "Library.mesh_parts": lambda **o: lib.mesh_parts(mesh, **o),
        "Result.vjp": lambda **o: one.vjp(distance=np.ones(1), **o),
        "Result.jvp": lambda **o: one.jvp(np.zeros((1, 12)), **o),
        "Rollout.__call__": step(plain),
        "SceneRollout.__call__": step(roll),
        "Rollout.vjp": lambda **o: plain.vjp(POSES, distance=1.0, **({"quat": "wxyz"} | o)),
        "audit_file": lambda **o: cl.audit_file("pairs.npz", out, library=lib, engine=eng, **o),
        "audit_rollout_file": lambda **o: cl.audit_rollout_file(worlds, out, scene=scene, engine=eng, **o),
        "audit_sweep_file": lambda **o: cl.audit_sweep_file(motions, out, scene=scene, engine=eng, **o),
        "score_file": lambda **o: cl.score_file("pairs.npz", out, library=lib, engine=eng, **o),
        "score_stream": lambda **o: cl.score_stream(_Stream(), library=lib, engine=eng, **o),
        "rollout_file": lambda **o: cl.rollout_file(worlds, out, scene=scene, engine=eng, **o),
        "sweep_file": lambda **o: cl.sweep_file(motions, out, scene=scene, engine=eng, **o),
        "write_worlds": lambda **o: cl.write_worlds(out, scene, POSES, **({"quat": "wxyz"} | o)),
        "decompose": lambda **o: cl.decompose(mesh, folder / "parts.obj", **o),
        "show": lambda **o: cl.show(one, *pair, **({"quat": "wxyz"} | o)),
        "load": lambda **o: urdf.load(robot, **o),
        "from_model": lambda **o: mujoco.from_model(_Model(), **o),
        "from_urdf": lambda **o: contact.from_urdf(robot, **o),
        "solve": solved,
        "Simulation.__init__": lambda **o: contact.Simulation(lib, [0], 1.0, **o),
        "Simulation.start": lambda **o: simulated.start(AT[None, :1], Q[None, :1], **({"quat": "wxyz"} | o)),
        "Simulation.reset": lambda **o: started.reset([True], AT[None, :1], Q[None, :1], **o),
        "Simulation.set_state": lambda **o: started.set_state(started.state(), **o),
        "Simulation.run": lambda **o: simulated.run(AT[None, :1], Q[None, :1], steps=1, **({"quat": "wxyz"} | o)),
        "score": lambda **o: ray.score([], folder / "ray", library=lib, **o),
        "Rollouts.__init__": lambda **o: ray.Rollouts(scene, worlds=1, actors=1, **o),
        "Rollouts.submit": lambda **o: Shared().submit(POSES, **o),
        "Rollouts.__call__": lambda **o: Shared().submit(POSES, **o),
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
    **dict.fromkeys(("up_axis", "inertia"), TEXTS),
    **dict.fromkeys(("copy", "grad", "culling", "audit", "ground", "accept", "bound", "contacts"), FLAGS),
    **dict.fromkeys(("resume", "skip_adjacent", "strict", "any_kernels"), FLAGS),
    "progress": ("no", "", 0, 1),
}


def test_flags_of_numpy(tmp_path: Path) -> None:
    """True and False of NumPy are such."""
    scene = make_scene()
    with cl.Engine("cpu") as eng:
        roll = eng.rollout(scene, worlds=1, culling=np.True_)  # type: ignore[arg-type]
        assert roll(POSES, quat="wxyz", copy=np.False_).distance[0] == 1.5  # type: ignore[arg-type]
