"""Run a trained policy on the adaptive simulator, with an error far below that of the fleet's fixed steps.

    python examples/learning/evaluate.py examples/learning/soft_arm.yaml reach reach.npz [--episodes 20] [--film reach.gif]

Prints how far the tip is from its goal at the end of episodes with goals and robots that are drawn as in training.
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
    parser.add_argument("--film")
    options = parser.parse_args()
    eqs = pliant.derive(pliant.load(options.model))
    task = eqs.model.spec.task[options.task]
    controller = pliant.gym.PolicyController(eqs, task, load_policy(options.policy))
    until, random = controller.task.samples * controller.task.sample_time, np.random.default_rng(1)
    ends = []
    for episode in range(options.episodes):
        drawn = {name: random.uniform(low, high) for name, (low, high) in controller.task.drawn.items()}
        run = pliant.simulate(eqs, until, parameters=drawn, controllers=controller, save_every=0.04)
        values = np.asarray(run[options.output].values)
        last = values[len(values) // 2 :]
        ends.append((values[0], last.mean(), values[-1]))
        print(f"{episode:3d}  start {ends[-1][0]:.4g}  second half {ends[-1][1]:.4g}  end {ends[-1][2]:.4g}")
        if options.film and episode == 0:
            pliant.film(eqs, run, options.film)
    start, mean, end = np.mean(ends, axis=0)
    print(f"mean start {start:.4g}  second half {mean:.4g}  end {end:.4g}; largest end {max(x[2] for x in ends):.4g}")


if __name__ == "__main__":
    main()
