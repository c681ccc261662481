"""Methods measured: orders of convergence, conservation, stiffness, constraints."""

import ctypes

import numpy as np
import pytest
from integrator_systems import complete, prepare, setup
from reference import EXPONENTS, assert_newmark_steps

import pliant
from pliant.analysis.integrators import (
    ExplicitRungeKutta,
    GeneralizedAlpha,
    Newmark,
    Rosenbrock,
    SemiImplicit,
    SymplecticEuler,
)

REFERENCE = ExplicitRungeKutta(rtol=1e-13, atol=1e-14)

FAMILIES = {
    "explicit": (lambda h: ExplicitRungeKutta(step=h), 5),
    "implicit": (lambda h: Rosenbrock(step=h), 4),
    "generalized_alpha": (lambda h: GeneralizedAlpha(step=h), 2),
    "undamped": (lambda h: GeneralizedAlpha(step=h, spectral_radius=1.0), 2),
    "strongly damped": (lambda h: GeneralizedAlpha(step=h, spectral_radius=0.0), 2),
    "newmark": (lambda h: Newmark(step=h), 2),
    "damped newmark": (lambda h: Newmark(step=h, gamma=0.6, beta=0.3025), 1),
    "semi_implicit": (lambda h: SemiImplicit(step=h), 1),
    "symplectic_euler": (lambda h: SymplecticEuler(step=h), 1),
}
# duration, and numbers of steps at which methods of order 5, 4, 2 and 1 are in their asymptotic range
SYSTEMS = {
    "pendulum": (1.0, {5: 20, 4: 20, 2: 40, 1: 1000}),
    "tumbling": (1.0, {5: 50, 4: 50, 2: 100, 1: 1000}),
    "ball": (0.5, {5: 25, 4: 25, 2: 100, 1: 1000}),
    "driven": (1.0, {5: 20, 4: 20, 2: 40, 1: 1000}),
    "four_bar": (0.2, {5: 25, 4: 60, 2: 40, 1: 1000}),
    "top": (0.05, {5: 20, 4: 20, 2: 80, 1: 400}),
}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_positions_rates_and_multipliers_converge_with_the_order_of_the_method(name, family):
    system, (make, order) = setup(name), FAMILIES[family]
    until, counts = SYSTEMS[name]
    times = until * np.arange(1, 6) / 5  # all of them at the ends of steps
    reference = complete(system, REFERENCE, until, samples=times)
    runs = [complete(system, make(until / counts[order] / 2**k), until, samples=times) for k in range(3)]
    for quantity in ["sample_q", "sample_v", "sample_a"] + ["sample_multipliers"] * (system.binding.m > 0):
        errors = [np.abs(getattr(run, quantity) - getattr(reference, quantity)).max() for run in runs]
        # a vanishing leading term shows as an order above
        assert order - 0.3 < np.log2(errors[0] / errors[-1]) / 2 < order + 1.6, (quantity, errors)


@pytest.mark.parametrize(("family", "order"), [("explicit", 5), ("implicit", 4), ("generalized_alpha", 2)])
@pytest.mark.parametrize("name", ["tumbling", "four_bar"])
def test_samples_between_steps_are_as_accurate_as_steps(name, family, order):
    """All samples fall inside steps; the interpolation must not spoil positions, rates or energies."""
    system = setup(name)
    until, counts = SYSTEMS[name]
    step = until / counts[order]
    times = until * (np.arange(1, 10) + 0.37) / 10
    reference = complete(system, REFERENCE, until, samples=times)
    errors = {"sample_q": [], "sample_v": [], "sample_a": []}
    for k in range(3):
        run = complete(system, FAMILIES[family][0](step / 2**k), until, samples=times)
        for quantity, found in errors.items():
            found.append(np.abs(getattr(run, quantity) - getattr(reference, quantity)).max())
    for quantity, found in errors.items():
        # accelerations of an implicit method come from second derivatives of the interpolation
        lost = 1.2 if quantity == "sample_a" and family == "implicit" else 0.5
        assert np.log2(found[0] / found[-1]) / 2 > order - lost, (quantity, found)


@pytest.mark.parametrize("step", [1e-4, 5e-5])
def test_the_implicit_method_keeps_order_four_on_a_stiff_driven_system(step):
    """Eigenvalues of -380 and -2600 per second beside a slow pendulum and a slow input."""
    system = setup("stiff")
    reference = complete(system, Rosenbrock(step=step / 8), 0.05)
    errors = [
        np.abs(complete(system, Rosenbrock(step=h), 0.05).sample_q[-1] - reference.sample_q[-1]).max()
        for h in (step, step / 2)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.4)


