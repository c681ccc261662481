"""A ball bounces on the floor: the times of its bounces and its energy losses, compared with the closed form."""

import numpy as np

import pliant

GRAVITY, HEIGHT, RESTITUTION = 9.81, 1.0, 0.8
BALL = f"""
pliant: 1
name: bouncing_ball
bodies: {{ball: {{mass: 200 g}}}}
joints: {{drop: {{type: prismatic, child: ball, axis: z, displacement: {{initial: {HEIGHT} m}}}}}}
"""


def main() -> float:
    """Largest error of the times [s]."""
    eqs = pliant.derive(pliant.load_text(BALL))
    times: list[float] = []

    def bounce(now: pliant.Now) -> None:
        times.append(now.t)
        now.v["drop"] = -RESTITUTION * now.v["drop"]

    floor = pliant.Event(lambda now: now.q["drop"], direction="falling", then=bounce, name="bounce")
    run = pliant.simulate(eqs, 3.5, events=[floor], save_every=0.01)
    first = np.sqrt(2 * HEIGHT / GRAVITY)
    flights = 2 * first * RESTITUTION ** np.arange(1.0, len(times))
    error = float(np.abs(np.array(times) - first - np.concatenate([[0.0], np.cumsum(flights)])).max())
    energy = run.energy
    balance = (energy["total"] + energy["dissipated"] - energy["supplied"] - energy["added"]).values
    left = energy["total"].values[-1] / energy["total"].values[0]
    print(f"{len(times)} bounces, times to {error:.1e} s; {100 * left:.2f} % of the energy is left")
    assert len(times) == 9
    assert error < 1e-11
    assert np.ptp(balance) < 1e-11
    assert abs(left / RESTITUTION ** (2 * len(times)) - 1) < 1e-9
    return error


if __name__ == "__main__":
    main()
