"""Pictures and films: what they show, of what, and what is refused. Package internal/picture tests the renderer."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Pairs, every_kind

import clearance as cl
from clearance import _page

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><collision><origin xyz="0 0 0.2"/><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
<link name="lower"><collision><origin xyz="0 0 0.15"/><geometry><cylinder radius="0.05" length="0.3"/></geometry>
</collision></link>
<joint name="first" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<joint name="second" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.45"/>
<axis xyz="0 1 0"/></joint></robot>"""


@pytest.fixture
def arm(tmp_path: Path) -> Any:
    """An arm of two links, and a box beside it."""
    (tmp_path / "arm.urdf").write_text(ARM)
    scene = cl.load(tmp_path / "arm.urdf")
    box = scene.add(scene.library.box([0.1, 0.1, 0.1]), name="box")
    scene.pairs = [(0, box), (1, box)]
    return scene


BESIDE = [[0.4, 0, 0.1, 1, 0, 0, 0]]


def decoded(png: bytes) -> Any:
    """The pixels of a PNG file of eight bits a channel, by the specification: its checksums, and its filters undone."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, head = 8, b"", b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        head, packed = (body, packed) if kind == b"IHDR" else (head, packed + body if kind == b"IDAT" else packed)
        at += 12 + size
    wide, high, depth, color = struct.unpack(">IIBB", head[:10])
    assert depth == 8 and color in (2, 6)
    n = 3 if color == 2 else 4
    raw = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(high, 1 + n * wide)
    out = np.zeros((high, wide + 1, n), np.int64)
    for y in range(high):
        line, above = raw[y, 1:].reshape(wide, n).astype(int), out[y - 1] if y else np.zeros((wide + 1, n), int)
        for x in range(wide):
            a, b, c = out[y, x - 1] if x else np.zeros(n, int), above[x], above[x - 1] if x else np.zeros(n, int)
            p = a + b - c
            near = np.where(
                (abs(p - a) <= abs(p - b)) & (abs(p - a) <= abs(p - c)), a, np.where(abs(p - b) <= abs(p - c), b, c)
            )
            out[y, x] = (line[x] + (0, a, b, (a + b) // 2, near)[raw[y, 0]]) % 256
    return out[:, :wide, :3]


def test_scene(arm: Any, engine: Any, tmp_path: Path) -> None:
    """A configuration and its poses give one picture; notebooks and files have its bytes, arrays its pixels."""
    picture = arm.picture([0.3, 0.5], others=BESIDE, engine=engine, size=(96, 64), path=tmp_path / "arm.png")
    assert picture.size == (96, 64) and "96×64" in repr(picture)
    assert picture._repr_png_() == picture.png == (tmp_path / "arm.png").read_bytes()
    assert picture.array.shape == (64, 96, 3)
    np.testing.assert_array_equal(decoded(picture.png), picture.array)
    poses = arm.poses([[0.3, 0.5]], others=BESIDE)[0]
    assert arm.picture(poses, engine=engine, size=(96, 64)).png == picture.png
    xyzw = np.array(poses)[:, [0, 1, 2, 4, 5, 6, 3]]
    assert arm.picture(xyzw, quat="xyzw", engine=engine, size=(96, 64)).png == picture.png
    assert arm.picture([0.3, 0.6], others=BESIDE, engine=engine, size=(96, 64)).png != picture.png


def count(picture: cl.Picture, color: Any) -> int:
    """The number of pixels of a color."""
    return int((np.abs(picture.array.astype(int) - color).max(axis=2) <= 3).sum())


def test_distances(arm: Any, engine: Any) -> None:
    """Segments are green of separated bodies and red of others; bodies in contact are reddish."""
    green, red = [18, 115, 69], [209, 41, 33]
    apart = arm.picture([0, 0], others=BESIDE, engine=engine, size=(120, 200))
    assert count(apart, green) > 8 and count(apart, red) == 0
    deep = arm.picture([0, 0], others=[[0.1, 0, 0.1, 1, 0, 0, 0]], engine=engine, size=(120, 200))
    assert count(deep, red) > 8
    bare = arm.picture([0, 0], others=BESIDE, engine=engine, size=(120, 200), distances=False)
    assert count(bare, green) == 0
    assert count(arm.picture([0, 0], others=BESIDE, nearest=0, size=(120, 200)), green) == 0
    pink = cl.Segment([0, 0, 0.9], [0.5, 0, 0.9], (1, 0, 1))
    marked = arm.picture([0, 0], others=BESIDE, nearest=0, size=(120, 200), segments=[pink])
    assert count(marked, [255, 0, 255]) > 8


def test_view_without_script(arm: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pictures need no script of the page: without it a notebook shows one in place of the page."""
    monkeypatch.setattr(_page, "__file__", str(tmp_path / "_page.py"))
    pairs = Pairs(every_kind(), 5)
    with cl.Engine("cpu") as e:
        view = cl.show(e.distance(*pairs.arrays(), quat="wxyz"), *pairs.arrays(), quat="wxyz")
    near, far = (view.picture(row, size=(64, 48), camera=cl.Camera(30, 20, 1.2)) for row in (0, 4))
    assert near.png != far.png
    shown = view._repr_html_()
    assert "data:image/png" in shown and "viewer.js is missing" in shown
    with pytest.raises(cl.FileError, match="is missing"):
        view.save(tmp_path / "page.html")


