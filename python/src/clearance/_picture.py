"""Pictures of scene descriptions, drawn by the library on the processor: no display, no OpenGL, no browser."""

from __future__ import annotations

import base64
import ctypes
import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address
from ._describe import unpacked
from ._errors import FileError, OptionError
from ._options import check_names, flag, real, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Seconds that a film of a time line without seconds takes.
_SECONDS: Final = 6.0

# The most frames of a film.
_FRAMES: Final = 2000


@dataclass(frozen=True)
class Camera:
    """Where a picture is seen from.

    ``azimuth`` and ``elevation`` are the direction of the eye from the target in degrees: about z from x, and above the
    plane of x and y. With ``zoom`` 1 all bodies fill the picture, with 2 they are twice as large. ``target`` is the
    point [3] in its middle, in metres; None is the middle of the bodies.
    """

    azimuth: float = -57.0
    elevation: float = 24.0
    zoom: float = 1.0
    target: Sequence[float] | None = None

    def __post_init__(self) -> None:
        real("azimuth", self.azimuth)
        if not -90 <= real("elevation", self.elevation) <= 90:
            raise OptionError(f"elevation: {self.elevation!r}, want degrees from -90 to 90")
        real("zoom", self.zoom, 0, above=True)
        if self.target is not None:
            _three("target", self.target)


# Where a picture is seen from: a Camera, or its azimuth and elevation in degrees.
CameraLike = Camera | tuple[float, float] | None


@dataclass(frozen=True)
class Segment:
    """A segment drawn over a picture: its ends [3] in metres, its color as red, green and blue from 0 to 1, a label."""

    start: Sequence[float]
    end: Sequence[float]
    color: Sequence[float] = (0.75, 0.1, 0.55)
    label: str = ""


class PictureOptions(TypedDict, total=False):
    """What a picture shows besides its bodies."""

    colors: Mapping[int, Sequence[float]]  # of bodies by index, red, green and blue from 0 to 1
    floor: bool  # True: where no half-space is, a floor below the lowest point; it is no part of the scene
    distances: bool  # True: segments between the witnesses of rows
    tint: bool  # True: bodies in contact are red, those without an answer yellow
    labels: Sequence[str]  # of the rows, by default the distances of up to 12 rows of a picture
    segments: Sequence[Segment]  # further ones, drawn over all


@dataclass(frozen=True, repr=False, eq=False)
class Picture:
    """A picture, which notebooks show. ``png`` is a PNG file, ``size`` its width and height in pixels."""

    png: bytes
    size: tuple[int, int]
    _drawn: tuple[str, str] = field(default=("", ""))

    @property
    def array(self) -> NDArray[np.uint8]:
        """Red, green and blue of the pixels, uint8 [rows,columns,3], drawn anew."""
        columns, rows = self.size
        pixels = _drawing(*self._drawn, "rgb", 3 * columns * rows)
        return np.frombuffer(pixels, np.uint8).reshape(rows, columns, 3)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the PNG file, by a name that ends in .png."""
        _write(path, {".png": lambda: self.png})

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"Picture of {self.size[0]}×{self.size[1]} pixels"


@dataclass(frozen=True, repr=False, eq=False)
class Film:
    """A film, which notebooks play. ``gif`` is a GIF file of ``frames`` pictures, which plays without end."""

    gif: bytes
    frames: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the film, by a name that ends in .gif or, by the package pillow, in .webp."""
        _write(path, {".gif": lambda: self.gif, ".webp": self._webp})

    def _webp(self) -> bytes:
        try:
            from PIL import Image
        except ImportError as e:
            raise FileError("WebP files are written by the package pillow: pip install pillow; .gif needs none") from e
        out = io.BytesIO()
        with Image.open(io.BytesIO(self.gif)) as film:
            film.save(out, "WEBP", save_all=True, quality=80, method=4)
        return out.getvalue()

    def _repr_html_(self) -> str:
        return f'<img alt="film" src="data:image/gif;base64,{base64.b64encode(self.gif).decode()}">'

    def __repr__(self) -> str:
        return f"Film of {self.frames} frames, {len(self.gif) / 1e6:.1f} MB"


def picture(
    scene: Mapping[str, Any],
    *,
    row: int = 0,
    time: float | None = None,
    size: tuple[int, int] = (960, 600),
    camera: CameraLike = None,
    path: str | os.PathLike[str] | None = None,
    **options: Unpack[PictureOptions],
) -> Picture:
    """A row of a scene description with its world, at a time of it."""
    if path is not None:
        _ending(path, (".png",))
    asked = _options(scene, row, size, camera, options)
    if time is not None:
        asked["time"] = real("time", time)
    drawn = json.dumps(scene), json.dumps(asked)
    found = Picture(
        _drawing(*drawn, "png", 4 * asked["width"] * asked["height"] + 65536), (asked["width"], asked["height"]), drawn
    )
    if path is not None:
        found.save(path)
    return found


