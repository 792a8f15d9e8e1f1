"""Pages that show a scene description: one HTML file that needs no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._errors import FileError


@dataclass(frozen=True, repr=False)
class View:
    """A page of rows. Notebooks show it; ``save`` writes it as a file.

    ``scene`` is the scene description that the page contains, by the names of ``docs/scene.md``.
    """

    html: str
    rows: int
    scene: dict[str, Any] = field(default_factory=dict)

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
        text = html.escape(self.html, quote=True)
        return f'<iframe style="width:100%;height:600px" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"View of {self.rows} rows, {len(self.html) / 1e6:.1f} MB of HTML: save it to look at it"


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


def page(scene: dict[str, Any]) -> View:
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
    filled = pieces[0] + "".join(parts[p.split("}}", 1)[0]] + p.split("}}", 1)[1] for p in pieces[1:])
    return View(filled, scene["rows"]["count"], scene)
