"""URDF files as the world writes them: harmless faults are repaired and noted, others are errors that name file, line
and link."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_urdf import ARM, WEDGE, homogeneous

import clearance as cl
from clearance import contact, urdf

BALL = '<robot name="ball">\n<link name="ball">\n<collision><geometry><sphere radius="1"/></geometry></collision>\n'
END = "</link>\n</robot>"
MASS = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial>\n'


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('<?xml version="0.0"?>\n' + BALL + END, 'line 1: an XML declaration of the version "0.0"'),
        ('\n\n<?xml version="1.0"?>\n' + BALL + END, "line 3: an XML declaration that is not at the start"),
        ('<?xml version="1.0"?><?xml version="1.0"?>' + BALL + END, "line 1: an XML declaration that is not at the"),
        (BALL.replace("radius", 'drake:x="0" radius') + END, "line 3: the prefix 'drake' has no namespace"),
        (BALL + '<bumper a="1"/>' + END, "line 4: <bumper> in <link> is not known, left out of link 'ball'"),
        (BALL + '<origin xyz="0 0 5"/>' + END, "line 4: <origin> in <link> is not known, left out of link 'ball'"),
        (BALL + END + "\n<link name='b'/>", "line 6: content after the root element, left out"),
        (BALL + END + "\n</robot> junk", "line 6: content after the root element, left out"),
        ('<?xml version="1.0" encoding="utf-8"?>\n<!-- \xe4 -->\n' + BALL + END, "line 2: bytes that are not utf-8"),
        (BALL.replace(' name="ball">\n<link', ">\n<link") + END, "line 1: <robot> has no name"),
        (BALL.replace('sphere radius="1"', 'sphere radius="0.00"') + END, "line 3.*'ball/0': a sphere of radius 0,"),
        (BALL.replace('radius="1"', 'radius="1" color="red"') + END, "line 3: <sphere> has the unknown attribute 'c"),
        (
            BALL.replace("<geom", '<origin xyz="0 0 0"/><origin xyz="0 0 0"/><geom') + END,
            "line 3: <origin> in <collision> is there twice, the same of link 'ball'",
        ),
    ],
)
def test_harmless_faults(tmp_path: Path, text: str, note: str) -> None:
    """They load, are listed, and are errors if it is asked for."""
    path = tmp_path / "ball.urdf"
    path.write_bytes(text.encode("latin-1"))
    scene = urdf.load(path)
    count = 2 if "drake:x" in text else 1  # the attribute, and its prefix
    assert [b.name for b in scene.bodies] == ["ball"] and len(scene.notes) == count, scene.notes
    with pytest.raises(cl.FileError, match=rf"ball\.urdf, {note}"):
        urdf.load(path, strict=True)
    assert scene.notes[0].startswith(f"{path}, line ") and f"{count} notes" in repr(scene)
    (tmp_path / "good.urdf").write_text(BALL + END)
    assert urdf.load(tmp_path / "good.urdf", strict=True).notes == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<robot name='r'/>", r"line 1: <robot> has no <link>"),
        ("<robot/>", r"line 1: <robot> has no <link>"),
        ("<robot name='r'><link/></robot>", "line 1: <link> has no name"),
        ("<sdf version='1.6'><model name='m'/></sdf>", "<sdf> is the root element: SDF is not read"),
        (BALL.replace('radius="1"', 'radius="-1"') + END, "line 3: <sphere> of link 'ball' has the sizes"),
        (BALL.replace('radius="1"', 'radius="nan"') + END, "line 3: <sphere> of link 'ball' has radius='nan', want a"),
        (BALL.replace('radius="1"', 'radius="1_0"') + END, "has radius='1_0', want a finite number"),
        (BALL.replace('radius="1"', "") + END, "line 3: <sphere> of link 'ball' lacks the attribute 'radius'"),
        (BALL.replace('radius="1"', 'raduis="1"') + END, "<sphere> of link 'ball' has the unknown attribute 'raduis'"),
        (BALL.replace("<geom", '<origin pos="0 0 1"/><geom') + END, "<origin> of link 'ball' has the unknown attr"),
        (BALL.replace("<geom", '<origin xyz="0 0"/><geom') + END, "<origin> of link 'ball' has xyz='0 0', want 3"),
        (BALL.replace("<geom", '<origin xyz="0 0 1"/><origin/><geom') + END, "has 2 elements 'origin', want one"),
        (BALL + "<geometry><box size='1 1 1'/></geometry>" + END, "<geometry> of link 'ball' in <link> is out of"),
        (BALL + "</link><collision/></robot>", "<collision> in <robot> is out of place, want it in <link>"),
        (BALL + "<colision/>" + END, "line 4: <colision> of link 'ball' in <link> is not known; <collision> is"),
        (BALL + "<Collision/>" + END, "line 4: <Collision> of link 'ball' in <link> is not known; <collision> is"),
        (BALL.replace("sphere", "cdf") + END, "line 3: <cdf> of link 'ball' in <geometry> is no shape"),
        (BALL.replace("sphere radius='1'", "mesh"), "line"),
        ("<!DOCTYPE r [<!ENTITY x 'y'>]><robot>&x;</robot>", "the entity &x;"),
        ("<robot><link></robot>", "line 1, column .*mismatched tag"),
        (BALL.replace("sphere radius", "cylinder length='0' radius") + END, r"line 3.*'ball/0': cylinder: length = 0"),
        (BALL.replace('radius="1"', 'radius="1e20"') + END, r"line 3: collision element 'ball/0'.*want 1e-09"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    for given in (text, text.encode(), io.StringIO(text), io.BytesIO(text.encode())):
        with pytest.raises((cl.FileError, cl.ShapeError), match=f"^<urdf>.*{reason}"):
            urdf.load(given)


def test_encodings(tmp_path: Path) -> None:
    """Bytes are in the encoding that they state, or that a byte order mark shows."""
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "shift_jis"):
        stated = "" if "utf" in encoding else f'<?xml version="1.0" encoding="{encoding}"?>\n'
        name = "ボール" if encoding in ("utf-8", "shift_jis", "utf-16") else "böll"
        text = stated + (BALL + END).replace('link name="ball"', f'link name="{name}"')
        (tmp_path / "r.urdf").write_bytes(text.encode(encoding))
        scene = urdf.load(tmp_path / "r.urdf", strict=True)
        assert scene.link_names == [name]
    with pytest.raises(cl.FileError, match="<urdf>: the encoding 'none' is not known"):
        urdf.load(b"<?xml version='1.0' encoding='none'?><robot/>")


def test_omit_names_the_parent(tmp_path: Path) -> None:
    """An element is left out of that parent alone; no advice offers one that has a meaning elsewhere."""
    path = tmp_path / "arm.urdf"
    text = ARM.replace("package://gripper/finger.stl", "wedge.obj")
    text = text.replace('<link name="shoulder"/>', '<link name="shoulder"><origin xyz="1 0 0"/><bumper/></link>')
    path.write_text(text.replace("<link", '<d:loop xmlns:d="http://drake.mit.edu"/><link', 1))
    (tmp_path / "wedge.obj").write_text(WEDGE)
    every = ("link/origin", "link/bumper", "robot/d:loop")
    plain = urdf.load(path)
    assert [n.split(": ")[1].split(" is")[0] for n in plain.notes] == [
        "<d:loop> in <robot>",
        "<origin> in <link>",
        "<bumper> in <link>",
    ]
    scene = urdf.load(path, omit=every, strict=True)
    joints = scene.random_joints(5, slides=(0, 1))
    assert (scene.poses(joints) == plain.poses(joints)).all()
    # The joints and collisions keep their origins: those of the link alone are left out.
    assert np.ptp(scene.forward(joints)[0, :, 2]) > 0.1
    with pytest.raises(cl.FileError, match=r"<bumper>.*omit=\('link/bumper',\) leaves it out"):
        urdf.load(path, omit=("link/origin", "robot/d:loop"), strict=True)
    with pytest.raises(cl.FileError, match="<origin>") as error:
        urdf.load(path, strict=True, omit=("robot/d:loop",))
    assert "omit=" not in str(error.value)
    assert np.ptp(urdf.load(path, omit=("joint/origin",)).forward(joints)[0, 0]) == 1  # as asked
    with pytest.raises(cl.OptionError, match="omit: 'origin', want PARENT/ELEMENT, such as 'link/origin'"):
        urdf.load(path, omit=("origin",))
    with pytest.raises(cl.OptionError, match="omit: 'link/bumpr' is no element"):
        urdf.load(path, omit=(*every, "link/bumpr"))
    with pytest.raises(cl.OptionError, match="text"):
        urdf.load(path, omit="link/bumper")


def test_misspelt_elements_are_no_extras() -> None:
    """One wrong, missing, added or exchanged letter of an element that has a meaning is an error."""
    for name in ("collision", "geometry"):
        for i in range(len(name)):
            swapped = name[:i] + name[i : i + 2][::-1] + name[i + 2 :]
            for wrong in (name[:i] + name[i + 1 :], name[:i] + "x" + name[i:], name[:i] + "x" + name[i + 1 :], swapped):
                if wrong != name:
                    with pytest.raises(cl.FileError, match=f"<{wrong}> .*is not known; <{name}> is"):
                        urdf.load(f"{BALL}<{wrong}/>{END}")


def test_names_of_meshes(tmp_path: Path) -> None:
    """Packages without a name, model://, percent-encoded names, file:// and backslashes are found."""
    folder = tmp_path / "my robot/meshes"
    folder.mkdir(parents=True)
    (folder / "w e.obj").write_text(WEDGE)
    text = BALL.replace('<sphere radius="1"/>', '<mesh filename="NAME"/>') + END
    path = tmp_path / "my robot/ball.urdf"
    for name, noted in (
        ("package:///my robot/meshes/w e.obj", 1),
        ("model://my robot/meshes/w e.obj", 0),
        ("model://my%20robot/meshes/w%20e.obj", 1),
        ("meshes/w%20e.obj", 1),
        ("meshes/w e.obj", 0),
        ("meshes\\w e.obj", 1),
        (f"file://{folder}/w e.obj", 0),
        (f"file://{folder}/w%20e.obj".replace("my robot", "my%20robot"), 1),
    ):
        path.write_text(text.replace("NAME", name))
        scene = urdf.load(path)
        assert len(scene.bodies) == 1 and len(scene.notes) == noted, (name, scene.notes)
    for name in ("http://x/w.obj", "meshes/no.obj", "package:///../my robot/meshes/w e.obj"):
        path.write_text(text.replace("NAME", name))
        with pytest.raises(cl.FileError, match=r"ball\.urdf, line 3: collision element 'ball/0': "):
            urdf.load(path)
    # A text has no folder but that which is given.
    given = text.replace("NAME", "meshes/w e.obj")
    assert len(urdf.load(given, folder=path.parent).bodies) == 1
    with pytest.raises(cl.FileError, match=r"line 3.*is not found"):
        urdf.load(given)
    with path.open() as file:
        file.seek(0)
        path.write_text(given)
        assert len(urdf.load(file).bodies) == 1


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 2, -2), (-3, 0.1, 0), (0, 1e-9, -1)])
def test_planes(engine: cl.Engine, normal: tuple[float, float, float]) -> None:
    """A plane of PyBullet is the half-space below it; two of them make no pair."""
    plane = '<collision><geometry><plane normal="{} {} {}"/></geometry></collision>'.format(*normal)
    ball = BALL.replace("<geometry>", '<origin xyz="1 2 3"/><geometry>')
    links = f'<link name="p">{plane}</link><link name="q">{plane}</link>'
    joints = "".join(
        f'<joint name="{n}" type="fixed"><parent link="ball"/><child link="{n}"/></joint>' for n in ("p", "q")
    )
    scene = urdf.load(ball + "</link>" + links + joints + "</robot>", skip_adjacent=False)
    assert scene.pairs == [(0, 1), (0, 2)]
    r = engine.rollout(scene, worlds=1, precision="double")(scene.poses(np.zeros((1, 0))), quat="wxyz")
    n = np.array(normal) / np.linalg.norm(normal)
    np.testing.assert_allclose(r.distance[0], n @ [1, 2, 3] - 1, atol=1e-12)


