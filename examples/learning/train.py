"""Train a policy for a task of a robot by proximal policy optimization (PPO) on a fleet, and save it.

    python examples/learning/train.py examples/learning/soft_arm.yaml reach --out reach.npz [--minutes 10] [--device cuda]

Writes the policy, and the learning curve as a .csv file next to it. Needs torch and `pip install 'pliant[gym]'`.
`examples/learning/evaluate.py` then runs the policy on the adaptive simulator. The policy is a small network (two layers of 64
tanh units) with observations scaled by their running mean and deviation.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import nn

import pliant.gym

HIDDEN, ROLLOUT, EPOCHS = 64, 25, 4
DISCOUNT, SMOOTHING, CLIP, ENTROPY, RATE = 0.97, 0.95, 0.2, 0.002, 1e-3


class Policy(nn.Module):
    """Mean and deviation of scaled actions (-1 to 1), and the value of a state, from scaled observations."""

    def __init__(self, observations: int, actions: int, deviation: float) -> None:
        super().__init__()

        def layers(outputs: int, gain: float) -> nn.Sequential:
            sizes = [observations, HIDDEN, HIDDEN]
            parts: list[nn.Module] = []
            for before, after in pairwise(sizes):
                parts += [nn.Linear(before, after), nn.Tanh()]
            last = nn.Linear(HIDDEN, outputs)
            nn.init.orthogonal_(last.weight, gain)
            nn.init.zeros_(last.bias)
            return nn.Sequential(*parts, last)

        self.mean, self.value = layers(actions, 0.01), layers(1, 1.0)
        self.log_deviation = nn.Parameter(torch.full((actions,), math.log(deviation)))

    def distribution(self, seen: torch.Tensor) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean(seen), self.log_deviation.exp())


class Scale:
    """Running mean and variance of observations."""

    def __init__(self, size: int, device: torch.device) -> None:
        self.mean, self.variance = torch.zeros(size, device=device), torch.ones(size, device=device)
        self.count = 1e-4

    def update(self, seen: torch.Tensor) -> None:
        new, spread, more = seen.mean(0), seen.var(0, unbiased=False), len(seen)
        total = self.count + more
        away = new - self.mean
        self.variance = (self.variance * self.count + spread * more + away**2 * self.count * more / total) / total
        self.mean, self.count = self.mean + away * more / total, total

    def __call__(self, seen: torch.Tensor) -> torch.Tensor:
        return ((seen - self.mean) / (self.variance + 1e-8).sqrt()).clamp(-5, 5)


def main() -> None:
    """Train for the given time, and write the policy and the learning curve."""
    options = arguments()
    torch.manual_seed(options.seed)
    Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    environment = pliant.gym.make(options.model, options.task, count=options.count, device=options.device)
    low, high = (torch.as_tensor(x, device=options.device) for x in bounds(environment))
    seen = tensor(staggered(environment, options.seed), options.device)
    policy = Policy(seen.shape[1], len(low), options.deviation).to(options.device)
    scale, begin = Scale(seen.shape[1], seen.device), time.perf_counter()
    adam, curve, samples = torch.optim.Adam(policy.parameters(), RATE, eps=1e-5), [], 0
    while (elapsed := time.perf_counter() - begin) < 60 * options.minutes:
        for group in adam.param_groups:
            group["lr"] = RATE * max(0.05, 1 - elapsed / (60 * options.minutes))
        batch, seen, reward = rollout(environment, policy, scale, seen, low, high)
        improve(policy, adam, batch, options.minibatches)
        samples += ROLLOUT * options.count
        curve.append((elapsed, samples, reward))
        if len(curve) % 10 == 1:
            print(f"{elapsed:6.1f} s  {samples:9d} samples  mean reward {reward:.4f}", flush=True)
            save(options.out, policy, scale, low, high, curve)
    save(options.out, policy, scale, low, high, curve)


def save(out: str, policy: Policy, scale: Scale, low: torch.Tensor, high: torch.Tensor, curve: list) -> None:
    """Write the policy, in the format of `policy.py`, and the learning curve."""
    weights = {name: x.detach().cpu().numpy() for name, x in policy.mean.state_dict().items()}
    moments = {"observation_mean": scale.mean.cpu().numpy(), "observation_variance": scale.variance.cpu().numpy()}
    np.savez(out, **weights, **moments, low=low.cpu().numpy(), high=high.cpu().numpy())
    with Path(out).with_suffix(".csv").open("w", newline="") as file:
        csv.writer(file).writerows([("time [s]", "samples", "reward"), *curve])


def staggered(environment, seed: int):
    """Observations of robots that are at different times of their episodes, so that every rollout has samples of all times."""
    seen, _ = environment.reset(seed=seed)
    environment.action_space.seed(seed)
    for k in range(environment.task.samples):
        environment.step(environment.action_space.sample())
        begun = np.arange(environment.num_envs) % environment.task.samples == k
        seen, _ = environment.reset(options={"reset_mask": begun})
    return seen


def rollout(environment, policy, scale, seen, low, high):
    """Samples of all robots with the current policy, with advantages; the next observations, and the mean reward."""
    rows, device = [], seen.device
    with torch.no_grad():
        for _ in range(ROLLOUT):
            scale.update(seen)
            scaled = scale(seen)
            distribution = policy.distribution(scaled)
            action = distribution.sample()
            held = low + (high - low) * (action.clamp(-1, 1) + 1) / 2
            found, reward, ended, truncated, infos = environment.step(array(held, environment))
            value, reward = policy.value(scaled)[:, 0], tensor(reward, device)
            ended, truncated, following = tensor(ended, device), tensor(truncated, device), tensor(found, device)
            later = following
            if infos:  # the value of the last state of an episode that ended by its time limit
                later = torch.where((ended + truncated)[:, None] > 0, tensor(infos["final_obs"], device), following)
            after = policy.value(scale(later))[:, 0] * (1 - ended)
            rows.append((scaled, action, distribution.log_prob(action).sum(1), value, reward, after, ended + truncated))
            seen = following
    advantage, advantages = torch.zeros_like(value), []
    for *_, value, reward, after, over in reversed(rows):
        advantage = reward + DISCOUNT * after - value + DISCOUNT * SMOOTHING * (1 - over) * advantage
        advantages.append(advantage)
    columns = [torch.cat(x) for x in zip(*(row[:4] for row in rows), strict=True)]
    return (*columns, torch.cat(advantages[::-1])), seen, float(torch.stack([row[4] for row in rows]).mean())


def improve(policy: Policy, adam: torch.optim.Optimizer, batch: tuple[torch.Tensor, ...], minibatches: int) -> None:
    """Some epochs of PPO's clipped objective."""
    seen, action, log_probability, value, advantage = batch
    target = value + advantage
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for _ in range(EPOCHS):
        for which in torch.randperm(len(seen), device=seen.device).chunk(minibatches):
            distribution = policy.distribution(seen[which])
            ratio = (distribution.log_prob(action[which]).sum(1) - log_probability[which]).exp()
            gain = torch.min(ratio * advantage[which], ratio.clamp(1 - CLIP, 1 + CLIP) * advantage[which]).mean()
            miss = (policy.value(seen[which])[:, 0] - target[which]).square().mean()
            loss = 0.5 * miss - gain - ENTROPY * distribution.entropy().sum(1).mean()
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            adam.step()


def tensor(values, device) -> torch.Tensor:
    """An array of the fleet as a tensor; without a copy on a GPU."""
    found = torch.from_dlpack(values) if hasattr(values, "__dlpack__") else torch.as_tensor(values)
    return found.to(device=device, dtype=torch.float32)


def array(values: torch.Tensor, environment):
    """A tensor as an array of the fleet."""
    if values.device.type == "cpu":
        return values.numpy()
    import cupy

    return cupy.from_dlpack(values.contiguous())


def bounds(environment):
    """Smallest and largest actions."""
    return environment.single_action_space.low, environment.single_action_space.high


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("task")
    parser.add_argument("--out", default="policy.npz")
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--minibatches", type=int, default=8, help="parts of the samples, each with a gradient step")
    parser.add_argument(
        "--deviation", type=float, default=0.6, help="of actions at the start, in halves of their range"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
