"""The examples that learn, and their studies in the laboratory, shortened: fewer throws, starts and world-steps."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NO_TORCH

ROOT = Path(__file__).resolve().parents[2]


def load(name: str, folder: str = "lab/python") -> Any:
    if folder == "examples" or name in ("identification", "throws"):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib to run this test")
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = sys.path.copy()
    spec.loader.exec_module(module)  # the studies add the folder of the examples
    sys.path[:] = path
    return module


def test_throw_smoothed() -> None:
    """Smoothed descent of tumbling throws comes nearer in the median, and never loses its best throw."""
    distance = load("throws").descend("tumbling, smoothed", iterations=15, throws=4)
    assert (np.diff(distance, axis=0) <= 0).all()
    assert np.median(distance[-1]) < 0.5 * np.median(distance[0])


def test_identify() -> None:
    """Both values are found, to what the tolerance 1e-6 of contact problems leaves, from two starts."""
    example = load("identify", "examples")
    record = example.runs(example.TRUE).position[:, 0, 0, 0]
    for start in ([0.1, 1.5], [0.6, 0.5]):
        values, rms = example.identify(record, start, iterations=9)
        np.testing.assert_allclose(values[-1], example.TRUE, rtol=1e-5)
        assert rms[0] > 0.01 and rms[-1] < 1e-6, rms


@pytest.mark.parametrize("how", ["gradient", "evolution"])
def test_push(how: str) -> None:
    """The median cost falls, with gradients and without."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip(NO_TORCH)
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    budget = 4_000 if how == "gradient" else 40_000
    spent, cost = load("pushes").train(how, budget=budget, worlds=2)
    assert spent[-1] >= budget
    assert np.median(cost[-1]) < 0.9 * np.median(cost[0]), np.median(cost, axis=1)


def test_push_example() -> None:
    """The example trains: a policy has a gradient through the simulation, and its cost is one of a second."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip(NO_TORCH)
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    _, costs = load("push", "examples").train(iterations=20)
    assert costs[-5:].mean() < 0.9 * costs[:5].mean(), costs
