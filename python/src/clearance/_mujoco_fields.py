"""Every field of an MjModel, and what scenes and simulations do with it.

A field of a later version of MuJoCo that no row names is refused by simulations where it is not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ._arrays import Array
from ._fields import FieldTable, shortened
from ._mujoco_friction import anisotropic
from ._mujoco_model import name_of, package

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