@pytest.mark.parametrize("stiffness", [1e4, 1e7, 1e10])
@pytest.mark.parametrize("method", [Rosenbrock(rtol=1e-5), GeneralizedAlpha(rtol=1e-5)], ids=lambda m: m.name)
def test_stiffness_does_not_cost_steps(stiffness, method):
    """A million times the stiffness may cost a few times the steps; an explicit method would need a thousand times."""
    system = setup("stiff", k=stiffness, c=3 * stiffness**0.5)
    run = complete(system, method, 2.0)
    # in the limit the slider follows its input, up to the lag of the damper
    assert run.sample_q[-1, 0] == pytest.approx(0.1 * np.sin(2 * np.pi * 0.7 * 2.0), abs=1.5 * stiffness**-0.5)
    exact = complete(system, Rosenbrock(rtol=1e-8), 2.0)
    assert np.abs(run.sample_q - exact.sample_q).max() < (1e-5 if method.order == 4 else 1e-3)
    assert run.steps < 1000


def test_a_stiff_damped_oscillator_meets_its_exact_motion():
    k, c, until = 1e8, 3e4, 1.0
    system = setup("spring", k=k, c=c)
    slow, fast = (-c / 2 + s * np.sqrt(c * c / 4 - k) for s in (1, -1))
    times = np.array([1e-5, 1e-4, 3e-4, 1e-3, 0.1, 1.0])
    exact = (fast * np.exp(slow * times) - slow * np.exp(fast * times)) / (fast - slow)
    run = complete(system, Rosenbrock(rtol=1e-6), until, samples=times)
    assert np.abs(run.sample_q[:, 0] - exact).max() < 1e-6
    assert run.steps < 500  # stability alone would cost an explicit method eight thousand


@pytest.mark.parametrize(("method", "steps", "left"), [(Rosenbrock, 1, 1e-4), (SemiImplicit, 1, 1e-9)])
def test_what_is_infinitely_stiff_is_gone_after_a_step(method, steps, left):
    system = setup("spring", k=1e14)
    run = complete(system, method(step=1e-2), steps * 1e-2)
    assert abs(run.sample_q[-1, 0]) < left


@pytest.mark.parametrize("radius", [0.5, 0.8, 0.95, 1.0])
def test_generalized_alpha_damps_fast_oscillations_by_its_spectral_radius(radius):
    system = setup("spring", k=1e14)
    n, step = 200, 1e-2
    run = complete(
        system, GeneralizedAlpha(step=step, spectral_radius=radius), 2 * n * step, samples=step * np.array([n, 2 * n])
    )
    early, late = np.abs(run.sample_a[:, 0])
    # three equal eigenvalues -radius: the acceleration falls as radius^n, times n^2 at most
    assert 0.5 * radius**n < late / early < 8 * radius**n


def test_newmark_leaves_an_unresolved_oscillation_undamped():
    system = setup("spring", k=1e10)
    run = complete(system, Newmark(step=1e-2), 10.0)
    assert system.binding.energies(10.0, run.q, run.v)[:2].sum() == pytest.approx(0.5e10, rel=1e-6)


def test_a_tumbling_body_keeps_energy_and_angular_momentum_for_a_minute():
    system = setup("tumbling")
    times = np.linspace(0, 60, 13)
    run = complete(system, ExplicitRungeKutta(rtol=1e-12), 60.0, samples=times)
    energy, momentum = [], []
    for q, v in zip(run.sample_q, run.sample_v, strict=True):
        energy.append(system.binding.energies(0.0, q, v)[0])
        R = system.binding.node_poses(q)[0][-1]
        momentum.append(R @ (np.array([0.1, 0.25, 0.3]) * v[3:]))
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert np.ptp(momentum, axis=0).max() < 1e-8 * np.linalg.norm(momentum[0])
    assert np.abs(np.linalg.norm(run.sample_q[:, 3:7], axis=1) - 1).max() < 1e-14


@pytest.mark.parametrize("method", [ExplicitRungeKutta(rtol=1e-12), Rosenbrock(rtol=1e-11)], ids=lambda m: m.name)
def test_a_double_pendulum_keeps_its_energy(method):
    system = setup("double_pendulum")
    run = complete(system, method, 20.0, samples=np.linspace(0, 20, 21))
    energies = [system.binding.energies(0.0, q, v) for q, v in zip(run.sample_q, run.sample_v, strict=True)]
    totals = [e[0] + e[1] for e in energies]
    swing = np.ptp([e[1] for e in energies])
    assert np.ptp(totals) < 1e-8 * swing


