"""Tables of what becomes of the fields of a model: a loader is driven by the same rows as the page that lists them."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

USED: Final = "used"
INERT: Final = "moves nothing"

_COLUMNS: Final = 120


@dataclass(frozen=True)
class Row:
    """Fields, by name or by pattern, and what becomes of them in scenes and in simulations."""

    patterns: tuple[str, ...]
    scene: str
    bodies: str


class FieldTable:
    """The rows of a text: scenes, simulations and fields, which lines that begin with a blank go on with. A name stands
    in one row; patterns are looked at after names."""

    def __init__(self, heads: tuple[str, str, str], text: str) -> None:
        self.heads = heads
        joined = text.strip().replace("\n ", " ")
        cells = (line.split("|") for line in joined.split("\n"))
        self.rows = [Row(tuple(fields.split()), scene.strip(), bodies.strip()) for scene, bodies, fields in cells]
        self.row_of = cache(self._row_of)

    def _row_of(self, name: str) -> Row | None:
        for exact in (True, False):
            for row in self.rows:
                for pattern in row.patterns:
                    if name == pattern if exact else fnmatchcase(name, pattern):
                        return row
        return None

    def markdown(self) -> str:
        """The rows as Markdown, each of as many lines as its fields need."""
        lines = [f"| {' | '.join(self.heads)} |", "|---|---|---|"]
        for row in self.rows:
            end, text = f" | {row.scene} | {row.bodies} |", ""
            for pattern in row.patterns:
                if text and len(f"| {text}, `{pattern}`{end}") > _COLUMNS:
                    lines.append(f"| {text}{end}")
                    text = ""
                text += f", `{pattern}`" if text else f"`{pattern}`"
            lines.append(f"| {text}{end}")
        return "\n".join(lines) + "\n"


def shortened(names: list[str], most: int = 3) -> str:
    """A few names of a list."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
