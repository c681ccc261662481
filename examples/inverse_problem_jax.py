"""Which pressures move the tip of the STIFF-FLOP module along a circle? Found by a JAX optimizer through the simulation.

The three pressures are free at nine times, the tip is compared with the circle at sixteen. `Differentiable.to_jax` returns a
function that supports `jax.grad` and `jax.jit`; its gradient with respect to all 27 numbers takes as long as a few simulations.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize

import pliant

jax.config.update("jax_enable_x64", True)

UNTIL = 2.0  # s
RADIUS = 5e-3  # m
PRESSURES = ("p1", "p2", "p3")


def main() -> float:
    eqs = pliant.derive("stiff_flop")
    knots, times = np.linspace(0, UNTIL, 9), np.linspace(UNTIL / 16, UNTIL, 16)
    f = pliant.differentiable(
        eqs,
        of="tip",
        by=PRESSURES,
        until=UNTIL,
        save_at=times,
        inputs={p: (knots, np.zeros(9), "cubic") for p in PRESSURES},
    )
    motion = f.to_jax()
    angle = np.pi * times / UNTIL * 2
    grown = np.minimum(times / 0.5, 1.0)  # the circle is reached within half a second
    wanted = RADIUS * grown[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def distances(kilopascals: jax.Array) -> jax.Array:
        """Distance from the circle, at each time [mm]."""
        tip = motion(dict(zip(PRESSURES, 1e3 * kilopascals.reshape(3, -1), strict=True)))["tip"]
        return 1e3 * (tip[:, :2] - wanted)

    def cost(kilopascals: jax.Array) -> jax.Array:
        # a small weight on the pressures selects among equivalent ones
        return jnp.mean(distances(kilopascals) ** 2) + 1e-5 * jnp.mean(kilopascals**2)

    start = jnp.full(27, 20.0)
    found = jax.jit(lambda x: minimize(cost, x, method="BFGS", options={"maxiter": 25}))(start)
    before, after = (float(jnp.sqrt(jnp.mean(distances(x) ** 2))) for x in (start, found.x))
    print(
        f"root mean square distance from the circle: {before:.2f} mm at equal pressures, {after:.3f} mm at those found"
    )
    print(f"{int(found.nfev)} motions with gradients; pressures from {found.x.min():.1f} to {found.x.max():.1f} kPa")
    assert after < 0.05 * before
    return after


if __name__ == "__main__":
    main()
