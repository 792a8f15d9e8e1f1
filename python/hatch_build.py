"""Builds the native library into the wheel.

The library is built by Go with the C compiler of the environment (CC, CGO_CFLAGS). CLEARANCE_LIBRARY names one that is
built already. The tag is py3-none-linux_ARCH; ``make wheel`` has auditwheel check the library and replace it by
manylinux_2_28_ARCH.
"""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent


class Build(BuildHookInterface[Any]):
    """The build hook of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if platform.system() != "Linux":
            raise RuntimeError("wheels are built and tested on Linux; on other systems build the library by hand")
        named = os.environ.get("CLEARANCE_LIBRARY")
        library = Path(named) if named else self._build()
        if not named and not (ROOT / "build/viewer/bundle.js").exists():
            # 3: npm is not installed, 4: its registry cannot be reached; the package is built without the page then.
            done = subprocess.run([str(ROOT / "scripts/viewer.sh")], check=False).returncode
            if done not in (0, 3, 4):
                raise RuntimeError(f"scripts/viewer.sh ended with {done}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{platform.machine()}"
        build_data["force_include"][str(library)] = "clearance/libclearance.so"
        build_data["force_include"][str(ROOT / "cmd/libclearance/clearance.h")] = "clearance/clearance.h"
        viewer = ROOT / "build/viewer"  # of scripts/viewer.sh; without the bundle clearance.show says what is missing
        for made, name in (("bundle.js", "viewer.js"), ("LICENSE", "viewer.LICENSE"), ("missing", "viewer.missing")):
            if (viewer / made).exists():
                build_data["force_include"][str(viewer / made)] = f"clearance/{name}"

    def _build(self) -> Path:
        self._folder = tempfile.TemporaryDirectory()
        library = Path(self._folder.name) / "libclearance.so"
        subprocess.run([str(ROOT / "scripts/libclearance.sh"), str(library)], check=True)
        return library
