"""A policy learns to push a box to a target, by gradients through the simulation.

A ball, driven by at most 6 N, pushes a box of 10 cm for a second. The cost is the mean square of the distance of the
box from its target, and a tenth of the ball's from the box: policies that never touch it have no gradient without. Ten
seeds are in docs/learning.md. The picture push.png has the paths of boxes to their targets.

python examples/push.py   (needs PyTorch)
"""

from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn.functional import pad

from clearance import Library, contact
from clearance.torch import run

lib = Library()
shapes = [lib.sphere(0.05), lib.box([0.05, 0.05, 0.05])]
sim = contact.Simulation(lib, shapes, mass=[1.0, 0.5], dt=0.01, friction=[0.0, 0.4], compliance=0.0)


def push(policy: Any, worlds: int) -> tuple[Any, Any, Any]:
    """The costs [W] from random starts, the paths of boxes [26,W,2] and their targets [W,2]."""
    at = torch.tensor([[-0.25, 0], [0, 0], [0.3, 0]]) + (torch.rand(worlds, 3, 2) - 0.5) * 0.2
    level, still = torch.tensor([1.0, 0, 0, 0]).expand(worlds, 2, 4), torch.zeros(worlds, 2, 3)
    state: Any = [pad(at[:, :2], (0, 1), value=0.05), level, still, still]
    path, cost, target = [at[:, 1]], torch.zeros(worlds), at[:, 2]
    for _ in range(25):
        (ball, box), speeds = state[0][..., :2].unbind(1), state[2][..., :2].flatten(1)
        force = 6 * policy(torch.cat([10 * (ball - box), 10 * (box - target), speeds], 1))
        state = run(sim, state, pad(force[:, None], (0, 4, 0, 1)), steps=4, every=4).last
        path.append(state[0][:, 1, :2])
        cost = cost + ((box - target) ** 2 + 0.1 * (ball - box) ** 2).sum(1) / 25
    return cost, torch.stack(path).detach(), target


def train(iterations: int = 150) -> tuple[Any, Any]:
    policy = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2), nn.Tanh())
    adam, costs = torch.optim.Adam(policy.parameters(), lr=0.01), torch.zeros(iterations)
    for k in range(iterations):
        adam.zero_grad()
        (cost := push(policy, 8)[0].mean()).backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        adam.step()
        costs[k] = cost.detach()
    return policy, costs


if __name__ == "__main__":
    torch.manual_seed(0)
    policy, costs = train()
    _, path, target = push(policy, 8)
    plt.plot(*path.permute(2, 0, 1))
    plt.plot(*target.T, "kx")
    plt.savefig("push.png")
    print(f"The mean cost fell from {costs[:9].mean():.3f} to {costs[-9:].mean():.3f} m² in {len(costs)} iterations.")
