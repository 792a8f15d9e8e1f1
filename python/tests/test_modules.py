"""Modules as attributes of the package: imported when they are first used, with a message where one is missing."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from conftest import run_python

import clearance as cl


def test_every_module_is_an_attribute() -> None:
    """The public modules are those files without an underscore, and all of them are named by dir()."""
    files = {p.stem for p in Path(str(cl.__file__)).parent.glob("[a-z]*.py")}
    assert set(cl._MODULES) == files
    assert {*files, *cl.__all__} <= set(dir(cl))
    assert cl.contact is importlib.import_module("clearance.contact")
    package: Any = cl
    with pytest.raises(AttributeError, match="module 'clearance' has no attribute 'contacts'"):
        _ = package.contacts


def test_modules_are_imported_when_they_are_used() -> None:
    code = """
import sys, clearance as cl
assert not {m for m in cl._MODULES if "clearance." + m in sys.modules}, "imported before their use"
assert cl.contact.Simulation and cl.urdf.load and "clearance.torch" not in sys.modules
print(cl.contact.__name__)
"""
    run = run_python(code)
    assert run.returncode == 0 and run.stdout.strip() == "clearance.contact", run.stderr


def test_a_missing_dependency_is_named() -> None:
    """Without PyTorch and JAX: attributes say what to install, hasattr is False, from-imports raise ImportError."""
    code = """
import sys
sys.modules |= dict.fromkeys(("torch", "jax", "pinocchio", "ray"))  # None: an import of it fails
import clearance as cl
for name, need in (("torch", "pip install torch"), ("jax", "pip install jax"), ("pinocchio", "pip install pin")):
    assert not hasattr(cl, name)
    try:
        getattr(cl, name)
    except AttributeError as e:
        assert need in str(e), e
    try:
        exec(f"from clearance import {name}")
    except ImportError as e:
        assert need in str(e), e
    else:
        raise AssertionError(name)
print(len(dir(cl)) > 50)
"""
    run = run_python(code)
    assert run.returncode == 0 and run.stdout.strip() == "True", run.stderr
