"""A Panda-like arm from a URDF file with a tendon-driven trunk on its flange: motion under tendon tension, with the arm
controlled."""

from pathlib import Path

import numpy as np

import pliant
from pliant.control import Coordinates, rest_with

MODEL = Path(__file__).with_name("panda_with_trunk.yaml")
JOINTS = tuple(f"arm/joint{k}" for k in range(1, 8))
POSE = np.radians([0, -20, 0, -120, 0, 100, 45])
"""Angles at which the arm is held [rad]."""
PULL = 4.0
"""Tension of the first tendon [N]."""

REGULATOR = {
    "type": "lqr",
    "about": {"coordinates": [{"coordinate": j, "value": float(x)} for j, x in zip(JOINTS, POSE, strict=True)]},
    "inputs": [f"{joint}_torque" for joint in JOINTS],
    "sample_time": "2 ms",
    "below": "30 Hz",
    "coordinate_weights": [{"coordinate": joint, "value": 1e4, "rate": 100} for joint in JOINTS],
    "input_weights": [{"input": f"{joint}_torque", "weight": 0.1} for joint in JOINTS],
}


def main() -> float:
    """Distance of the trunk's tip from its equilibrium after a second with a tendon pulled [m]."""
    eqs = pliant.derive(pliant.load(MODEL).replace(control={"hold": REGULATOR}))
    start = eqs.state(dict(zip(JOINTS, POSE, strict=True)))
    run = pliant.simulate(eqs, 1.0, start=start, inputs={"pull[1]": f"={PULL} N * min(t/0.3 s, 1)"})
    tip = run["trunk.tip"].position
    moved = tip[-1] - tip[0]
    angles = np.array([run[joint].values[-1] for joint in JOINTS])
    rest = rest_with(eqs, Coordinates(JOINTS), angles, use=tuple(REGULATOR["inputs"]), inputs={"pull[1]": PULL})
    off = float(np.linalg.norm(eqs.frame("trunk.tip", rest.q).position - tip[-1]))
    print(f"the tip moved {1e3 * np.linalg.norm(moved):.1f} mm, and is {1e3 * off:.2f} mm from its equilibrium")
    assert np.linalg.norm(moved) > 0.01
    assert off < 1e-3
    return off


if __name__ == "__main__":
    main()
