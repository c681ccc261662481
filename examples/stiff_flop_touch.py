"""A pneumatic module presses on an unknown surface; force and stiffness are estimated from the motion of the tip.

Three pressures push the tip into the surface and out again, by the model of the free module. An observer measures the pressures
and the tracked tip with noise; it estimates the force on the tip, and from force and displacement the stiffness of the surface.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import pliant
from pliant.control import ContactObserver, FramePosition, Limits, Reference, StaticControl

SURFACE, STIFFNESS = 0.0615, 400.0
"""Position of the surface below the base [m] and its stiffness [N/m], which are unknown to controller and observer."""
NOISE = 0.05e-3
"""Standard deviation of the tracked tip, each component [m]."""
SAMPLE, UNTIL, FREE = 0.04, 6.0, 1.2
"""Sample time and end of the run; end of the interval in which the module is known to be free of contact [s]."""
BASE = "pliant: 1\ninclude: [stiff_flop.yaml]\n"
TOUCHING = f"""{BASE}
surfaces:
  table: {{type: plane, position: [0, 0, {SURFACE} m], normal: [0, 0, -1]}}
  fingertip: {{type: sphere, parent: tip, radius: 0}}
contacts:
  surface: {{between: [fingertip, table], stiffness: {STIFFNESS} N/m, dissipation: 1 s/m}}
outputs:
  press: {{contact: surface, component: norm}}
"""
PUSHED = f"""{BASE}
parameters:
  fx: {{value: 0 N, input: true}}
  fy: {{value: 0 N, input: true}}
  fz: {{value: 0 N, input: true}}
loads:
  touch: {{frame: tip, force: [=fx, =fy, =fz]}}
"""


@dataclass(frozen=True)
class Touched:
    """Times n [s], force of the surface along its normal [N] in the simulation and as estimated, with the standard deviation of the
    filter; estimated stiffness [N/m]."""

    time: np.ndarray
    force: np.ndarray
    estimate: np.ndarray
    deviation: np.ndarray
    stiffness: np.ndarray

    @property
    def touching(self) -> np.ndarray:
        """Samples with contact."""
        return self.force > 0.1

    @property
    def error(self) -> np.ndarray:
        """Error of the force [N]."""
        return self.estimate - self.force


@cache
def robot(text: str) -> pliant.Equations:
    """The equations of the module with additional text."""
    return pliant.derive(pliant.load_text(text, folder=Path(pliant.__file__).parent / "models"))


def touch(stiffness: float = 1.0, noise: float = NOISE) -> Touched:
    """Press and release, with silicone that is stiffer than the model's by a factor; `noise` of the tip [m]."""
    real, model, free = robot(TOUCHING), robot(PUSHED), pliant.derive("stiff_flop")
    limits = Limits(lower=dict.fromkeys(free.inputs, 0.0), upper=dict.fromkeys(free.inputs, 2e5))
    # the motion of the free module: to 4 mm beyond the surface, twice
    times = [0.0, 0.8, FREE, 2.5, 3.5, 5.0, 6.0]
    places = [[0, 0, z] for z in (0.0592, 0.0610, 0.0610, 0.0655, 0.0630, 0.0655, 0.0610)]
    pusher = StaticControl(
        free, FramePosition("tip"), Reference.through(times, places), SAMPLE, integral=0.0, limits=limits
    )
    observer = ContactObserver(
        model, "tip", ("fx", "fy", "fz"), ("tip",), {"tip": noise}, normal=(0, 0, -1), sample_time=SAMPLE,
        method=pliant.GeneralizedAlpha(step=SAMPLE / 2), drift=0.3, process=1e-9, threshold=0.25, free_until=FREE,
    )  # fmt: skip
    silicone = {"youngs_modulus": stiffness * real.parameters["youngs_modulus"]}
    run = pliant.simulate(
        real, UNTIL, controllers=[observer, pusher], parameters=silicone, method=pliant.GeneralizedAlpha(step=SAMPLE / 4),
        save_every=SAMPLE,
    )  # fmt: skip
    n = len(observer.time)
    return Touched(
        np.array(observer.time), run["press"].values[:n], -np.array(observer.force)[:, 2],
        np.array(observer.deviation)[:, 2], np.array(observer.stiffness),
    )  # fmt: skip


def main() -> float:
    """Relative error of the stiffness with the true model."""
    for words, done in (("true model", touch()), ("10 % stiffer module", touch(1.1))):
        error, on = done.error, done.touching
        rms, mean = np.sqrt(np.mean(error[on] ** 2)), np.mean(error[on])
        print(
            f"{words}: force up to {done.force.max():.2f} N, off by {rms:.3f} N RMS ({mean:+.3f} N on average); "
            f"stiffness {done.stiffness[-1]:.0f} of {STIFFNESS:.0f} N/m"
        )
        if words == "true model":
            off = float(done.stiffness[-1] / STIFFNESS - 1)
            assert rms < 0.05
            assert abs(mean) < 0.03
            assert abs(off) < 0.05
    return off


if __name__ == "__main__":
    main()
