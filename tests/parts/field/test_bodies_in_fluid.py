"""Rigid bodies in a fluid: where they float, how they move, what they exchange with the fluid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant import SpecError

SHAPES = {
    "sphere": "{type: sphere, radius: 10 cm}",
    "box": "{type: box, size: [30 cm, 20 cm, 10 cm]}",
    "cylinder": "{type: cylinder, radius: 5 cm, length: 60 cm, axis: x}",
    "ellipsoid": "{type: ellipsoid, semi_axes: [20 cm, 10 cm, 7 cm]}",
    "tube": "{type: tube, outer_radius: 5 cm, inner_radius: 4 cm, length: 60 cm, axis: y}",
}


def robot(shape: str, world: str = "", body: str = "mass: 2 kg", joint: str = "") -> Any:
    return pliant.load_text(
        f"""
pliant: 1
world: {{fluid: {{density: 1000 kg/m^3{world}}}}}
bodies: {{hull: {{{body}, shape: {SHAPES.get(shape, shape)}}}}}
joints: {{flight: {{type: free, child: hull{joint}}}}}
"""
    )


TURNED = (
    ", orientation: {initial: {axis: [1, 2, 3], angle: 40 deg}, rate: [1, 2 rad/s, -0.5 rad/s]}, x: {rate: 0.7 m/s}"
)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_moves_and_what_the_fluid_takes_is_what_was_put_in(shape: str) -> None:
    """A tumbling body that crosses the surface in a current that varies in place and time."""
    world = ', viscosity: 1 Pa*s, surface: 5 cm, current: ["=0.3 m/s + 0.2*z/(1 s)", "=0.1 m/s*sin(3 rad/s*t)", 0]'
    eqs = pliant.derive(robot(shape, world, joint=TURNED))
    run = pliant.simulate(eqs, 1.5, save_every=0.05, rtol=1e-9, atol=1e-12)
    energy = {name: run.energy[name].values for name in run.energy}
    balance = energy["total"] + energy["dissipated"] - energy["supplied"]
    assert np.ptp(energy["kinetic"]) > 0.1
    assert energy["dissipated"][-1] > 0.1
    assert (np.diff(energy["dissipated"]) >= 0).all()
    np.testing.assert_allclose(balance, balance[0], atol=1e-6 * np.ptp(energy["kinetic"]))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_uniform_current_carries_everything_along(shape: str) -> None:
    """The motion relative to the fluid is that in a fluid at rest."""
    joint = TURNED.replace("0.7 m/s", "SPEED m/s")
    runs = [
        pliant.simulate(
            pliant.derive(robot(shape, f", viscosity: 1 Pa*s, current: [{U}, 0, 0]", joint=joint.replace("SPEED", str(0.7 + U)))),
            1.0, save_every=0.25, rtol=1e-10, atol=1e-12,
        )
        for U in (0.0, 0.4)
    ]  # fmt: skip
    still, moved = (np.array(run.q) for run in runs)
    moved[:, 0] -= 0.4 * np.array(runs[0].time)
    np.testing.assert_allclose(moved, still, atol=2e-8)


def test_bodies_at_rest_float_at_their_waterline() -> None:
    for shape, body, depth in (
        ("box", "mass: 2 kg", 2 / 1000 / 0.06),
        ("sphere", f"mass: {2 / 3 * np.pi} kg", 0.1),
        ("{type: cylinder, radius: 10 cm, length: 10 cm}", "mass: 2 kg", 2 / 1000 / (np.pi * 0.01)),
    ):
        eqs = pliant.derive(robot(shape, ", surface: 30 cm, viscosity: 1 Pa*s", body))
        found = pliant.equilibrium(eqs)
        height = {"box": 0.05, "sphere": 0.1}.get(shape, 0.05)
        assert found.status == "converged"
        assert float(found.state.q[2]) == pytest.approx(0.3 + height - depth, abs=1e-9)


def test_a_hull_of_triangles_floats_like_the_box_that_it_is() -> None:
    text = """
