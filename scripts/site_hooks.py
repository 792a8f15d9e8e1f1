"""Hooks of MkDocs: roles of reStructuredText in docstrings, such as :meth:`close`, become names in code font."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:meth|func|class|mod|attr|data|exc):<code>~?([^<]*)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """The page without roles."""
    return ROLE.sub(r"<code>\1</code>", html)
