"""The exceptions of the package. All of them are a :class:`ClearanceError`."""

from __future__ import annotations

from typing import Any


class ClearanceError(Exception):
    """Any error of this package. It may be pickled, as process pools do with the errors of their workers."""

    def __reduce__(self) -> Any:
        # Exceptions are rebuilt by a call with self.args, the message alone, which constructors of several arguments
        # do not take. __new__ sets args, and the attributes are the state.
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[ClearanceError], args: tuple[Any, ...]) -> ClearanceError:
    return kind.__new__(kind, *args)


class ArrayError(ClearanceError, ValueError):
    """An array of a call is unusable: its type, its shape, or where it lies.

    ``array`` is the name of the argument, ``row`` the first row at fault (-1 if it is the array as a whole) and
    ``reason`` says what is wrong with it.
    """

    def __init__(self, array: str, reason: str, row: int = -1) -> None:
        where = array if row < 0 else f"{array}[{row}]"
        super().__init__(f"{where}: {reason}")
        self.array, self.row, self.reason = array, row, reason


class CopyError(ArrayError):
    """An array would have to be copied, and the caller forbade it by ``copy=False``."""


class RowError(ClearanceError, ValueError):
    """Rows of a result have no answer; raised by :meth:`Result.raise_if_failed`.

    ``array``, ``row`` and ``reason`` are those of the first invalid row. If no row is invalid, ``row`` is the first
    undecided one and ``array`` is ``"status"``.
    """

    def __init__(self, message: str, array: str, row: int, reason: str) -> None:
        super().__init__(message)
        self.array, self.row, self.reason = array, row, reason


class ShapeError(ClearanceError, ValueError):
    """A shape is invalid; the message names its index, its name and the parameter."""


class FileError(ClearanceError, ValueError):
    """A file is missing or invalid; the message names the file and the place."""


class ConcaveError(FileError):
    """A mesh is not convex, and nobody said what to take in its place. ``reason`` names the file, the part and its
    dent."""

    def __init__(self, reason: str, others: str = "") -> None:
        hull = 'concave="hull" takes the hull, as MuJoCo, PyBullet and coal do'
        super().__init__(f"{hull}: {reason}" + (f"; {others}" if others else ""))
        self.reason, self.others = reason, others


class OptionError(ClearanceError, ValueError):
    """An option of an engine or a query is invalid."""


class RefusedError(ClearanceError, NotImplementedError):
    """No back end supports the query with these options."""


class NoBackendError(ClearanceError, RuntimeError):
    """No back end of this machine can be used; ``clearance doctor`` says why."""


class ClosedError(ClearanceError, RuntimeError):
    """The engine or the rollout is closed, or was closed during the call."""


class ForkError(ClearanceError, RuntimeError):
    """The process was forked after the native library was loaded, which the library does not survive."""


class StillError(ClearanceError, RuntimeError):
    """No world of a simulation was advanced in ten steps in a row, or in all steps of a run; the message counts worlds
    by status. ``trajectory`` has the steps that the run has recorded, or is None after :meth:`Simulation.step`.
    """

    trajectory: Any = None

    def __reduce__(self) -> Any:  # without the trajectory, whose report is memory of this process
        return _rebuilt, (type(self), self.args), {k: v for k, v in self.__dict__.items() if k != "trajectory"}


class PlacementError(ClearanceError, RuntimeError):
    """Worlds of :meth:`Scene.free_placements` are not filled; the message names the first one, and what found no place.
    ``placements`` has all worlds, those that are filled too.
    """

    def __init__(self, message: str, placements: Any = None) -> None:
        super().__init__(message)
        self.placements = placements


class RefutedError(ClearanceError, RuntimeError):
    """An audit refuted answers; raised by ``raise_if_refuted``."""


class NotFoundError(ClearanceError, KeyError, IndexError):
    """No object, or more than one, has the name, or none has the index."""

    __str__ = Exception.__str__  # that of KeyError is the repr of the message


class CallError(ClearanceError, RuntimeError):
    """A call failed as a whole, for a reason inside the library or a device."""
