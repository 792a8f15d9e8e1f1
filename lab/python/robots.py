"""Steps of robots: where the time goes, and one second of Solo-12 beside MuJoCo.

python lab/python/robots.py times      per step and world, of Solo-12, Talos and Panda, alone and in batches
python lab/python/robots.py gradients  of steps, against central differences
python lab/python/robots.py mujoco     Solo-12 dropped onto its legs and held by PD torques, in both simulators

It needs pin, example-robot-data and mujoco, and prints tables.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import time
from pathlib import Path
from typing import Any

import coal
import mujoco
import numpy as np
import pinocchio as pin

from clearance.pinocchio import Step

ROBOTS = {
    "Solo-12": ("solo_description/robots/solo12.urdf", "solo_description/srdf/solo.srdf", "standing"),
    "Talos": ("talos_data/robots/talos_reduced.urdf", "talos_data/srdf/talos.srdf", "half_sitting"),
    "Panda": ("panda_description/urdf/panda.urdf", "panda_description/srdf/panda.srdf", "default"),
}
STIFFNESS, DAMPING = 10.0, 0.2  # of the PD torques, N·m/rad and N·m·s/rad


def robot(name: str) -> tuple[Any, Any, Any]:
    """A model, its geometry with the pairs of the SRDF, and its rest configuration."""
    urdf, srdf, rest = ROBOTS[name]
    listed = importlib.metadata.files("example-robot-data") or []
    path = next(Path(str(p.locate())) for p in listed if str(p).endswith(urdf)).resolve()
    folder = path.parents[len(Path(urdf).parts) - 1]
    base = () if name == "Panda" else (pin.JointModelFreeFlyer(),)
    model = pin.buildModelFromUrdf(str(path), *base)
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.COLLISION, package_dirs=[str(folder.parents[1])])
    geometry.addAllCollisionPairs()
    pin.removeCollisionPairs(model, geometry, str(folder / srdf))
    pin.loadReferenceConfigurations(model, str(folder / srdf))
    return model, geometry, np.array(model.referenceConfigurations[rest])


def prepared(name: str) -> tuple[Step, Any, Any]:
    """A step of a robot without the pairs that touch at rest, its geometry, and a configuration on the ground."""
    model, geometry, q = robot(name)
    first = Step(model, geometry, max_gap=2.0 if name != "Panda" else 1e-3)
    r = first(q, np.zeros(model.nv))
    selves = len(geometry.collisionPairs)
    touching = {int(k) for k, gap in zip(r.pair[0], r.gap[0], strict=True) if 0 <= k < selves and gap < 4e-3}
    kept = [geometry.collisionPairs[k] for k in range(selves) if k not in touching]
    geometry.removeAllCollisionPairs()
    for pair in kept:
        geometry.addCollisionPair(pair)
    if name != "Panda":
        ground = r.pair[0] >= selves
        q[2] -= r.gap[0][ground].min()
    return Step(model, geometry), geometry, q


def torques(q: Any, v: Any, rest: Any) -> Any:
    """PD torques [W,nv] of the joints of a free flyer."""
    tau = np.zeros_like(v)
    tau[:, 6:] = STIFFNESS * (rest[7:] - q[:, 7:]) - DAMPING * v[:, 6:]
    return tau


def times(repeats: int = 30) -> None:
    names = "Pinocchio | collisions | problem"
    print(f"| robot | worlds | contacts | {names} | step | {names} | vjp |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in ROBOTS:
        step, _, rest = prepared(name)
        nv = step.model.nv
        rng = np.random.default_rng(0)
        for worlds in (1, 64):
            q = np.array([pin.integrate(step.model, rest, 1e-3 * rng.normal(size=nv)) for _ in range(worlds)])
            v = 0.01 * rng.normal(size=(worlds, nv))
            total: dict[str, list[float]] = {}
            for k in range(repeats + 3):
                tau = torques(q, v, rest) if name != "Panda" else np.zeros_like(v)
                started = time.perf_counter()
                r = step(q, v, tau)
                middle = time.perf_counter()
                g = r.vjp(q=np.ones((worlds, nv)), v=np.ones((worlds, nv)))
                ended = time.perf_counter()
                q, v = np.array(r.q), np.array(r.v)
                if k >= 3:
                    row = {**r.seconds, "step": middle - started}
                    row |= {f"{n} of vjp": s for n, s in g.seconds.items()} | {"vjp": ended - middle}
                    for n, s in row.items():
                        total.setdefault(n, []).append(1e6 * s / worlds)
            at = {n: f"{min(s):,.0f}" for n, s in total.items()}
            kinds = ("pinocchio", "collisions", "problem", "step")
            forward = " | ".join(at[n] for n in kinds)
            back = " | ".join(at[f"{n} of vjp" if n != "step" else "vjp"] for n in kinds)
            print(f"| {name} | {worlds} | {r.count.mean():.1f} | {forward} | {back} |")
    print(f"\nMicroseconds per step and world, the least of {repeats} calls each.")


def gradients(states: int = 40) -> None:
    print("| robot | states | smooth | contacts that push | by q | by v | by τ |\n|---|---|---|---|---|---|---|")
    for name in ROBOTS:
        first, geometry, rest = prepared(name)
        model, rng = first.model, np.random.default_rng(1)
        if name == "Panda":  # a table under the hand, which it touches
            data = model.createData()
            pin.forwardKinematics(model, data, rest)
            hand = geometry.geometryObjects[geometry.getGeometryId("panda_leftfinger_0")]
            at = (data.oMi[hand.parentJoint] * hand.placement).translation
            table = pin.SE3(np.eye(3), np.array([at[0], at[1], at[2] - 0.062]))
            number = geometry.addGeometryObject(pin.GeometryObject("table", 0, 0, table, coal.Box(0.6, 0.6, 0.1)))
            for k, item in enumerate(geometry.geometryObjects):
                if "finger" in item.name or "hand" in item.name:
                    geometry.addCollisionPair(pin.CollisionPair(k, number))
        step = Step(model, geometry, friction=0.4, tolerance=1e-12)
        nv, smooth, pushes = model.nv, 0, 0
        worst = [0.0, 0.0, 0.0]
        for k in range(states):
            q = pin.integrate(model, rest, 2e-3 * rng.normal(size=nv))
            v = 10.0 ** rng.uniform(-2, 0) * rng.normal(size=nv)
            if name != "Panda":
                q[2] += rng.uniform(-2e-3, 1e-3)
                v[2] -= 0.1
            tau, q_bar, v_bar = 2.0 * rng.normal(size=nv), rng.normal(size=nv), rng.normal(size=nv)
            r = step(q, v, tau)
            g = r.vjp(q=q_bar[None], v=v_bar[None])
            if not r.ok[0] or g.smoothness[0] != 0 or g.margin[0] < 1e-4:
                continue
            smooth += 1
            pushes += int(r.impulse[0].any(axis=1).sum())
            for i, (h, moves) in enumerate(((1e-7, (1, 0, 0)), (1e-6, (0, 1, 0)), (1e-4, (0, 0, 1)))):
                offsets = h * np.concatenate([np.eye(nv), -np.eye(nv)])
                dq, dv, dt = (m * offsets for m in moves)
                near = step(np.array([pin.integrate(model, q, d) for d in dq]), v + dv, tau + dt)
                near.raise_if_failed()
                values = np.array([pin.difference(model, r.q[0], x) for x in near.q]) @ q_bar + near.v @ v_bar
                want = (values[:nv] - values[nv:]) / (2 * h)
                error = np.abs((g.q, g.v, g.tau)[i][0] - want).max() / np.abs(want).max()
                worst[i] = max(worst[i], float(error))
                if error > 1e-6:
                    print(name, k, "qvτ"[i], error, g.margin[0], r.count[0])
        errors = " | ".join(f"{e:.1e}" for e in worst)
        print(f"| {name} | {states} | {smooth} | {pushes / max(smooth, 1):.1f} | {errors} |")


def in_mujoco(model: Any, geometry: Any, friction: float, dt: float, stiff: bool) -> Any:
    """The MuJoCo model of the bodies, joints and hulls of a Pinocchio model, without pairs of its own links. Stiff:
    with a time constant of contacts of two steps, the least one, and friction that is 100 times as hard as normals."""
    spec = mujoco.MjSpec()
    spec.option.timestep = dt
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], friction=[friction, 0, 0], condim=3)
    bodies = {0: spec.worldbody}
    for j in range(1, model.njoints):
        at, inertia = model.jointPlacements[j], model.inertias[j]
        body = bodies[int(model.parents[j])].add_body(
            name=f"body{j}", pos=at.translation, quat=pin.Quaternion(at.rotation).coeffs()[[3, 0, 1, 2]]
        )
        full = np.array(inertia.inertia)
        body.explicitinertial = True
        body.mass, body.ipos = inertia.mass, inertia.lever
        body.fullinertia = [full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2]]
        kind = model.joints[j].shortname()
        if kind == "JointModelFreeFlyer":
            body.add_freejoint()
        else:
            axis = {"X": [1, 0, 0], "Y": [0, 1, 0], "Z": [0, 0, 1]}[kind[-1]]
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
        bodies[j] = body
    for k, item in enumerate(geometry.geometryObjects):
        mesh = spec.add_mesh(name=f"mesh{k}")
        mesh.uservert = np.array(item.geometry.vertices(), np.float32).ravel()
        at = item.placement
        bodies[int(item.parentJoint)].add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"mesh{k}", pos=at.translation, contype=2, conaffinity=1,
            quat=pin.Quaternion(at.rotation).coeffs()[[3, 0, 1, 2]], friction=[friction, 0, 0], condim=3,
        )  # fmt: skip
    if stiff:
        spec.option.impratio = 100
        for geom in spec.geoms:
            geom.solref = [2 * dt, 1]
    compiled = spec.compile()
    compiled.geom_contype[0], compiled.geom_conaffinity[0] = 1, 2
    return compiled


def beside_mujoco(stiff: bool, seconds: float = 1.0, dt: float = 1e-3, drop: float = 0.05) -> None:
    print(f"MuJoCo with {'stiff' if stiff else 'its default'} contacts")
    model, geometry, rest = robot("Solo-12")
    geometry.removeAllCollisionPairs()
    reach = Step(model, geometry, max_gap=2.0)(rest, np.zeros(18))
    rest[2] += drop - reach.gap[reach.pair >= 0].min()
    step = Step(model, geometry, dt, friction=0.8)
    other = in_mujoco(model, geometry, 0.8, dt, stiff)
    data = mujoco.MjData(other)
    data.qpos[:] = np.concatenate([rest[:3], rest[[6, 3, 4, 5]], rest[7:]])
    weight = 9.81 * sum(i.mass for i in model.inertias)
    print(f"weight {weight:.3f} N, mass in MuJoCo {other.body_mass.sum():.4f} kg, of Pinocchio {weight / 9.81:.4f} kg")
    q, v, rows = rest[None].copy(), np.zeros((1, 18)), []
    spent, theirs = 0.0, 0.0
    wrench = np.zeros(6)
    for _ in range(round(seconds / dt)):
        started = time.perf_counter()
        r = step(q, v, torques(q, v, rest))
        r.raise_if_failed()
        q, v = np.array(r.q), np.array(r.v)
        middle = time.perf_counter()
        data.qfrc_applied[6:] = STIFFNESS * (rest[7:] - data.qpos[7:]) - DAMPING * data.qvel[6:]
        mujoco.mj_step(other, data)
        theirs += time.perf_counter() - middle
        spent += middle - started
        force = 0.0
        for k in range(data.ncon):
            mujoco.mj_contactForce(other, data, k, wrench)
            force += wrench[0]
        rows.append([q[0, 2], data.qpos[2], r.impulse[0, :, 2].sum() / dt, force])
    a = np.array(rows)
    print("| time, s | base, m | of MuJoCo | normal forces, N | of MuJoCo |\n|---|---|---|---|---|")
    for t in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0):
        i = round(t / dt) - 1
        # Forces are means over 10 ms: impacts of one step are spread otherwise by both contact models.
        mean = a[max(0, i - 9) : i + 1].mean(axis=0)
        print(f"| {t} | {a[i, 0]:.5f} | {a[i, 1]:.5f} | {mean[2]:.2f} | {mean[3]:.2f} |")
    change = np.abs(a[:, 0] - a[:, 1])
    impulse = a[:, 2:].sum(axis=0) * dt
    print(f"\nlargest difference of the base {1e3 * change.max():.2f} mm, at the end {1e3 * change[-1]:.3f} mm")
    print(f"impulse of the normal forces over the run: {impulse[0]:.4f} and {impulse[1]:.4f} N·s")
    print(f"{1e6 * spent / len(a):.0f} µs a step here, {1e6 * theirs / len(a):.0f} µs of MuJoCo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["times", "gradients", "mujoco"])
    what = parser.parse_args().what
    if what == "times":
        times()
    elif what == "gradients":
        gradients()
    else:
        for stiff in (False, True):
            beside_mujoco(stiff)


if __name__ == "__main__":
    main()
