"""Scenes of URDF models: kinematics against yourdfpy's own, geometry against trimesh, SRDF files read strictly."""

from __future__ import annotations

import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_answers import matrices

import clearance as cl
from clearance import urdf

yourdfpy: Any = pytest.importorskip("yourdfpy", reason="yourdfpy is not installed: pip install it to run these tests")

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base">
    <collision name="plate"><geometry><box size="0.4 0.3 0.02"/></geometry></collision>
    <collision><origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/>
      <geometry><cylinder radius="0.05" length="0.2"/></geometry></collision>
  </link>
  <link name="shoulder"/>
  <link name="upper">
    <collision><origin xyz="0.2 0 0" rpy="0 1.5707963 0"/><geometry><cylinder radius="0.04" length="0.4"/></geometry>
    </collision></link>
  <link name="cover"><collision><geometry><sphere radius="0.06"/></geometry></collision></link>
  <link name="slide"><collision><geometry><mesh filename="wedge.obj" scale="0.5 -1 2"/></geometry></collision></link>
  <link name="left"><collision><geometry><mesh filename="package://gripper/finger.stl"/></geometry></collision></link>
  <link name="right"><collision><geometry><box size="0.02 0.05 0.1"/></geometry></collision></link>
  <joint name="pan" type="continuous"><parent link="base"/><child link="shoulder"/>
    <origin xyz="0 0 0.2" rpy="0 0 0.4"/><axis xyz="0 0 1"/></joint>
  <joint name="grip_right" type="prismatic"><parent link="slide"/><child link="right"/>
    <origin xyz="0.1 0 0"/><axis xyz="0 -1 0"/><limit lower="0" upper="0.05" effort="1" velocity="1"/>
    <mimic joint="grip_left" multiplier="-0.5" offset="0.01"/></joint>
  <joint name="lift" type="revolute"><parent link="shoulder"/><child link="upper"/>
    <origin xyz="0.05 0.02 0.1" rpy="0.3 -0.2 0.1"/><axis xyz="0 0.6 0.8"/>
    <limit lower="-1.5" upper="2" effort="1" velocity="1"/></joint>
  <joint name="glue" type="fixed"><parent link="upper"/><child link="cover"/><origin xyz="0.4 0 0" rpy="0 0 1"/></joint>
  <joint name="reach" type="prismatic"><parent link="cover"/><child link="slide"/>
    <origin xyz="0 0 0.05" rpy="1 0 0"/><axis xyz="1 0 0"/><limit lower="-0.1" upper="0.3" effort="1" velocity="1"/>
  </joint>
  <joint name="grip_left" type="revolute"><parent link="slide"/><child link="left"/>
    <origin xyz="0.1 0.1 0"/><axis xyz="0 0 1"/><limit lower="-0.4" upper="0.5" effort="1" velocity="1"/></joint>
