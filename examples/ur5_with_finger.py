"""A UR5-like arm from a URDF file with a soft finger welded on: a regulator of its torques holds the arm while the finger bends."""

from pathlib import Path

import numpy as np

import pliant

MODEL = Path(__file__).with_name("ur5_with_finger.yaml")
JOINTS = tuple(
    f"arm/{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
)
POSE = np.radians([0, -60, 90, -30, 90, 0])
"""Angles at which the arm is held [rad]."""

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
    """Deviation of the arm's joints from their pose after a second, in which the finger was inflated to 40 kPa [rad]."""
    eqs = pliant.derive(pliant.load(MODEL).replace(control={"hold": REGULATOR}))
    start = eqs.state(dict(zip(JOINTS, POSE, strict=True)))
    run = pliant.simulate(eqs, 1.0, start=start, inputs={"pressure": "=40 kPa * min(t/0.5 s, 1)"})
    off = max(abs(run[joint].values[-1] - angle) for joint, angle in zip(JOINTS, POSE, strict=True))
    bent = np.linalg.norm(np.diff(run["finger.tip"].position[[0, -1]], axis=0))
    print(f"the joints are {np.degrees(off):.4f} degrees from their pose, the finger's tip moved {1e3 * bent:.1f} mm")
    assert off < np.radians(0.2)  # deflection due to the weight of the bent finger, without an integral
    assert bent > 5e-3
    return float(off)


if __name__ == "__main__":
    main()