def film(
    scene: Mapping[str, Any],
    *,
    row: int = 0,
    size: tuple[int, int] = (640, 400),
    camera: CameraLike = None,
    fps: float = 25.0,
    speed: float = 1.0,
    path: str | os.PathLike[str] | None = None,
    **options: Unpack[PictureOptions],
) -> Film:
    """The world of a row of a scene description along its time line."""
    if path is not None:
        _ending(path, (".gif", ".webp"))
    asked = _options(scene, row, size, camera, options)
    fps, speed = real("fps", fps, 0, above=True), real("speed", speed, 0, above=True)
    if not 0.02 <= 1 / fps <= 60:
        raise OptionError(f"fps: {fps!r}, want frames per second from 1/60 to 50")
    worlds = scene.get("worlds") or []
    if not worlds:
        raise OptionError("this scene has no time line: a film is of worlds that move")
    column = scene["rows"].get("world")
    world = worlds[0] if column is None or not scene["rows"]["count"] else worlds[int(unpacked(column)[row])]
    times = unpacked(world["times"]).astype(float)
    length = float(times[-1] - times[0])
    pace = speed if scene["time_unit"] == "s" or length == 0 else speed * length / _SECONDS
    count = max(math.floor(length / pace * fps + 1e-9) + 1, 1)
    if count > _FRAMES:
        raise OptionError(f"{count:,} frames, and a film has at most {_FRAMES:,}: raise speed or lower fps")
    asked |= {"frame_time": 1 / fps, "times": _shown(times, times[0] + pace / fps * np.arange(count), pace / fps)}
    bound = asked["width"] * asked["height"] * min(count, 200) + 65536
    found = Film(_drawing(json.dumps(scene), json.dumps(asked), "gif", bound), count)
    if path is not None:
        found.save(path)
    return found


def _shown(times: Array, frames: Array, step: float) -> list[float]:
    """The times of frames: those of the time line, whose answers are known, where there is one within half a frame."""
    near = times[np.abs(times[None, :] - frames[:, None]).argmin(axis=1)] if len(times) * len(frames) < 1e7 else frames
    chosen: list[float] = np.where(np.abs(near - frames) <= step / 2, near, frames).tolist()
    return chosen


def _options(
    scene: Mapping[str, Any], row: int, size: tuple[int, int], camera: CameraLike, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a picture as the library reads them."""
    check_names("pictures", options, list(PictureOptions.__annotations__))
    try:
        columns, lines = size
    except (TypeError, ValueError) as e:
        raise OptionError(f"size: {size!r}, want the width and the height in pixels") from e
    shape = whole("size", columns, 16, 4096), whole("size", lines, 16, 4096)
    out: dict[str, Any] = {"width": shape[0], "height": shape[1]}
    out["row"] = whole("row", row, 0, max(int(scene["rows"]["count"]) - 1, 0))
    if camera is not None:
        if not isinstance(camera, Camera):
            try:
                azimuth, elevation = camera
            except (TypeError, ValueError) as e:
                raise OptionError(f"camera: {camera!r}, want a Camera, or azimuth and elevation in degrees") from e
            camera = Camera(azimuth, elevation)
        out |= asdict(camera)
        out["target"] = None if camera.target is None else _three("target", camera.target)
    colors = options.get("colors")
    if colors:
        table: list[Any] = [None] * len(scene["bodies"])
        for body, color in dict(colors).items():
            table[whole("colors", body, 0, len(table) - 1)] = _color(color)
        out["colors"] = table
    out["no_floor"] = not flag("floor", options.get("floor", True))
    out["no_marks"] = not flag("distances", options.get("distances", True))
    out["untinted"] = not flag("tint", options.get("tint", True))
    labels = options.get("labels")
    if labels is not None:
        out["labels"] = [str(text) for text in labels]
    out["segments"] = [
        {"from": _three("segments", s.start), "to": _three("segments", s.end), "color": _color(s.color)}
        | {"label": s.label}
        for s in options.get("segments", ())
    ]
    return out


def _three(name: str, value: Any) -> list[float]:
    array = np.asarray(value, np.float64)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise OptionError(f"{name}: {value!r:.60}, want three finite numbers")
    return [float(x) for x in array]


def _color(value: Any) -> list[float]:
    color = _three("colors", value)
    if not all(0 <= c <= 1 for c in color):
        raise OptionError(f"colors: {value!r:.60}, want red, green and blue from 0 to 1")
    return color


def _drawing(document: str, options: str, kind: str, size: int) -> bytes:
    """A file or pixels that the library draws; size is about how many bytes there are."""
    return _jobs.aside(partial(_drawn_now, document, options, kind, size))


def _drawn_now(document: str, options: str, kind: str, size: int) -> bytes:
    n = nat.native()
    error, needed = nat.Error(), ctypes.c_int64()
    while True:
        out = np.empty(size, np.uint8)
        asked = document.encode(), options.encode(), kind.encode()
        n.raise_for(n.picture(*asked, address(out), size, needed, error), error)
        if needed.value <= size:
            return out[: needed.value].tobytes()
        size = needed.value


def _ending(path: str | os.PathLike[str], known: Iterable[str]) -> str:
    """The ending of the name of a file, which must be known."""
    found = Path(path).suffix.lower()
    if found not in known:
        raise FileError(f"{os.fspath(path)}: want a name that ends in {' or '.join(known)}")
    return found


def _write(path: str | os.PathLike[str], kinds: Mapping[str, Any]) -> None:
    """Write the file that the ending of a name asks for."""
    kind = kinds[_ending(path, kinds)]
    try:
        Path(path).write_bytes(kind())
    except OSError as e:
        raise FileError(f"{os.fspath(path)}: {e.strerror}") from e
