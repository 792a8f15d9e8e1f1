"""The figure of docs/derivatives.md: costs of the examples close_fingers, clear_path and find_pose.

python lab/python/gradients.py gradients.svg
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from clear_path import clear
from close_fingers import close
from find_pose import find

import clearance as cl


def main(out: str = "gradients.svg") -> None:
    engine = cl.Engine()
    path, ways, clearances = clear(engine)
    costs = {
        "Adam, cost of a grasp (m²)": (close(engine)[0], 1e-18),
        "Adam, cost of a path (m²)": (path[:, None], 0),
        "Gauss-Newton, witnesses (m²)": (find(engine)[0], 1e-32),
    }
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.4), constrained_layout=True)
    for ax, (title, (cost, least)) in zip(axes, costs.items(), strict=False):
        low, middle, high = np.quantile(np.maximum(cost, least), [0.1, 0.5, 0.9], axis=1)
        print(f"{title}: medians {middle[0]:.1e} to {middle[-1]:.1e} of {cost.shape[1]} starts")
        ax.semilogy(middle, color="tab:blue")
        ax.fill_between(np.arange(len(middle)), low, high, color="tab:blue", alpha=0.2, lw=0)
        ax.set(title=title, xlabel="iteration")
    for k, label in ((0, "before"), (-1, "after")):
        axes[3].plot(ways[k, :, 0], clearances[k], ".-", label=label, lw=0.8)
    axes[3].axhline(0, color="gray", lw=0.5)
    axes[3].set(title="clearance of the way points (m)", xlabel="x (m)")
    axes[3].legend(fontsize=7)
    figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
