"""Gradient of a motion with respect to 1,000 inputs: its cost relative to the motion, and its accuracy.

    python benchmarks/gradient.py              a table
    python benchmarks/gradient.py --json       one JSON object
    python benchmarks/gradient.py --peer PYTHON
                                               beside it the same arm in soromox (JAX), which PYTHON, an interpreter, has installed:
                                               both over 0.03 s, in less than five minutes

The motion is that of `stiff_flop` over ten seconds with default settings; its three pressures go through 333 values each, and the
tip is seen at 100 times. "gradient" is a recorded run and the backward pass to all 999 inputs. The fastest of several rounds is
reported, in seconds of processor time, because other work on the machine only adds to it. Memory is the maximum of the process.

Errors are those of the derivative in random directions against central differences of fourth order, in a run with about as many
steps, but fixed ones: with adaptive steps, differences would include changes of the step sizes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant

UNTIL, SAMPLES, OUTPUTS = 10.0, 333, 100
PRESSURES = ("p1", "p2", "p3")
ROUNDS, DIRECTIONS = 7, 5
PEER_UNTIL, PEER_SAMPLES, PEER_OUTPUTS, PEER_SECONDS = 0.03, 4, 5, 290
PEER = Path(__file__).with_name("gradient_peer.py")


def pressures(until: float = UNTIL, samples: int = SAMPLES) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times [s] and values [Pa]: waves of 20 kPa."""
    times = np.linspace(0, until, samples)
    return times, {p: 1e4 * (1 + np.sin(2 * np.pi * (0.3 * k + 0.2) * times + k)) for k, p in enumerate(PRESSURES)}


def fastest(function: Callable[[], Any]) -> float:
    """Processor time [s]."""

    def once() -> float:
        begin = time.process_time()
        function()
        return time.process_time() - begin

    return min(once() for _ in range(ROUNDS))


def differentiable(
    until: float = UNTIL, samples: int = SAMPLES, outputs: int = OUTPUTS, **options: Any
) -> pliant.Differentiable:
    times, values = pressures(until, samples)
    inputs = {p: (times, x) for p, x in values.items()}
    save_at = np.linspace(until / outputs, until, outputs)
    eqs = pliant.derive("stiff_flop")
    return pliant.differentiable(eqs, "tip", PRESSURES, until=until, save_at=save_at, inputs=inputs, **options)


def times_of(f: pliant.Differentiable) -> tuple[float, float]:
    """Processor time of a motion, and of its gradient [s]."""
    values, pullback = f.vjp()
    weights = np.random.default_rng(0).standard_normal(values["tip"].shape)
    pullback({"tip": weights})
    return fastest(f), fastest(lambda: f.vjp()[1]({"tip": weights}))


def largest_error(f: pliant.Differentiable) -> float:
    """Largest relative error of the derivative in random directions."""
    rng = np.random.default_rng(0)
    values, pullback = f.vjp()
    weights = rng.standard_normal(values["tip"].shape)
    gradient = pullback({"tip": weights})
    errors = []
    for _ in range(DIRECTIONS):
        along = {p: rng.standard_normal(SAMPLES) for p in PRESSURES}

        def moved(pascals: float, along: dict[str, np.ndarray] = along) -> float:
            tip = f({p: f.initial[p] + pascals * along[p] for p in PRESSURES})["tip"]
            return float(np.sum(weights * (tip - values["tip"])))

        step = 100.0
        difference = (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step)
        errors.append(abs(sum(gradient[p] @ along[p] for p in PRESSURES) / difference - 1))
    return max(errors)


def measure() -> dict[str, Any]:
    run, gradient = times_of(differentiable())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    error = largest_error(differentiable(method=pliant.Rosenbrock(step=UNTIL / 700)))
    return {
        "run_s": run, "gradient_s": gradient, "ratio": gradient / run, "memory_mb": memory, "largest_relative_error": error,
    }  # fmt: skip


def peer(python: str) -> dict[str, Any]:
    """Both tools over a short time, in seconds of processor time for each second of the motion; the reason where it cannot be."""
    setting = PEER_UNTIL, PEER_SAMPLES, PEER_OUTPUTS
    words = [python, str(PEER), *map(str, setting)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PEER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as reason:
        return {"skipped": str(reason)}
    if done.returncode:
        return {"skipped": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    run, gradient = times_of(differentiable(*setting))
    return {
        "until_s": PEER_UNTIL,
        "pliant": {"run_per_s": run / PEER_UNTIL, "gradient_per_s": gradient / PEER_UNTIL},
        "soromox": {"run_per_s": found["run_s"] / PEER_UNTIL, "gradient_per_s": found["gradient_s"] / PEER_UNTIL},
        "remarks": found["remarks"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has soromox")
    given = parser.parse_args()
    found = measure()
    if given.peer:
        found["beside_soromox"] = peer(given.peer)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{'':10}{'run':>10}{'gradient':>12}{'ratio':>8}{'memory':>10}{'error':>10}")
    print(
        f"{'pliant':10}{found['run_s']:>8.3f} s{found['gradient_s']:>10.3f} s{found['ratio']:>8.2f}"
        f"{found['memory_mb']:>7.0f} MB{found['largest_relative_error']:>10.1e}"
    )
    other = found.get("beside_soromox", {})
    if "skipped" in other:
        print(f"soromox   left out: {other['skipped']}")
    elif other:
        print(f"over {other['until_s']:g} s, seconds for each second:")
        for name in ("pliant", "soromox"):
            print(f"{name:10}{other[name]['run_per_s']:>8.3g} s{other[name]['gradient_per_s']:>10.3g} s")
        print(f"          {other['remarks']}")


if __name__ == "__main__":
    main()
