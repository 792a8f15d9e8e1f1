"""The friction and the mass of a cube are identified from a recorded trajectory.

A cube of 10 cm slides on the ground: for 0.4 s it is pushed with 6 N, then it coasts. 20 positions of the second are
recorded. Gauss-Newton finds μ and m, from ten starts. Its Jacobian has a row for each recorded position, and all
of them come from one product with the derivative of the run: worlds that are alike take one cotangent each. The runs
are recorded of this project, where the true values are found to rounding, and of MuJoCo, on whose compliant contacts
the cube hops: the fit is as good as the motions allow, what it says of μ and m is biased, and the residual shows it.

The derivative is that of the discrete run. A start with which the cube sticks at once has none that helps, so the cube
starts at 1 m/s; the logarithms of μ and m are fitted.

python examples/identify.py --out identify.svg
"""

import argparse
from typing import Any

import numpy as np

from clearance import Library, contact

STEPS, EVERY, DT = 500, 25, 0.002
TRUE = np.array([0.35, 0.8])  # μ, and m in kg
PUSH = np.zeros((STEPS, 6))
PUSH[:200, 0] = 6


def runs(values: Any, worlds: int = 1, tape: bool = False) -> contact.Trajectory:
    """Worlds that are alike, with these values of μ and m."""
    lib = Library()
    sim = contact.Simulation(lib, [lib.box([0.05] * 3)], mass=1.0, friction=values[0], dt=DT, compliance=0.0)
    sim = sim.replace(mass=[values[1]])  # at constant inertia, as the derivative has it
    at, level, v = np.array([[[0, 0, 0.05]]]), np.array([[[1.0, 0, 0, 0]]]), np.array([[[1.0, 0, 0]]])
    first = [np.repeat(x, worlds, axis=0) for x in (at, level, v)]
    force = np.broadcast_to(PUSH[:, None, None], (STEPS, worlds, 1, 6))
    return sim.run(*first, steps=STEPS, every=EVERY, force=force, quat="wxyz", tape=tape)


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
    for push in PUSH[::every]:
        d.xfrc_applied[1] = push
        mujoco.mj_step(m, d)
        out.append(d.qpos[0])
    return np.array(out)[EVERY // every - 1 :: EVERY // every]


def identify(record: Any, start: Any, iterations: int = 8) -> tuple[Any, Any]:
    """The values [iterations + 1, 2] on the way, and the root mean square residual of each in metres."""
    log, n, values, rms = np.log(start), len(record), [], []
    cotangent = np.zeros((n, n, 1, 3))
    cotangent[np.arange(n), np.arange(n), 0, 0] = 1  # of world i the position of record i
    for _ in range(iterations + 1):
        run = runs(np.exp(log), worlds=n, tape=True)
        residual = run.position[:, 0, 0, 0] - record
        values.append(np.exp(log))
        rms.append(np.sqrt(np.mean(residual**2)))
        g = run.vjp(position=cotangent)
        jacobian = np.concatenate([g.friction, g.mass], axis=1) * np.exp(log)
        step = np.linalg.lstsq(jacobian, -residual, rcond=None)[0]
        log = log + step * min(1, 0.5 / np.abs(step).max())
    return np.array(values), np.array(rms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="a picture to write")
    arguments = parser.parse_args()
    starts = np.random.default_rng(0).uniform([0.1, 0.4], [0.6, 1.6], (10, 2))
    records = {"own": runs(TRUE).position[:, 0, 0, 0]}
    records |= {f"MuJoCo, steps of {1e3 * dt:g} ms": mujoco_record(dt) for dt in (DT, 5 * DT)}
    found = {name: [identify(record, start) for start in starts] for name, record in records.items()}
    for name, fits in found.items():
        last = np.array([values[-1] for values, _ in fits])
        print(f"{name}: μ {last[:, 0].mean():.6f} ± {np.ptp(last[:, 0]):.0e} and m {last[:, 1].mean():.6f} kg ± "
              f"{np.ptp(last[:, 1]):.0e}, residual {fits[0][1][-1]:.1e} m")  # fmt: skip
    if arguments.out:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, constrained_layout=True)
        for ax, (name, fits) in zip(axes, found.items(), strict=True):
            ax.semilogy(np.abs(np.array([values for values, _ in fits]) / TRUE - 1).max(axis=2).T, lw=0.8)
            ax.set(title=name, xlabel="iteration", ylabel="largest relative error of μ and m")
        figure.savefig(arguments.out, metadata={"Date": None} if arguments.out.endswith(".svg") else None)


if __name__ == "__main__":
    main()
