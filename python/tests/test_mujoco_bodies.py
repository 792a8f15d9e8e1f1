"""Free bodies of MuJoCo models: every field of a model is used, refused by name, or left out as asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl
from clearance import _mujoco_model as table
from clearance import contact
from clearance._xml import INERT

mujoco: Any = pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco to run these tests")

MODEL = """
<mujoco>
  <worldbody>
    <geom name="floor" type="box" size="5 5 .1" pos="0 0 -.1"/>
    <body name="crate" pos="0 0 .1"><joint name="loose" type="free"/><site name="corner" pos=".1 .1 .1"/>
      <geom name="box" type="box" size=".1 .1 .1" mass="2"/></body>
    <body name="ball" pos="1 .2 .6"><joint name="fall" type="free"/><site name="top" pos="0 0 .1"/>
      <geom name="round" size=".1" mass="1"/></body>
  </worldbody>
  REST
</mujoco>
"""

REST = {
    "equality": '<equality><weld name="glue" body1="crate" body2="ball"/></equality>',
    "tendon": '<tendon><spatial name="rope"><site site="corner"/><site site="top"/></spatial></tendon>',
    "actuator": '<actuator><general name="engine" site="corner" gear="0 0 1 0 0 0"/></actuator>',
    "anisotropy": '<contact><pair name="slide" geom1="box" geom2="floor" friction="1 .5"/></contact>',
}


def model_of(rest: str = "", text: str = MODEL) -> Any:
    return mujoco.MjModel.from_xml_string(text.replace("REST", rest))


def setting(field: str, row: int, value: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        getattr(model, field)[row] = value

    return change


def enabling(flag: str) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        model.opt.enableflags |= int(getattr(mujoco.mjtEnableBit, flag))

    return change


def medium(model: Any) -> None:
    model.opt.density = 1.2


# What has the feature of each key, and the name that the message has. Rows: body 1 is the crate, geom 1 its box.
CHANGES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "equality": ("glue", lambda m: None),
    "tendon": ("rope", lambda m: None),
    "actuator": ("engine", lambda m: None),
    "anisotropy": ("slide", lambda m: None),
    "gravcomp": ("crate", setting("body_gravcomp", 1, 0.5)),
    "stiffness": ("loose", setting("jnt_stiffness", 0, 3)),
    "damping": ("fall", setting("dof_damping", 9, 0.1)),
    "frictionloss": ("loose", setting("dof_frictionloss", 2, 0.1)),
    "armature": ("loose", setting("dof_armature", 0, 0.1)),
    "fluid": ("density", medium),
    "margin": ("box", setting("geom_margin", 1, 0.01)),
    "gap": ("box", setting("geom_gap", 1, 0.01)),
    "condim": ("box", setting("geom_condim", 1, 6)),
    "solref": ("box", setting("geom_solref", 1, (-1000, -1))),
    "solimp": ("round", setting("geom_solimp", 2, (0.5, 0.6, 0.001, 0.5, 2))),
    "surfacevel": ("box", setting("geom_surfacevel", 1, (1, 0, 0, 0, 0, 0))),
    "adhesion": ("box", setting("geom_adhesion", 1, 5)),
    "plugin": ("crate", setting("body_plugin", 1, 0)),
    "override": ("flag override", enabling("mjENBL_OVERRIDE")),
    "sleep": ("flag sleep", enabling("mjENBL_SLEEP")),
}

LATER = {"surfacevel", "adhesion", "sleep"}  # not of every version


def test_every_key_is_tried() -> None:
    assert set(CHANGES) == set(table.FEATURES)


@pytest.mark.parametrize("key", CHANGES)
def test_what_simulations_lack_is_refused_by_name(key: str) -> None:
    name, change = CHANGES[key]
    model = model_of(REST.get(key, ""))
    try:
        change(model)
    except AttributeError:
        assert key in LATER  # this version has no such field
        return
    with pytest.raises(cl.OptionError, match=rf"{name}.*omit=\('{key}',\)"):
        contact.from_mujoco(model, friction=1)
    bodies = contact.from_mujoco(model, friction=1, omit=(key,))
    assert bodies.omitted == [key] and len(bodies.bodies) == 3


def test_names_to_leave_out() -> None:
    """Of geoms, also where a body has the name; of bodies without geoms that collide. Others are refused."""
    hfield = '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 1 0"/></asset>'
    terrain = '<worldbody><body name="terrain" mocap="true"><geom name="terrain" type="hfield" hfield="h"/></body>'
    model = model_of(hfield + terrain + '<body name="empty"><freejoint/><inertial pos="0 0 0" mass="1" '
                     'diaginertia="1 1 1"/></body></worldbody>')  # fmt: skip
    with pytest.raises(cl.ShapeError, match=r"omit=\('terrain',\) leaves it out"):
        contact.from_mujoco(model)
    with pytest.raises(cl.OptionError, match="body 'empty', which no geom lets collide"):
        contact.from_mujoco(model, omit=("terrain",))
    bodies = contact.from_mujoco(model, omit=("terrain", "empty"))
    assert [b.name for b in bodies.bodies] == ["world", "crate", "ball"] and bodies.omitted == ["terrain", "empty"]
    with pytest.raises(cl.OptionError, match="omit: body 'crate' has geoms that collide"):
        contact.from_mujoco(model_of(), omit=("crate",))
    left = contact.from_mujoco(model_of(), omit=("box", "crate"))
    assert [b.name for b in left.bodies] == ["world", "ball"]


def test_several_at_once() -> None:
    """One message names all that is to be left out, as it is to be written."""
    model = model_of()
    for key in ("damping", "margin", "fluid"):
        CHANGES[key][1](model)
    with pytest.raises(cl.OptionError) as e:
        contact.from_mujoco(model, omit=("margin",))
    asked = re.search(r"omit=(\(.*\)) leaves it out", str(e.value))
    assert asked is not None
    omit = tuple(re.findall(r"'(\w+)'", asked[1]))
    assert set(omit) == {"damping", "margin", "fluid"}
    assert contact.from_mujoco(model, omit=omit).omitted == list(omit)
    with pytest.raises(cl.OptionError, match=r"omit: 'dampling' is no geom, flex or body .*, nor a key: .*damping"):
        contact.from_mujoco(model, omit=("dampling", *omit))


def headers() -> str:
    """The headers of MuJoCo that have the fields of an MjModel, which its package comes with."""
    folder = Path(mujoco.__file__).parent / "include/mujoco"
    return "".join((folder / name).read_text() for name in ("mjmodel.h", "mjxmacro.h"))


def test_every_field_has_a_row() -> None:
    """All arrays of an MjModel and all options stand in the table, as the headers of this version name them, too."""
    text = headers()
    model = re.search(r"struct mjModel_ \{(.*?)\n\}", text, re.DOTALL)
    option = re.search(r"struct mjOption_ \{(.*?)\n\}", text, re.DOTALL)
    assert model is not None and option is not None
    listed = set(re.findall(r"^  \w+\* +(\w+);", model[1], re.MULTILINE)) - {"buffer", "names", "paths"}
    listed |= {f"opt.{name}" for name in re.findall(r"^  \w+ (\w+)(?:\[\w+\])?;", option[1], re.MULTILINE)}
    seen = {name for name, _ in table.fields(model_of())}
    assert len(listed) > 400 and not {n for n in listed - seen if n not in ("text_data", "plugin_attr", "tex_data")}
    assert not [name for name in sorted(listed | seen) if table.row_of(name) is None]
    # No name in two rows, and no name that no version has had, but those of other versions.
    names = [p for row in table.ROWS for p in row.patterns]
    assert len(names) == len(set(names))


def steps(model: Any) -> bytes:
    data = mujoco.MjData(model)
    data.qvel[:] = 0.3
    for _ in range(40):
        mujoco.mj_step(model, data)
    return bytes(data.qpos.tobytes() + data.qvel.tobytes())


def test_fields_that_move_nothing() -> None:
    """A field that the table says moves nothing changes no bit of a motion in MuJoCo, whatever it is."""
    want, tried = steps(model_of()), 0
    for name, value in table.fields(model_of()):
        row = table.row_of(name)
        if row is None or row.bodies != INERT or not value.size or name.endswith(("adr", "bodyid", "map")):
            continue
        model = model_of()
        owner, field = (model.opt, name[4:]) if name.startswith("opt.") else (model, name)
        array = getattr(owner, field)
        array[...] = ~array if array.dtype == bool else array + 1
        assert steps(model) == want, name
        tried += 1
    assert tried >= 8
    heavier = model_of()
    heavier.body_mass[1] *= 2
    assert steps(heavier) != want


def test_fields_of_later_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field or a flag that the table lacks is refused by name where it is not 0."""
    model, row_of = model_of(), table.row_of
    monkeypatch.setattr(table, "row_of", lambda name: None if name in ("geom_rbound", "geom_gap") else row_of(name))
    with pytest.raises(cl.OptionError, match=r"geom_rbound, which this version.*omit=\('geom_rbound',\)"):
        contact.from_mujoco(model)
    assert contact.from_mujoco(model, omit=("geom_rbound",)).omitted == ["geom_rbound"]
    monkeypatch.undo()
    model.opt.enableflags |= 1 << 25
    with pytest.raises(cl.OptionError, match=rf"flag mjenbl_{1 << 25}, which"):
        contact.from_mujoco(model)


