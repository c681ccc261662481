"""Rotations of joints: springs and dampers about each axis, rest orientations, rotation vectors with single free components."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import SpecError, cli, derive, dump, load_text, modes, simulate

BALL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {k: 2 N*m}
bodies: {top: {mass: 1 kg, inertia: {principal: [0.1, 0.2, 0.25]}}}
joints: {ball: {type: spherical, child: top, orientation: {EXTRA}}}
"""
TURN = """
pliant: 1
bodies: {bar: {mass: 1 kg, center_of_mass: [0, 0, 10 cm], inertia: {principal: [0.01, 0.02, 0.015]}}}
joints: {hinge: {type: chain, child: bar, transforms: [{rotate: {vector: VECTOR}}]}}
"""
STIFFNESS, INERTIA = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.25])


def ball(extra):
    return derive(load_text(BALL.replace("EXTRA", extra)))


def turned(vector):
    return derive(load_text(TURN.replace("VECTOR", vector)))


def about(angles):
    """Quaternion w, x, y, z of a rotation vector."""
    return np.roll(Rotation.from_rotvec(angles).as_quat(), 1)


@pytest.fixture(scope="module")
def anisotropic():
    return ball("spring: {coefficient: [1, =k, 3], rest: {vector: [0.4, -0.3, 0.2]}}")


def test_the_torque_of_a_spring_about_each_axis_is_the_slope_of_its_energy(anisotropic):
    rng = np.random.default_rng(0)
    rest, zero = Rotation.from_rotvec([0.4, -0.3, 0.2]), np.zeros(3)
    for _ in range(5):
        q = about(rng.normal(size=3))
        vector = (rest.inv() * Rotation.from_quat(np.roll(q, -1))).as_rotvec()
        assert anisotropic.energy(q, zero).potential == pytest.approx(STIFFNESS @ vector**2 / 2, rel=1e-12)
        torque = anisotropic.forces(q, zero)["ball"]
        for axis in np.eye(3):
            up, down = (
                anisotropic.energy(anisotropic.binding.increment(q, step * axis), zero).potential
                for step in (1e-6, -1e-6)
            )
            assert torque @ axis == pytest.approx(-(up - down) / 2e-6, abs=1e-8)


def test_energy_stays_in_large_motions_of_a_spring_about_each_axis(anisotropic):
    start = dict(zip(anisotropic.coordinates, about([1.0, 0.8, -1.2]), strict=True))
    start |= {f"d({rate})/dt": x for rate, x in zip(anisotropic.rates, (1.0, -2.0, 0.5), strict=True)}
    run = simulate(anisotropic, 5.0, start=start)
    energy = run.energy["kinetic"].values + run.energy["potential"].values
    assert np.ptp(run.energy["potential"].values) > 0.5
    assert np.ptp(energy) < 1e-4 * energy[0]


def test_small_oscillations_about_each_axis():
    found = modes(ball("spring: [1, =k, 3]")).frequencies
    assert found == pytest.approx(np.sort(np.sqrt(STIFFNESS / INERTIA)) / (2 * np.pi), rel=1e-9)
    turned_rest = "{coefficient: [1, 2, 3], rest: as at start}, initial: {axis: y, angle: 70 deg}"
    assert modes(ball(f"spring: {turned_rest}")).frequencies == pytest.approx(found, rel=1e-9)


def test_one_value_is_the_same_about_all_axes():
    one, three = ball("spring: 2, damper: 0.3"), ball("spring: [2, 2, 2], damper: [0.3, 0.3, 0.3]")
    q, v = about([0.7, -1.1, 0.4]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(one.forces(q, v)["ball"], three.forces(q, v)["ball"])
    assert one.forces(q, 0 * v)["ball"] == pytest.approx(-2 * np.array([0.7, -1.1, 0.4]), rel=1e-12)


def test_dampers_about_each_axis_of_the_moving_frame():
    eqs = ball("damper: [0.1, 0.2, 0.4]")
    v = np.array([1.0, 2.0, 3.0])
    assert eqs.forces(about([0.5, 1.0, -0.4]), v)["ball"] == pytest.approx([-0.1, -0.4, -1.2], rel=1e-12)


def test_they_are_written_back():
    spec = load_text(
        BALL.replace("EXTRA", "spring: {coefficient: [1, 2, 3], rest: {axis: x, angle: 10 deg}}, damper: 1")
    )
    assert load_text(dump(spec)).joints == spec.joints


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("spring: [1, 2]", r"orientation.spring.coefficient.*entry 3"),
        ("spring: [1 N, 2, 3]", r"coefficient\[0\].*got a force"),
        ("spring: {coefficient: 1, rest: at start}", r"spring.rest.*as at start"),
        ("damper: [1, 2, 3, 4]", r"orientation.damper.*4 entries instead of 3"),
    ],
)
def test_faults_of_springs_and_dampers(extra, message):
    with pytest.raises(SpecError, match=message):
        ball(extra)


@pytest.mark.parametrize(
    ("vector", "names", "values"),
    [
        ("[0, free, 0]", ["hinge"], [0, 2.5, 0]),
        ("[free, 0.3, free]", ["hinge.rx", "hinge.rz"], [0.8, 0.3, -0.5]),
        ("[0.4, -0.2, {spring: 1, name: last}]", ["last"], [0.4, -0.2, 1.1]),
    ],
)
def test_free_components_of_a_rotation_vector(vector, names, values):
    eqs = turned(vector)
    assert list(eqs.coordinates) == names
    free = [k for k, entry in enumerate(vector.strip("[]").split(", ")[:3]) if "free" in entry or "{" in entry]
    q = np.array(values)[free]
    assert eqs.frame("bar", q).rotation == pytest.approx(Rotation.from_rotvec(values).as_matrix(), abs=1e-14)
    # accelerations as those of the vector that is free as a whole, with its other components held
    whole, v = turned("[free, free, free]"), np.zeros(3)
    v[free] = [0.7, -0.4][: len(free)]
    M, bias = whole.mass_matrix(np.array(values)).toarray(), whole.bias(np.array(values), v)
    held = np.linalg.solve(M[np.ix_(free, free)], -bias[free])
    spring = np.where([name == "last" for name in names], -q, 0.0)
    held = held + np.linalg.solve(M[np.ix_(free, free)], spring)
    assert eqs.forward_dynamics(q, v[free])[0] == pytest.approx(held, rel=1e-9)


def test_a_fixed_component_may_be_a_parameter():
    text = TURN.replace("VECTOR", "[=tilt, free, 0]") + "parameters: {tilt: 0 rad}\n"
    eqs = derive(load_text(text))
    for tilt in (0.0, 0.3):
        found = eqs.at(parameters={"tilt": tilt}).frame("bar", [0.8]).rotation
        assert found == pytest.approx(Rotation.from_rotvec([tilt, 0.8, 0]).as_matrix(), abs=1e-14)


def test_they_are_shown(tmp_path, capsys):
    model = tmp_path / "turn.yaml"
    model.write_text(TURN.replace("VECTOR", "[free, 0.3, free]"))
    assert cli.run(["show", str(model)]) == 0
    assert "hinge.rz" in capsys.readouterr().out
