"""Files that are written, and never onto those that they are made from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ._errors import FileError


def not_onto(out: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise FileError if a file to be written is one of the inputs, by whatever name, or lies in the folder of one,
    which could not be read with it."""
    for path in inputs:
        place = Path(out).resolve()
        folder = Path(path).resolve()
        if folder.is_dir() and folder in place.parents and place.relative_to(folder).parts[0][0] not in "._":
            raise FileError(f"{os.fspath(out)} lies in the folder {os.fspath(path)}: give the output another place")
        try:
            same = Path(out).samefile(path)
        except OSError:  # one of them does not exist, or opening it says why not
            continue
        if same:
            raise FileError(f"{os.fspath(out)} is the input {os.fspath(path)}: give the output another name")
