"""The blocks of docs/learning.md run one after the other."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest
from conftest import NO_TORCH, ROOT

PAGE = ROOT / "docs/learning.md"


def test_blocks() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    torch = importlib.util.find_spec("torch") is not None
    jax = importlib.util.find_spec("jax") is not None
    left = 0
    for block in blocks:
        if ("torch" in block and not torch) or ("jax" in block and not jax):
            left += 1
            continue
        exec(block, names)
    assert len(blocks) > left
    if left:
        pytest.skip(f"{left} of {len(blocks)} blocks: {NO_TORCH if not torch else 'JAX is not installed'}")
