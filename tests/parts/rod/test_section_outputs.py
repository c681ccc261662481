"""Strains and section forces of rods at a place and along them: statics, orders of convergence, chambers, dampers, profiles."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import SpecError, derive, equilibrium, load_text, simulate

ARM = """\
pliant: 1
world: {gravity: [0, 0, GRAVITY]}
parameters: {reach: 0.3 m, spot: 0.1 m}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {gum: {density: 1000, youngs_modulus: 5 MPa, poissons_ratio: 0.4}}
rods:
  arm: {rotation: {axis: y, angle: 90 deg}, length: 0.3 m, section: round, material: gum, model: MODEL}
loads:
  pull: {type: wrench, frame: arm.tip, force: [0.02 N, 0.03 N, 0.1 N]}
outputs:
  tip: {frame: arm.tip}
  force: {reaction: arm}
  moment: {reaction: arm, quantity: moment}
"""
LOAD = "{type: distributed, rod: arm, force: [0, 0, -1e-5 N/m]}"
PLACES = (0.0, 0.04, 0.15, 0.22, 0.3)
QUANTITIES = ("force", "moment", "strain", "curvature")
SCALES = np.array([1] * 3 + [10] * 3 + [100] * 3 + [0.1] * 3)


def with_places(text: str) -> str:
    lines = (
        f"  {quantity}{k}: {{rod: arm, at: {s}, quantity: {quantity}}}\n"
        for k, s in enumerate(PLACES)
        for quantity in QUANTITIES
    )
    return text + "".join(lines)


def sections(model: str, gravity: str) -> np.ndarray:
    """Force, moment, strain and curvature at all places, scaled to the same size."""
    text = with_places(ARM).replace("MODEL", model).replace("GRAVITY", gravity)
    found = equilibrium(derive(load_text(text))).outputs
    rows = [np.concatenate([found[f"{x}{k}"] for x in QUANTITIES]) for k in range(len(PLACES))]
    return np.array(rows) * SCALES


@pytest.fixture(scope="module", params=["0", "-9.81"])
def exact(request):
    return request.param, sections("{kind: finite_element, elements: 48}", request.param)


@pytest.mark.parametrize(
    ("model", "coarse", "order"),
    [
        ("{kind: pcs, elements: N}", 6, 2),
        ("{kind: cosserat, elements: N}", 6, 2),
        ("{kind: finite_element, elements: N}", 8, 4),
        ("{kind: polynomial, order: N}", 2, 2.7),
        ("{kind: gvs, order: 1, elements: N}", 2, 2),
    ],
)
def test_sections_converge_at_the_order_of_the_model(exact, model, coarse, order):
    gravity, expected = exact
    errors = [np.linalg.norm(sections(model.replace("N", str(n)), gravity) - expected) for n in (coarse, 2 * coarse)]
    assert errors[1] < errors[0] / 2 ** (order - 0.55)
    assert errors[1] < 0.05 * np.linalg.norm(expected)


@pytest.mark.parametrize("order", [2, 5, 6])
def test_polynomials_of_any_order_carry_a_uniform_load(order):
    """Force and moment of the section are polynomials that all these orders contain."""
    text = (
        ARM.replace("GRAVITY", "0")
        .replace("model: MODEL", f"strains: planar, model: {{kind: gvs, order: {order}}}")
        .replace("{type: wrench, frame: arm.tip, force: [0.02 N, 0.03 N, 0.1 N]}", LOAD)
    )
    text += "  shear: {rod: arm, stations: 7, quantity: force, component: x}\n"
    text += "  bending: {rod: arm, stations: 7, quantity: moment, component: y}\n"
    found = equilibrium(derive(load_text(text))).outputs
    beyond = 0.3 - np.linspace(0, 0.3, 7)
    assert found["shear"] == pytest.approx(1e-5 * beyond, abs=1e-5 * 0.3 * 1e-6)
    assert found["bending"] == pytest.approx(1e-5 * beyond**2 / 2, abs=1e-5 * 0.3**2 / 2 * 1e-6)


def test_bends_about_two_axes_converge_at_first_order_in_pseudo_rigid_rods(exact):
    gravity, expected = exact
    errors = [np.linalg.norm(sections(f"{{kind: pseudo_rigid, elements: {n}}}", gravity) - expected) for n in (8, 16)]
    assert errors[1] < errors[0] / 1.8


def test_a_profile_is_made_of_places_and_half_way_of_both_neighbours():
    """Seven places of six segments: where two samples are equally near, both serve."""
    places = "".join(
        f"  at{k}: {{rod: arm, at: =shift + {k}*5 cm, quantity: curvature, component: y}}\n" for k in range(7)
    )
    text = ARM + "  profile: {rod: arm, stations: 7, quantity: curvature, component: y}\n" + places
    text = text.replace("MODEL", "{kind: pcs, elements: 6}").replace("GRAVITY", "-9.81")
    eqs = derive(load_text(text.replace("parameters: {", "parameters: {shift: 0 m, ")))
    rest = equilibrium(eqs)
    np.testing.assert_allclose(rest.outputs["profile"], [rest.outputs[f"at{k}"] for k in range(7)], rtol=1e-12)
    bends = np.array([rest.q[eqs.coordinates.index(f"arm.bend_y[{k}]")] for k in range(1, 7)])
    np.testing.assert_allclose(rest.outputs["profile"][1:6], (bends[:-1] + bends[1:]) / 2, rtol=1e-9)


def test_the_base_section_carries_the_reaction(exact):
    gravity, expected = exact
    text = ARM.replace("MODEL", "{kind: finite_element, elements: 48}").replace("GRAVITY", gravity)
    found = equilibrium(derive(load_text(text))).outputs
    np.testing.assert_allclose(expected[0, :3], -np.array(found["force"]), atol=5e-6)
    np.testing.assert_allclose(expected[0, 3:6] / 10, -np.array(found["moment"]), atol=1e-8)


def test_small_loads_of_a_linear_beam_are_exact():
    """A load across at the tip: M(s) = F (L - s), whatever the number of elements; the curvature is M / EI."""
    load = "force: [0, 0, 1e-4 N]"
    text = with_places(ARM).replace("GRAVITY", "0").replace("force: [0.02 N, 0.03 N, 0.1 N]", load)
    bending = 5e6 * np.pi / 4 * 0.005**4
    for model in ("{kind: timoshenko, elements: 2}", "{kind: timoshenko, elements: 2}, strains: planar_xz"):
        planar = "planar" in model
        lines = (
            text
            if not planar
            else "\n".join(
                line.replace("quantity: force}", "quantity: force, component: x}").replace(
                    "quantity: moment}", "quantity: moment, component: y}"
                )
                for line in text.splitlines()
            )
        )
        found = equilibrium(derive(load_text(lines.replace("MODEL", model)))).outputs
        for k, s in enumerate(PLACES):
            # the base's x axis points down, so the load is along -x and bends about y
            force, moment = np.ravel(found[f"force{k}"])[0], np.ravel(found[f"moment{k}"])[0 if planar else 1]
            assert force == pytest.approx(-1e-4, rel=1e-9)
            assert moment == pytest.approx(-1e-4 * (0.3 - s), abs=1e-13)
            assert found[f"curvature{k}"][1] == pytest.approx(moment / bending, abs=1e-9)


CHAMBER = """\
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {tube: {shape: annulus, outer_radius: 10 mm, inner_radius: 5 mm}}
materials: {gum: {density: 1000, youngs_modulus: 200 kPa, poissons_ratio: 0.45}}
rods:
  arm:
    length: 0.1 m
    section: tube
    material: gum
    model: MODEL
    chambers: {left: {pressure: 20 kPa, radius: 2 mm, positions: [[7 mm, 0]]}}
