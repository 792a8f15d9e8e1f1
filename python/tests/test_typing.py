"""Type checkers see mistakes in uses of the package: mypy and basedpyright are run on a file of them, and on one of
correct uses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from clearance import _columns, _native
from clearance._columns import TABLE, Columns

HERE = Path(__file__).parent
FILES = ("typing_wrong.py", "typing_right.py")
_ERROR = re.compile(r"tests/(\w+\.py):(\d+): error: (.*)")

Errors = dict[tuple[str, int], str]


def checked(*words: str) -> subprocess.CompletedProcess[str]:
    """What a type checker says, which finds errors."""
    done = subprocess.run([sys.executable, "-m", *words], cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stderr, done.stdout + done.stderr
    return done


def of_mypy() -> Errors:
    """The errors of mypy. It runs as the checks of the whole package run it, whose cache it uses."""
    done = checked("mypy", "src", *(f"tests/{f}" for f in FILES))
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = [_ERROR.fullmatch(line) for line in lines]
    assert found and all(found), done.stdout
    return {(m[1], int(m[2])): m[3] for m in found if m is not None}


def of_basedpyright() -> Errors:
    """The errors of basedpyright, with the options of the project."""
    words = ["--pythonpath", sys.executable, "--level", "error", "--outputjson", *(f"tests/{f}" for f in FILES)]
    found = json.loads(checked("basedpyright", *words).stdout)["generalDiagnostics"]
    assert found and all(d["severity"] == "error" for d in found)
    return {(Path(d["file"]).name, d["range"]["start"]["line"] + 1): d["message"] for d in found}


@pytest.fixture(scope="module", params=[of_mypy, of_basedpyright], ids=["mypy", "basedpyright"])
def errors(request: pytest.FixtureRequest) -> Errors:
    """The errors of a type checker, by file and line."""
    found: Errors = request.param()
    return found


def test_every_mistake_is_seen(errors: Errors) -> None:
    """Every marked line has an error, and no other one."""
    text = (HERE / FILES[0]).read_text(encoding="utf-8").splitlines()
    marked = {i for i, line in enumerate(text, 1) if line.endswith("  # wrong")}
    assert len(marked) >= 12
    assert {line for name, line in errors if name == FILES[0]} == marked, errors


def test_correct_uses_pass(errors: Errors) -> None:
    """A file of correct uses has no error."""
    assert not {line: text for (name, line), text in errors.items() if name == FILES[1]}


def test_columns_and_queries_are_those_of_the_library() -> None:
    """The fields that checkers know are the columns of the table, and the names of queries those of the library."""
    assert {c.name for c in TABLE} == set(Columns.__dataclass_fields__)
    for c in TABLE:
        kind = "Floats" if c.type in ("real", "float32", "float64") else "Ints"
        assert Columns.__annotations__[c.name] == (kind if c.name == "status" else f"{kind} | Any")
    assert set(get_args(_columns.QueryName)) == set(_native.native().query_codes)