</robot>
"""

XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
WEDGE = "v 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .25\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
FINGER = [[0, 0, 0], [0.1, 0, 0], [0, 0.05, 0], [0, 0, 0.2]]


def stl(points: Any, faces: Any) -> str:
    lines = ["solid finger"]
    for f in faces:
        corners = "\n".join("vertex {} {} {}".format(*points[i]) for i in f)
        lines.append(f"facet normal 0 0 0\nouter loop\n{corners}\nendloop\nendfacet")
    return "\n".join([*lines, "endsolid finger"])


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    """The file of the arm, in the package beside that of its gripper."""
    (tmp_path / "arm").mkdir()
    (tmp_path / "gripper").mkdir()
    (tmp_path / "arm/wedge.obj").write_text(WEDGE)
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]
    (tmp_path / "gripper/finger.stl").write_text(stl(FINGER, faces))
    path = tmp_path / "arm/arm.urdf"
    path.write_text(ARM)
    return path


def homogeneous(poses: Any) -> Any:
    """Matrices [..., 4, 4] of poses [..., 7]."""
    t = np.zeros((*poses.shape[:-1], 4, 4))
    t[..., :3, :3], t[..., :3, 3], t[..., 3, 3] = matrices(poses[..., 3:]), poses[..., :3], 1
    return t


def check_kinematics(path: Path, count: int) -> None:
    """Poses of all links are those of yourdfpy in random configurations."""
    scene = urdf.load(path, concave="hull")
    other = yourdfpy.URDF.load(str(path), load_meshes=False)
    assert scene.joint_names == list(other.actuated_joint_names)
    joints = scene.random_joints(count, seed=1)
    got = homogeneous(scene.forward(joints))
    worst = 0.0
    for k in range(count):
        other.update_cfg(joints[k])
        for i, name in enumerate(scene.link_names):
            worst = max(worst, np.abs(other.get_transform(name) - got[k, i]).max())
    assert worst < 1e-13, worst


def test_kinematics(arm: Path) -> None:
    check_kinematics(arm, 2000)


def random_tree(rng: np.random.Generator, joints: int) -> str:
    """A tree of joints of all types; some mimic an earlier one."""
    lines = ['<robot name="r"><link name="l0"/>']
    movable: list[str] = []
    for j in range(joints):
        kind = rng.choice(["revolute", "continuous", "prismatic", "fixed"])
        axis, xyz, rpy = rng.normal(size=3), rng.normal(size=3), rng.uniform(-3, 3, 3)
        if kind == "prismatic":
            axis /= np.linalg.norm(axis)  # yourdfpy does not normalize it
        attributes = [" ".join(map(repr, v.tolist())) for v in (xyz, rpy, axis)]
        mimic = ""
        if kind != "fixed" and movable and rng.random() < 0.3:
            mimic = f'<mimic joint="{rng.choice(movable)}" multiplier="{rng.normal()}" offset="{rng.normal()}"/>'
        elif kind != "fixed":
            movable.append(f"j{j}")
        lines.append(f'<link name="l{j + 1}"/><joint name="j{j}" type="{kind}"><parent link="l{rng.integers(j + 1)}"/>')
        lines.append('<child link="l{}"/><origin xyz="{}" rpy="{}"/><axis xyz="{}"/>'.format(j + 1, *attributes))
        lines.append(f'<limit lower="-2" upper="1" effort="1" velocity="1"/>{mimic}</joint>')
    return "".join([*lines, "</robot>"])


def test_kinematics_of_random_trees(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for k in range(20):
        path = tmp_path / f"{k}.urdf"
        path.write_text(random_tree(rng, 12))
        check_kinematics(path, 50)


def test_model_of_a_package() -> None:
    """The model that mujoco ships has the kinematics that yourdfpy finds."""
    mujoco: Any = pytest.importorskip("mujoco", reason="mujoco, whose package has a URDF file, is not installed")
    check_kinematics(Path(mujoco.__file__).parent / "testdata/model.urdf", 500)


def test_geometry(engine: cl.Engine, arm: Path) -> None:
    """Support values of the bodies in the world are those of yourdfpy's meshes, in every direction of the axes."""
    scene = urdf.load(arm)
    assert [b.name for b in scene.bodies] == ["base", "upper", "cover", "slide", "left", "right"]
    assert [len(b.parts) for b in scene.bodies] == [2, 1, 1, 1, 1, 1]

    def find(fname: str) -> str:
        return fname.replace("package://", f"{arm.parents[1]}/") if "://" in fname else str(arm.parent / fname)

    other = yourdfpy.URDF.load(
        str(arm),
        build_collision_scene_graph=True,
        load_collision_meshes=True,
        force_collision_mesh=False,
        filename_handler=find,
    )
    joints = scene.random_joints(3, seed=2)
    walls = cl.Scene(scene.library, list(scene.bodies))
    wall = walls.add(walls.library.halfspace())
    walls.pairs = [(i, wall) for i in range(wall)]
    poses = np.concatenate([scene.poses(joints), np.zeros((3, 1, 7))], axis=1)
    poses[:, wall, :4] = 0, 0, -3, 1
    r = engine.rollout(walls, worlds=3, precision="double")(poses, quat="wxyz")
    for k in range(3):
        other.update_cfg(joints[k])
        for i, body in enumerate(scene.bodies):
            low = []
            for node in other.collision_scene.graph.nodes_geometry:
                transform, geometry = other.collision_scene.graph[node]
                if other.collision_scene.graph.transforms.parents[node] == body.name:
                    mesh = other.collision_scene.geometry[geometry]
                    low.append((mesh.vertices @ transform[:3, :3].T + transform[:3, 3])[:, 2].min())
            # trimesh's cylinders and spheres are inscribed polyhedra: its least z is never below the true one.
            slack = 1e-9 if body.name in ("slide", "left", "right") else 2e-3
            assert -1e-9 < min(low) + 3 - r.distance[k, i] < slack, (body.name, min(low) + 3, r.distance[k, i])