def test_flags_of_models() -> None:
    """Flags that disable gravity and contacts do so; one that disables a feature makes it no reason to refuse."""
    bits = mujoco.mjtDisableBit
    model = model_of(REST["equality"])
    model.opt.disableflags |= int(bits.mjDSBL_GRAVITY) | int(bits.mjDSBL_EQUALITY)
    assert contact.from_mujoco(model).options["gravity"] == (0, 0, 0)
    model = model_of()
    model.opt.disableflags |= int(bits.mjDSBL_CONTACT) | int(bits.mjDSBL_DAMPER)
    CHANGES["damping"][1](model)
    bodies = contact.from_mujoco(model)
    r = contact.Simulation.of(bodies).run(bodies.position[None], bodies.rotation[None], quat="wxyz", steps=50)
    r.raise_if_failed()
    fallen = 9.81 * model.opt.timestep * 50
    np.testing.assert_allclose(r.velocity[-1, 0, 1:, 2], -fallen, rtol=1e-9)  # the crate falls through the floor


MOCAP = """
<mujoco><worldbody><geom name="floor" type="box" size="1 1 .1"/>
<body name="hand" mocap="true" pos="0 0 1" quat="1 1 0 0"><geom name="palm" type="box" size=".3 .05 .3"/>
  <body name="finger" pos=".3 0 0"><geom name="tip" size=".05"/></body></body>
<body name="far" mocap="true" pos="3 0 1"><geom size=".1"/></body>
<body name="ball" pos="0 0 1.2"><freejoint/><geom name="round" size=".1"/></body>
</worldbody></mujoco>
"""


