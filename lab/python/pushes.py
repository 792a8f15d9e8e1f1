"""A small policy learns to push a box to a target: with gradients of the simulation, and without.

A ball without friction, driven by at most 6 N, pushes a box of 10 cm for a second. The policy, a network of 8 inputs
and 32 hidden units, is asked 25 times. The cost is the mean square of the distance of the box from its target, and a
tenth of the ball's from the box, without which a policy that never touches the box has no gradient. Ten policies are
trained at once, from ten seeds. "gradient" sends the cost through clearance.torch.run, with the derivative of the
discrete steps, to Adam; "evolution" gives Adam what 16 pairs of perturbed policies say (OpenAI's evolution strategies,
by ranks). Both have the same budget of world-steps; a step of a backward pass counts as one more.

python lab/python/pushes.py push.svg   (needs PyTorch)
"""

import importlib
import sys
from typing import Any

import numpy as np

from clearance import Library, contact
from clearance.torch import run

torch: Any = importlib.import_module("torch")

SEEDS, ASKED, STEPS, PAIRS = 10, 25, 4, 16  # each force acts for four steps of 10 ms
SIZES = ((8, 32), (1, 32), (32, 2))


def starts(rng: Any, worlds: int) -> tuple[Any, Any]:
    """Positions [SEEDS·worlds,2,3] and targets [SEEDS·worlds,2]."""
    n = SEEDS * worlds
    ball, box = rng.uniform([-0.3, -0.1], [-0.2, 0.1], (n, 2)), rng.uniform(-0.05, 0.05, (n, 2))
    position = np.concatenate([np.stack([ball, box], axis=1), np.full((n, 2, 1), 0.05)], axis=2)
    return torch.tensor(position), torch.tensor(rng.uniform([0.2, -0.15], [0.4, 0.15], (n, 2)))


def costs(sim: contact.Simulation, policies: Any, position: Any, target: Any, graph: bool = False) -> Any:
    """The cost [K] of each policy, whose parameters have a first axis of K."""
    k, n, rest = len(policies[0]), len(position), torch.zeros_like(position)
    total = rest[:, 0, 0]
    state: Any = [position, torch.tensor([1.0, 0, 0, 0], dtype=rest.dtype).expand(n, 2, 4), rest, rest]
    if not graph:
        sim.start(*(x.numpy() for x in state), quat="wxyz")
    for _ in range(ASKED):
        (ball, box), (push, slide) = state[0][:, :, :2].unbind(1), state[2][:, :, :2].unbind(1)
        seen = torch.cat([10 * (ball - box), 10 * (box - target), push, slide], 1).reshape(k, -1, 8)
        act = 6 * torch.tanh(torch.tanh(seen @ policies[0] + policies[1]) @ policies[2]).reshape(n, 2)
        force = torch.nn.functional.pad(act[:, None], (0, 4, 0, 1))  # on the ball, [W,2,6]
        if graph:
            state = run(sim, state, force, steps=STEPS, every=STEPS).last
        else:
            r = sim.run(steps=STEPS, every=STEPS, force=force.numpy())
            state = [torch.tensor(x[-1]) for x in (r.position, r.rotation, r.velocity, r.spin)]
        ball, box = state[0][:, :, :2].unbind(1)
        total = total + ((box - target) ** 2).sum(1) + 0.1 * ((ball - box) ** 2).sum(1)
    return (total / ASKED).reshape(k, -1).mean(1)


def train(how: str, budget: int = 400_000, worlds: int = 8) -> tuple[Any, Any]:
    """World-steps of a policy [I], and the costs [I,SEEDS] on worlds that policies are not trained on."""
    rng, test, lib = np.random.default_rng(0), starts(np.random.default_rng(1), 32), Library()
    shapes = [lib.sphere(0.05), lib.box([0.05] * 3)]
    sim = contact.Simulation(lib, shapes, [1.0, 0.5], dt=0.01, friction=[0.0, 0.4], compliance=0.0)
    policies = [torch.tensor(rng.normal(0, size[0] ** -0.5, (SEEDS, *size))) for size in SIZES]
    adam = torch.optim.Adam(policies, lr=0.01 if how == "gradient" else 0.1)
    steps, spent, seen = 0, [0], [costs(sim, policies, *test).numpy()]
    while steps < budget:
        position, target = starts(rng, worlds)
        if how == "gradient":
            leaves = [p.clone().requires_grad_() for p in policies]
            found = torch.autograd.grad(costs(sim, leaves, position, target, graph=True).sum(), leaves)
            for p, g in zip(policies, found, strict=True):
                p.grad = g / g.norm(dim=(1, 2), keepdim=True).clamp(min=1)  # a long one would be all that Adam sees
        else:
            noise = [torch.tensor(rng.normal(size=(SEEDS, PAIRS, *p.shape[1:]))) for p in policies]
            both = [torch.cat([z, -z], 1) for z in noise]
            tried = [(p[:, None] + 0.1 * z).flatten(0, 1) for p, z in zip(policies, both, strict=True)]
            each = torch.arange(SEEDS * worlds).view(SEEDS, worlds).repeat_interleave(2 * PAIRS, 0).flatten()
            rank = costs(sim, tried, position[each], target[each]).view(SEEDS, -1).argsort(1).argsort(1) / (
                2 * PAIRS - 1
            )
            weight = rank[:, :PAIRS] - rank[:, PAIRS:]
            for p, z in zip(policies, noise, strict=True):
                p.grad = (weight[..., None, None] * z).mean(1)
        adam.step()
        steps += ASKED * STEPS * worlds * (2 if how == "gradient" else 2 * PAIRS)
        if steps >= min(budget, spent[-1] + budget // 40):
            spent.append(steps)
            seen.append(costs(sim, policies, *test).numpy())
    return np.array(spent), np.array(seen)


def main(out: str = "") -> None:
    found = {how: train(how) for how in ("gradient", "evolution")}
    for how, (_, cost) in found.items():
        print(
            f"{how}: median cost {np.median(cost[0]):.4f} to {np.median(cost[-1]):.4f} m², worst {cost[-1].max():.4f}"
        )
    if out:
        import matplotlib.pyplot as plt

        for how, (spent, cost) in found.items():
            plt.semilogy(spent, np.median(cost, axis=1), label=how)
            plt.fill_between(spent, cost.min(axis=1), cost.max(axis=1), alpha=0.2, lw=0)
        plt.xlabel("world-steps of a policy")
        plt.ylabel("cost (m²): median and range")
        plt.legend()
        plt.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
