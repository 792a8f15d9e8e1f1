"""Pictures and films of scenes: bodies at poses or configurations, with the nearest distances that an engine finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ._arrays import Array, host, take_batch
from ._attach import carried
from ._engine import Engine
from ._errors import ArrayError, OptionError
from ._options import order_of, real, to_wxyz, whole
from ._page import View
from ._show import bodies_described, play, show

if TYPE_CHECKING:
    from ._scene import Scene

# Colors of the links of robots in turn, and of what stands about them.
_LINKS: Final = ((0.93, 0.93, 0.95), (0.60, 0.66, 0.74))
_THINGS: Final = ((0.85, 0.70, 0.50), (0.60, 0.74, 0.66), (0.70, 0.62, 0.80), (0.88, 0.80, 0.58), (0.55, 0.70, 0.84))


def view_of(
    scene: Scene, where: Any, axes: int, quat: Any, others: Any, nearest: int, engine: Engine | None, dt: float
) -> View:
    """Worlds [K] of a scene along a time line, ``dt`` seconds apart, as a page: of each the ``nearest`` pairs, of which
    those without an answer come first. ``axes`` is 0 for one world, 1 for several."""
    poses = carried(scene.attachments, np.arange(len(scene.bodies)), poses_of(scene, where, axes, quat, others))
    count, dt = len(poses), real("dt", dt, 0, above=True)
    nearest = whole("nearest", nearest)
    if not nearest or not len(scene.pairs):
        times = dt * np.arange(count)
        steps, shown = np.arange(count, dtype=np.int32), np.zeros(count, np.int32)
        bodies = bodies_described(scene.bodies)
        return play(scene.library, bodies, poses, times, steps, ["shown"], shown, f"{len(bodies)} bodies")
    opened = Engine() if engine is None else engine
    try:
        with opened.rollout(scene, worlds=count) as roll:
            result = roll(poses, quat="wxyz")
    finally:
        if engine is None:
            opened.close()
    distance = np.where(result.ok, np.asarray(result.distance, np.float64), -np.inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, :nearest]
    rows = (order + distance.shape[1] * np.arange(count)[:, None]).ravel()
    return show(result, scene, poses, quat="wxyz", rows=rows, most=len(rows), dt=dt)


def poses_of(scene: Scene, where: Any, axes: int, quat: Any, others: Any) -> Array:
    """Poses [K,M,7], "wxyz", of poses [M,7] or [K,M,7], or of what the ``poses`` of a robot take in their place:
    configurations [n] or [K,n], or MjData."""
    bodies = len(scene.bodies)
    robot: Any = getattr(scene, "poses", None)
    if robot is not None and hasattr(where, "qpos"):
        return np.asarray(robot(where, others=others)).reshape(1, bodies, 7)
    array = host("configuration", where, True)
    if robot is not None and array.ndim == axes + 1:
        by_name = {"qpos": array.reshape(-1, array.shape[-1])} if hasattr(scene, "model") else None
        found = robot(**by_name, others=others) if by_name else robot(array.reshape(-1, array.shape[-1]), others=others)
        return np.asarray(found)
    if others is not None:
        raise OptionError("others: the poses of bodies added to a robot at a configuration, and all poses are given")
    if array.ndim != axes + 2 or array.shape[-2:] != (bodies, 7):
        want = f"[{'K, ' * axes}{bodies}, 7] of all bodies"
        if robot is not None:
            want += f", or configurations {'[K, n]' if axes else '[n]'} of the robot"
        raise ArrayError("poses", f"has the shape {list(array.shape)}, want {want}")
    count = len(array) if axes else 1
    array = array.reshape(count, bodies, 7)
    given: Array = to_wxyz(take_batch("poses", array, np.float64, (bodies, 7), count, True), order_of(quat, where))
    return given.reshape(count, bodies, 7)


def colors_of(scene: Scene, given: Any) -> dict[int, Any]:
    """The colors of the bodies of a scene: links of robots in turn, geoms of MuJoCo models as the model has them."""
    out: dict[int, Any] = {}
    model, things = getattr(scene, "model", None), 0
    links = len(getattr(scene, "body_links", getattr(scene, "body_ids", ())))
    for i in range(len(scene.bodies)):
        of_model: Any = scene
        moves = i < links and (model is None or int(model.body_weldid[of_model.body_ids[i]]) != 0)
        if moves:
            out[i] = _LINKS[i % 2]
        else:
            out[i] = _THINGS[things % len(_THINGS)]
            things += 1
    return {**out, **dict(given or {})}
