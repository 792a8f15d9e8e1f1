"""Certified clearance in the ``info`` of Gymnasium environments whose physics is MuJoCo's.

import gymnasium
from clearance.gymnasium import ClearanceInfo, ClearanceVectorInfo

env = ClearanceInfo(gymnasium.make("Ant-v5"), pairs=[("torso", "world")])
obs, info = env.reset(seed=0)
info["clearance"]["lower"]  # [P], metres: the distance is proved to be at least this

envs = ClearanceVectorInfo(gymnasium.make_vec("Ant-v5", num_envs=64), pairs=[("torso", "world")])
obs, info = envs.reset(seed=0)  # one call answers the pairs of all worlds, [W,P]

The poses are those of ``qpos`` (and of mocap bodies) by MuJoCo's kinematics. ``data.xpos`` is not used: after
``mj_step`` it is of the state before the last step of integration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, Literal

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from ._arrays import Array
from ._engine import Engine
from ._errors import NotFoundError, OptionError
from ._mujoco_model import package
from ._options import real
from ._result import STATUSES, SceneResult
from ._rollout import SceneRollout
from ._scene import pair_of
from .mujoco import MujocoScene, from_model

Named = Iterable[tuple[str | int, str | int]] | Literal["all"] | None

# What the poses and shapes of a model depend on: who changes one of these changes the scene.
_GEOMETRY: Final = (
    "geom_type", "geom_size", "geom_pos", "geom_quat", "geom_bodyid", "geom_dataid", "geom_contype", "geom_conaffinity",
    "body_pos", "body_quat", "body_parentid", "jnt_type", "jnt_pos", "jnt_axis", "qpos0", "mesh_vert",
)  # fmt: skip

_STATE: Final = "mujoco_state"


class _Worlds:
    """W worlds of a MuJoCo model: its scene, the pairs asked about, and a rollout."""

    def __init__(
        self, model: Any, worlds: int, pairs: Named, max_distance: float | None, concave: Literal["raise", "hull"],
        omit: Collection[str], engine: Engine | None,
    ) -> None:  # fmt: skip
        self.scene = from_model(model, concave=concave, omit=omit)
        _choose(self.scene, pairs)
        if not len(self.scene.pairs):
            raise OptionError("pairs: the model collides none; name some, or ask about all of them by pairs='all'")
        farthest = None if max_distance is None else real("max_distance", max_distance, 0)
        self._own = engine is None
        self.engine = Engine("cpu") if engine is None else engine
        self._geometry = geometry(model)
        names = [b.name or str(i) for i, b in enumerate(self.scene.bodies)]
        self.pairs = [(names[i], names[j]) for i, j in self.scene.pairs]
        self._worlds, self._roll = worlds, self._opened(worlds, farthest)
        self._farthest = farthest

    def _opened(self, worlds: int, farthest: float | None) -> SceneRollout:
        return self.engine.rollout(self.scene, worlds=worlds, max_distance=farthest)

    def changed(self, model: Any) -> str | None:
        """The first array of a model that is not the one of the scene."""
        mine = self._geometry
        return next((n for n in _GEOMETRY if not np.array_equal(mine[n], getattr(model, n), equal_nan=True)), None)

    def answer(self, states: Sequence[dict[str, Array]]) -> dict[str, Any]:
        """The columns of the pairs [W,P] at the states of worlds."""
        if len(states) != self._worlds:
            with self._opened(len(states), self._farthest) as roll:
                return self._columns(roll(self._poses(states), quat="wxyz"))
        return self._columns(self._roll(self._poses(states), quat="wxyz"))

    def _poses(self, states: Sequence[dict[str, Array]]) -> Array:
        model = self.scene.model
        qpos = np.stack([s["qpos"] for s in states])
        if not model.nmocap:
            return self.scene.poses(qpos=qpos)
        mujoco = package()
        found, data = [], mujoco.MjData(model)
        for s in states:
            data.qpos[:], data.mocap_pos[:], data.mocap_quat[:] = s["qpos"], s["mocap_pos"], s["mocap_quat"]
            mujoco.mj_kinematics(model, data)
            found.append(np.array(self.scene.poses(data)[0]))
        return np.stack(found)

    def _columns(self, r: SceneResult) -> dict[str, Any]:
        valid = np.asarray(r.ok)
        status = np.array(STATUSES)[np.asarray(r.status)]
        failed = np.full(len(valid), None, object)
        for w in range(len(valid)):
            rows = np.flatnonzero(~valid[w])
            failed[w] = tuple(f"{self.pairs[p][0]} - {self.pairs[p][1]}: {status[w, p]}" for p in rows)
        return {
            "lower": np.asarray(r.lower),
            "upper": np.asarray(r.upper),
            "contact": valid & np.asarray(r.hit),
            "hit": np.asarray(r.hit),
            "valid": valid,
            "failed": failed,
        }

    def close(self) -> None:
        self._roll.close()
        if self._own:
            self.engine.close()


def geometry(model: Any) -> dict[str, Array]:
    """Copies of the arrays of a model that its scene depends on."""
    return {name: np.array(getattr(model, name)) for name in _GEOMETRY}


def _choose(scene: MujocoScene, pairs: Named) -> None:
    """Ask about the pairs that are named."""
    if pairs is None:
        return
    if isinstance(pairs, str):
        if pairs != "all":
            raise OptionError(f'pairs: {pairs!r}, want None, "all", or pairs of names of bodies')
        planes = {
            i for i, b in enumerate(scene.bodies) if any(scene.library[p.shape].kind == "halfspace" for p in b.parts)
        }
        m = len(scene.bodies)
        scene.all_pairs(skip=[(i, j) for i in planes for j in planes if i < j < m])
        return
    chosen: list[tuple[int, int]] = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise OptionError(f"pairs: {pair!r}, want pairs of names of bodies")
        both = [_bodies(scene, name) for name in pair]
        chosen += [(min(i, j), max(i, j)) for i in both[0] for j in both[1]]
    for given in chosen:
        pair_of("pairs", given, len(scene.bodies))  # which refuses a body with itself
    scene.pairs = list(dict.fromkeys(chosen))


def _bodies(scene: MujocoScene, name: str | int) -> list[int]:
    """The bodies of a scene of a MuJoCo body, by its name, or its index in the model."""
    if isinstance(name, str):
        found = [i for i, b in enumerate(scene.bodies) if b.name == name]
        if not found:
            known = ", ".join(dict.fromkeys(b.name for b in scene.bodies))
            raise NotFoundError(f"pairs: no body {name!r} with geoms that collide; the model has {known}")
        return found
    found = [i for i, b in enumerate(scene.body_ids) if b == name]
    if not found:
        raise NotFoundError(f"pairs: no body {name!r} of the model has geoms that collide")
    return found


def _model_of(env: Any) -> tuple[Any, Any]:
    """The MjModel and the MjData of an environment."""
    inner = env.unwrapped
    model, data = getattr(inner, "model", None), getattr(inner, "data", None)
    if not hasattr(model, "geom_size") or not hasattr(data, "qpos"):
        raise OptionError(
            f"env: {inner!r:.80} has no MuJoCo model and data: want attributes model (MjModel) and data (MjData)"
        )
    return model, data


def _state(data: Any) -> dict[str, Array]:
    state = {"qpos": np.array(data.qpos)}
    if len(data.mocap_pos):
        state |= {"mocap_pos": np.array(data.mocap_pos), "mocap_quat": np.array(data.mocap_quat)}
    return state


class MujocoState(gym.Wrapper[Any, Any, Any, Any]):
    """``info["mujoco_state"]``: copies of qpos, and of the poses of mocap bodies, after each reset and step.

    Environments in other processes, as those of ``AsyncVectorEnv``, take it, so that :class:`ClearanceVectorInfo` can
    answer for all of them in one call; and those whose last state of an episode is asked about.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        _model_of(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, info | {_STATE: _state(_model_of(self.env)[1])}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, info | {_STATE: _state(_model_of(self.env)[1])}


class ClearanceInfo(gym.Wrapper[Any, Any, Any, Any]):
    """``info["clearance"]`` of an environment with a MuJoCo model: the pairs of its bodies after each reset and step.

    Its columns are [P], one for each pair, which ``pairs`` names in order:

    - ``lower`` and ``upper``: float64, bounds in metres between which the signed distance is proved to lie; -inf and
      inf where nothing is proved.
    - ``contact``: contact is proved. ``hit``: separation is not proved, which is true in contact and of failed rows.
    - ``valid``: the row has an answer. ``failed``: the others by name, such as "arm - table: undecided".

    ``pairs`` are names of MuJoCo bodies, or their indices, by default those of all bodies that MuJoCo collides;
    "all" asks about all bodies. ``max_distance``, in metres, ends pairs that are proved to be farther apart, of which
    ``lower`` is a bound alone. ``concave`` and ``omit`` are those of :func:`clearance.mujoco.from_model`. An
    environment that changes sizes or places of its model, as randomization does, has a new scene at the next answer.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        pairs: Named = None,
        max_distance: float | None = None,
        concave: Literal["raise", "hull"] = "raise",
        omit: Collection[str] = (),
        engine: Engine | None = None,
    ) -> None:
        super().__init__(env)
        self._options = (1, pairs, max_distance, concave, omit)
        self._given = engine
        self._worlds = _Worlds(_model_of(env)[0], *self._options, engine)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of both bodies of each row."""
        return self._worlds.pairs

    def clearance(self) -> dict[str, Any]:
        """The columns at the state at which the environment is."""
        model, data = _model_of(self.env)
        if self._worlds.changed(model) is not None:
            self._worlds.close()
            self._worlds = _Worlds(model, *self._options, self._given)
        columns = self._worlds.answer([_state(data)])
        return {name: column[0] for name, column in columns.items()}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, info | {"clearance": self.clearance()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, info | {"clearance": self.clearance()}

    def close(self) -> None:
        self._worlds.close()
        super().close()


class ClearanceVectorInfo(VectorWrapper[Any, Any, Any, Any, Any]):
    """``info["clearance"]`` of a vector of environments of one MuJoCo model: the columns of :class:`ClearanceInfo` as
    [W,P], ``failed`` as an object array [W], by one call of an engine for all worlds.

    The states are read from the environments of a ``SyncVectorEnv``. Those of an ``AsyncVectorEnv``, which are in other
    processes, and of any other vector, come from :class:`MujocoState` around each environment; ``model`` is then an
    MjModel like theirs. The answers are of the states that the observations are of. Where an environment is reset in
    the step that ends its episode, ``info["final_info"]["clearance"]`` is of the last state, with
    :class:`MujocoState`; its rows are [W,P], and ``_clearance`` says in which worlds they are; others have no bounds.

    All environments of the vector have the geometry of one model; one that is changed raises
    :class:`OptionError` with its number.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        *,
        model: Any = None,
        pairs: Named = None,
        max_distance: float | None = None,
        concave: Literal["raise", "hull"] = "raise",
        omit: Collection[str] = (),
        engine: Engine | None = None,
    ) -> None:
        super().__init__(env)
        self._envs = list(getattr(env.unwrapped, "envs", ()))
        if model is None:
            if not self._envs:
                raise OptionError(
                    "model: the environments are in other processes; want an MjModel like theirs, and "
                    "clearance.gymnasium.MujocoState around each"
                )
            model = _model_of(self._envs[0])[0]
        self._worlds = _Worlds(model, env.num_envs, pairs, max_distance, concave, omit, engine)
        self._states: list[dict[str, Array] | None] = [None] * env.num_envs
        self._check_models()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of both bodies of each row."""
        return self._worlds.pairs

    def _check_models(self) -> None:
        for i, e in enumerate(self._envs):
            name = self._worlds.changed(_model_of(e)[0])
            if name is not None:
                raise OptionError(
                    f"env: the model of environment {i} has another {name}; ClearanceInfo around each environment "
                    "answers for models that differ"
                )

    def _given_states(self, infos: dict[str, Any]) -> None:
        """Take the states that infos have."""
        known = infos.get(_STATE)
        if known is None:
            return
        for i in np.flatnonzero(infos[f"_{_STATE}"]):
            self._states[i] = {k: np.asarray(known[k][i]) for k in ("qpos", "mocap_pos", "mocap_quat") if k in known}

    def _with_clearance(self, infos: dict[str, Any]) -> dict[str, Any]:
        if self._envs:
            self._check_models()
            states = [_state(_model_of(e)[1]) for e in self._envs]
        else:
            self._given_states(infos)
            states = [s for s in self._states if s is not None]
            if len(states) != len(self._states):
                missing = next(i for i, s in enumerate(self._states) if s is None)
                raise OptionError(
                    f"env: info has no {_STATE!r} of environment {missing}; want clearance.gymnasium.MujocoState "
                    "around each environment"
                )
        final = infos.get("final_info")
        if isinstance(final, dict) and _STATE in final:
            infos = infos | {"final_info": final | self._final(final)}
        return infos | {"clearance": self._worlds.answer(states)}

    def _final(self, final: dict[str, Any]) -> dict[str, Any]:
        """The columns of the last states of the episodes that ended."""
        ended, state = np.asarray(final[f"_{_STATE}"], bool), final[_STATE]
        keys = [k for k in ("qpos", "mocap_pos", "mocap_quat") if k in state]
        found = self._worlds.answer([{k: np.asarray(state[k][i]) for k in keys} for i in np.flatnonzero(ended)])
        nothing = {"lower": -np.inf, "upper": np.inf, "contact": False, "hit": True, "valid": False, "failed": None}
        columns = {}
        for name, column in found.items():
            columns[name] = np.full((len(ended), *column.shape[1:]), nothing[name], column.dtype)
            columns[name][ended] = column
        return {"clearance": columns, "_clearance": ended}

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        env: Any = self.env  # vectors take lists of seeds, too
        obs, infos = env.reset(seed=seed, options=options)
        return obs, self._with_clearance(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        return obs, reward, terminated, truncated, self._with_clearance(infos)

    def close(self, **kwargs: Any) -> None:
        self._worlds.close()
        super().close(**kwargs)


__all__ = ["ClearanceInfo", "ClearanceVectorInfo", "MujocoState"]
