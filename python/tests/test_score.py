"""Files scored from Python are those of the command line, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_python

import clearance as cl


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, batchbench: Path) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for ending in ("npz", "parquet"):
        command: list[Any] = [batchbench, "generate", "--set", "mixed", "--pairs", "2000", "--shapes"]
        subprocess.run([*command, folder / "shapes.json", "--out", folder / f"pairs.{ending}"], check=True)
    return folder


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_same_bytes(files: Path, batchbench: Path, engine: cl.Engine, ending: str) -> None:
    pairs, want, got = files / f"pairs.{ending}", files / f"want.{ending}", files / f"got.{ending}"
    command: list[Any] = [batchbench, "score", "--shapes", files / "shapes.json", "--pairs", pairs, "--out", want]
    subprocess.run([*command, "--backend", "cpu", "--query", "penetration"], check=True, capture_output=True)
    seen: list[tuple[int, int]] = []
    rep = cl.score_file(
        pairs,
        got,
        library=files / "shapes.json",
        query="penetration",
        engine=engine,
        progress=lambda *x: seen.append(x),
    )
    assert got.read_bytes() == want.read_bytes()
    assert rep.report.rows == 2000 and rep.refuted == 0 and seen[-1] == (4000, 4000)
    rep.raise_if_refuted()
    rep.raise_if_failed()
    again = cl.score_file(
        pairs, got, library=cl.Library.load(files / "shapes.json"), query="penetration", engine=engine, audit=False
    )
    assert got.read_bytes() == want.read_bytes()
    with pytest.raises(cl.RefutedError, match="not audited"):
        again.raise_if_refuted()


@pytest.mark.parametrize("audit", [False, True])
def test_progress(tmp_path: Path, batchbench: Path, engine: cl.Engine, audit: bool) -> None:
    """Rows are counted when they are answered and, with an audit, once more when they are audited."""
    n = 150_000
    command: list[Any] = [batchbench, "generate", "--set", "mixed", "--pairs", str(n), "--shapes"]
    subprocess.run([*command, tmp_path / "shapes.json", "--out", tmp_path / "pairs.npz"], check=True)
    seen: list[tuple[int, int]] = []
    files = (tmp_path / "pairs.npz", tmp_path / "out.npz")
    cl.score_file(
        *files,
        library=tmp_path / "shapes.json",
        engine=engine,
        precision="double",
        audit=audit,
        progress=lambda *x: seen.append(x),
    )
    total = 2 * n if audit else n
    done = [d for d, _ in seen]
    assert all(t == total for _, t in seen) and done == sorted(done) and done[-1] == total
    assert any(n < d < 2 * n for d in done) == audit, done


def test_bad_rows_and_files(files: Path, engine: cl.Engine, tmp_path: Path) -> None:
    with np.load(files / "pairs.npz") as p:
        arrays = dict(p)
    arrays["position_b"][7, 1] = np.nan
    np.savez(tmp_path / "bad.npz", **arrays)
    rep = cl.score_file(tmp_path / "bad.npz", tmp_path / "out.npz", library=files / "shapes.json", engine=engine)
    with pytest.raises(cl.RowError, match=r"pos_b\[7\]"):
        rep.raise_if_failed()
    for pairs, out, why in (
        (tmp_path / "missing.npz", tmp_path / "o.npz", "missing"),
        (files / "pairs.npz", files / "pairs.npz", "another name"),
        (files / "pairs.npz", tmp_path / "out.csv", "out.csv"),
    ):
        with pytest.raises(cl.FileError, match=why):
            cl.score_file(pairs, out, library=files / "shapes.json", engine=engine)
    # A library by any name: the results do not replace it.
    library = tmp_path / "library.npz"
    library.write_bytes((files / "shapes.json").read_bytes())
    (tmp_path / "linked.npz").hardlink_to(library)
    for out in (library, tmp_path / "linked.npz"):
        with pytest.raises(cl.FileError, match=r"is the input .*library\.npz"):
            cl.score_file(files / "pairs.npz", out, library=library, engine=engine)
    assert library.read_bytes() == (files / "shapes.json").read_bytes()
    with pytest.raises(cl.FileError, match=r"nothing\.json"):
        cl.score_file(files / "pairs.npz", tmp_path / "o.npz", library=tmp_path / "nothing.json", engine=engine)


@pytest.mark.parametrize("phase", ["answers", "audit"])
def test_interrupt_leaves_no_file(tmp_path: Path, batchbench: Path, phase: str) -> None:
    """Ctrl-C ends a long file, among its answers or its audits; there is no results file then, and no temporary one."""
    command: list[Any] = [batchbench, "generate", "--set", "mixed", "--pairs", "400000", "--shapes"]
    subprocess.run([*command, tmp_path / "shapes.json", "--out", tmp_path / "pairs.npz"], check=True)
    code = f"""
import os, signal, clearance as cl
os.chdir({str(tmp_path)!r})
def progress(done, total):
    if (done > total // 2) == {phase == "audit"}:  # each row counts twice: its answer, its audit
        os.kill(os.getpid(), signal.SIGINT)
try:
    cl.score_file("pairs.npz", "out.npz", library="shapes.json", precision="double", progress=progress)
except KeyboardInterrupt:
    print(sorted(os.listdir()))
"""
    run = run_python(code, timeout=1800)
    assert run.stdout == "['pairs.npz', 'shapes.json']\n", run.stderr
