"""Run a trained policy on the adaptive simulator, with an error far below that of the fleet's fixed steps.

    python examples/learning/evaluate.py examples/learning/soft_arm.yaml reach reach.npz [--episodes 20] [--film reach.gif]
    python examples/learning/evaluate.py examples/learning/trunk.yaml@touching reach trunk.npz --watch gap push

Prints the distance of the robot from its goal at the end of episodes with goals, robots and starts drawn as in training,
and the smallest and largest values of the watched outputs over all episodes.
"""

from __future__ import annotations

import argparse

import numpy as np
from policy import load_policy

import pliant
import pliant.gym


def main() -> None:
    """Run the episodes, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("task")
    parser.add_argument("policy")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--output", default="miss", help="the output that is printed")
    parser.add_argument("--watch", nargs="*", default=(), help="outputs whose least and largest values are printed")
    parser.add_argument("--film")
    options = parser.parse_args()
    eqs = pliant.derive(pliant.load(options.model))
    task = eqs.model.spec.task[options.task]
    controller = pliant.gym.PolicyController(eqs, task, load_policy(options.policy))
    until, random = controller.task.samples * controller.task.sample_time, np.random.default_rng(1)
    ends: list[tuple[float, ...]] = []
    watched: dict[str, list[float]] = {name: [] for name in options.watch}
    for episode in range(options.episodes):
        drawn = {name: random.uniform(low, high) for name, (low, high) in controller.task.drawn.items()}
        start = eqs.initial_state(parameters=drawn)
        start = pliant.State(start.q + controller.task.spread * random.uniform(-1, 1, len(start.q)), start.v)
        run = pliant.simulate(eqs, until, parameters=drawn, start=start, controllers=controller, save_every=0.02)
        for name, found in watched.items():
            found += [np.min(run[name].values), np.max(run[name].values)]
        values = np.asarray(run[options.output].values)
        last = values[len(values) // 2 :]
        ends.append((values[0], last.mean(), values[-1]))
        print(f"{episode:3d}  start {ends[-1][0]:.4g}  second half {ends[-1][1]:.4g}  end {ends[-1][2]:.4g}")
        if options.film and episode == 0:
            pliant.film(eqs, run, options.film)
    begin, mean, end = np.mean(ends, axis=0)
    print(f"mean start {begin:.4g}  second half {mean:.4g}  end {end:.4g}; largest end {max(x[2] for x in ends):.4g}")
    for name, found in watched.items():
        print(f"{name}: {min(found):.4g} to {max(found):.4g} over all episodes")


if __name__ == "__main__":
    main()
