"""Scenes: bodies of convex parts, the pairs of bodies that are asked about, and proposals of pairs to skip."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from ._arrays import Array, host, take
from ._attach import Attachment, attach, index_of, named
from ._bodies import Body, Listed, Part, listed_pairs, pair_arrays
from ._engine import Engine
from ._errors import ArrayError, NotFoundError, OptionError, ShapeError
from ._inputs import Bodies
from ._kinematics import normalized, product, rotated
from ._library import Library
from ._options import Order, PoseArray, order_of, text, to_wxyz, whole, with_order
from ._pairs import Pairs
from ._picture import CameraLike, Film, Picture, PictureOptions
from ._result import SEPARATED, TOUCHING

if TYPE_CHECKING:
    from ._placements import Placements
    from ._regions import Coordinates, Region


@dataclass(eq=False)
class Scene(Bodies):
    """M bodies, and P pairs of them: what every world of a rollout shares.

    ``library`` has the shapes; ``bodies`` are their unions; ``pairs`` are [P,2] indices of bodies; ``surfaces`` are
    what pairs state for :class:`clearance.contact.Simulation`. Body i stands at place i of every world. Like a library,
    a scene is plain data: it may be pickled, and made before a fork.
    """

    def add(self, *parts: int | Part, name: str = "") -> int:
        """Add a body of shapes (at the origin of the body) or parts, and return its index."""
        if not parts:
            raise ShapeError(f"body {len(self.bodies)} ({name!r}) has no parts")
        self.bodies.append(Body(tuple(p if isinstance(p, Part) else Part(p) for p in parts), text("name", name)))
        return len(self.bodies) - 1

    def attach(
        self,
        what: int | str | Part | Sequence[Part],
        link: int | str,
        pose: Any = None,
        *,
        skip: Iterable[int | str] = (),
        against: Iterable[int | str] | None = None,
        name: str = "",
    ) -> Attachment:
        """Attach a body to another one, its ``link``, at a ``pose`` in the frame of the link: what a gripper holds.

        ``what`` is a body of the scene, by its index or its name, or the parts of a new one, which has a ``name`` and
        is asked about ``against`` all other bodies, or those given. ``pose`` is 7 numbers (position in metres, then the
        quaternion w, x, y, z), a matrix [4,4], or any other form that :meth:`Engine.distance` takes; None is the
        identity. Pairs with the link, with what else it holds, and with the bodies of ``skip``, which may
        touch, are left out until the body is detached.

        The body keeps its index, and its place in every world, but moves with the link: its poses are not read, and
        its gradients are those of the link. Neither shapes nor bodies are prepared again; a rollout is opened after
        it, since one that is open does not change. Where ``bodies`` of :meth:`Engine.rollout` puts the body at places
        of some worlds, and other bodies in others, it is held in those alone.
        """
        return attach(self, what, link, pose, skip, against, name)

    def detach(self, body: int | str | Attachment) -> int:
        """End an attachment, and return the index of the body. The body stands again where poses say, and pairs that
        were left out for its attachment are asked about again, after the others. ``placed`` tells where it was."""
        if isinstance(body, Attachment):
            if body.scene is not self:
                raise OptionError("detach: the attachment is one of another scene")
            return body.detach()
        index = index_of(self, "detach", body)
        if index not in self.attachments:
            raise OptionError(f"detach: {named(self, index)} is not attached to any body")
        self.bodies[index] = self.attachments.pop(index).free
        asked = [p for p in self._left_out if not self._bars(p)]
        self._left_out = [p for p in self._left_out if self._bars(p)]
        self.pairs.extend(asked)
        return index

    def placed(self, poses: Any, quat: Order | None = None) -> PoseArray:
        """Poses [...,M,7], "wxyz", of all bodies, of those that a rollout takes: attached bodies are where their links
        hold them, all others where they were."""
        array = to_wxyz(host("poses", poses, True).astype(np.float64), order_of(quat, poses))
        if array.ndim < 2 or array.shape[-2:] != (len(self.bodies), 7):
            raise ArrayError("poses", f"has the shape {list(array.shape)}, want [..., {len(self.bodies)}, 7]")
        out = array.copy()
        for body, a in self.attachments.items():
            link = normalized(array[..., a.link, :])
            out[..., body, :3] = link[..., :3] + rotated(link[..., 3:], a.pose[:3])
            out[..., body, 3:] = product(link[..., 3:], a.pose[3:])
        return with_order(out, "wxyz")

    def _with_attached(self, known: int, others: Any) -> Any:
        """Poses of the bodies after the first ``known``, with some for attached ones that the caller leaves out."""
        loose = np.array([b not in self.attachments for b in range(known, len(self.bodies))], bool)
        if others is None or loose.all():
            return others
        given = host("others", others, True)
        if given.ndim < 2 or given.shape[-2:] != (loose.sum(), 7) or given.dtype.kind not in "fiu":
            return others
        every = np.empty((*given.shape[:-2], len(loose), 7))
        every[...] = [0, 0, 0, 1.0, 0, 0, 0]
        every[..., loose, :] = given
        return every

    def _bars(self, pair: tuple[int, int]) -> bool:
        """Whether an attachment leaves a pair out."""
        i, j = pair
        one, two = self.attachments.get(i), self.attachments.get(j)
        if (i if one is None else one.link) == (j if two is None else two.link):
            return True
        return (one is not None and j in one.skip) or (two is not None and i in two.skip)

    def _leave_out_barred(self, others: Iterable[int], body: int) -> None:
        """Leave out pairs of a body with others that an attachment bars."""
        pairs = [(i, body) for i in sorted(others) if i != body and self._bars((i, body))]
        self._left_out += self._asked().leave_out(pairs)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Scene:
        """Read shapes.json: its shapes, its bodies (each shape is one if it lists none), and its pairs, if it has some.

        An error names the file and the place.
        """
        library = Library.load(path)
        listed = library._listed
        library._listed = None  # the scene has them
        if listed is None:
            return Scene(library, [Body((Part(i),), s.name) for i, s in enumerate(library)])
        return Scene(library, list(listed.bodies), list(listed.pairs or ()), list(listed.surfaces))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the shapes, bodies and pairs as shapes.json, which :meth:`load` reads back: numbers bit for bit, but
        for rotations, which are normalized. Joints and names of models are not in it, and bodies stand in it as if
        nothing was attached; a pickle keeps these."""
        bodies = [b if i not in self.attachments else self.attachments[i].free for i, b in enumerate(self.bodies)]
        Listed(tuple(bodies), (*self.pairs, *self._left_out), tuple(self.surfaces)).save(self.library, path)

    def all_pairs(self, skip: Iterable[tuple[int, int]] = ()) -> None:
        """Ask about all pairs of bodies, without those to skip, which must be pairs of two bodies of the scene."""
        m = len(self.bodies)
        skipped = [pair_of("skip", p, m) for p in listed_pairs("skip", skip)]
        self.pairs = Pairs(every=m)
        self.pairs.leave_out(skipped)
        self._left_out = []
        links = {
            a.link: [b for b, c in self.attachments.items() if c.link == a.link] for a in self.attachments.values()
        }
        for body, a in self.attachments.items():
            self._leave_out_barred({a.link, *a.skip, *links[a.link]}, body)

    def skip(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Leave out pairs, in either order, which must be among those that the scene asks about."""
        skipped = [pair_of("pairs", p, len(self.bodies)) for p in listed_pairs("pairs", pairs)]
        asked = self._asked()
        for pair in skipped:
            if not asked.has(pair):
                raise OptionError(f"pairs: {pair} is no pair that the scene asks about")
        asked.leave_out(skipped)

    def _asked(self) -> Pairs:
        """The pairs that the scene asks about, as those of which rows are found in little time."""
        if not isinstance(self.pairs, Pairs):
            self.pairs = Pairs(np.stack(pair_arrays("pairs", self.pairs), axis=1))
        return self.pairs

    def skip_never_and_always(
        self,
        samples: int = 10_000,
        *,
        poses: Any = None,
        engine: Engine | None = None,
        seed: int = 0,
        slides: tuple[float, float] | None = None,
    ) -> SkipProposal:
        """A proposal of pairs to skip, by the contacts of sampled configurations, with counts; it is no proof.

        Scenes of URDF and MuJoCo models draw ``samples`` configurations within the limits of their joints, of slides
        without limits within ``slides`` (lower and upper value in metres), and refuse such joints without it; pairs
        whose relative pose these do not determine (bodies added later, free bodies) are not proposed. Any scene takes
        ``poses`` [N,M,7], "wxyz", instead. :meth:`skip` takes what is proposed: ``scene.skip(proposal.skip)``.
        """
        opened = Engine() if engine is None else engine
        try:
            if poses is not None:
                order_of("wxyz", poses)
                if slides is not None:
                    raise OptionError("slides: the range of joints that are sampled, and the poses are given")
                array = host("poses", poses, True)
                given = take("poses", array, np.float64, (len(self.bodies), 7), None, True)
                return propose(opened, self, [given])
            sizes = batches_of(whole("samples", samples, 1), len(self.bodies))
            rng = np.random.default_rng(seed)
            part = Scene(self.library, self.bodies, self._sampled(), attachments=self.attachments)
            return propose(opened, part, (self._samples(n, rng, slides) for n in sizes))
        finally:
            if engine is None:
                opened.close()

    def free_placements(
        self,
        worlds: int | Any,
        regions: Mapping[Any, Region] | None = None,
        *,
        ranges: Mapping[str, tuple[float, float]] | Literal["limits"] | None = None,
        configuration: Any = None,
        others: Any = None,
        margin: float = 0.0,
        seed: int = 0,
        tries: int = 200,
        restarts: int = 4,
        together: bool = False,
        unfilled: Literal["raise", "mask"] = "raise",
        slides: tuple[float, float] | None = None,
        engine: Engine | None = None,
    ) -> Placements:
        """Poses of W worlds in which every pair that the scene asks about is proved to be ``margin`` metres apart.

        ``regions`` says where bodies, by name or index, are sampled: in a :class:`BoxRegion`, on a
        :class:`SurfaceRegion`, or in ranges of x, y, z (metres), roll, pitch and yaw (radians) about the pose at which
        the body stands, such as ``{"x": (-0.1, 0.1), "yaw": (-3, 3)}``. ``ranges`` are those of joints of a model, by
        name, or "limits" for all joints of one number within their limits; ``slides`` is that of
        :meth:`skip_never_and_always`. Other bodies stand: those of a model at its ``configuration`` [n] or [W,n]
        (joints of a URDF, default 0; ``qpos`` of MuJoCo, default ``qpos0``), the others at ``others`` [K,7] or [W,K,7],
        "wxyz" (default: the origin). Of a MuJoCo model, regions are those of bodies with a free joint.

        Joints are placed first, then the bodies in the order of ``regions``. Given what is placed before it, each is
        uniform over that part of its region in which it is proved free: random sequential addition. It is not the
        uniform distribution over all free worlds; ``together=True`` has that one, by drawing all of them at once until
        they are free, which takes many more draws. An item has ``tries`` draws; then its world begins anew, up to
        ``restarts`` times. Pairs that are not decided are drawn anew and counted, and never taken as free.

        Draws are functions of ``seed`` and the number of the world, which ``worlds`` may list in place of their number:
        a world has the same placement whatever other worlds are asked for, and whatever the engine's workers are. A
        world that is not filled raises :class:`PlacementError`, or with ``unfilled="mask"`` is NaN and not ``filled``.
        """
        from ._placements import free_placements

        return free_placements(
            self, worlds, regions, ranges=ranges, configuration=configuration, others=others, margin=margin, seed=seed,
            tries=tries, restarts=restarts, together=together, unfilled=unfilled, slides=slides, engine=engine,
        )  # fmt: skip

    def _coordinates(self) -> Coordinates | None:
        """What :meth:`free_placements` has to know of the model of a scene."""
        return None

    def _sampled(self) -> list[tuple[int, int]]:
        """The pairs whose relative poses :meth:`_samples` determines."""
        raise OptionError("poses: this scene does not know its configurations, want their poses [N,M,7]")

    def _samples(self, count: int, rng: np.random.Generator, slides: tuple[float, float] | None) -> Array:
        """Poses [count,M,7] of random configurations; ``slides`` is the range of slides without limits."""
        raise NotImplementedError

    def picture(
        self,
        poses: Any,
        *,
        quat: Order | None = None,
        others: Any = None,
        nearest: int = 3,
        engine: Engine | None = None,
        size: tuple[int, int] = (960, 600),
        camera: CameraLike = None,
        path: str | os.PathLike[str] | None = None,
        **options: Unpack[PictureOptions],
    ) -> Picture:
        """A picture of the scene: its bodies on a floor, and the ``nearest`` pairs with their distances as segments
        between witnesses, green of separated bodies, red of penetrating ones. It needs no display and no browser.

        ``poses`` are those of all bodies [M,7] or, of a robot, a configuration [n] (of MuJoCo models qpos or MjData),
        with ``others`` [K,7] of the bodies added to it. ``engine`` answers the distances (default: a new one). The rest
        is that of :meth:`View.picture`.
        """
        from ._scene_picture import colors_of, view_of

        view = view_of(self, poses, 0, quat, others, nearest, engine, 1.0)
        options["colors"] = colors_of(self, options.get("colors"))
        return view.picture(size=size, camera=camera, path=path, **options)

    def film(
        self,
        poses: Any,
        *,
        dt: float,
        quat: Order | None = None,
        others: Any = None,
        nearest: int = 1,
        engine: Engine | None = None,
        size: tuple[int, int] = (640, 400),
        camera: CameraLike = None,
        fps: float = 25.0,
        speed: float = 1.0,
        path: str | os.PathLike[str] | None = None,
        **options: Unpack[PictureOptions],
    ) -> Film:
        """A film of the scene along poses [K,M,7] or configurations [K,n], ``dt`` seconds apart, as a GIF. The rest is
        that of :meth:`picture` and :meth:`View.film`."""
        from ._scene_picture import colors_of, view_of

        view = view_of(self, poses, 1, quat, others, nearest, engine, dt)
        options["colors"] = colors_of(self, options.get("colors"))
        return view.film(path, size=size, camera=camera, fps=fps, speed=speed, **options)

    def index(self, name: str) -> int:
        """The index of the only body of a name."""
        found = [i for i, b in enumerate(self.bodies) if b.name == name]
        if len(found) != 1:
            raise NotFoundError(f"{len(found)} bodies have the name {name!r}")
        return found[0]

    def __repr__(self) -> str:
        parts = sum(len(b.parts) for b in self.bodies)
        return (
            f"Scene of {len(self.bodies)} bodies of {parts} parts, {len(self.pairs)} pairs, {len(self.library)} shapes"
        )


def pair_of(name: str, pair: Iterable[int], bodies: int) -> tuple[int, int]:
    """A pair of two bodies of a scene, ascending."""
    given = tuple(pair)
    if len(given) != 2 or given[0] == given[1]:
        raise OptionError(f"{name}: {given!r}, want pairs of two bodies")
    first, second = (whole(f"{name}: {given!r}", i, 0, bodies - 1) for i in given)
    return min(first, second), max(first, second)


# Poses of a batch, in numbers: some tens of megabytes.
_BATCH = 1 << 21


@dataclass(frozen=True, eq=False, repr=False)
class SkipProposal:
    """What samples of configurations say about the pairs of a scene. It is a proposal and no proof.

    ``pairs`` are the pairs sampled. Of each, ``separated`` counts the samples in which the bodies are proved separated,
    ``contact`` those in which a contact is proved; the rest of the ``samples`` failed. ``never`` are the pairs that
    were separated in every sample, ``always`` those in contact in every sample.

    A pair that n independent samples have never seen in contact may be in contact all the same: if it were so in more
    than the share ``unseen`` = 1 - 0.05^(1/n), about 3/n, of the configurations, the samples would have shown it with a
    probability of 95 %.
    """

    samples: int
    pairs: list[tuple[int, int]]
    names: list[str]
    contact: Array
    separated: Array

    @property
    def never(self) -> list[tuple[int, int]]:
        """The pairs that are separated in every sample."""
        return [p for p, n in zip(self.pairs, self.separated.tolist(), strict=True) if n == self.samples]

    @property
    def always(self) -> list[tuple[int, int]]:
        """The pairs that are in contact in every sample."""
        return [p for p, n in zip(self.pairs, self.contact.tolist(), strict=True) if n == self.samples]

    @property
    def skip(self) -> list[tuple[int, int]]:
        """The pairs of ``never`` and ``always``."""
        return [*self.never, *self.always]

    @property
    def unseen(self) -> float:
        """The share of configurations in contact that the samples would have shown with a probability of 95 %."""
        return float(-math.expm1(math.log(0.05) / self.samples))

    def __repr__(self) -> str:
        def named(pairs: list[tuple[int, int]]) -> str:
            text = ", ".join(f"{self.names[i]}-{self.names[j]}" for i, j in pairs[:8])
            return f"{len(pairs)}" + (f": {text}" if pairs else "") + (", …" if len(pairs) > 8 else "")

        failed = int((self.samples - self.contact - self.separated).sum())
        return "\n".join(
            [
                f"SkipProposal of {len(self.pairs)} pairs from {self.samples:,} samples; it is no proof",
                f"  never in contact {named(self.never)}",
                f"    (a share of {self.unseen:.2g} in contact would have been seen with a probability of 95 %)",
                f"  always in contact {named(self.always)}",
                f"  {failed} answers failed",
            ]
        )


def propose(engine: Engine, scene: Scene, batches: Iterable[Array]) -> SkipProposal:
    """Count the statuses of the pairs of a scene over batches of poses [W,M,7]."""
    pairs = list(scene.pairs)
    contact, separated = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    samples = 0
    for poses in batches:
        with engine.rollout(scene, worlds=len(poses), query="collide") as roll:
            status = roll(poses, quat="wxyz").status
        samples += len(poses)
        separated += (status == SEPARATED).sum(axis=0)
        contact += ((status >= TOUCHING) & (status < 3)).sum(axis=0)
    if samples == 0:
        raise OptionError("samples: 0, want some")
    names = [b.name or str(i) for i, b in enumerate(scene.bodies)]
    return SkipProposal(samples, pairs, names, contact, separated)


def batches_of(samples: int, bodies: int) -> Iterable[int]:
    """Numbers of samples whose poses are moderately large."""
    most = max(1, _BATCH // max(7 * bodies, 1))
    return (min(most, samples - at) for at in range(0, samples, most))