def test_pairs(arm: Path, tmp_path: Path) -> None:
    scene = urdf.load(arm)
    names = [b.name for b in scene.bodies]
    pairs = {frozenset((names[i], names[j])) for i, j in scene.pairs}
    # base - (shoulder) - upper+cover - slide - left, right
    adjacent = [("upper", "cover"), ("cover", "slide"), ("slide", "left"), ("slide", "right")]
    every = {frozenset((a, b)) for a in names for b in names if a != b}
    assert pairs == every - {frozenset(p) for p in adjacent}
    srdf = tmp_path / "arm.srdf"
    srdf.write_text("""<robot name="arm"><!-- a comment -->
      <group name="all"><chain base_link="base" tip_link="slide"/><link name="left"/><joint name="grip_right"/></group>
      <group name="more"><group name="all"/></group>
      <group_state name="home" group="all"><joint name="pan" value="0"/></group_state>
      <virtual_joint name="world" type="fixed" parent_frame="map" child_link="base"/>
      <passive_joint name="grip_right"/>
      <disable_default_collisions link="cover"/><enable_collisions link1="cover" link2="base"/>
      <disable_collisions link1="left" link2="right" reason="User"/>
      <disable_collisions link1="shoulder" link2="base"/></robot>""")
    scene = urdf.load(arm, srdf=srdf)
    pairs = {frozenset((names[i], names[j])) for i, j in scene.pairs}
    gone = [("left", "right"), *(("cover", n) for n in names if n not in ("cover", "base"))]
    assert pairs == every - {frozenset(p) for p in gone}
    assert len(urdf.load(arm, srdf=srdf, skip_adjacent=True).pairs) == len(pairs) - 2


def test_adjacent_links(tmp_path: Path) -> None:
    """Left out are links that a joint connects and links that fixed joints alone connect, of any length and branching;
    links beside a connected one move against each other and stay."""
    ball = '<link name="{}"><collision><geometry><sphere radius="1"/></geometry></collision></link>'
    joints = [("a", "b", "fixed"), ("b", "c", "fixed"), ("a", "d", "fixed"), ("c", "e", "continuous")]
    joints += [("e", "f", "fixed"), ("f", "g", "continuous")]
    text = "".join(ball.format(name) for name in "abcdefg")
    for parent, child, kind in joints:
        text += f'<joint name="{child}" type="{kind}"><parent link="{parent}"/><child link="{child}"/></joint>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{text}</robot>')
    scene = urdf.load(tmp_path / "r.urdf")
    got = {"abcdefg"[i] + "abcdefg"[j] for i, j in scene.pairs}
    gone = {"ab", "ac", "ad", "bc", "bd", "cd", "ce", "ef", "fg"}
    assert got == {a + b for a in "abcdefg" for b in "abcdefg" if a < b} - gone


