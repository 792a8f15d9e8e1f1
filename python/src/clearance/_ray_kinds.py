"""The kinds of files that tasks of Ray answer: pairs, worlds and motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from ._errors import FileError, OptionError
from ._library import Library
from ._options import INT64
from ._ray_store import Local, Remote
from ._scene import Scene
from ._score import FileReport, score_file
from ._worlds import audit_rollout_file, audit_sweep_file, rollout_file, size_of_worlds, sweep_file

Kind = Literal["pairs", "worlds", "motions"]

# The options of each kind; others keep their defaults.
_SOLVER: Final = ("query", "columns", "max_distance", "method", "precision", "tolerance")
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "pairs": _SOLVER,
    "worlds": (*_SOLVER, "reduce", "pairs", "culling"),
    "motions": ("max_distance", "tolerance", "time_tolerance", "max_evaluations"),
}
_DEFAULTS: Final = {"query": "distance", "method": "auto", "precision": "single", "culling": True}

# Options that no answer has to meet.
_UNASKED: Final = ("columns", "method", "culling", "max_evaluations")

# Rows of a Parquet file of worlds that the library reads at a time to learn the bodies of a world.
_HEAD: Final = 1 << 14


def options_of(kind: Kind, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a kind of files, or OptionError for one of another kind."""
    for name, value in given.items():
        if name not in _OPTIONS[kind] and value != _DEFAULTS.get(name):
            raise OptionError(f"{name}: {value!r}, but files of {kind} have no such option")
    return {name: given[name] for name in _OPTIONS[kind]}


def shapes_of(kind: Kind, library: Any, scene: Any) -> Library | Scene:
    """What the files are of: a library of pairs, a scene of worlds and motions."""
    given, other, name = (library, scene, "library") if kind == "pairs" else (scene, library, "scene")
    if given is None or other is not None:
        raise OptionError(f"{name}: files of {kind} want {name}=, and it alone")
    if kind == "pairs":
        return given if isinstance(given, Library) else Library.load(given)
    if not isinstance(given, Scene):
        return Scene.load(given)
    return Scene(given.library, list(given.bodies))  # the pairs are those of the files


@dataclass(frozen=True)
class Size:
    """How many pairs or worlds a file has, and what one of them has."""

    count: int
    pairs: int = 1
    rows: int = 1  # of results; 0 if their number is known only with the answers
    lines: int = 1  # rows of a Parquet file


EMPTY: Final = Size(0)


def size_of(f: Local | Remote, kind: Kind, options: dict[str, Any]) -> Size:
    """The size of a file."""
    if kind == "pairs":
        return Size(f.rows())
    about = _look(f)
    listed = 0 if options.get("pairs") else about.pairs
    pairs = listed or about.places * (about.places - 1) // 2
    rows = 1 if options.get("reduce") else listed
    return Size(about.worlds, max(pairs, 1), rows, about.places * about.way_points)


def _look(f: Local | Remote) -> Any:
    """The sizes of a file of worlds; of an object its first rows tell them, unless a world has more."""
    if isinstance(f, Remote) and f.path.endswith(".parquet"):
        try:
            with f.reading(0, _HEAD) as local:
                return size_of_worlds(local)
        except FileError:
            pass
    with f.reading(0, INT64) as local:
        return size_of_worlds(local)


def head_of(lines: int) -> int:
    """The rows of a Parquet file that the library reads before the first of a range, where a world has so many."""
    return lines + _HEAD


def results_of(size: Size, options: dict[str, Any]) -> int:
    """The answers of a pair or a world that an audit counts: rows, or of all pairs the pairs."""
    return 1 if options.get("reduce") else size.pairs


def audit_part(
    kind: Kind, source: str, results: str, shapes: Any, part: tuple[int, int], engine: Any, options: dict[str, Any]
) -> tuple[int, int]:
    """Audit results of a range of the worlds of a file: the numbers of answers (audited, refuted)."""
    call = cast(Callable[..., tuple[int, int]], audit_rollout_file if kind == "worlds" else audit_sweep_file)
    asked = {k: v for k, v in options.items() if k not in _UNASKED}
    return call(source, results, scene=shapes, part=part, engine=engine, **asked)


def answer_file(
    kind: Kind, source: str, out: str, shapes: Any, part: tuple[int, int], engine: Any, options: dict[str, Any]
) -> FileReport:
    """Answer a range of the pairs, or of the worlds, of a file."""
    if kind == "pairs":
        return score_file(source, out, library=shapes, rows=part, audit=False, engine=engine, **options)
    call = cast(Callable[..., FileReport], rollout_file if kind == "worlds" else sweep_file)
    return call(source, out, scene=shapes, part=part, engine=engine, **options)
