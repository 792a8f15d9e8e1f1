"""Type checkers see mistakes in uses of the package: mypy is run on files of them, and on one of correct uses."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from clearance import _native, _types
from clearance._columns import TABLE, Columns

HERE = Path(__file__).parent
FILES = ("typing_wrong.py", "typing_right.py")
_ERROR = re.compile(r"tests/(\w+\.py):(\d+): error: (.*)")


@pytest.fixture(scope="module")
def errors() -> Iterator[dict[tuple[str, int], str]]:
    """The errors of mypy, by file and line."""
    # As the checks of the whole package run it, whose cache it uses.
    command = [sys.executable, "-m", "mypy", "src", *(f"tests/{f}" for f in FILES)]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stderr, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = [_ERROR.fullmatch(line) for line in lines]
    assert found and all(found), done.stdout
    yield {(m[1], int(m[2])): m[3] for m in found if m is not None}


def test_every_mistake_is_seen(errors: dict[tuple[str, int], str]) -> None:
    """Every marked line has an error, and no other one."""
    text = (HERE / FILES[0]).read_text(encoding="utf-8").splitlines()
    marked = {i for i, line in enumerate(text, 1) if line.endswith("  # wrong")}
    assert len(marked) >= 12
    assert {line for name, line in errors if name == FILES[0]} == marked, errors


def test_correct_uses_pass(errors: dict[tuple[str, int], str]) -> None:
    """A file of correct uses has no error."""
    assert not {line: text for (name, line), text in errors.items() if name == FILES[1]}


def test_columns_and_queries_are_those_of_the_library() -> None:
    """The fields that checkers know are the columns of the table, and the names of queries those of the library."""
    assert {c.name for c in TABLE} == set(Columns.__dataclass_fields__)
    for c in TABLE:
        kind = "Floats" if c.type in ("real", "float32", "float64") else "Ints"
        assert Columns.__annotations__[c.name] == (kind if c.name == "status" else f"{kind} | Any")
    assert set(get_args(_types.QueryName)) == set(_native.native().query_codes)
