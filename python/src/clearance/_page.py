"""Pages that show a scene description: one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from ._errors import FileError
from ._picture import CameraLike, Film, Picture, PictureOptions, film, picture


@dataclass(frozen=True, repr=False)
class View:
    """A page of rows. Notebooks show it; ``save`` writes it as a file.

    ``scene`` is the scene description that the page contains, by the names of ``docs/scene.md``.
    """

    scene: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows of the page."""
        return int(self.scene["rows"]["count"])

    @cached_property
    def html(self) -> str:
        """The page: one HTML file that needs no network."""
        return page(self.scene)

    def picture(
        self,
        row: int = 0,
        *,
        time: float | None = None,
        size: tuple[int, int] = (960, 600),
        camera: CameraLike = None,
        path: str | os.PathLike[str] | None = None,
        **options: Unpack[PictureOptions],
    ) -> Picture:
        """A row of the page, by its position in the table, as a picture: bodies, ground, shadows, and the distances of
        the rows of its world as segments between witnesses: green, red of contacts, yellow without an answer. It needs
        no display and no browser.

        ``time`` is one of the time line, by default that of the row. ``size`` is in pixels, ``camera`` a
        :class:`Camera` or its azimuth and elevation in degrees. ``path`` is a .png file to write. ``options`` are those
        of :class:`PictureOptions`.
        """
        return picture(self.scene, row=row, time=time, size=size, camera=camera, path=path, **options)

    def film(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        row: int = 0,
        size: tuple[int, int] = (640, 400),
        camera: CameraLike = None,
        fps: float = 25.0,
        speed: float = 1.0,
        **options: Unpack[PictureOptions],
    ) -> Film:
        """The world of a row along its time line, as a GIF of ``fps`` frames a second; a second of it shows ``speed``
        seconds, or a sixth of a time line of other units. ``path`` is a .gif or (by the package pillow) .webp file to
        write. The rest is that of :meth:`picture`."""
        return film(self.scene, path=path, row=row, size=size, camera=camera, fps=fps, speed=speed, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; to a path that ends in .json the scene description alone, which desktop viewers open."""
        text = scene_text(self.scene) if Path(path).suffix == ".json" else self.html
        Path(path).write_text(text, encoding="utf-8")

    def to_rerun(self, recording: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
        """The scene in a recording of Rerun (package rerun-sdk), which is returned: rows on the time line "row", worlds
        on that of their times, steps of solvers on "step". ``recording`` is one to log into, ``path`` an .rrd file to
        write."""
        from ._viewers import to_rerun

        return to_rerun(self.scene, recording, path)

    def to_viser(self, server: Any = None, *, port: int = 8080) -> Any:
        """The scene on a server of Viser (package viser), which is returned, by default a new one of this machine
        alone: a slider chooses the row, another one the time."""
        from ._viewers import to_viser

        return to_viser(self.scene, server, port)

    def _repr_html_(self) -> str:
        try:
            text = html.escape(self.html, quote=True)
        except FileError as e:  # the script is missing: a picture stands in for the page
            png = base64.b64encode(self.picture().png).decode() if self.rows else ""
            return f'<img alt="" src="data:image/png;base64,{png}"><p>{html.escape(str(e))}</p>'
        return f'<iframe style="width:100%;height:600px" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"View of {self.rows} rows: save it to look at it"


def scene_text(scene: dict[str, Any]) -> str:
    """A scene description as JSON without "<", which could end the element of a page that contains it."""
    return json.dumps(scene, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def script() -> str:
    """The script of the page. Without it the error says why, as scripts/viewer.sh found it."""
    folder = Path(__file__).parent
    bundle, reason = folder / "viewer.js", folder / "viewer.missing"
    if bundle.exists():
        return bundle.read_text(encoding="utf-8")
    why = reason.read_text(encoding="utf-8").strip() if reason.exists() else "scripts/viewer.sh was not run"
    raise FileError(
        f"{bundle} is missing: {why} when the wheel was built. The viewer comes from npm; build the wheel where npm is "
        "installed and reaches its registry: 'make wheel'"
    )


def page(scene: dict[str, Any]) -> str:
    """The page of a scene description. Its policy lets the browser run the viewer's script and nothing else, and open
    no connection."""
    code = script()
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    parts = {
        "title": html.escape(scene["title"]),
        "data": scene_text(scene),
        "script": code,
        "policy": f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:",
    }
    text = Path(__file__).with_name("viewer.html").read_text(encoding="utf-8")
    pieces = text.split("{{")
    return pieces[0] + "".join(parts[p.split("}}", 1)[0]] + p.split("}}", 1)[1] for p in pieces[1:])
