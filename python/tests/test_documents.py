"""The Python code of the documents runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def test_package_page(capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of python/README.md, one after the other; what the first prints is what the page says."""
    page = ROOT / "python/README.md"
    names: dict[str, Any] = {}
    for block in blocks(page):
        exec(block, names)
    out = capsys.readouterr().out
    said = re.search(r"    (Result of .*?)\n\n", page.read_text(), re.DOTALL)
    assert said is not None
    mask = re.compile(r"[\d.,e-]*\d")
    assert mask.sub("#", out.split("  columns")[0]) == mask.sub(
        "#", said[1].replace("\n    ", "\n").split("  columns")[0]
    )
    counts = re.findall(r"[\d,]+ separated, [\d,]+ penetrating", said[1])
    assert counts and counts[0] in out
    assert names["r"].hit.tolist() == [[True, True]] and (names["r"].t1 - names["r"].t0 <= 1.1e-6).all()


def test_root_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of the root README, with a file and arrays as it assumes them."""
    (block,) = blocks(ROOT / "README.md")
    lib = cl.Library()
    lib.box([1, 1, 1])
    lib.sphere(0.5)
    lib.save(tmp_path / "shapes.json")
    monkeypatch.chdir(tmp_path)
    quat = np.tile([1.0, 0, 0, 0], (2, 1))
    names: dict[str, Any] = {
        "a": np.zeros(2, np.int32),
        "b": np.ones(2, np.int32),
        "pos_a": np.zeros((2, 3)),
        "pos_b": np.array([[4.5, 0, 0], [0, 0, 1.25]]),
        "quat_a": quat,
        "quat_b": quat,
    }
    exec(block, names)
    assert names["free"].tolist() == [True, False]
