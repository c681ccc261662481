"""The arm of `gradient.py` in soromox, run by an interpreter that has it; prints one JSON object.

Three segments of constant strain with the lengths, sections, stiffness and damping of `stiff_flop`, but linear in the strains and
without the sensor at the tip. Pressures are generalized forces that are linear in them. The motion is integrated by Diffrax with an
explicit method of order five, whose steps stability limits (implicit ones take very long to compile for this arm),
and differentiated by its checkpointed adjoint. Compilation is not counted.

    PYTHON gradient_peer.py UNTIL SAMPLES OUTPUTS     end [s], values of each pressure, times at which the tip is seen
"""

import json
import resource
import sys
import time

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from soromox.systems.components.links import LinkSpec
from soromox.systems.pcs import PCS

jax.config.update("jax_enable_x64", True)

UNTIL, SAMPLES, OUTPUTS = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
LINKS, ROUNDS = 3, 2
LENGTH, OUTER, INNER, HOLE, OFFSET = 0.044 / LINKS, 12.5e-3, 4.5e-3, 2.5e-3, 8.5e-3  # m
MODULUS, DENSITY, DAMPING_TIME = 120e3, 1820.0, 0.02  # Pa, kg/m^3, s
AREA = np.pi * (OUTER**2 - INNER**2 - 6 * HOLE**2)
BENDING = np.pi / 4 * (OUTER**4 - INNER**4 - 6 * HOLE**4) - 3 * np.pi * HOLE**2 * OFFSET**2
DIRECTIONS = np.radians([90.0, 330.0, 210.0])  # of the pairs of chambers


def arm() -> PCS:
    shear = MODULUS / 3
    stiffness = LENGTH * np.diag(
        [2 * shear * BENDING, MODULUS * BENDING, MODULUS * BENDING, MODULUS * AREA, shear * AREA, shear * AREA]
    )
    link = LinkSpec.circular(
        length=LENGTH, density=DENSITY, radius=float(np.sqrt(AREA / np.pi)), reference_strain=[0, 0, 0, 1.0, 0, 0],
        stiffness=jnp.asarray(stiffness), damping=jnp.asarray(DAMPING_TIME * stiffness),
    )  # fmt: skip
    return PCS.from_links([link] * LINKS, gravity=jnp.array([9.81, 0, 0]))


def main() -> None:
    robot = arm()
    times = jnp.linspace(0, UNTIL, SAMPLES)
    seen = jnp.linspace(UNTIL / OUTPUTS, UNTIL, OUTPUTS)
    area, leverage = 2 * np.pi * HOLE**2, OFFSET * np.cos(np.radians(30))
    per_pressure = [
        LENGTH * area * np.array([0, leverage * np.sin(x), -leverage * np.cos(x), 1, 0, 0]) for x in DIRECTIONS
    ]
    forces = jnp.asarray(np.tile(np.array(per_pressure).T, (LINKS, 1)))

    def field(t, y, values):
        now = jnp.stack([jnp.interp(t, times, row) for row in values])
        return robot.forward_dynamics(t, y, (None, forces @ now))

    def tips(values):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, UNTIL, 1e-5, jnp.zeros(12 * LINKS), values,
            saveat=diffrax.SaveAt(ts=seen), stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6), max_steps=16384,
        )  # fmt: skip
        poses = jax.vmap(lambda y: robot.forward_kinematics(y[: 6 * LINKS], jnp.asarray(LENGTH * LINKS)))(solution.ys)
        return poses, solution.stats["num_steps"]

    waves = jnp.stack([1e4 * (1 + jnp.sin(2 * jnp.pi * (0.3 * k + 0.2) * times + k)) for k in range(3)])
    run = jax.jit(tips)
    gradient = jax.jit(jax.grad(lambda values: jnp.sum(tips(values)[0])))

    def fastest(function):
        jax.block_until_ready(function(waves))

        def once():
            begin = time.process_time()
            jax.block_until_ready(function(waves))
            return time.process_time() - begin

        return min(once() for _ in range(ROUNDS))

    run_s = fastest(run)
    steps = int(run(waves)[1])
    print(f"the run: {run_s:.3f} s, {steps} steps", file=sys.stderr, flush=True)
    gradient_s = fastest(gradient)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    found = {"run_s": run_s, "gradient_s": gradient_s, "ratio": gradient_s / run_s, "memory_mb": memory, "steps": steps}
    remarks = f"Tsit5, rtol 1e-3, {steps} steps; linear law, no sensor at the tip; compilation not counted"
    print(json.dumps(found | {"remarks": remarks}))


if __name__ == "__main__":
    main()
