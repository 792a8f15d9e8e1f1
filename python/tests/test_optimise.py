"""The problems of examples/gradients.py converge."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl


@pytest.fixture(scope="module")
def problems() -> Any:
    spec = importlib.util.spec_from_file_location("gradients", ROOT / "examples/gradients.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_grasp(engine: cl.Engine, problems: Any) -> None:
    """Every start ends with both tips in contact, along an axis of the ellipsoid, to rounding."""
    run = problems.grasp(engine, starts=12)
    assert (run.cost[0] > 1e-4).all() and (run.cost[-1] < 1e-16).all(), run.cost[-1]
    pos, quat, width = run.found
    along = problems.rotated(quat, np.array([1.0, 0, 0]))
    axis = np.argmax(np.abs(along), axis=1)
    np.testing.assert_allclose(np.abs(along[np.arange(12), axis]), 1, atol=1e-6)
    np.testing.assert_allclose(width, np.array([0.03, 0.05, 0.08])[axis] + 0.01, atol=1e-6)
    np.testing.assert_allclose(pos, 0, atol=1e-6)


def test_path(engine: cl.Engine, problems: Any) -> None:
    """A path through obstacles becomes one with a clearance of about 3 cm."""
    run = problems.path(engine)
    (_, before), (way, after) = run.found
    assert before.min() < -0.03 and after.min() > 0.02, (before, after)
    assert np.abs(way[0] - [-1, 0, 0]).max() == np.abs(way[-1] - [1, 0, 0]).max() == 0


def test_identify(engine: cl.Engine, problems: Any) -> None:
    """The pose is found to rounding from every start, quadratically."""
    run = problems.identify(engine, starts=12)
    assert (run.cost[0] > 1e-5).all() and (run.cost[-1] < 1e-24).all(), run.cost[-1]
    off, quat, true_quat = run.found
    np.testing.assert_allclose(off, 0, atol=1e-11)
    np.testing.assert_allclose(np.abs(quat @ true_quat), 1, atol=1e-12)
