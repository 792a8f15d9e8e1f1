"""The notebooks of docs/notebooks run, and print what is stored in them, but for numbers: times are not the same.

Their cells are executed here, in one process: a kernel for each would take as long as the cells. What a cell shows by
its last line is not compared.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from conftest import NO_TORCH, ROOT

import clearance as cl

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
NEEDS = {"arm": ["matplotlib"], "grasps": ["matplotlib", "pyarrow"], "gradients": ["matplotlib", "torch"]}
NUMBER = re.compile(r"[-+]?[\d.,]*\d(e[-+]?\d+)?")


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebook(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS[file.stem]:
        reason = NO_TORCH if package == "torch" else f"{package} is not installed: pip install {package}"
        pytest.importorskip(package, reason=reason)
    if importlib.util.find_spec("pinocchio") is None:  # which example-robot-data comes with
        pytest.skip("example-robot-data is not installed: pip install example-robot-data to run this test")
    plt: Any = importlib.import_module("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    monkeypatch.chdir(tmp_path)
    page = (Path(cl.__file__).parent / "viewer.js").exists()
    names: dict[str, Any] = {}
    pictures = 0
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        if "cl.show" in "".join(cell["source"]) and not page:
            continue  # the wheel has no viewer: npm was missing when it was built
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile("".join(cell["source"]), f"{file.name}, {cell['id']}", "exec"), names)
        said = "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")
        pictures += sum("image/png" in o.get("data", {}) for o in cell["outputs"])
        assert NUMBER.sub("#", re.sub(" +", " ", out.getvalue())) == NUMBER.sub("#", re.sub(" +", " ", said)), cell[
            "id"
        ]
    if "view" in names:
        assert names["view"].rows == 20 and (tmp_path / "rows.html").stat().st_size > 10_000
    assert pictures and file.stat().st_size < 300_000


def test_all() -> None:
    """The three are there, stored with their outputs."""
    assert [file.stem for file in NOTEBOOKS] == sorted(NEEDS)