def frames(gif: bytes) -> int:
    """The number of frames of a GIF file, by its blocks."""
    assert gif[:6] == b"GIF89a"
    at, n = 13 + (3 << (gif[10] & 7) + 1 if gif[10] & 128 else 0), 0
    while gif[at] != 0x3B:
        if gif[at] == 0x21:
            at += 2
        else:
            assert gif[at] == 0x2C
            n += 1
            at += 11 + (3 << (gif[at + 9] & 7) + 1 if gif[at + 9] & 128 else 0)
        while gif[at]:
            at += 1 + gif[at]
        at += 1
    return n


def test_film(arm: Any, engine: Any, tmp_path: Path) -> None:
    """A film has the frames of its seconds: of 0.5 s at ten a second six, at double speed three."""
    way = np.linspace([0, 0], [0.5, 1], 11)
    film = arm.film(way, dt=0.05, others=BESIDE, engine=engine, size=(64, 48), fps=10, path=tmp_path / "arm.gif")
    assert film.frames == frames(film.gif) == 6 and "6 frames" in repr(film)
    assert (tmp_path / "arm.gif").read_bytes() == film.gif and "data:image/gif" in film._repr_html_()
    poses = arm.poses(way, others=BESIDE)
    fast = arm.film(poses, dt=0.05, engine=engine, size=(64, 48), fps=10, speed=2.0)
    assert fast.frames == frames(fast.gif) == 3
    image: Any = pytest.importorskip("PIL.Image")
    film.save(tmp_path / "arm.webp")
    with image.open(tmp_path / "arm.webp") as moving:
        assert moving.n_frames == 6 and moving.size == (64, 48)


def test_refused(arm: Any, engine: Any, tmp_path: Path) -> None:
    """Errors name the argument, and what was expected."""
    some: dict[str, Any] = {"others": BESIDE, "engine": engine}
    poses = arm.poses([[0.0, 0.0]], others=BESIDE)[0]
    calls: tuple[tuple[Any, str], ...] = (
        (lambda: arm.picture([0, 0], size=(8, 9), **some), "size: 8"),
        (lambda: arm.picture([0, 0], size=7, **some), "size: 7, want the width"),
        (lambda: arm.picture([0, 0], camera=(1, 2, 3), **some), "camera"),
        (lambda: arm.picture([0, 0], camera=(10, 91), **some), "elevation"),
        (lambda: arm.picture([0, 0], colors={5: (1, 0, 0)}, **some), "colors: 5"),
        (lambda: arm.picture([0, 0], colors={1: (2, 0, 0)}, **some), "colors"),
        (lambda: arm.picture([0, 0], label=["x"], **some), "did you mean labels"),
        (lambda: arm.picture([0, 0], labels=["x"], **some), "1 labels of 2 rows"),
        (lambda: arm.picture([0, 0, 0], **some), "joints"),
        (
            lambda: arm.picture(poses[:2], quat="wxyz"),
            r"\[2, 7\], want \[3, 7\] of all bodies, or configurations \[n\]",
        ),
        (lambda: arm.picture(poses, others=BESIDE), "others"),
        (lambda: arm.picture(np.array(poses)), "quat"),
        (lambda: arm.picture([0, 0], path=tmp_path / "a.jpg", **some), "ends in .png"),
        (lambda: arm.picture([0, 0], path=tmp_path / "none" / "a.png", size=(32, 32), **some), "No such file"),
        (lambda: arm.film([[0, 0], [1, 1]], dt=0, **some), "dt"),
        (lambda: arm.film([[0, 0], [1, 1]], dt=1, fps=200, **some), "fps"),
        (lambda: arm.film([[0, 0], [1, 1]], dt=1000, **some), "25,001 frames"),
    )
    for call, message in calls:
        with pytest.raises(cl.ClearanceError, match=message):
            call()
    pairs = Pairs(every_kind(), 2)
    view = cl.show(engine.distance(*pairs.arrays(), quat="wxyz"), *pairs.arrays(), quat="wxyz")
    with pytest.raises(cl.OptionError, match="row: 2"):
        view.picture(2)
    with pytest.raises(cl.OptionError, match="no time line"):
        view.film()