def test_mocap_bodies_do_not_move() -> None:
    """Mocap bodies, and what is welded to them, stand where the model has them, whatever weld id they have."""
    bodies = contact.from_mujoco(model_of(text=MOCAP))
    assert [b.name for b in bodies.bodies] == ["world", "hand", "far", "ball"]
    assert np.isinf(bodies.mass).tolist() == [True, True, True, False]
    assert [len(b.parts) for b in bodies.bodies] == [1, 2, 1, 1]
    assert set(bodies.options["skip"]) == {(0, 1), (0, 2), (1, 2)}
    r = contact.Simulation.of(bodies).run(bodies.position[None], bodies.rotation[None], quat="wxyz", steps=300)
    r.raise_if_failed()
    np.testing.assert_array_equal(r.position[-1, 0, :3], bodies.position[:3])
    assert 1.14 < r.position[-1, 0, 3, 2] < 1.16  # the ball rests on the hand


def test_bodies_that_nothing_meets() -> None:
    """A free body without geoms that collide is left out if it is named."""
    text = MODEL.replace("</worldbody>", '<body name="ghost"><freejoint/><geom size=".1" contype="0" conaffinity="0"/>'
                         "</body></worldbody>")  # fmt: skip
    with pytest.raises(cl.OptionError, match=r"body 'ghost', which no geom.*omit=\('ghost',\)"):
        contact.from_mujoco(model_of(text=text))
    assert len(contact.from_mujoco(model_of(text=text), omit=("ghost",)).bodies) == 3


