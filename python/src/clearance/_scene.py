"""Scenes: bodies of convex parts, and the pairs of bodies that are asked about."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as nat
from ._arrays import Array, address, host, take
from ._errors import OptionError, ShapeError
from ._library import Library
from ._options import INT32, whole
from ._shapes import Vector
from ._skip import SkipProposal, batches_of, propose

if TYPE_CHECKING:
    from ._engine import Engine


@dataclass(frozen=True, eq=False)
class Part:
    """A convex part of a body: a shape of the library at a pose in the frame of the body."""

    shape: int
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (1.0, 0.0, 0.0, 0.0)  # quaternion (w, x, y, z)


@dataclass(frozen=True, eq=False)
class Body:
    """A union of convex parts that move together."""

    parts: tuple[Part, ...]
    name: str = ""


@dataclass(eq=False)
class Scene:
    """M bodies, and P pairs of them: what every world of a rollout shares.

    ``library`` has the shapes; ``bodies`` are their unions; ``pairs`` are [P,2] indices of bodies. Body i stands at
    place i of every world. Like a library, a scene is plain data: it may be pickled, and made before a fork.
    """

    library: Library = field(default_factory=Library)
    bodies: list[Body] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def add(self, *parts: int | Part, name: str = "") -> int:
        """Add a body of shapes (at the origin of the body) or parts, and return its index."""
        if not parts:
            raise ShapeError(f"body {len(self.bodies)} ({name!r}) has no parts")
        self.bodies.append(Body(tuple(p if isinstance(p, Part) else Part(int(p)) for p in parts), name))
        return len(self.bodies) - 1

    def all_pairs(self, skip: Iterable[tuple[int, int]] = ()) -> None:
        """Ask about all pairs of bodies, without those to skip."""
        skipped = {frozenset(p) for p in skip}
        m = len(self.bodies)
        self.pairs = [(i, j) for i in range(m) for j in range(i + 1, m) if frozenset((i, j)) not in skipped]

    def skip(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Leave out pairs, in either order."""
        skipped = {frozenset(p) for p in pairs}
        self.pairs = [p for p in self.pairs if frozenset(p) not in skipped]

    def skip_never_and_always(
        self, samples: int = 10_000, *, poses: Any = None, engine: Engine | None = None, seed: int = 0
    ) -> SkipProposal:
        """A proposal of pairs to skip, by the contacts of sampled configurations, with counts; it is no proof.

        Scenes of URDF and MuJoCo models draw ``samples`` configurations within the limits of their joints; pairs whose
        relative pose these do not determine (bodies added later, free bodies) are not proposed. Any scene takes
        ``poses`` [N,M,7], "wxyz", instead. :meth:`skip` takes what is proposed: ``scene.skip(proposal.skip)``.
        """
        opened = engine
        if opened is None:
            from ._engine import Engine

            opened = Engine()
        try:
            if poses is not None:
                array = host("poses", poses, True)
                given = take("poses", array, np.float64, (len(self.bodies), 7), None, True)
                return propose(opened, self, [given])
            sizes = batches_of(whole("samples", samples, 1), len(self.bodies))
            rng = np.random.default_rng(seed)
            part = Scene(self.library, self.bodies, self._sampled())
            return propose(opened, part, (self._samples(n, rng) for n in sizes))
        finally:
            if engine is None:
                opened.close()

    def _sampled(self) -> list[tuple[int, int]]:
        """The pairs whose relative poses :meth:`_samples` determines."""
        raise OptionError("poses: this scene does not know its configurations, want their poses [N,M,7]")

    def _samples(self, count: int, rng: np.random.Generator) -> Array:
        """Poses [count,M,7] of random configurations."""
        raise NotImplementedError

    def index(self, name: str) -> int:
        """The index of the only body of a name."""
        found = [i for i, b in enumerate(self.bodies) if b.name == name]
        if len(found) != 1:
            raise KeyError(f"{len(found)} bodies have the name {name!r}")
        return found[0]

    def pair_arrays(self) -> tuple[Array, Array]:
        """The pairs as two int32 arrays [P]."""
        return pair_arrays("pairs", self.pairs)

    def __repr__(self) -> str:
        parts = sum(len(b.parts) for b in self.bodies)
        return (
            f"Scene of {len(self.bodies)} bodies of {parts} parts, {len(self.pairs)} pairs, {len(self.library)} shapes"
        )


@dataclass(frozen=True, eq=False)
class Asked:
    """What the rows of a rollout are about: the bodies at its places, [M] or [W,M], -1 for none; the pairs of places
    [P,2], None if all pairs are asked about."""

    bodies: Array
    pairs: Array | None

    def body(self, world: int, place: int) -> int:
        """The body of the scene at a place of a world, -1 if none stands there."""
        return int(self.bodies[place] if self.bodies.ndim == 1 else self.bodies[world, place])


class Table:
    """The bodies of a scene in the native library."""

    def __init__(self, library: Library, bodies: Sequence[Body]) -> None:
        n = nat.native()
        parts = [p for b in bodies for p in b.parts]
        records = (nat.Part * max(len(parts), 1))()
        for record, p in zip(records, parts, strict=False):
            record.shape = whole("shape of a part", p.shape, -INT32)
            record.pose = (ctypes.c_double * 7)(*p.position, *p.rotation)
        first = np.concatenate([[0], np.cumsum([len(b.parts) for b in bodies])]).astype(np.int32)
        names = (ctypes.c_char_p * max(len(bodies), 1))(*(b.name.encode() or None for b in bodies))
        number, error = ctypes.c_uint64(), nat.Error()
        handle = library._open()  # which lives until the call has ended
        code = n.bodies_new(handle.number, records, address(first), len(bodies), names, number, error)
        if code == nat.ARGUMENT:
            raise ShapeError(error.message.decode())
        n.raise_for(code, error)
        self.number: int = number.value

    def __del__(self) -> None:
        if getattr(self, "number", 0) and nat.usable():
            nat.native().bodies_free(self.number, None)


def pair_arrays(name: str, pairs: Iterable[tuple[int, int]]) -> tuple[Array, Array]:
    """Pairs of bodies as two int32 arrays [P]."""
    listed = list(pairs)
    if any(len(p) != 2 for p in listed):
        raise OptionError(f"{name}: {next(p for p in listed if len(p) != 2)!r}, want pairs of two bodies")
    given: Array = np.array(listed).reshape(-1, 2) if listed else np.zeros((0, 2), np.int32)
    array = take(name, given, np.int32, (2,), None, True)
    return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])


def places_of(scene: Scene, bodies: Any, worlds: int) -> tuple[Array, bool]:
    """The bodies at the places, [M] or [W,M], and whether they are those of each world."""
    if bodies is None:
        return np.arange(len(scene.bodies), dtype=np.int32), False
    array = host("bodies", bodies, True)
    m = array.shape[-1] if array.ndim else 0
    if array.ndim == 2:
        return take("bodies", array, np.int32, (m,), worlds, True), True
    return take("bodies", array, np.int32, (), m, True), False


def reduction(reduce: str | None) -> int:
    """The code of a reduction."""
    if reduce not in (None, "none", "world"):
        raise OptionError(f'reduce: {reduce!r}, want None or "world"')
    return int(reduce == "world")
