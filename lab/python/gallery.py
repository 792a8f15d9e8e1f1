"""The pictures of docs/examples.md: every example is run as it stands, and its picture kept small.

python lab/python/gallery.py [NAME ...]   (all examples by default)
"""

import os
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
mpl.rcParams.update({"figure.figsize": (5.6, 3.5), "figure.constrained_layout.use": True})


def main(*names: str) -> None:
    out = ROOT / "docs/pictures/examples"
    out.mkdir(parents=True, exist_ok=True)
    for name in names or sorted(file.stem for file in (ROOT / "examples").glob("*.py")):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            runpy.run_path(str(ROOT / f"examples/{name}.py"), run_name="__main__")
            plt.close("all")
            for file in (f for f in Path().glob(f"{name}.*") if f.suffix in (".png", ".gif", ".webp")):
                if file.suffix == ".png":  # of 256 colors, half the size
                    Image.open(file).convert("RGB").quantize(256).save(out / file.name, optimize=True)
                else:
                    (out / file.name).write_bytes(file.read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