pliant: 1
world: {fluid: {density: 1000 kg/m^3, surface: 0 m, viscosity: 1 Pa*s}}
bodies:
  one: {mass: 2 kg, inertia: {principal: [0.01, 0.02, 0.02]}, fluid: {hull: shell, drag: none, has_added_mass: false}}
  two: {mass: 2 kg, inertia: {principal: [0.01, 0.02, 0.02]}, fluid: {hull: block, drag: none, has_added_mass: false}}
joints:
  a: {type: free, child: one, x: {rate: 0.2}, orientation: {initial: {axis: [1, 2, 3], angle: 30 deg}}}
  b: {type: free, child: two, x: {rate: 0.2}, orientation: {initial: {axis: [1, 2, 3], angle: 30 deg}}}
surfaces:
  shell: {type: convex, parent: one, points: [[-0.15, -0.1, -0.05], [0.15, -0.1, -0.05], [-0.15, 0.1, -0.05],
    [0.15, 0.1, -0.05], [-0.15, -0.1, 0.05], [0.15, -0.1, 0.05], [-0.15, 0.1, 0.05], [0.15, 0.1, 0.05]]}
  block: {type: box, parent: two, size: [30 cm, 20 cm, 10 cm]}
"""
    eqs = pliant.derive(pliant.load_text(text))
    run = pliant.simulate(eqs, 0.5, save_every=0.1, rtol=1e-9, atol=1e-12)
    one, two = (np.array(run.q)[:, k : k + 7] for k in (0, 7))
    assert np.ptp(one[:, 2]) > 0.01
    np.testing.assert_allclose(one, two, atol=1e-8)


def test_the_surface_of_another_body_is_no_hull() -> None:
    text = """
pliant: 1
world: {fluid: {density: 1000 kg/m^3}}
bodies: {one: {mass: 2 kg, fluid: {hull: shell}}, two: {mass: 1 kg}}
joints: {a: {type: free, child: one}, b: {type: free, child: two}}
surfaces: {shell: {type: SHELL, parent: PARENT, radius: 10 cmMORE}}
"""
    for kind, parent, more, words in (
        ("sphere", "two", "", "not fixed to this body"),
        ("capsule", "one", ", length: 10 cm", "does not enclose"),
        ("cylinder", "one", "", "does not enclose"),
    ):
        with pytest.raises(SpecError, match=words):
            pliant.derive(pliant.load_text(text.replace("SHELL", kind).replace("PARENT", parent).replace("MORE", more)))


@pytest.mark.parametrize(
    ("fluid", "words"),
    [
        ("drag_coefficients: [1, -1, 1]", "drag coefficient is not negative"),
        ("linear_drag: {}", "negative for some motion"),
        ("added_mass: {}", "not symmetric"),
    ],
)
def test_matrices_that_no_fluid_has_are_refused(fluid: str, words: str) -> None:
    rows = np.diag([1.0, 1, 1, 1, 1, -1]) if "linear" in fluid else np.diag([1.0] * 6) + np.eye(6, k=1)
    text = fluid.format(rows.tolist())
    with pytest.raises(SpecError, match=words):
        robot("sphere", body=f"mass: 1 kg, fluid: {{{text}}}")


def test_matrices_replace_those_of_the_shape() -> None:
    """A body without shape with added mass and drag given: m v' = -d v - k v |v|."""
    diagonal = [np.diag(x).tolist() for x in ([1.0, 2, 3, 0.1, 0.1, 0.1], [0.5] * 6, [0.2] * 6)]
    names = ("added_mass", "linear_drag", "quadratic_drag")
    fluid = ", ".join(f"{name}: {rows}" for name, rows in zip(names, diagonal, strict=True))
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0], fluid: {{density: 1000 kg/m^3}}}}
bodies: {{hull: {{mass: 2 kg, inertia: {{principal: [0.1, 0.1, 0.1]}}, fluid: {{{fluid}}}}}}}
joints: {{flight: {{type: free, child: hull, y: {{rate: 2 m/s}}}}}}
"""
    eqs = pliant.derive(pliant.load_text(text))
    run = pliant.simulate(eqs, 1.0, rtol=1e-9, atol=1e-12)
    # of dv/dt = -(a + b v) v, with 4 kg moved
    a, b, v = 0.5 / 4, 0.2 / 4, 2.0
    decayed = np.exp(-a)
    assert run.v[-1][1] == pytest.approx(a * v * decayed / (a + b * v * (1 - decayed)), rel=1e-7)


def test_a_surface_needs_gravity() -> None:
    with pytest.raises(SpecError, match="only under gravity"):
        pliant.load_text("pliant: 1\nworld: {gravity: [0, 0, 0], fluid: {density: 1000 kg/m^3, surface: 0 m}}\n")


def test_a_body_above_the_fluid_has_no_added_mass_and_says_so() -> None:
    dry, wet = (pliant.derive(robot("sphere", ", surface: 0 m", joint=f", z: {{initial: {z} m}}")) for z in (0.2, 0.0))
    assert any("above the fluid at the start" in remark for remark in dry.model.remarks)
    assert not wet.model.remarks
    masses = [eqs.mass_matrix(eqs.initial_state().q).toarray()[0, 0] for eqs in (dry, wet)]
    np.testing.assert_allclose(masses, [2, 2 + 1000 * np.pi / 3 * 0.001], rtol=1e-12)


FLOATING_FIN = """
pliant: 1
parameters: {radius: 10 cm, speed: 0.3 m/s}
world: {fluid: {density: 1000 kg/m^3, viscosity: 1 Pa*s, surface: 3 cm, current: [=speed, 0, 0]}}
bodies:
  carriage: {}
  buoy: {mass: 1 kg, shape: {type: cylinder, radius: =radius, length: 33 cm}}
