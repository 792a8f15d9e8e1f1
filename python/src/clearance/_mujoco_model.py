"""Compiled MuJoCo models: bodies, geoms and their pairs, friction of contacts, and the table of every field.

A field of a later version of MuJoCo that no row of the table names is refused by simulations where it is not 0.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ._arrays import Array
from ._bodies import Surface
from ._errors import FileError, OptionError
from ._free_bodies import pair_surfaces
from ._kinematics import unit
from ._xml import FieldTable, shortened

# mjtGeom
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF = range(9)

# mjtSameFrame
_BODY, _INERTIA, _BODY_AXES, _INERTIA_AXES = range(1, 5)

_IDENTITY: Final = (1.0, 0.0, 0.0, 0.0)


def package() -> Any:
    """The package mujoco."""
    try:
        return importlib.import_module("mujoco")
    except ImportError as e:
        raise ImportError("MuJoCo models are compiled by mujoco: pip install mujoco") from e


def compiled(model: Any) -> Any:
    """The MjModel of an MjModel, an MjSpec, or a file: MJCF, URDF or, by the ending ``.mjb``, a compiled model."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        load = package().MjModel
        load = load.from_binary_path if path.lower().endswith(".mjb") else load.from_xml_path
        return _without_error(path, lambda: load(path))
    if hasattr(model, "compile"):
        return _without_error(f"MjSpec {getattr(model, 'modelname', '')!r}", model.compile)
    if not hasattr(model, "nq"):
        raise OptionError(f"model: {model!r:.60}, want an MjModel, an MjSpec or the path of a file")
    return model