def test_limits(arm: Path) -> None:
    """A lower or upper limit that <limit> does not name is 0, as the specification has it; continuous joints have none,
    nor has a joint without <limit>."""
    text = ARM.replace('<limit lower="-1.5" upper="2" ', '<limit upper="2" ')
    text = text.replace('<limit lower="-0.1" upper="0.3" ', '<limit lower="-0.1" ')
    text = text.replace('<limit lower="-0.4" upper="0.5" effort="1" velocity="1"/>', "")
    text = text.replace('<axis xyz="0 0 1"/></joint>', '<axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint>', 1)
    arm.write_text(text)
    scene = urdf.load(arm)
    assert scene.joint_names == ["pan", "lift", "reach", "grip_left"]
    assert scene.limits.tolist() == [[-np.inf, np.inf], [0, 2], [-0.1, 0], [-np.inf, np.inf]]
    arm.write_text(text.replace('<limit upper="2" ', "<limit "))
    assert urdf.load(arm).limits[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('<disable_collision link1="left" link2="right"/>', "unknown element <disable_collision>"),
        ('<disable_collisions link1="left" link2="rigth"/>', "link2='rigth' is no link"),
        ('<disable_collisions link1="left" linkB="right"/>', "unknown attribute 'linkB'"),
        ('<disable_collisions link1="left" reason="Never"/>', "lacks the attribute 'link2'"),
        ('<disable_collisions link1="left" link2="left"/>', "and itself"),
        ('<group name="g"><disable_collisions link1="left" link2="right"/></group>', "in <group>"),
        ('<group name="g"><chain base_link="base" tip_link="tool"/></group>', "tip_link='tool'"),
        ("stray text", "text in <robot>"),
        ("<open>", "line 3"),
    ],
)
def test_srdf_is_read_strictly(arm: Path, tmp_path: Path, line: str, reason: str) -> None:
    srdf = tmp_path / "arm.srdf"
    srdf.write_text(f'<robot name="arm">\n{line}\n</robot>')
    with pytest.raises(cl.FileError, match=r"arm\.srdf") as error:
        urdf.load(arm, srdf=srdf)
    assert reason in str(error.value)
    extended = '<robot name="arm"><gripper name="g"/><disable_collisions link1="base" link2="left"/></robot>'
    srdf.write_text(extended)
    with pytest.raises(cl.FileError, match="<gripper>"):
        urdf.load(arm, srdf=srdf)
    assert len(urdf.load(arm, srdf=srdf, srdf_ignore=["gripper"]).pairs) == 14
    srdf.write_text('<robot name="leg"/>')
    with pytest.raises(cl.FileError, match="'leg'"):
        urdf.load(arm, srdf=srdf)
    with pytest.raises(cl.FileError, match=r"<srdf>, line 1: .*<gripper>.*srdf_ignore=\('gripper',\)"):
        urdf.load(arm, srdf=extended)
    with pytest.raises(cl.OptionError, match="srdf_ignore: 'gripper' is a text"):
        urdf.load(arm, srdf=extended, srdf_ignore="gripper")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('name="reach" type="prismatic"', 'name="reach" type="floating"', "joint 'reach' is floating"),
        ('name="reach" type="prismatic"', 'name="reach" type="planar"', "joint 'reach' is planar"),
        ('name="reach" type="prismatic"', 'name="reach" type="ball"', "type 'ball'"),
        ('<axis xyz="1 0 0"/>', '<axis xyz="0 0 0"/>', "joint 'reach' has the axis"),
        ('<mimic joint="grip_left"', '<mimic joint="glue"', "mimics 'glue'"),
        ('<mimic joint="grip_left"', '<mimic joint="grip_right"', "mimics 'grip_right'"),
        ('<child link="cover"/>', '<child link="tool"/>', "'tool'"),
        ('<child link="cover"/>', '<child link="slide"/>', "child of joints"),
        ('<parent link="upper"/>', '<parent link="left"/>', "in a cycle"),
        (
            '<link name="shoulder"/>',
            '<link name="shoulder"/><link name="lost"/>',
            r"line \d+: link 'lost': 2 links have no parent",
        ),
        ('<link name="shoulder"/>', '<link name="base"/>', r"line \d+: link 'base': 2 links have the name 'base'"),
        (' name="pan"', ' name="lift"', r"line \d+: joint 'lift': 2 joints have the name 'lift'"),
        ("wedge.obj", "wedges.obj", r"slide/0.*wedges.obj is not found"),
        ('scale="0.5 -1 2"', 'scale="1 1 1 0"', "'slide'.*scale"),
        ("package://gripper", "package://grip", "packages="),
        ("package://gripper", "http://gripper", "want a path"),
        ("<sphere radius", "<torus radius", r"line 12: <torus> of link 'cover' in <geometry> is no shape"),
        ("<sphere radius", '<box size="1 1 1"/><sphere radius', "<geometry> of link 'cover' has 2 elements"),
        ('<sphere radius="0.06"/>', "", "<geometry> of link 'cover' is empty"),
        ("<collision><geometry><sphere", "<colision><geometry><sphere", "mismatch"),
        (
            '<link name="shoulder"/>',
            '<link name="shoulder"><colision/></link>',
            r"<colision> of link 'shoulder' in <link> is not known; <collision> is",
        ),
        (
            '<origin xyz="0.4 0 0"',
            '<orgin xyz="0.4 0 0"',
            "<orgin> of joint 'glue' in <joint> is not known; <origin> is",
        ),
        ('radius="0.06"', 'radius="${r}"', "line 12: <sphere> of link 'cover' has radius=.*xacro"),
        ('filename="wedge.obj"', 'filename="$(find arm)/wedge.obj"', "xacro"),
        (
            "<link name=",
            '<xacro:include xmlns:xacro="http://www.ros.org/wiki/xacro" filename="a"/><link name=',
            "xacro",
        ),
        ("<link name=", '<xacro:if xmlns:xacro="http://ros.org/wiki/xacro" value="0"/><link name=', "run xacro first"),
        ("package://gripper/", "package://../gripper/", "leaves its package"),
        ("package://gripper/", "package://gripper/../gripper/", "leaves its package"),
        ("package://gripper/", "package://gripper//", "leaves its package"),
        ("</robot>", "", "arm.urdf"),
    ],
)
def test_refused_by_name(arm: Path, old: str, new: str, reason: str) -> None:
    assert old in ARM
    arm.write_text(ARM.replace(old, new))
    with pytest.raises((cl.FileError, cl.ShapeError), match=reason):
        urdf.load(arm)


