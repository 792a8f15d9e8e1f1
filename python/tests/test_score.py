"""Files scored from Python are those of the command line, byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_python

import clearance as cl
from clearance.__main__ import main


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


def test_columns_of_the_caller(files: Path, engine: cl.Engine, tmp_path: Path) -> None:
    """Columns that are not those of pairs stand in the results, whatever their types; a null costs its row."""
    pa: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install pyarrow to run this test")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    with np.load(files / "pairs.npz") as p:
        arrays = dict(p)
    n = len(arrays["shape_a"])
    label = np.array([f"object {i % 7}" for i in range(n)])
    np.savez(tmp_path / "pairs.npz", **arrays, label=label, good=np.arange(n) % 2 == 0, grasp=np.zeros((n, 2, 3)))
    rep = cl.score_file(
        tmp_path / "pairs.npz", tmp_path / "out.npz", library=files / "shapes.json", engine=engine, audit=True
    )
    rep.raise_if_failed()
    rep.raise_if_refuted()
    with np.load(tmp_path / "out.npz") as r:
        assert (r["label"] == label).all() and r["good"].dtype == bool and r["grasp"].shape == (n, 2, 3)

    def vectors(name: str, nulls: set[int]) -> Any:
        width = arrays[name].shape[1]
        rows = [None if i in nulls else v.tolist() for i, v in enumerate(arrays[name])]
        return pa.array(rows, pa.list_(pa.float64(), width))

    columns = {
        "label": pa.array([None if i % 3 == 0 else str(x) for i, x in enumerate(label)]),
        "shape_a": pa.array([None if i == 5 else int(x) for i, x in enumerate(arrays["shape_a"])], pa.int32()),
        "shape_b": pa.array(arrays["shape_b"], pa.int32()),
        "position_a": vectors("position_a", {2, n - 1}),
        **{name: vectors(name, set()) for name in ("position_b", "rotation_a", "rotation_b")},
        "tags": pa.array([list(range(i % 4)) if i % 5 else None for i in range(n)]),
        "about": pa.array([{"id": i, "names": [str(i)]} for i in range(n)]),
        "kind": pa.array([f"k{i % 3}" for i in range(n)]).dictionary_encode(),
        "when": pa.array(np.arange(n).astype("datetime64[ms]")),
    }
    table = pa.table(columns)
    parquet.write_table(table, tmp_path / "pairs.parquet", row_group_size=97)
    rep = cl.score_file(
        tmp_path / "pairs.parquet", tmp_path / "out.parquet", library=files / "shapes.json", engine=engine
    )
    rep.raise_if_refuted()
    found = parquet.read_table(tmp_path / "out.parquet")
    for name in ("label", "tags", "about", "kind", "when"):
        assert found[name].type == table[name].type and found[name].to_pylist() == table[name].to_pylist(), name
    assert np.flatnonzero(found["status"].to_numpy() == cl.INVALID).tolist() == [2, 5, n - 1]
    with pytest.raises(cl.RowError, match=r"pos_a\[2\]"):
        rep.raise_if_failed()
    with pytest.raises(cl.FileError, match=r"label.*out\.npz its extension"):
        cl.score_file(tmp_path / "pairs.parquet", tmp_path / "out.npz", library=files / "shapes.json", engine=engine)
    parquet.write_table(table.append_column("gap", table["shape_b"]), tmp_path / "gap.parquet")
    with pytest.raises(cl.FileError, match=r"gap\.parquet.*'?\"?gap"):
        cl.score_file(tmp_path / "gap.parquet", tmp_path / "o.parquet", library=files / "shapes.json", engine=engine)


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


@pytest.mark.parametrize("columns", [["distance"], ["distance", "status"]])
def test_columns_that_prove_nothing(tmp_path: Path, files: Path, engine: cl.Engine, columns: list[str]) -> None:
    """Distances without the columns that prove them do not count as audited."""
    library, out = files / "shapes.json", tmp_path / "out.npz"
    rep = cl.score_file(files / "pairs.npz", out, library=library, columns=columns, engine=engine)
    assert rep.audited == 0 and rep.refuted == 0
    with pytest.raises(cl.RefutedError, match="2000 of 2000 answers were not audited"):
        rep.raise_if_refuted()
    for proved in (None, ["normal"]):  # a file of normals has statuses, which are audited
        full = cl.score_file(files / "pairs.npz", out, library=library, columns=proved, engine=engine)
        assert full.audited == 2000
        full.raise_if_refuted()


def test_outputs_in_the_folder_of_the_input(tmp_path: Path, batchbench: Path, engine: cl.Engine) -> None:
    """Results, and a page, in a folder of pairs would leave it unreadable."""
    given = tmp_path / "pairs"
    given.mkdir()
    shapes = tmp_path / "shapes.json"
    words = ["generate", "--set", "boxes", "--pairs", "20", "--shapes", shapes, "--out", given / "0.npz"]
    subprocess.run([str(w) for w in (batchbench, *words)], check=True)
    for out in ("out/", "1.npz"):
        with pytest.raises(cl.FileError, match="lies in the folder"):
            cl.score_file(given, f"{given}/{out}", library=shapes, engine=engine)
    page = ["view", "--shapes", shapes, "--pairs", given, "--results", tmp_path / "r.npz", "--out", given / "p.html"]
    cl.score_file(given, tmp_path / "r.npz", library=shapes, engine=engine)
    assert main([str(w) for w in page]) == 3
    assert [p.name for p in given.iterdir()] == ["0.npz"]