def test_flat_shapes(engine: cl.Engine) -> None:
    """Sizes of 0 are flat shapes, with a margin too."""
    for shape, far in (
        ('sphere radius="0"', (0, 0, 0)),
        ('box size="2 0 4"', (1, 0, 2)),
        ('box size="0 0 0"', (0, 0, 0)),
        ('cylinder radius="0" length="3"', (0, 0, 1.5)),
        ('capsule radius="0" length="3"', (0, 0, 1.5)),
        ('capsule radius="2" length="0"', (2, 2, 2)),
    ):
        scene = urdf.load(BALL.replace('sphere radius="1"', shape) + END, margin=0.5)
        for i, axis in enumerate(np.eye(3)):
            assert scene.library.support(0, axis[None])[0, i] == pytest.approx(far[i] + 0.5)


def test_masses(tmp_path: Path) -> None:
    """Masses and inertias that are no finite numbers are refused, with their line and link; mass 0 does not move; an
    inertia of 0 is an error at once, and may be that of the shapes."""
    for wrong in ("inf", "nan", "-1", "1e999", ""):
        with pytest.raises(cl.FileError, match="<urdf>, line 4: <mass> of link 'ball'"):
            contact.from_urdf(BALL + MASS.replace('value="2"', f'value="{wrong}"') + END)
    for wrong in ("inf", "nan", "x"):
        with pytest.raises(cl.FileError, match="<urdf>, line 4: <inertia> of link 'ball' has iyy="):
            contact.from_urdf(BALL + MASS.replace('iyy="1"', f'iyy="{wrong}"') + END)
    for wrong in ("0", "-1", "1e-30"):
        text = BALL + MASS.replace('izz="1"', f'izz="{wrong}"') + END
        with pytest.raises(cl.FileError, match=r"<urdf>, line 4: <inertia> of link 'ball': .*mass_properties.*shapes"):
            contact.from_urdf(text)
        found: Any = contact.from_urdf(text, inertia="shapes")
        assert found.mass.tolist() == [2]
        np.testing.assert_allclose(found.inertia[0], [0.8, 0.8, 0.8, 0, 0, 0], atol=1e-12)
    still: Any = contact.from_urdf(BALL + MASS.replace('value="2"', 'value="0"') + END)
    assert still.mass.tolist() == [np.inf] and "mass 0: the body does not move" in still.notes[0]
    with pytest.raises(cl.FileError, match="no link has a mass"):
        contact.from_urdf(BALL + END)
    with pytest.raises(cl.FileError, match="line 4: <inertial> of link 'ball' has no <inertia>"):
        contact.from_urdf(BALL + '<inertial><mass value="2"/></inertial>' + END)
    # A scene does not look at masses.
    assert len(urdf.load(BALL + MASS.replace('value="2"', 'value="x"') + END).bodies) == 1


def test_range_of_slides() -> None:
    text = BALL + "</link>" + '<link name="cart"/><joint name="rail" type="prismatic"><parent link="cart"/>'
    scene = urdf.load(text + '<child link="ball"/></joint></robot>')
    with pytest.raises(cl.OptionError, match=r"'rail'.*slides=\(low, high\)"):
        scene.random_joints(5)
    q = scene.random_joints(50, slides=(-2, 3))
    assert (q >= -2).all() and (q <= 3).all() and np.ptp(q) > 3
    for wrong in ((1, 0), (0, np.inf), 3, "ab"):
        with pytest.raises(cl.OptionError, match="slides"):
            scene.random_joints(5, slides=wrong)  # type: ignore[arg-type]
    assert homogeneous(scene.forward(q)).shape == (50, 2, 4, 4)
