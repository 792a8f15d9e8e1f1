"""Free bodies of URDF files: every element and attribute of the table is used, refused by name, noted, or changes
nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl
from clearance import _urdf_fields as table
from clearance import contact, urdf

MODEL = """<robot name="toy" ROBOT>
<link name="base" LINK>
<collision COLLISION><origin xyz="0 0 .1"/><geometry><box size=".2 .2 .2"/></geometry>
IN_COLLISION</collision>
<inertial><mass value="2"/><inertia ixx=".02" iyy=".02" izz=".02"/></inertial>
IN_LINK
</link>
<link name="tip"><collision><geometry><sphere radius=".1"/></geometry></collision></link>
<joint name="weld" type="fixed" JOINT><parent link="base"/><child link="tip"/><origin xyz="0 0 .4"/>
IN_JOINT</joint>
IN_ROBOT
</robot>
"""
PLACES = ("ROBOT", "LINK", "COLLISION", "JOINT", "IN_COLLISION", "IN_LINK", "IN_JOINT", "IN_ROBOT")

# Where an element of a parent stands, and an attribute of an element.
HOLDERS = {
    "robot": ("IN_ROBOT", "{}"),
    "link": ("IN_LINK", "{}"),
    "collision": ("IN_COLLISION", "{}"),
    "joint": ("IN_JOINT", "{}"),
    "contact": ("IN_LINK", "<contact>{}</contact>"),
    "gazebo": ("IN_ROBOT", '<gazebo reference="base">{}</gazebo>'),
    "drake:proximity_properties": ("IN_COLLISION", "<drake:proximity_properties>{}</drake:proximity_properties>"),
    "mujoco": ("IN_ROBOT", "<mujoco>{}</mujoco>"),
}
BEARERS = {
    "robot": ("ROBOT", "{}"),
    "link": ("LINK", "{}"),
    "collision": ("COLLISION", "{}"),
    "joint": ("JOINT", "{}"),
    "axis": ("IN_JOINT", "<axis {}/>"),
    "limit": ("IN_JOINT", "<limit {}/>"),
    "mimic": ("IN_JOINT", "<mimic {}/>"),
    "compiler": ("IN_ROBOT", "<mujoco><compiler {}/></mujoco>"),
}


def model_of(**inside: str) -> str:
    """The model with texts at places of it."""
    text = MODEL.replace("<robot", '<robot xmlns:drake="http://drake.mit.edu"', 1)
    for place in PLACES:
        text = re.sub(rf"\b{place}\b", inside.get(place, ""), text)
    return text


def with_field(name: str, value: str) -> str:
    """The model with an element or attribute of a value."""
    parent, field = name.split("/")
    if field.startswith("@"):
        place, holder = BEARERS[parent]
        return model_of(**{place: holder.format(f'{field[1:]}="{value}"')})
    place, holder = HOLDERS[parent]
    return model_of(**{place: holder.format(f'\n<{field} value="{value}"/>')})


def rows(column: str, *starts: str) -> list[tuple[str, str]]:
    return [
        (p, getattr(row, column))
        for row in table.ROWS
        for p in row.patterns
        if getattr(row, column).startswith(starts) and p != "mesh/drake:declare_convex"
    ]


def same(a: contact.FreeBodies, b: contact.FreeBodies) -> bool:
    arrays = ("mass", "center", "inertia", "position", "rotation")
    parts = [[(p.shape, p.position, p.rotation, p.friction, p.restitution) for p in x.bodies[0].parts] for x in (a, b)]
    return all((getattr(a, n) == getattr(b, n)).all() for n in arrays) and parts[0] == parts[1]


PLAIN = model_of()


@pytest.mark.parametrize(("name", "what"), rows("bodies", "refused"))
def test_what_simulations_lack_is_refused_by_name(tmp_path: Path, name: str, what: str) -> None:
    """With file, line and the name for omit; a value that changes nothing is taken."""
    path = tmp_path / "toy.urdf"
    path.write_text(with_field(name, "7"))
    with pytest.raises(cl.OptionError, match=rf"toy\.urdf, line \d+.*omit=\('{name}',\) leaves it out"):
        contact.from_urdf(path)
    found = contact.from_urdf(path, omit=(name,))
    assert same(found, contact.from_urdf(PLAIN)) and found.omitted == [name] and not found.notes
    neutral = what.removeprefix("refused unless ") if what != "refused" else ""
    if neutral:
        found = contact.from_urdf(with_field(name, neutral))
        assert same(found, contact.from_urdf(PLAIN)) and not found.notes


def test_what_changes_nothing() -> None:
    """What is left out silently has no influence on the bodies."""
    plain, tried = contact.from_urdf(PLAIN), 0
    read = dict(rows("scene", "used"))  # by scenes: such elements have values of their own
    for name, what in rows("bodies", ""):
        if name not in read and not what.startswith(("used", "refused")):
            found = contact.from_urdf(with_field(name, "1"))
            assert same(found, plain) and not found.notes, name
            tried += 1
    assert tried >= 50


@pytest.mark.parametrize("name", [name for name, _ in rows("scene", "noted")])
def test_noted_by_scenes(name: str) -> None:
    scene = urdf.load(with_field(name, "1"))
    assert len(scene.notes) == 1 and re.search(r"<urdf>, line \d+: .*left out", scene.notes[0])
    with pytest.raises(cl.FileError, match="left out"):
        urdf.load(with_field(name, "1"), strict=True)
    assert not urdf.load(with_field(name, "1"), strict=True, omit=(name,)).notes


# The names that the parsers of simulators look for in what they read of a link, a collision element or the robot:
# sdformat's parser_urdf.cc, Bullet's UrdfParser.cpp, and the list of tags in Drake's documentation of URDF.
READ_ELSEWHERE = {
    "gazebo": "collision visual static turnGravityOff dampingFactor maxVel minDepth mu1 mu2 fdir1 kp kd selfCollide "
    "maxContacts laserRetro springReference springStiffness stopCfm stopErp fudgeFactor provideFeedback canonicalBody "
    "cfmDamping implicitSpringDamper disableFixedJointLumping preserveFixedJoint",
    "contact": "inertia_scaling lateral_friction rolling_friction restitution spinning_friction friction_anchor "
    "stiffness damping",
    "drake:proximity_properties": "drake:compliant_hydroelastic drake:hunt_crossley_dissipation "
    "drake:hydroelastic_modulus drake:mesh_resolution_hint drake:mu_dynamic drake:mu_static "
    "drake:point_contact_stiffness drake:rigid_hydroelastic",
    "robot": "link joint material gazebo transmission deformable drake:collision_filter_group drake:joint "
    "drake:linear_bushing_rpy",
    "joint": "origin parent child axis limit dynamics mimic calibration safety_controller",
    "link": "inertial visual collision contact audio_source",
    "limit": "@lower @upper @effort @velocity",
    "collision": "@name @group @mask @concave origin geometry drake:proximity_properties",
}


def test_fields_of_other_readers() -> None:
    for parent, names in READ_ELSEWHERE.items():
        for name in names.split():
            assert table.fate(f"{parent}/{name}", True) is not None, f"{parent}/{name}"
    every = [p for row in table.ROWS for p in row.patterns]
    assert len(every) == len(set(every))


def test_page_of_fields() -> None:
    """docs/urdf.md has the table as the package has it."""
    assert table.table() in (ROOT / "docs/urdf.md").read_text()


def test_several_files_and_names(tmp_path: Path) -> None:
    """One message names all that is to be left out, of all files, and what no file has is no name."""
    first = with_field("gazebo/kp", "1e5")
    second = with_field("link/@drake_ignore", "true").replace("base", "floor")
    with pytest.raises(cl.OptionError) as e:
        contact.from_urdf([first, second])
    text = str(e.value)
    assert "<kp> 1e5 of gazebo 'base' (<urdf>, line 12)" in text and "of link 'floor'" in text
    assert "omit=('gazebo/kp', 'link/@drake_ignore') leaves it out" in text
    assert len(contact.from_urdf([first, second], omit=("gazebo/kp", "link/@drake_ignore")).bodies) == 2
    with pytest.raises(cl.OptionError, match="omit: 'gazebo/kd' is no element of <urdf>, <urdf> that could be"):
        contact.from_urdf([first, second], omit=("gazebo/kp", "link/@drake_ignore", "gazebo/kd"))


def test_unknown_extensions_are_noted() -> None:
    found = contact.from_urdf(with_field("gazebo/mu", "1").replace("<mu ", "<mu3 "))
    assert len(found.notes) == 1 and "<mu3> in <gazebo> is not known" in found.notes[0]
    found = contact.from_urdf(model_of(IN_ROBOT='<gazebo reference="nobody"><mu1>1</mu1><mu2>1</mu2></gazebo>'))
    assert len(found.notes) == 1 and "<gazebo> of 'nobody', which is no link or joint" in found.notes[0]
    found = contact.from_urdf(model_of(LINK='drake:color="red"'))
    assert len(found.notes) == 1 and "unknown attribute 'drake:color'" in found.notes[0]


def gazebo(inside: str) -> str:
    return model_of(IN_ROBOT=f'<gazebo reference="base">{inside}</gazebo>')


def bullet(inside: str) -> str:
    return model_of(IN_LINK=f"<contact>{inside}</contact>")


def drake(inside: str) -> str:
    return model_of(IN_COLLISION=f"<drake:proximity_properties>{inside}</drake:proximity_properties>")


def slide(texts: list[str], **options: Any) -> float:
    """The friction that brakes the first of two bodies, which slides on a body at rest, the second."""
    bodies = contact.from_urdf(texts)
    still = contact.Simulation.of(bodies, ground=False, dt=1e-3, **options)
    position, speed = np.zeros((1, 2, 3)), np.zeros((1, 2, 3))
    position[0, 0, 2], speed[0, 0, 0] = 0.5, 1.0
    r = still.run(position, bodies.rotation[None], speed, quat="wxyz", steps=20)
    r.raise_if_failed()
    return float((1 - r.velocity[-1, 0, 0, 0]) / (9.81 * 0.02))


def below(text: str) -> str:
    """The model as a wide plate under the first one, which does not move: it is of mass 0."""
    return text.replace('value="2"', 'value="0"').replace("<sphere", '<box size="9 9 .2"/></geometry></collision>'
                       '<collision><origin xyz="0 0 -5"/><geometry><sphere')  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "friction"),
    [
        (gazebo("<mu1>0.3</mu1><mu2>0.3</mu2>"), PLAIN, 0.3),  # the smaller one of ODE; links that state none have 1
        (gazebo('<mu1 value="0.3"/><mu2 value="0.3"/>'), PLAIN, 0.3),
        (bullet('<lateral_friction value="0.4"/>'), PLAIN, 0.2),  # the product with Bullet's 0.5
        (drake('<drake:mu_dynamic value="0.3"/>'), PLAIN, 2 * 0.3 * 0.5 / 0.8),
        (drake('<drake:mu_static value="0.3"/>'), PLAIN, 2 * 0.3 * 0.5 / 0.8),
        (drake('<drake:mu_dynamic value="0"/><drake:mu_static value="0"/>'), PLAIN, 0.0),
        (PLAIN, PLAIN, 0.5),
    ],
)
def test_frictions_are_those_of_the_simulators(first: str, second: str, friction: float) -> None:
    assert abs(slide([first, below(second)]) - friction) < 1e-4


def test_friction_replaces_those_of_files() -> None:
    bodies = contact.from_urdf(gazebo("<mu1>0.3</mu1><mu2>0.3</mu2>"), friction=0.7)
    assert bodies.options == {"friction": 0.7} and all(p.friction is None for p in bodies.bodies[0].parts)
    for states in (gazebo("<mu1>0.3</mu1><mu2>0.3</mu2>"), drake('<drake:mu_dynamic value="0.3"/>')):
        assert abs(slide([states, below(PLAIN)], friction=0.7) - 0.7) < 1e-4  # of Simulation.of, too


def test_rule_of_restitution_beside_another_friction() -> None:
    """Restitutions of Bullet are multiplied, whatever replaces its frictions: by a body that states none with 0."""
    bouncy = bullet('<lateral_friction value="0.4"/><restitution value="0.8"/>')
    plain, by_loader = (contact.from_urdf([bouncy, below(PLAIN)], friction=f) for f in (None, 0.3))
    for sim in (
        contact.Simulation.of(by_loader, ground=False, dt=1e-3, gravity=(0, 0, 0)),
        contact.Simulation.of(plain, ground=False, dt=1e-3, gravity=(0, 0, 0), friction=0.3),
    ):
        position = np.array([[[0, 0, 0.5005], [0, 0, 0]]])
        r = sim.run(position, plain.rotation[None], [[[0, 0, -1.0], [0, 0, 0]]], quat="wxyz", steps=3)
        r.raise_if_failed()
        assert abs(r.velocity[-1, 0, 0, 2]) < 1e-3


def test_restitution_of_bullet() -> None:
    bodies = contact.from_urdf(bullet('<restitution value="0.6"/>'))
    assert [p.restitution for p in bodies.bodies[0].parts] == [0.6, None]
    sim = contact.Simulation.of(bodies, dt=1e-3, gravity=(0, 0, 0))
    r = sim.run([[[0, 0, 0.0005]]], bodies.rotation[None], [[[0, 0, -1.0]]], quat="wxyz", steps=3)
    r.raise_if_failed()
    assert abs(r.velocity[-1, 0, 0, 2] - 0.6) < 1e-3  # of the ground a contact has the values of its body


def test_frictions_that_differ() -> None:
    """Two directions with two frictions are refused, and so are two simulators in one simulation."""
    both = gazebo("<mu1>0.3</mu1>\n<mu2>0.4</mu2><fdir1>1 0 0</fdir1>")
    with pytest.raises(cl.OptionError, match=r"<mu2> 0.4 beside <mu1> 0.3.*line 12.*omit=\('gazebo/mu2',\)"):
        contact.from_urdf(both)
    found = contact.from_urdf(both, omit=("gazebo/mu2",))
    assert found.bodies[0].parts[0].friction == 0.3 and "taken as the friction of both directions" in found.notes[0]
    with pytest.raises(cl.OptionError, match="drake:mu_static"):
        contact.from_urdf(drake('<drake:mu_dynamic value=".3"/><drake:mu_static value=".4"/>'))
    mixed = [gazebo("<mu1>1</mu1><mu2>1</mu2>"), bullet('<lateral_friction value="1"/>')]
    with pytest.raises(
        cl.OptionError, match=r"of Bullet \(<urdf>, line 6\) and of Gazebo.*omit=\('link/contact',\) or"
    ):
        contact.from_urdf(mixed)
    assert contact.from_urdf(mixed, omit=("link/contact",)).options["friction_rule"] == "minimum"
    assert contact.from_urdf(mixed, friction=0.2).options == {"friction": 0.2, "restitution_rule": "product"}
    one = mixed[0].replace("</gazebo>", '</gazebo><gazebo reference="base"><mu1>2</mu1></gazebo>')
    with pytest.raises(cl.FileError, match="states the friction of 'base' again"):
        contact.from_urdf(one)


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "x", "", "1_0"])
def test_coefficients_that_are_none(value: str) -> None:
    for text, tag in (
        (gazebo(f"<mu1>{value}</mu1>"), "mu1"),
        (bullet(f'<lateral_friction value="{value}"/>'), "lateral_friction"),
        (bullet(f'<restitution value="{value or 2}"/>'), "restitution"),
        (drake(f'<drake:mu_dynamic value="{value}"/>'), "drake:mu_dynamic"),
    ):
        with pytest.raises(cl.FileError, match=rf"<urdf>, line \d+: <{tag}> of (link|gazebo) 'base' is '.*', want a"):
            contact.from_urdf(text)


def test_bodies_that_do_not_move() -> None:
    """A root of the name world and <static> of Gazebo; masses of such bodies are not asked for."""
    inertial = re.search("<inertial>.*</inertial>", MODEL)
    assert inertial is not None
    for text, note in (
        (model_of(IN_ROBOT="<gazebo><static>true</static></gazebo>"), "line 11: <static>: the body does not move"),
        (PLAIN.replace("base", "world"), "the root is the link 'world': the body does not move"),
        (PLAIN.replace("base", "world").replace(inertial[0], ""), "the root is the link 'world'"),
    ):
        found = contact.from_urdf(text)
        assert found.mass.tolist() == [np.inf] and len(found.notes) == 1 and note in found.notes[0]
    assert contact.from_urdf(model_of(IN_ROBOT="<gazebo><static>0</static></gazebo>")).mass.tolist() == [2]
    with pytest.raises(cl.FileError, match="line 11: <static> of gazebo '' is 'maybe', want true or false"):
        contact.from_urdf(model_of(IN_ROBOT="<gazebo><static>maybe</static></gazebo>"))
    found = contact.from_urdf(gazebo("<static>true</static>"))
    assert found.mass.tolist() == [2] and "<static> beside a reference" in found.notes[0]


def test_joints_that_move_are_refused() -> None:
    for kind in ("revolute", "continuous", "prismatic", "floating", "planar"):
        with pytest.raises(cl.OptionError, match=rf"<urdf>, line 9: joint 'weld' is {kind}: .* make it fixed .* own"):
            contact.from_urdf(PLAIN.replace('type="fixed"', f'type="{kind}"'))


def test_inertias_of_either_triangle() -> None:
    """Entries below the diagonal count, and may not contradict those above it."""
    above = contact.from_urdf(PLAIN.replace('ixx=".02"', 'ixx=".02" ixy=".001" iyz=".002"'))
    below = contact.from_urdf(PLAIN.replace('ixx=".02"', 'ixx=".02" iyx=".001" izy=".002" iyz=".002"'))
    assert same(above, below) and above.inertia[0, 3] == 0.001 and above.inertia[0, 5] == 0.002
    with pytest.raises(
        cl.FileError, match=r"line 5: <inertia> of link 'base' has ixy='\.001' and iyx='\.002', want one"
    ):
        contact.from_urdf(PLAIN.replace('ixx=".02"', 'ixx=".02" ixy=".001" iyx=".002"'))


def test_inertias_that_no_body_has() -> None:
    """A principal moment beyond the sum of the others is an error that names file, line and link."""
    wrong = PLAIN.replace('izz=".02"', 'izz=".0401"')
    what = r"line 5: <inertia> of link 'base': a principal moment.*0\.0401.*exceeds.*mass_properties"
    with pytest.raises(cl.FileError, match=what):
        contact.from_urdf(wrong)
    disc = PLAIN.replace('izz=".02"', 'izz=".04"')  # without a thickness
    for bodies in (contact.from_urdf(wrong, inertia="shapes"), contact.from_urdf(disc)):
        contact.Simulation.of(bodies).start(bodies.position[None], bodies.rotation[None], quat="wxyz")