@pytest.mark.parametrize("name", ["four_bar", "driven_four_bar", "top"])
@pytest.mark.parametrize("step", [True, False], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("radius", [0.0, 0.8, 1.0])
def test_generalized_alpha_satisfies_constraints_and_their_rates_after_every_step(name, step, radius):
    system, until = setup(name), 0.05
    method = GeneralizedAlpha(step=1e-3 if step else None, rtol=1e-5, spectral_radius=radius)
    run = prepare(system, method, until)
    assert run.start() == 0
    count = 0
    while run.t < until:
        assert run.advance(1) in (0, 5)
        phi, rate, gamma, J = system.binding.constraints(min(run.t, until * (1 - 1e-15)), run.q, run.v)
        assert np.abs(phi).max() < 1e-10
        assert np.abs(rate).max() < 1e-10 * (1 + np.abs(run.v).max())
        assert np.abs(J @ run.a + gamma).max() < 1e-9 * (1 + np.abs(run.a).max())
        count += 1
    assert count == run.steps >= 10


@pytest.mark.parametrize(
    "method", [GeneralizedAlpha(step=1e-3), GeneralizedAlpha(rtol=1e-5)], ids=["fixed", "adaptive"]
)
def test_newton_converges_quadratically_on_a_fast_spinning_body(method):
    """The top turns by 0.15 rad in a step; without the tangent of the rotation Newton would take eight iterations."""
    system = setup("top")
    run = complete(system, method, 0.1)
    # one factorization is for the rates after the step
    assert 2 < factorizations(run) / (run.steps + run.rejected) < 4.1


@pytest.mark.parametrize("spectral_radius", [1.0, 0.8])
def test_factors_serve_several_steps_of_a_smooth_motion(spectral_radius):
    """The matrix is factorized now and then only, and every step still solves the equations of the method."""
    system, method, steps = setup("beam"), GeneralizedAlpha(step=1e-3, spectral_radius=spectral_radius), 40
    run = prepare(system, method, steps * method.step)
    assert run.start() == 0
    begun, states = (factorizations(run), run.evaluations), []
    for k in range(steps + 1):
        states.append([x.copy() for x in (np.array(run.t), run.q, run.v, run.a)])
        if k < steps:
            run.advance(1)
    assert run.steps == steps
    assert 1 <= factorizations(run) - begun[0] < 0.5 * steps
    assert run.evaluations - begun[1] < 6 * steps
    assert_newmark_steps(system.binding, method, *(np.array(x) for x in zip(*states, strict=True)))


def factorizations(run):
    count = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(("pl_factorizations", run._library))
    return count(run._workspace.address)


@pytest.mark.parametrize("family", ["explicit", "implicit", "generalized_alpha", "newmark"])
@pytest.mark.parametrize("name", ["driven", "ball", "driven_four_bar"])
def test_energy_is_accounted_for_at_every_sample(name, family):
    """Kinetic and potential energy, plus what was dissipated, minus what was supplied, does not change."""
    system, (make, order) = setup(name), FAMILIES[family]
    times = np.linspace(0, 0.5, 8)
    errors = []
    for step in (2e-3, 1e-3) if order == 2 else (8e-3, 4e-3):
        run = complete(system, make(step), 0.5, samples=times)
        totals = [
            sum(system.binding.energies(t, q, v)[:2]) + w[0] - w[1]
            for t, q, v, w in zip(times, run.sample_q, run.sample_v, run.sample_work, strict=True)
        ]
        errors.append(np.ptp(totals))
        assert np.ptp(run.sample_work[:, 0]) > 1e-3
    if order == 2:
        assert np.log2(errors[0] / errors[1]) > 1.5
    else:
        assert errors[1] < 1e-8


@pytest.mark.parametrize("make", [ExplicitRungeKutta, Rosenbrock, GeneralizedAlpha, Newmark])
@pytest.mark.parametrize("name", ["driven", "four_bar", "top", "driven_four_bar"])
def test_adaptive_steps_meet_their_tolerance(name, make):
    """Errors follow the tolerance, at a number of steps that grows as the order says."""
    system, until = setup(name), {"top": 0.1}.get(name, 0.5)
    reference = complete(system, REFERENCE, until)
    steps = []
    for rtol in (1e-4, 1e-6):
        run = complete(system, make(rtol=rtol, max_step=until), until)
        error = np.abs(run.sample_q[-1] - reference.sample_q[-1]).max()
        assert error < 200 * rtol
        assert run.rejected < 0.2 * run.steps + 5
        steps.append(run.steps)
    assert steps[1] / steps[0] < 1.6 * 100 ** (1 / EXPONENTS[make.name])


@pytest.mark.parametrize(
    "method", [GeneralizedAlpha(step=1e-3), Newmark(step=1e-3)], ids=["generalized_alpha", "newmark"]
)
def test_damping_of_vibrations_faster_than_the_step_is_not_counted_many_times(method):
    """Their rates alternate from step to step: integrated as rates of a motion, they would dissipate energy that is not there."""
    text = """
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {slow: {mass: 1}, fast: {mass: 1 g}}
joints:
  a: {type: prismatic, axis: x, child: slow, displacement: {initial: 0.1, spring: 100, damper: 1}}
  b: {type: prismatic, axis: x, parent: slow, child: fast, displacement: {rate: 0.5, spring: 1e6, damper: 1}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    accurate = pliant.simulate(eqs, 1.0, rtol=1e-8, save_at=[1.0]).energy["dissipated"].values[-1]
    run = pliant.simulate(eqs, 1.0, method=method, save_at=[1.0])
    assert run.energy["dissipated"].values[-1] == pytest.approx(accurate, rel=0.01)