def test_frictions_are_those_of_mujoco() -> None:
    """The friction of every pair of geoms is that of the contacts of MuJoCo: the larger one, that of the higher
    priority, of explicit pairs, 0 for condim 1."""
    rng, bodies, pairs = np.random.default_rng(5), "", ""
    for b in range(6):
        geoms = ""
        for k in range(rng.integers(1, 4)):
            about = (
                f'friction="{rng.integers(1, 9) / 10}" priority="{rng.integers(0, 2)}" condim="{rng.choice([1, 3])}"'
            )
            geoms += f'<geom name="g{b}{k}" size=".3" pos="0 0 {k / 50}" {about}/>'
        bodies += f'<body name="b{b}" pos="0 0 {b / 50}"><freejoint/>{geoms}</body>'
    for a, b, condim in ((0, 1, 3), (2, 3, 1), (1, 4, 3)):
        pairs += f'<pair geom1="g{b}0" geom2="g{a}0" friction=".{b}7 .{b}7" condim="{condim}"/>'
    text = '<mujoco><option><flag midphase="disable"/></option><worldbody><geom name="floor" size=".5" friction=".55"/>'
    model = mujoco.MjModel.from_xml_string(f"{text}{bodies}</worldbody><contact>{pairs}</contact></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    want = {(int(min(c.geom)), int(max(c.geom))): (c.friction[0] if c.dim > 1 else 0) for c in data.contact}
    free = contact.from_mujoco(model)
    options, got = free.options, {}
    assert options["friction_rule"] == "maximum" and len(free.bodies) == 7
    for j in range(7):
        for i in range(j):
            for k in range(len(free.bodies[i].parts)):
                for m in range(len(free.bodies[j].parts)):
                    value = max(options["friction"][i], options["friction"][j])
                    for s in options["surfaces"]:
                        if (s.a, s.b) == (i, j) and s.part_a in (None, k) and s.part_b in (None, m):
                            value = s.friction
                    # Parts stand in the order of the geoms of their body.
                    got[model.body_geomadr[i] + k, model.body_geomadr[j] + m] = value
    assert got == want and len(set(want.values())) > 6 and 0 in want.values() and 0.17 in want.values()
    r = contact.Simulation.of(free)
    assert r.bodies == 7
    assert "friction_pairs" in r._arrays and "friction_pairs" not in contact.Simulation.of(free, friction=0.3)._arrays
    plain = contact.from_mujoco(model, friction=0.3).options
    assert plain["friction"] == 0.3 and "surfaces" not in plain


def test_condim_1_is_without_friction() -> None:
    """A crate with a push slides on without loss where both geoms have condim 1, and stops where one has not."""
    for condim, left in (("1", 1.0), ("3", 0.0)):
        text = MODEL.replace('name="box"', 'name="box" condim="1"')
        text = text.replace('name="floor"', f'name="floor" condim="{condim}"')
        bodies = contact.from_mujoco(model_of(text=text))
        speed = np.zeros((1, 3, 3))
        speed[0, 1, 0] = 1.0
        sim = contact.Simulation.of(bodies)
        r = sim.run(bodies.position[None], bodies.rotation[None], speed, quat="wxyz", steps=150)
        r.raise_if_failed()
        assert abs(r.velocity[-1, 0, 1, 0] - left) < 1e-6  # 0.3 s; with friction 1 it stops after 0.1 s


def test_page_of_fields() -> None:
    """docs/mujoco.md has the table and the keys as the package has them."""
    page = (ROOT / "docs/mujoco.md").read_text()
    assert table.table() in page and table.keys() in page