def _without_error(what: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ValueError as e:  # that of MuJoCo names the line and the element
        raise FileError(f"{what}: {' '.join(str(e).split())}") from e


def name_of(model: Any, what: str, index: int) -> str:
    """The name of an object of the model, or what and its index."""
    at = int(getattr(model, f"name_{what}adr")[index])
    names = bytes(model.names)
    return names[at : names.index(b"\0", at)].decode() or f"{what} {index}"


def _same_frame(code: int, pose: tuple[Array, Array], inertia: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """A pose in the frame of a body as mj_local2Global has it. By its code, mjtSameFrame, a frame that the compiler
    found to be that of the body, or of its inertia, takes the position or the axes of these, however far the numbers of
    the model are from them (up to 1e-6)."""
    position, rotation = pose
    if code == _BODY:
        return np.zeros(3), np.array(_IDENTITY)
    if code == _BODY_AXES:
        return position, np.array(_IDENTITY)
    if inertia is not None and code == _INERTIA:
        return inertia
    if inertia is not None and code == _INERTIA_AXES:
        return position, inertia[1]
    return position, rotation


def inertia_pose(model: Any, body: int) -> tuple[Array, Array]:
    """The pose of the inertial frame of a body in the frame of the body."""
    given = np.array(model.body_ipos[body]), np.array(model.body_iquat[body])
    return _same_frame(int(model.body_sameframe[body]), given, None)


def geom_pose(model: Any, geom: int) -> tuple[Array, Array]:
    """The pose of a geom in the frame of its body, where mj_kinematics has it."""
    given = np.array(model.geom_pos[geom]), np.array(model.geom_quat[geom])
    return _same_frame(int(model.geom_sameframe[geom]), given, inertia_pose(model, int(model.geom_bodyid[geom])))


def body_pose(model: Any, body: int) -> tuple[Array, Array]:
    """The pose of a body in the frame of its parent."""
    return np.array(model.body_pos[body]), unit(model.body_quat[body])


class Filter:
    """Which pairs of groups of geoms MuJoCo collides: contype and conaffinity, the bodies, what is excluded, and the
    flags that disable all of it."""

    def __init__(self, model: Any) -> None:
        # The bits are not those of every version of MuJoCo.
        disabled, bits = int(model.opt.disableflags), package().mjtDisableBit
        self.off = bool(disabled & (int(bits.mjDSBL_CONTACT) | int(bits.mjDSBL_CONSTRAINT)))
        self.weld = np.array(model.body_weldid, np.int64)
        self.above = self.weld[np.array(model.body_parentid, np.int64)[self.weld]]
        # The world, what is welded to it, and mocap bodies with what is welded to these. MuJoCo 3.16 and before have
        # them all as one weld; since then a mocap body begins one of its own.
        self.fixed = np.array(model.body_dofnum)[self.weld] == 0
        self.parents = not disabled & int(bits.mjDSBL_FILTERPARENT)
        self.excluded: dict[int, list[int]] = {}
        for signature in model.exclude_signature:
            a, b = divmod(int(signature), 1 << 16)
            self.excluded.setdefault(a, []).append(b)
            self.excluded.setdefault(b, []).append(a)

    def collides(self, body: Any, bodies: Array) -> Array:
        """Whether a body collides with each of others, whatever their geoms: filterBodyPair and exclude."""
        if self.off:
            return np.zeros(len(bodies), bool)
        weld, welds = self.weld[body], self.weld[bodies]
        kept = (welds != weld) & ~(self.fixed[body] & self.fixed[bodies])
        if self.parents and weld:
            kept &= (welds == 0) | ((self.above[welds] != weld) & (welds != self.above[weld]))
        kept &= ~np.isin(bodies, self.excluded.get(int(body), []))
        found: Array = kept
        return found


class Frictions:
    """The sliding friction of pairs of geoms: mj_contactParam, and 0 for contacts of condim 1, which have none."""

    def __init__(self, model: Any) -> None:
        self.priority, self.condim = np.array(model.geom_priority), np.array(model.geom_condim)
        self.sliding = np.array(model.geom_friction)[:, 0]
        self.explicit = [
            (int(model.pair_geom1[i]), int(model.pair_geom2[i]), float(model.pair_friction[i, 0] * (dim > 1)))
            for i, dim in enumerate(model.pair_dim)
        ]

    def of(self, a: Sequence[int], b: Sequence[int]) -> Array:
        """The friction [A,B] of the contacts of geoms a with geoms b."""
        i, j = np.array(a)[:, None], np.array(b)[None, :]
        first, second = self.priority[i] > self.priority[j], self.priority[i] < self.priority[j]
        larger = np.maximum(self.sliding[i], self.sliding[j])
        value = np.where(first, self.sliding[i], np.where(second, self.sliding[j], larger))
        most = np.maximum(self.condim[i], self.condim[j])
        condim = np.where(first, self.condim[i], np.where(second, self.condim[j], most))
        found: Array = np.where(condim == 1, 0.0, value)
        rows, columns = {g: k for k, g in enumerate(a)}, {g: k for k, g in enumerate(b)}
        for g, h, stated in self.explicit:
            for k, m in ((rows.get(g), columns.get(h)), (rows.get(h), columns.get(g))):
                if k is not None and m is not None:
                    found[k, m] = stated
        return found


def surfaces(model: Any, geoms: list[list[int]], skip: Sequence[tuple[int, int]]) -> tuple[Array, list[Surface]]:
    """A coefficient [M] of each body, given its geoms, which are its parts: the most frequent one. And the surfaces of
    the pairs that are not skipped whose friction is not the larger one of these."""
    frictions, skipped = Frictions(model), {frozenset(p) for p in skip}
    own = np.zeros(len(geoms))
    for i, parts in enumerate(geoms):
        values, counts = np.unique(frictions.sliding[parts], return_counts=True)
        own[i] = values[np.argmax(counts)]
    listed = pair_surfaces(
        len(geoms), lambda i, j: frictions.of(geoms[i], geoms[j]), lambda i, j: max(own[i], own[j]), skipped
    )
    return own, listed


def anisotropic(model: Any) -> list[str]:
    """The explicit pairs whose sliding friction is not the same along both tangents."""
    unequal = [i for i in range(model.npair) if model.pair_friction[i, 0] != model.pair_friction[i, 1]]
    return [name_of(model, "pair", i) for i in unequal]


# What becomes of a field: used, "-" (a scene has no motion of its own), "of other fields" (by the compiler of MuJoCo),
# moves nothing, MuJoCo's own solver, or in backquotes the keys of ``omit`` by which simulations leave out what they
# otherwise refuse.
_TABLE: Final = FieldTable(
    ("fields", "`from_model`", "`from_mujoco`"),
    """
- | used | opt.timestep opt.gravity
used | used | opt.disableflags
- | `override`, `sleep` | opt.enableflags
- | `fluid` | opt.density opt.viscosity opt.wind geom_fluid
- | `override` | opt.o_margin opt.o_solref opt.o_solimp opt.o_friction
- | `actuator` | opt.disableactuator
- | moves nothing | opt.magnetic
- | MuJoCo's own solver | opt.impratio opt.tolerance opt.ls_tolerance opt.noslip_tolerance opt.ccd_tolerance
  opt.integrator opt.cone opt.jacobian opt.solver opt.iterations opt.ls_iterations opt.noslip_iterations
  opt.ccd_iterations opt.sdf_initpoints opt.sdf_iterations opt.sleep_tolerance
used | used | qpos0
used | used | body_parentid body_weldid body_mocapid body_jntnum body_jntadr body_dofnum body_sameframe body_pos
  body_quat body_ipos body_iquat
- | used | body_mass body_inertia
- | `gravcomp` | body_gravcomp
- | `plugin` | body_plugin
- | of other fields | body_rootid body_dofadr body_treeid body_geomnum body_geomadr body_simple body_subtreemass
  body_invweight0 body_margin body_contype body_conaffinity body_bvhadr body_bvhnum
used | used | jnt_type jnt_qposadr jnt_bodyid
used | of other joints | jnt_pos jnt_axis jnt_limited jnt_range
- | of other joints | jnt_solref jnt_solimp jnt_margin jnt_actfrclimited jnt_actfrcrange jnt_actgravcomp
- | `stiffness` | jnt_stiffness jnt_stiffnesspoly jnt_springyield qpos_spring
- | of other fields | jnt_dofadr jnt_actuatorid jnt_plasticadr
- | `frictionloss` | dof_frictionloss dof_solref dof_solimp
- | `armature` | dof_armature
- | `damping` | dof_damping dof_dampingpoly
- | used | dof_jntid
- | of other fields | dof_bodyid dof_parentid dof_treeid dof_Madr dof_simplenum dof_invweight0 dof_M0 dof_length
- | `sleep` | tree_sleep_policy
- | of other fields | tree_bodyadr tree_bodynum tree_dofadr tree_dofnum
used | used | geom_type geom_contype geom_conaffinity geom_bodyid geom_dataid geom_sameframe geom_size geom_pos
  geom_quat
`margin="add"` | `margin` | geom_margin
- | used | geom_friction geom_priority
- | used, above 3 `condim` | geom_condim
- | `gap` | geom_gap pair_gap
- | `solref` | geom_solref pair_solref pair_solreffriction
- | `solimp` | geom_solimp pair_solimp
- | `solref`, `solimp` | geom_solmix
- | `surfacevel` | geom_surfacevel
- | `adhesion` | geom_adhesion pair_adhesion
the name of the geom | the name of the geom | geom_plugin
- | of other fields | geom_aabb geom_rbound
used | used | pair_geom1 pair_geom2
- | used, if unequal `anisotropy` | pair_friction
- | used, above 3 `condim` | pair_dim
- | `margin` | pair_margin
- | of other fields | pair_signature
used | used | exclude_signature
used | used | mesh_vert mesh_vertadr mesh_vertnum mesh_face mesh_faceadr mesh_facenum mesh_graph mesh_graphadr
the name of the geom | the name of the geom | hfield_*
the name of the flex | the name of the flex | flex_contype flex_conaffinity flex_selfcollide
- | the name of the flex | flex_* flexedge_* flexvert_* flexelem_* efm0_* efmC_*
- | `equality` | eq_*
- | `tendon` | tendon_* ten_* wrap_*
- | `actuator` | actuator_*
- | `plugin` | plugin plugin_*
- | of other fields | mesh_* bvh_* oct_* B_* M_* D_* mapM2M mapM2D mapD2M
- | moves nothing | body_user jnt_user jnt_group geom_user geom_group geom_matid geom_rgba geom_castshadow site_*
  cam_* light_* skin_* tex_* mat_* sensor_* numeric_* text_* tuple_* key_* name_* names_map
""",
)
ROWS: Final = _TABLE.rows
row_of = _TABLE.row_of


def fields(model: Any) -> Iterator[tuple[str, Array]]:
    """The arrays and options of a model by name: all but sizes, what views show, statistics and names."""
    for name in dir(model):
        value = None if name.startswith("_") else getattr(model, name)
        if isinstance(value, np.ndarray):
            yield name, value
    for name in dir(model.opt):
        value = None if name.startswith("_") else getattr(model.opt, name)
        if isinstance(value, (int, float, np.ndarray)):
            yield f"opt.{name}", np.asarray(value)


def table() -> str:
    """The rows as Markdown."""
    return _TABLE.markdown()


def keys() -> str:
    """The keys of ``omit`` as Markdown."""
    return "".join(f"| `{key}` | {feature.about} |\n" for key, feature in FEATURES.items())


def _rows(model: Any, field: str, what: str, owners: Any = None, default: Any = 0) -> list[str]:
    """The names of the objects whose row of a field is not the default; none if this version lacks the field."""
    values = np.asarray(getattr(model, field, np.zeros(0)))
    if not values.size:
        return []
    found = np.flatnonzero((values.reshape(len(values), -1) != default).any(axis=1))
    return list(dict.fromkeys(name_of(model, what, int(i if owners is None else owners[i])) for i in found))


@dataclass(frozen=True)
class Feature:
    """Something of a model that simulations of free bodies lack: what it is, and by what of a model it is there."""

    about: str
    find: Callable[[Any, Collection[int]], list[str]]


def _joints(*names: str) -> Callable[[Any, Collection[int]], list[str]]:
    return lambda m, _: [n for field in names for n in _rows(m, field, "jnt")]


def _dofs(*names: str) -> Callable[[Any, Collection[int]], list[str]]:
    return lambda m, _: [n for field in names for n in _rows(m, field, "jnt", m.dof_jntid)]


def _contacts(*names: str, default: Any = 0) -> Callable[[Any, Collection[int]], list[str]]:
    """Fields of the geoms that collide, which the second argument names, and of explicit pairs."""

    def find(model: Any, geoms: Collection[int]) -> list[str]:
        found = []
        for field in names:
            what = field.split("_")[0]
            kept = geoms if what == "geom" else range(model.npair)
            listed = set(_rows(model, field, what, None, default))
            found += [name for i in kept if (name := name_of(model, what, i)) in listed]
        return found

    return find


def _unless(flag: str, find: Callable[[Any, Collection[int]], list[str]]) -> Callable[..., list[str]]:
    """What is there unless a flag of the model disables it."""

    def found(model: Any, geoms: Collection[int]) -> list[str]:
        return [] if disabled(model, flag) else find(model, geoms)

    return found


def disabled(model: Any, *flags: str) -> bool:
    bits = package().mjtDisableBit
    return any(int(model.opt.disableflags) & int(getattr(bits, f"mjDSBL_{flag}")) for flag in flags)


def _enabled(flag: str, what: str) -> Callable[[Any, Collection[int]], list[str]]:
    def find(model: Any, _: Collection[int]) -> list[str]:
        bit = getattr(package().mjtEnableBit, f"mjENBL_{flag}", 0)  # not of every version
        return [what] if int(model.opt.enableflags) & int(bit) else []

    return find


def _fluid(model: Any, _: Collection[int]) -> list[str]:
    return [name for name in ("density", "viscosity") if getattr(model.opt, name)]


def _equalities(model: Any, _: Collection[int]) -> list[str]:
    """Those that are active at the start."""
    if disabled(model, "CONSTRAINT", "EQUALITY"):
        return []
    return [name_of(model, "eq", i) for i in range(model.neq) if model.eq_active0[i]]


def _actuators(model: Any, _: Collection[int]) -> list[str]:
    if disabled(model, "ACTUATION"):
        return []
    return [name_of(model, "actuator", i) for i in range(len(model.actuator_trntype))]


def _condim(model: Any, geoms: Collection[int]) -> list[str]:
    """Contacts with torsional or rolling friction."""
    found = [name_of(model, "geom", g) for g in geoms if model.geom_condim[g] > 3]
    return found + [name_of(model, "pair", i) for i in range(model.npair) if model.pair_dim[i] > 3]


def _gravcomp(model: Any, _: Collection[int]) -> list[str]:
    moves = np.asarray(model.body_dofnum)[model.body_weldid] > 0
    return [name_of(model, "body", b) for b in range(model.nbody) if moves[b] and model.body_gravcomp[b]]


def _plugins(model: Any, _: Collection[int]) -> list[str]:
    return _rows(model, "body_plugin", "body", default=-1)


# The defaults of MuJoCo, in place of which contacts here are rigid: mjs_defaultGeom.
_SOLREF: Final = (0.02, 1.0)
_SOLIMP: Final = (0.9, 0.95, 0.001, 0.5, 2.0)


def _solref(model: Any, geoms: Collection[int]) -> list[str]:
    found = _contacts("geom_solref", "pair_solref", default=_SOLREF)(model, geoms)
    return found + _contacts("pair_solreffriction")(model, geoms)


FEATURES: Final[Mapping[str, Feature]] = {
    "equality": Feature("constraints", _equalities),
    "tendon": Feature("tendons", lambda m, _: [name_of(m, "tendon", i) for i in range(m.ntendon)]),
    "actuator": Feature("actuators", _actuators),
    "gravcomp": Feature("a compensation of gravity", _unless("GRAVITY", _gravcomp)),
    "stiffness": Feature(
        "springs of joints", _unless("SPRING", _joints("jnt_stiffness", "jnt_stiffnesspoly", "jnt_springyield"))
    ),
    "damping": Feature("damping of joints", _unless("DAMPER", _dofs("dof_damping", "dof_dampingpoly"))),
    "frictionloss": Feature(
        "friction of joints", _unless("CONSTRAINT", _unless("FRICTIONLOSS", _dofs("dof_frictionloss")))
    ),
    "armature": Feature("armature of joints", _dofs("dof_armature")),
    "fluid": Feature("a medium", _fluid),
    "margin": Feature("margins of contacts", _contacts("geom_margin", "pair_margin")),
    "gap": Feature("gaps of contacts", _contacts("geom_gap", "pair_gap")),
    "condim": Feature("torsional friction (condim above 3)", _condim),
    "anisotropy": Feature("a friction for each tangent", lambda m, _: anisotropic(m)),
    "solref": Feature("soft contacts", _solref),
    "solimp": Feature("the impedance of contacts", _contacts("geom_solimp", "pair_solimp", default=_SOLIMP)),
    "surfacevel": Feature("moving surfaces", _contacts("geom_surfacevel")),
    "adhesion": Feature("adhesion", _contacts("geom_adhesion", "pair_adhesion")),
    "plugin": Feature("plugins", _plugins),
    "override": Feature("parameters of all contacts", _enabled("OVERRIDE", "flag override")),
    "sleep": Feature("bodies that sleep", _enabled("SLEEP", "flag sleep")),
}

# Flags of MuJoCo's own solver and of what free bodies lack, and flags that are read.
_SOLVER_FLAGS: Final = frozenset(
    {"CLAMPCTRL", "WARMSTART", "REFSAFE", "SENSOR", "MIDPHASE", "EULERDAMP", "AUTORESET", "NATIVECCD", "ISLAND"}
    | {"MULTICCD", "LIMIT", "ENERGY", "FWDINV", "INVDISCRETE", "DIAGEXACT", "IPC", "SPECULATIVE"}
)
_READ_FLAGS: Final = frozenset(
    {"CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "CONTACT", "SPRING", "DAMPER", "GRAVITY", "FILTERPARENT", "ACTUATION"}
    | {"OVERRIDE", "SLEEP"}
)


def unknown_flags(model: Any) -> list[str]:
    """The flags that a model sets and that are of a later version of MuJoCo."""
    mujoco, found = package(), []
    for bits, kind, value in (
        (mujoco.mjtDisableBit, "mjDSBL_", int(model.opt.disableflags)),
        (mujoco.mjtEnableBit, "mjENBL_", int(model.opt.enableflags)),
    ):
        names = {int(bit): name.removeprefix(kind) for name, bit in bits.__members__.items() if name.startswith(kind)}
        for at in range(value.bit_length()):
            name = names.get(1 << at, f"{kind}{1 << at}")
            if value >> at & 1 and name not in _SOLVER_FLAGS | _READ_FLAGS:
                found.append(f"flag {name.lower()}")
    return found


def unknown_fields(model: Any) -> list[str]:
    """The fields that are not 0 and that no row names: those of a later version of MuJoCo."""
    return [name for name, value in fields(model) if row_of(name) is None and np.any(value)]


def refused(model: Any, geoms: Collection[int], omit: Collection[str]) -> dict[str, str]:
    """What simulations lack of a model, but for what is left out: keys of ``omit`` and what they stand for."""
    found = {}
    for key, feature in FEATURES.items():
        names = list(dict.fromkeys(feature.find(model, geoms)))
        if names and key not in omit:
            found[key] = f"{feature.about}: {shortened([repr(n) for n in names])}"
    for name in (*unknown_fields(model), *unknown_flags(model)):
        if name not in omit:
            found[name] = f"{name}, which this version of the package does not know"
    return found