joints:
  heave: {type: prismatic, axis: z, child: carriage}
  roll: {type: revolute, axis: y, parent: carriage, child: buoy, angle: {initial: 0.4 rad}}
loads:
  fin: {type: wing, frame: buoy, position: [0, 0, -10 cm], area: 1 dm^2,
    polar: {angles: [0 deg, 10 deg], lift: [0, 0.9], drag: [0.02, 0.06]}}
outputs: {height: {frame: buoy, quantity: position, component: z}}
"""


def test_gradients_and_fleets_follow() -> None:
    eqs = pliant.derive(pliant.load_text(FLOATING_FIN))
    options = {"method": "semi_implicit", "step": 5e-3}

    def final(radius: float, speed: float) -> np.ndarray:
        here = eqs.at(parameters={"radius": radius, "speed": speed})
        return np.asarray(pliant.simulate(here, 0.5, **options).q)[-1]

    fleet = pliant.Fleet(
        eqs, 2, parameters={"radius": np.array([0.1, 0.12]), "speed": np.array([0.3, -0.2])}, **options
    )
    fleet.step(n=100)
    expected = [final(0.1, 0.3), final(0.12, -0.2)]
    np.testing.assert_allclose(np.asarray(fleet.q), expected, rtol=1e-9)

    f = pliant.differentiable(eqs, of="height", by=["radius", "speed"], until=0.5, **options)
    _, pullback = f.vjp({})
    gradient = pullback({"height": np.ones(f()["height"].shape)})
    d = 1e-6
    for name, ahead, behind in (
        ("radius", final(0.1 + d, 0.3), final(0.1 - d, 0.3)), ("speed", final(0.1, 0.3 + d), final(0.1, 0.3 - d)),
    ):  # fmt: skip
        assert float(gradient[name]) == pytest.approx((ahead - behind)[0] / (2 * d), rel=1e-5)
