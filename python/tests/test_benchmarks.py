"""The programs of python/benchmarks run, and their tables have the figures."""

from __future__ import annotations

import re
import subprocess
import sys

from conftest import ROOT


def ran(name: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "python/benchmarks" / name), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_calls() -> None:
    lines = ran("calls.py", "--small", "--rounds", "1", "--calls", "3").splitlines()
    assert len(lines) == 5
    for line in lines:
        assert re.search(r" +\d+\.\d µs \(\d+\.\d to \d+\.\d\)$", line), line