loads:
  push: {type: wrench, frame: arm.tip, force: [0, 0, LOAD]}
outputs:
  along: {rod: arm, at: 5 cm, quantity: force, component: z}
  wall: {rod: arm, at: 5 cm, quantity: material_force, component: z}
  bending: {rod: arm, at: 5 cm, quantity: moment, component: y}
  wall_bending: {rod: arm, at: 5 cm, quantity: material_moment, component: y}
  curvature: {rod: arm, at: 5 cm, quantity: curvature, component: y}
"""


@pytest.mark.parametrize(
    "model", ["{kind: pcs, elements: 2}", "{kind: finite_element, elements: 2}", "{kind: pcc, sections: 2}"]
)
def test_chambers_strain_the_wall_and_load_nothing(model):
    """Under pressure alone the section carries nothing, and the wall balances the pressure."""
    found = equilibrium(derive(load_text(CHAMBER.replace("MODEL", model).replace("LOAD", "0 N")))).outputs
    push = 20e3 * np.pi * 0.002**2
    assert found["along"] == pytest.approx(0, abs=1e-9)
    assert found["bending"] == pytest.approx(0, abs=1e-11)
    assert found["wall"] == pytest.approx(push, rel=1e-9)
    assert found["wall_bending"] == pytest.approx(-push * 0.007, rel=1e-9)
    stiffness = 200e3 * np.pi / 4 * (0.01**4 - 0.005**4)
    assert found["curvature"] == pytest.approx(-push * 0.007 / stiffness, rel=1e-9)


def test_dampers_carry_their_share():
    """While a rod is stretched at a given rate its section carries EA e + c de/dt."""
    text = """\
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {gum: {density: 1, youngs_modulus: 5 MPa, poissons_ratio: 0.4}}
rods: {arm: {length: 0.3 m, section: round, material: gum, damping: 2, model: MODEL}}
constraints:
  drive: {between: [{frame: world, position: [0, 0, 0.3 m]}, arm.tip], components: [z], position: =0.01 m * t/(1 s)}
