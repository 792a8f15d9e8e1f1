"""Where packages of robot models are, by name.

``package://NAME/FILE`` means a file in a folder NAME. ROS finds it in the folders of ROS_PACKAGE_PATH and in ``share``
of those of AMENT_PREFIX_PATH. Packages that pip installs, such as example-robot-data, are in ``share`` of the
environment, or of the prefix cmeel.prefix beside its modules.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ._errors import FileError

SCHEMES: Final = ("package://", "model://")


def inside(uri: str, where: str) -> tuple[str, str]:
    """The package and the path in it that a name with one of the schemes means, which does not leave the package."""
    scheme = next(s for s in SCHEMES if uri.startswith(s))
    package, _, rest = uri[len(scheme) :].lstrip("/").partition("/")
    first = os.path.normpath(rest).split(os.sep, 1)[0]
    if package in ("", ".", "..") or rest.startswith("/") or first == os.pardir:
        raise FileError(f"{where}: {uri} leaves its package, want {scheme}NAME/FILE")
    return package, rest


def folders() -> list[Path]:
    """The folders in which packages are looked for, in this order."""
    listed = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    listed += [Path(p) / "share" for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    listed.append(Path(sys.prefix) / "share")
    listed += [Path(p) / "cmeel.prefix" / "share" for p in sys.path if p]
    return listed


def package_file(uri: str, packages: Mapping[str, str | os.PathLike[str]]) -> Path:
    """The file of a package that is named from outside of any file; ``packages`` are folders by name."""
    package, rest = inside(uri, "path")
    named = packages.get(package)
    tried = [p / package / rest for p in folders()] if named is None else [Path(named) / rest]
    for file in tried:
        if file.is_file():
            return file
    raise FileError(
        f"path: {uri} is not found: {package} is in no folder of ROS_PACKAGE_PATH, AMENT_PREFIX_PATH or this "
        f"environment ({sys.prefix}), or lacks the file; packages={{name: folder}} says where packages are"
    )
