"""The notebooks of docs/notebooks, executed in place by kernels of this interpreter: outputs, and pictures kept small.

python lab/python/notebooks.py [NAME ...]
"""

import base64
import importlib
import io
import sys
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from PIL import Image

nbformat: Any = importlib.import_module("nbformat")
FOLDER = Path(__file__).resolve().parents[2] / "docs/notebooks"


def small(picture: str) -> str:
    """A PNG in base64, of 256 colors."""
    out = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(256).save(out, "png", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def main(*names: str) -> None:
    for file in sorted(FOLDER.glob("*.ipynb")):
        if names and file.stem not in names:
            continue
        notebook = nbformat.read(file, 4)
        NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
            for output in cell.get("outputs", ()):
                data = output.get("data", {})
                if "image/png" in data:
                    data["image/png"] = small(data["image/png"])
                    data.pop("text/plain", None)
                if output.output_type == "stream":
                    print(f"{file.stem}: {output.text}", end="")
        nbformat.write(notebook, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
