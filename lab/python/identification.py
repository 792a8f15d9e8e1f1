"""Friction and mass of examples/identify.py from ten starts: of own records, and of records of MuJoCo.

From own records the true values are found to rounding. On the compliant contacts of MuJoCo the cube hops: the fit is as
good as the motions allow, what it says of μ and m is biased, and the residual shows it. The derivative is that of the
discrete run. A start with which the cube sticks at once has none that helps, so the cube starts at 1 m/s; the
logarithms of μ and m are fitted.

python lab/python/identification.py identify.svg
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from identify import DT, EVERY, PUSH, TRUE, identify, runs


def mujoco_record(dt: float) -> Any:
    """The positions along x of the same motion in MuJoCo, with its contacts as they are by default."""
    import mujoco

    about = f'friction="{TRUE[0]} 0 0"'
    m = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" cone="elliptic"/><worldbody><geom type="plane" size="9 9 1" {about}/>'
        f'<body pos="0 0 .05"><freejoint/><geom type="box" size=".05 .05 .05" mass="{TRUE[1]}" {about}/></body>'
        "</worldbody></mujoco>"
    )
    d, out = mujoco.MjData(m), []
    d.qvel[0] = 1
    every = round(dt / DT)
    for push in PUSH[::every, 0, 0]:
        d.xfrc_applied[1] = push
        mujoco.mj_step(m, d)
        out.append(d.qpos[0])
    return np.array(out)[EVERY // every - 1 :: EVERY // every]


def main(out: str = "") -> None:
    starts = np.random.default_rng(0).uniform([0.1, 0.4], [0.6, 1.6], (10, 2))
    records = {"own": runs(TRUE).position[:, 0, 0, 0]}
    records |= {f"MuJoCo, steps of {1e3 * dt:g} ms": mujoco_record(dt) for dt in (DT, 5 * DT)}
    found = {name: [identify(record, start) for start in starts] for name, record in records.items()}
    for name, fits in found.items():
        last = np.array([values[-1] for values, _ in fits])
        print(f"{name}: μ {last[:, 0].mean():.6f} ± {np.ptp(last[:, 0]):.0e} and m {last[:, 1].mean():.6f} kg ± "
              f"{np.ptp(last[:, 1]):.0e}, residual {fits[0][1][-1]:.1e} m")  # fmt: skip
    if out:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, constrained_layout=True)
        for ax, (name, fits) in zip(axes, found.items(), strict=True):
            ax.semilogy(np.abs(np.array([values for values, _ in fits]) / TRUE - 1).max(axis=2).T, lw=0.8)
            ax.set(title=name, xlabel="iteration", ylabel="largest relative error of μ and m")
        figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