def test_meshes(arm: Path, tmp_path: Path) -> None:
    """Concave meshes raise unless their hulls will do; packages may be named; other formats are read by trimesh."""
    finger: Any = FINGER
    scene = urdf.load(arm, packages={"gripper": arm.parents[1] / "gripper"}, margin=0.01)
    left: Any = scene.library[scene.bodies[scene.index("left")].parts[0].shape]
    assert sorted(left.parameters["vertices"].tolist()) == sorted(finger) and left.margin == 0.01
    dart = (
        "v 0 0 0\nv .4 .05 0\nv .1 .1 0\nv .05 .4 0\nv .1 .1 .3\nf 1 3 2\nf 1 4 3\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5"
    )
    (arm.parent / "wedge.obj").write_text(dart)
    with pytest.raises(cl.ConcaveError, match=r"^concave=\"hull\" .*line 13.*slide/0.*wedge\.obj.*not convex") as error:
        urdf.load(arm)
    assert len(str(error.value)) < 400 + 2 * len(str(arm.parent))
    assert len(urdf.load(arm, concave="hull").library) == len(scene.library)
    off = "OFF\n4 4 0\n0 0 0\n.3 0 0\n0 .2 0\n0 0 .25\n3 0 2 1\n3 0 1 3\n3 1 2 3\n3 2 0 3\n"
    (arm.parent / "wedge.off").write_text(off)
    arm.write_text(ARM.replace("wedge.obj", "wedge.off"))
    part = urdf.load(arm).bodies[3].parts[0].shape
    want: Any = [[0, -0.2, 0], [0, 0, 0], [0, 0, 0.5], [0.15, 0, 0]]
    got: Any = urdf.load(arm).library[part].parameters["vertices"].tolist()
    assert sorted(got) == sorted(want)


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset>UNIT<up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="f" count="12">0 0 0 30 0 0 0 20 0 0 0 25</float_array><technique_common>
      <accessor source="#f" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
        <param name="Z" type="float"/></accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 1 2 3 2 0 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><translate>0 0 4</translate>
    <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>"""


def test_units_of_meshes(arm: Path) -> None:
    """COLLADA files state their unit, 1 m without one; vertices are in metres, then scaled as the URDF says."""
    pytest.importorskip("collada", reason="pycollada, by which trimesh reads COLLADA, is not installed")
    arm.write_text(ARM.replace("wedge.obj", "wedge.dae"))
    corners = np.array([[0, 0, 4], [30, 0, 4], [0, 20, 4], [0, 0, 29]])
    for unit, metres in (('<unit meter="0.0254" name="inch"/>', 0.0254), ('<unit meter="0.01"/>', 0.01), ("", 1.0)):
        (arm.parent / "wedge.dae").write_text(DAE.replace("UNIT", unit))
        scene = urdf.load(arm)
        got: Any = scene.library[scene.bodies[scene.index("slide")].parts[0].shape].parameters["vertices"]
        want = corners * metres * [0.5, -1, 2]
        np.testing.assert_allclose(sorted(got.tolist()), sorted(want.tolist()), rtol=1e-14, atol=0)
    for wrong in ("0", "-1", "nan"):
        (arm.parent / "wedge.dae").write_text(DAE.replace("UNIT", f'<unit meter="{wrong}"/>'))
        with pytest.raises(cl.FileError, match=r"slide/0.*wedge\.dae.*unit"):
            urdf.load(arm)


def test_looks_of_meshes(arm: Path) -> None:
    """The geometry of a COLLADA file is read whole, whatever materials it has or lacks; a mesh without triangles, and a
    reference of the geometry to what is not there, are errors."""
    pytest.importorskip("collada", reason="pycollada, by which trimesh reads COLLADA, is not installed")
    arm.write_text(ARM.replace("wedge.obj", "wedge.dae"))
    file, plain = arm.parent / "wedge.dae", DAE.replace("UNIT", "")
    file.write_text(plain)

    def vertices() -> Any:
        scene = urdf.load(arm)
        return sorted(scene.library[scene.bodies[scene.index("slide")].parts[0].shape].parameters["vertices"].tolist())

    want = vertices()
    bound = """<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="paint"
        target="#paint"/></technique_common></bind_material></instance_geometry>"""
    painted = plain.replace('<triangles count="4">', '<triangles material="paint" count="4">')
    painted = painted.replace('<instance_geometry url="#g"/>', bound)
    lost = """<library_materials><material id="paint"><instance_effect url="#lost"/></material></library_materials>"""
    for text in (painted, painted.replace("<library_geometries>", lost + "<library_geometries>")):
        assert text != plain
        file.write_text(text)
        assert vertices() == want
    start = plain.index("<triangles")
    file.write_text(plain[:start] + plain[plain.index("</triangles>") + len("</triangles>") :])
    for concave in ("raise", "hull"):
        with pytest.raises(cl.FileError, match=r"line 13.*slide/0.*wedge\.dae.*no triangles"):
            urdf.load(arm, concave=concave)
    file.write_text(painted.replace('source="#p"/></vertices>', 'source="#q"/></vertices>'))
    with pytest.raises(cl.FileError, match=r"line 13.*slide/0.*wedge\.dae"):
        urdf.load(arm)


def test_axes_of_meshes(arm: Path, tmp_path: Path) -> None:
    """Coordinates of COLLADA files are taken as they stand, whatever axis they state, as other readers of URDF take
    them, by decompositions too; up_axis="file" rotates them to z up, from Y_UP without an axis."""
    pytest.importorskip("collada", reason="pycollada, by which trimesh reads COLLADA, is not installed")
    arm.write_text(ARM.replace("wedge.obj", "wedge.dae"))
    file = arm.parent / "wedge.dae"
    good = DAE.replace("UNIT", "")
    in_extra = good.replace("<asset>", "<extra><asset><up_axis>Z_UP</up_axis></asset></extra><asset>", 1)
    corners = np.array([[0, 0, 4], [30, 0, 4], [0, 20, 4], [0, 0, 29]])
    x, y, z = corners.T
    rotated = {"X_UP": [-y, -z, x], "Y_UP": [x, -z, y], "Z_UP": [x, y, z]}
    for text, axis in (
        (good, "Z_UP"),
        (good.replace("Z_UP", "Y_UP"), "Y_UP"),
        (good.replace("Z_UP", "X_UP"), "X_UP"),
        (good.replace("<up_axis>Z_UP</up_axis>", ""), "Y_UP"),
        (in_extra.replace("</extra><asset><up_axis>Z_UP", "</extra><asset><up_axis>Y_UP"), "Y_UP"),
    ):
        file.write_text(text)
        for option, standing in (("ignore", corners), ("file", np.transpose(rotated[axis]))):
            scene = urdf.load(arm, up_axis=option)  # type: ignore[arg-type]
            got: Any = scene.library[scene.bodies[scene.index("slide")].parts[0].shape].parameters["vertices"]
            want = standing * [0.5, -1, 2]
            np.testing.assert_allclose(sorted(got.tolist()), sorted(want.tolist()), rtol=1e-14, atol=0)
    file.write_text(good.replace("Z_UP", "W_UP"))
    assert len(urdf.load(arm).bodies) == 6
    with pytest.raises(cl.FileError, match=r"wedge\.dae.*up_axis 'W_UP', want one of"):
        urdf.load(arm, up_axis="file")
    with pytest.raises(cl.OptionError, match="up_axis: 'z'"):
        urdf.load(arm, up_axis="z")  # type: ignore[arg-type]
    file.write_text("<COLLADA")
    with pytest.raises(cl.FileError, match=r"wedge\.dae"):
        urdf.load(arm)
    arm.write_text(ARM.replace("wedge.obj", "wedge.zae"))
    (arm.parent / "wedge.zae").write_bytes(b"PK\3\4")
    with pytest.raises(cl.FileError, match=r"wedge\.zae.*unpack"):
        urdf.load(arm)


def test_base_of_any_length(engine: cl.Engine, arm: Path) -> None:
    """Quaternions of the base mean the rotation of any length; without a rotation, the world alone is invalid."""
    scene = urdf.load(arm)
    joints = scene.random_joints(8)
    base = np.random.default_rng(3).normal(size=(8, 7))
    base[:, 3:] /= np.linalg.norm(base[:, 3:], axis=1, keepdims=True)
    want = scene.forward(joints, base)
    scaled = base.copy()
    scaled[:, 3:] *= np.array([1, 2, 1e-3, -3, 1e200, 1e-200, 0.5, 7])[:, None]
    got = homogeneous(scene.forward(joints, scaled))
    np.testing.assert_allclose(got, homogeneous(want), atol=1e-14)
    np.testing.assert_allclose(homogeneous(scene.forward(joints, scaled[1]))[1], homogeneous(want)[1], atol=1e-14)
    scaled[2, 3:], scaled[4, 4], scaled[6, 6] = 0, np.inf, np.nan
    before = scaled.copy()
    with np.errstate(all="raise"):
        poses = scene.poses(joints, scaled)
    assert (scaled == before)[~np.isnan(before)].all()
    bad = np.isin(np.arange(8), [2, 4, 6])
    assert np.isnan(poses[bad][..., 3:]).all() and np.isfinite(poses[~bad]).all()
    status = engine.rollout(scene, worlds=8)(poses, quat="wxyz").status
    assert (status[bad] == cl.INVALID).all() and (status[~bad] != cl.INVALID).all()


def test_poses(engine: cl.Engine, arm: Path) -> None:
    """The base may stand anywhere; bodies added later have poses of their own; the scene survives a pickle."""
    scene = pickle.loads(pickle.dumps(urdf.load(arm)))
    wall = scene.add(scene.library.halfspace(), name="wall")
    scene.pairs += [(i, wall) for i in range(wall)]
    joints = scene.random_joints(4)
    rotation = np.array([0.5, 0.5, 0.5, 0.5])
    base = np.concatenate([[1, 2, 3], rotation])
    here, there = scene.poses(joints), scene.poses(joints, base=base, others=base[None])
    t = homogeneous(base)
    np.testing.assert_allclose(homogeneous(there), t @ homogeneous(here), atol=1e-14)
    roll = engine.rollout(scene, worlds=4)
    a, b = roll(here, quat="wxyz"), roll(there, quat="wxyz")
    np.testing.assert_allclose(a.distance, b.distance, atol=1e-5)
    assert scene.poses(joints[2:3]).tobytes() == here[2:3].tobytes()
    used = there.copy()
    assert scene.poses(joints, base=base, out=used) is used and (used == there).all()
    assert (scene.poses(joints, out=used)[:, :wall] == here[:, :wall]).all() and (used[:, wall] == there[:, wall]).all()
    with pytest.raises(cl.ArrayError, match="out"):
        scene.poses(joints, out=used.astype(np.float32))
    with pytest.raises(cl.ArrayError, match="joints"):
        scene.forward(np.zeros((4, 9)))
    with pytest.raises(cl.ArrayError, match="base"):
        scene.forward(joints, base=np.zeros((3, 7)))
    limits = scene.limits
    assert (joints >= np.maximum(limits[:, 0], -np.pi)).all() and (joints <= np.minimum(limits[:, 1], np.pi)).all()
    scene.tree.limits[2] = (0.1, -0.1)
    with pytest.raises(cl.OptionError, match="'reach'"):
        scene.random_joints(1)
    limits = scene.limits
    assert limits[0].tolist() == [-np.inf, np.inf]


def test_capsules(engine: cl.Engine, arm: Path) -> None:
    """A capsule is a segment of its length along z, and a ball."""
    arm.write_text(ARM.replace('<sphere radius="0.06"/>', '<capsule radius="0.06" length="0.3"/>'))
    scene = urdf.load(arm)
    shape = scene.library[scene.bodies[scene.index("cover")].parts[0].shape]
    assert (shape.kind, shape.parameters) == ("capsule", {"radius": 0.06, "half_length": 0.15})
    assert len(urdf.load(arm).bodies) == 6


def test_packages_stay_within_their_folders(arm: Path) -> None:
    """A name that leaves the folder of its package is refused even where a file is there."""
    for uri in ("package://..//gripper/finger.stl", "package://gripper/" + str(arm.parents[1] / "gripper/finger.stl")):
        arm.write_text(ARM.replace("package://gripper/finger.stl", uri))
        with pytest.raises(cl.FileError, match=r"left/0.*leaves its package"):
            urdf.load(arm, packages={"gripper": arm.parents[1] / "gripper"})


def test_many_fixed_links(arm: Path) -> None:
    """Memory does not grow with the square of the number of links that move together, nor with the uses of a mesh."""
    count = 2000
    link = '<link name="b{0}"><collision><geometry><mesh filename="wedge.obj"/></geometry></collision></link>'
    joint = '<joint name="f{0}" type="fixed"><parent link="b{1}"/><child link="b{0}"/></joint>'
    # The joints come from the last to the first, so that none follows the one above it.
    text = "".join(link.format(i) for i in range(count))
    text += "".join(joint.format(i, i - 1) for i in reversed(range(1, count)))
    arm.write_text(f'<robot name="chain">{text}</robot>')
    tracemalloc.start()
    try:
        scene = urdf.load(arm)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(scene.bodies) == count and not scene.pairs and len(scene.library) == 1
    assert peak < 60e6, peak  # 4 million pairs of names take 900 MB


@pytest.mark.parametrize("name", ["bomb.3mf", "bomb.zip", "bomb.off"])
def test_archives_of_meshes(arm: Path, name: str) -> None:
    """An archive is measured by what is in it before it is read."""
    pytest.importorskip("trimesh", reason="trimesh, which reads other formats, is not installed")
    with zipfile.ZipFile(arm.parent / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        for k in range(2):
            with z.open(f"{k}.model", "w") as member:
                for _ in range(80):
                    member.write(bytes(1 << 20))
    arm.write_text(ARM.replace("wedge.obj", name))
    with pytest.raises(cl.FileError, match=rf"{name}.*(bytes, want at most|unpack)"):
        urdf.load(arm)
