"""Fixtures: an engine, a library, pairs, and the commands that tests compare with or run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance import _page

ROOT = Path(__file__).resolve().parents[2]

# Why scripts/torch.sh has none.
NO_TORCH = os.environ.get("CLEARANCE_NO_TORCH") or "no PyTorch: it is not installed"

# Of 15, Ray's default, workers hardly run where the machine has other work.
os.environ.setdefault("RAY_worker_niceness", "0")


def full(why: str) -> None:
    """End a test that only `make test-all` runs; the reason says what covers the same code in `make test`."""
    if os.environ.get("CLEARANCE_TESTS") != "all":
        pytest.skip(f"LEFT TO make test-all: {why}")


@pytest.fixture(scope="session")
def engine() -> Any:
    with cl.Engine("cpu") as e:
        yield e


@pytest.fixture(scope="session")
def batchbench() -> Path:
    """The command line, built by `make python`."""
    path = Path(os.environ.get("CLEARANCE_BATCHBENCH", ROOT / "bin/batchbench"))
    if not path.exists():
        pytest.skip(f"{path} is missing: run 'make python'")
    return path


class Pairs:
    """N seeded pairs of a library."""

    def __init__(self, library: cl.Library, n: int, seed: int = 1, spread: float = 2.0) -> None:
        rng = np.random.default_rng(seed)
        self.library = library
        self.a = rng.integers(0, len(library), n, dtype=np.int32)
        self.b = rng.integers(0, len(library), n, dtype=np.int32)
        self.pos_a, self.pos_b = rng.normal(0, spread, (n, 3)), rng.normal(0, spread, (n, 3))
        self.quat_a, self.quat_b = rng.normal(size=(n, 4)), rng.normal(size=(n, 4))

    def arrays(self) -> tuple[Any, ...]:
        return (self.library, self.a, self.b, self.pos_a, self.quat_a, self.pos_b, self.quat_b)


def every_kind() -> cl.Library:
    """A library with one shape of each kind but the half-space."""
    rng = np.random.default_rng(3)
    lib = cl.Library()
    lib.sphere(0.5)
    lib.capsule(0.3, 0.5)
    lib.cylinder(0.4, 0.6)
    lib.cone(0.5, 0.5)
    lib.frustum(0.5, 0.2, 0.4)
    lib.box([0.5, 0.6, 0.7], name="crate", margin=0.01)
    lib.ellipsoid([0.4, 0.5, 0.6])
    lib.superquadric([0.5, 0.5, 0.6], [0.5, 0.8])
    lib.smooth_hull(rng.normal(0, 0.5, (12, 3)), 10)
    lib.smooth_revolution([[0.2, -0.5], [0.5, 0], [0.2, 0.5]], 10, 0.5)
    lib.convex(rng.normal(0, 0.5, (30, 3)), center=[0.01, 0, 0])
    return lib


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    return Pairs(every_kind(), 2000)


def missing() -> str:
    """Why the wheel has no script of the viewer, "" if it has one."""
    try:
        _page.script()
    except cl.FileError as e:
        return str(e)
    return ""


@pytest.fixture
def page_without_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page contains does not depend on the script that draws it: a wheel without one makes pages, too."""
    if missing():
        monkeypatch.setattr(_page, "script", str)


# How long a program may take that takes seconds: the machine may be busy with other work. No verdict is closer.
PATIENCE = 1800


def run_python(code: str, timeout: float = PATIENCE, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own. It takes SIGINT also where this process was told to ignore it."""
    interrupts = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", interrupts + code],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | env,
    )


CLUSTER_ROWS = 6000


@pytest.fixture(scope="session")
def cluster() -> Any:
    """A cluster of Ray with two CPUs."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:  # workers import modules of the tests
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        ray.init(num_cpus=2, object_store_memory=200_000_000, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def pair_files(tmp_path_factory: pytest.TempPathFactory, batchbench: Path) -> Path:
    """A folder of a.parquet, b.parquet and c.npz, with the shapes of each."""
    folder = tmp_path_factory.mktemp("pairs")
    for seed, name in enumerate(["a.parquet", "b.parquet", "c.npz"]):
        command: list[Any] = [batchbench, "generate", "--set", "mixed", "--pairs", CLUSTER_ROWS, "--seed", seed + 1]
        command += ["--shapes", folder / f"shapes{seed}.json", "--out", folder / name]
        subprocess.run([str(c) for c in command], check=True)
    return folder


@pytest.fixture(scope="session")
def answers(pair_files: Path, engine: cl.Engine) -> Any:
    """The answers of a.parquet."""
    pq = pytest.importorskip("pyarrow.parquet")
    want = pair_files / "want.parquet"
    cl.score_file(pair_files / "a.parquet", want, library=pair_files / "shapes0.json", engine=engine)
    return pq.read_table(want).replace_schema_metadata()


def parts(folder: Path) -> Any:
    """The rows of the parts of a folder, in the order of their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables(pq.read_table(p).replace_schema_metadata() for p in sorted(folder.glob("part-*.parquet")))


def same(got: Any, want: Path) -> bool:
    """Whether tables are equal; as text, in which NaN is equal to NaN, and 0.0 is not to -0.0."""
    import pyarrow.parquet as pq

    table = pq.read_table(want).replace_schema_metadata()
    return bool(got.schema == table.schema) and str(got.to_pydict()) == str(table.to_pydict())


def on_cluster(files: Path, out: Path | str, *names: str, **options: Any) -> Any:
    """Score files of a folder by Ray."""
    from clearance import ray as cr

    asked: dict[str, Any] = {"backend": "cpu", "progress": False, "rows_per_shard": 1000, **options}
    return cr.score([files / n for n in names], out, library=files / "shapes0.json", **asked)
