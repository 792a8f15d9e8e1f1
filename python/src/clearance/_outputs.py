"""Files that are written, and never onto those that they are made from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ._errors import FileError


def not_onto(out: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise FileError if a file to be written is one of the inputs, by whatever name."""
    for path in inputs:
        try:
            same = Path(out).samefile(path)
        except OSError:  # one of them does not exist, or opening it says why not
            continue
        if same:
            raise FileError(f"{os.fspath(out)} is the input {os.fspath(path)}: give the output another name")