outputs:
  pulled: {rod: arm, at: 0.2 m, quantity: force, component: z}
  foot: {reaction: arm, component: z}
"""
    for model in ("{kind: pcs, elements: 1}", "{kind: finite_element, elements: 1}"):
        run = simulate(derive(load_text(text.replace("MODEL", model))), 0.5, rtol=1e-8)
        expected = 5e6 * np.pi * 0.005**2 * 0.005 / 0.3 + 2 * 0.01 / 0.3
        assert run["pulled"].values[-1] == pytest.approx(expected, rel=1e-5)
        assert run["foot"].values[-1] == pytest.approx(-expected, rel=1e-5)


def test_forces_jump_where_loads_act():
    """A load at a named frame: polynomials do not go through it."""
    text = ARM.replace("model: MODEL", "model: {kind: cosserat, elements: 6}, frames: {ring: 0.15 m}").replace(
        "GRAVITY", "0"
    )
    text = text.replace("force: [0.02 N, 0.03 N, 0.1 N]", "force: [1e-4 N, 0, 0]").replace(
        "outputs:", "  more: {type: wrench, frame: arm.ring, force: [3e-4 N, 0, 0]}\noutputs:"
    )
    text += "".join(
        f"  at{k}: {{rod: arm, at: {s}, quantity: force, component: z}}\n" for k, s in enumerate((0, 0.149, 0.151, 0.3))
    )
    found = equilibrium(derive(load_text(text))).outputs
    np.testing.assert_allclose([found[f"at{k}"] for k in range(4)], [4e-4, 4e-4, 1e-4, 1e-4], rtol=1e-6)


def test_a_place_moves_with_parameters():
    text = ARM.replace("MODEL", "{kind: pcs, elements: 4}").replace("GRAVITY", "-9.81")
    text += "  here: {rod: arm, at: =spot, quantity: curvature, component: y}\n"
    eqs = derive(load_text(text))
    there = derive(load_text(text.replace("spot: 0.1 m", "spot: 0.12 m")))
    assert equilibrium(eqs, parameters={"spot": 0.12}).outputs["here"] == pytest.approx(
        equilibrium(there).outputs["here"], rel=1e-9
    )
    with pytest.raises(Exception, match="off the rod"):
        eqs.at(parameters={"spot": 0.4})


def test_profiles(tmp_path):
    """Arc lengths are included in results, files and plots."""
    text = ARM.replace("MODEL", "{kind: pcs, elements: 4}").replace("GRAVITY", "-9.81")
    text = text.replace("length: 0.3 m", "length: =reach")
    text += "  bends: {rod: arm, stations: 7, quantity: curvature, component: y}\n"
    text += "  middle: {rod: arm, at: =reach/2, quantity: curvature, component: y}\n"
    eqs = derive(load_text(text))
    run = simulate(eqs, 0.1, save_every=0.05)
    np.testing.assert_allclose(run["bends"].arc_length, np.linspace(0, 0.3, 7))
    np.testing.assert_allclose(run["bends"].values[:, 3], run["middle"].values, rtol=1e-12)
    assert run["bends"].unit == "1/m"
    run.save(tmp_path / "run.nc")
    again = pliant.load_result(tmp_path / "run.nc")
    np.testing.assert_allclose(again["bends"].arc_length, run["bends"].arc_length)
    longer = simulate(eqs, 0.1, parameters={"reach": 0.4})
    np.testing.assert_allclose(longer["bends"].arc_length, np.linspace(0, 0.4, 7))
    ax = pliant.plot.profile(run, times=[0, 0.1])
    assert ax.get_xlabel() == "arc length [m]"
    assert len(ax.lines) == 2
    np.testing.assert_allclose(ax.lines[1].get_ydata(), run["bends"].values[-1])
    assert len(pliant.plot.profile(equilibrium(eqs), "bends").lines) == 1
    with pytest.raises(ValueError, match=r"draw it with `plot.profile`"):
        pliant.plot.trajectory(run, "bends")
    with pytest.raises(ValueError, match="is not a profile along a rod; profiles: bends"):
        pliant.plot.profile(run, "middle")


@pytest.mark.parametrize(
    ("model", "output", "message"),
    [
        (
            "{kind: pcc}",
            "{rod: arm, at: 0.1, quantity: force}",
            "the rod 'arm' has no free shear_x and shear_y, so the force along x and y is unknown",
        ),
        ("{kind: pcc}", "{rod: arm, at: 0.1, quantity: moment, component: z}", "has no free twist"),
        ("{kind: pcs}", "{rod: arm, at: 0.4, quantity: force}", "off the rod 'arm'"),
        ("{kind: pcs}", "{rod: arm, quantity: force}", "needs a position, or stations along the rod"),
        ("{kind: pcs}", "{rod: arm, at: 0.1, stations: 3, quantity: force, component: x}", "stations along the rod"),
        ("{kind: pcs}", "{rod: arm, stations: 3, quantity: force}", "a profile has one component"),
        ("{kind: pcs}", "{rod: arm, at: 0.1, quantity: force, section: 2}", "not for an entire arc"),
        ("{kind: pcc}", "{rod: arm, at: 0.1, quantity: angle}", "`at` does not apply"),
        (
            "{kind: timoshenko}, strains: planar_xz",
            "{rod: arm, at: 0.1, quantity: moment, component: norm}",
            "no free bend_x and twist",
        ),
    ],
)
def test_what_a_rod_cannot_tell_is_refused(model, output, message):
    text = ARM.replace("MODEL", model).replace("GRAVITY", "0")
    with pytest.raises(SpecError, match=message):
        load_text(text + f"  wrong: {output}\n")
