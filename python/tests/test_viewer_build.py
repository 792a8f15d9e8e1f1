"""The scripts that build the viewer: what they tolerate is that npm or its registry is not there, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

# Programs in place of npm. The first installs an esbuild that writes what it is given.
WORKS = """mkdir -p node_modules/.bin node_modules/three
echo "The MIT License" >node_modules/three/LICENSE
printf '#!/bin/sh\\necho "alert(1)</script>" >bundled.js\\n' >node_modules/.bin/esbuild
chmod +x node_modules/.bin/esbuild"""
SYNTAX = WORKS.replace('echo "alert(1)</script>" >bundled.js', 'echo "viewer.js:3: ERROR: Expected )" >&2; exit 1')


def refuses(code: str) -> str:
    return f"echo 'npm error code {code}' >&2; echo 'npm error what npm says' >&2; exit 1"


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the scripts need of the repository; the tools of the wheel do nothing."""
    for name in ("scripts/viewer.sh", "scripts/wheel.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "python/viewer", tmp_path / "python/viewer")
    program(tmp_path / "scripts/venv.sh", f'echo "{tmp_path}/tools"')
    program(tmp_path / "scripts/libclearance.sh", 'mkdir -p "$(dirname "$1")"')
    program(tmp_path / "tools/python", "exit 0")
    program(tmp_path / "tools/auditwheel", "mkdir -p build/python/dist; echo >build/python/dist/clearance.whl")
    for name in (
        "bash",
        "sh",
        "dirname",
        "cat",
        "cp",
        "rm",
        "mkdir",
        "sed",
        "sha256sum",
        "grep",
        "head",
        "chmod",
        "ls",
    ):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(found)
    return tmp_path


def run(tree: Path, script: str, npm: str | None) -> subprocess.CompletedProcess[str]:
    path = tree / "bin/npm"
    path.unlink(missing_ok=True)
    if npm is not None:
        program(path, npm)
    env = os.environ | {"PATH": str(tree / "bin")}
    for name in ("CLEARANCE_LIBRARY", "CLEARANCE_WHEELS"):
        env.pop(name, None)
    command = [str(tree / "bin/bash"), str(tree / "scripts" / script)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=1800)


@pytest.mark.parametrize(
    ("npm", "code", "wheel", "says"),
    [
        (WORKS, 0, 0, ""),
        (None, 3, 0, "npm was not installed"),
        (refuses("ENOTFOUND"), 4, 0, "the registry of npm could not be reached (ENOTFOUND)"),
        (refuses("ECONNREFUSED"), 4, 0, "the registry of npm could not be reached (ECONNREFUSED)"),
        (refuses("EUSAGE"), 1, 1, ""),
        (refuses("EINTEGRITY"), 1, 1, ""),
        (SYNTAX, 1, 1, ""),
    ],
    ids=["works", "no npm", "no name", "refused", "stale lock", "checksum", "syntax error"],
)
def test_failures(tree: Path, npm: str | None, code: int, wheel: int, says: str) -> None:
    """Each cause has its own exit code and reason; the wheel is built without the viewer for two of them only."""
    done = run(tree, "viewer.sh", npm)
    assert done.returncode == code, done.stderr
    bundle, missing = tree / "build/viewer/bundle.js", tree / "build/viewer/missing"
    assert bundle.exists() == (code == 0)
    assert (missing.read_text().strip() if missing.exists() else "") == says and says in done.stderr
    if npm is not None and "npm error" in npm:
        assert "npm error what npm says" in done.stderr
    if npm == SYNTAX:
        assert "Expected )" in done.stderr
    done = run(tree, "wheel.sh", npm)
    assert done.returncode == wheel, done.stderr


def test_made_again(tree: Path) -> None:
    """The bundle is made again if any of its sources or a flag is another; it escapes what would end its element."""
    assert run(tree, "viewer.sh", WORKS).returncode == 0
    folder = tree / "build/viewer"
    assert (folder / "bundle.js").read_text() == "alert(1)<\\/script>\n"
    assert (folder / "LICENSE").read_text() == "The MIT License\n"
    assert run(tree, "viewer.sh", "exit 7").returncode == 0, "nothing has changed, so npm is not called"
    for name in ("python/viewer/package.json", "python/viewer/package-lock.json", "scripts/viewer.sh"):
        with (tree / name).open("a") as f:
            f.write("\n")
        assert run(tree, "viewer.sh", "exit 7").returncode == 1, f"{name}: the bundle of before is kept"
        assert run(tree, "viewer.sh", WORKS).returncode == 0
