"""Pinocchio models of URDF files, with the geometry and the pairs that collide."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from ._errors import FileError
from ._packages import SCHEMES, folders, package_file

pin: Any = importlib.import_module("pinocchio")


def load(
    urdf: str | os.PathLike[str], srdf: str | os.PathLike[str] | None = None, *, free_flyer: bool = False
) -> tuple[Any, Any]:
    """The ``pinocchio.Model`` and the ``pinocchio.GeometryModel`` of a URDF file, for :class:`Step`.

    Files are paths, or ``package://NAME/FILE`` of packages that ROS or pip has installed, such as
    "package://example-robot-data/robots/panda_description/urdf/panda.urdf". ``free_flyer`` puts a floating base below
    the root link. With ``srdf`` all pairs of links may collide but those that it disables, and its reference
    configurations are in ``model.referenceConfigurations``; without it links do not collide with each other.
    """
    paths = []
    for name, given in (("urdf", urdf), ("srdf", srdf)):
        if given is not None:
            text = os.fspath(given)
            path = package_file(text, {}) if text.startswith(SCHEMES) else Path(text)
            if not path.is_file():
                raise FileError(f"{name}: {text} is not a file")
            paths.append(str(path.resolve()))
    near = [str(p) for p in Path(paths[0]).parents]  # package:// of meshes, in the folders above the file
    base = (pin.JointModelFreeFlyer(),) if free_flyer else ()
    model = pin.buildModelFromUrdf(paths[0], *base)
    geometry = pin.buildGeomFromUrdf(
        model, paths[0], pin.COLLISION, package_dirs=[*near, *(str(p) for p in folders() if p.is_dir())]
    )
    if srdf is not None:
        geometry.addAllCollisionPairs()
        pin.removeCollisionPairs(model, geometry, paths[1])
        pin.loadReferenceConfigurations(model, paths[1])
    return model, geometry
