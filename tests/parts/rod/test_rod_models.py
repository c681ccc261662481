"""What a rod can be given works in every model: chambers, rest strains, taper, frames, laws, parameters."""

import casadi as ca
import numpy as np
import pytest

from pliant import derive, dump, equilibrium, load, load_text
from pliant.engine.kernel import coordinate_force_kernels, frame_force_kernels
from pliant.language.faults import SpecError
from pliant.language.names import ALIASES
from pliant.parts.formula.base import Effect, FrameForce, world_jacobian
from pliant.parts.formula.relative import relative_force
from pliant.parts.geometry import se3, so3
from pliant.parts.rod import Cosserat, Pcs, Polynomial
from pliant.parts.rod.cosserat import element_force
from pliant.parts.rod.pieces import piece_force, segment_piece
from pliant.parts.rod.rod import Rod
from pliant.robot import flatten
from pliant.robot.rod_switch import with_rod_model

KINDS = ["pcs:4", "gvs:1", "cosserat:4", "finite_element:4", "pseudo_rigid:4", "polynomial:2", "pcc:4", "pcc_cog:4"]

ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {length: 0.3 m, pressure: {value: 0 kPa, input: true}, pull: 0 N}
sections: {round: {shape: circle, radius: 15 mm}, thin: {shape: circle, radius: 10 mm}}
materials: {rubber: {density: 1000, youngs_modulus: 200 kPa, poissons_ratio: 0.4}}
rods:
  arm: {length: =length, section: SECTION, material: rubber, frames: {inside: =length/3, root: 0, end: =length} EXTRA}
loads: {tip: {frame: arm.tip, force: [0, 0, =pull]}}
"""
CHAMBER = ", chambers: {one: {pressure: =pressure, radius: 4 mm, positions: [[6 mm, 0]]}}"


def rod(word, extra="", section="round"):
    text = ROD.replace("SECTION", section).replace("EXTRA", extra)
    return derive(with_rod_model(load_text(text), "arm", word))


def force_from_deformation(name, *, frames, constants, signals, deformation, law):
    """A force on a deformation of its frames, differentiated by the entries of their poses."""

    def effect(poses, twists, theta, signal):
        e = deformation(poses, theta)
        G = world_jacobian(e, poses)
        response = law(e, G @ ca.vertcat(*twists), theta, signal)
        return Effect(G.T @ response.force, response.energy, response.dissipation, response.supply)

    return FrameForce(name, frames, constants, signals, effect)


@pytest.mark.parametrize("word", KINDS)
def test_a_chamber_stretches_and_bends(word):
    eqs = rod(word, CHAMBER)
    found = equilibrium(eqs, inputs={"pressure": 2e4})
    assert found.status == "converged"
    force, length = 2e4 * np.pi * 0.004**2, 0.3
    stretch, bend = force / (200e3 * np.pi * 0.015**2), force * 0.006 / (200e3 * np.pi * 0.015**4 / 4)
    R, p = se3.exp(ca.DM([0, 0, 1 + stretch, 0, -bend, 0]) * length)
    tip = found.frames["arm.tip"]
    assert tip.position == pytest.approx(np.asarray(p).ravel(), abs=2e-3 * length)
    assert tip.rotation == pytest.approx(np.asarray(R), abs=5e-3)
    # the push is along the rod, off its axis by +x: it bends to -x
    assert tip.position[0] < -0.02


@pytest.mark.parametrize("word", KINDS)
def test_a_rod_rests_in_its_unstressed_shape(word):
    rest = (0.0, 0.0, 0.1, 2.0, 0.0, 0.0)
    eqs = rod(word, f", rest: {list(rest)}")
    q, v = eqs.initial_state()
    residual = eqs.bias(q, v)
    stiffness = np.abs(eqs.linearization(q, v, a=v, multipliers=np.zeros(0)).stiffness).max()
    assert np.abs(residual).max() < 1e-12 * stiffness
    R, p = se3.exp(ca.DM([0, 0, 1.1, 2.0, 0, 0]) * 0.3)
    assert eqs.frame("arm.tip", q).position == pytest.approx(np.asarray(p).ravel(), abs=1e-12)
    assert eqs.frame("arm.tip", q).rotation == pytest.approx(np.asarray(R), abs=1e-12)


@pytest.mark.parametrize(
    "word", ["pcs:16", "cosserat:16", "finite_element:4", "pseudo_rigid:16", "polynomial:4", "timoshenko:16", "pcc:16"]
)
def test_a_tapered_rod_stretches_more_where_it_is_thin(word):
    eqs = rod(word, section="[round, thin]")
    found = equilibrium(eqs, parameters={"pull": 1.0})
    thick, thin = (200e3 * np.pi * r**2 for r in (0.015, 0.010))
    expected = 0.3 * np.log(thick / thin) / (thick - thin)
    assert found.frames["arm.tip"].position[2] - 0.3 == pytest.approx(expected, rel=2e-3)
    mass = eqs.mass_matrix(eqs.initial_state().q)
    assert np.all(np.linalg.eigvalsh(mass.toarray()) > 0)


@pytest.mark.parametrize("word", [*KINDS, "cosserat:1", "finite_element:1", "pseudo_rigid:1", "timoshenko:3"])
def test_frames_stand_where_they_are_said_to(word):
    eqs = rod(word)
    for length in (0.3, 0.5):
        q = eqs.initial_state({"length": length}).q
        for frame, at in (
            ("arm", 0),
            ("arm.root", 0),
            ("arm.inside", length / 3),
            ("arm.end", length),
            ("arm.tip", length),
        ):
            assert eqs.frame(frame, q, parameters={"length": length}).position == pytest.approx([0, 0, at], abs=1e-12)


def test_every_frame_is_a_section_of_eba_and_elements_are_as_asked():
    names = rod("cosserat:9").coordinates
    assert len({name.partition("]")[0] for name in names}) == 9
    # one element cannot have a section inside: there is one more
    assert len({name.partition("]")[0] for name in rod("cosserat:1").coordinates}) == 2


@pytest.mark.parametrize("law", ["linear", "neo_hookean"])
def test_section_forces_are_slopes_of_the_energy(law):
    value = coordinate_force_kernels(piece_force(segment_piece(), law)).functions[0]
    rng = np.random.default_rng(3)
    constants = np.concatenate(
        [[0.2], rng.uniform(1, 3, 6), [0.3, -0.4], 0.1 * rng.normal(size=6), np.zeros(6), np.ones(6)]
    )
    strain, zero = 0.3 * rng.normal(size=6), np.zeros(6)
    force, _ = value(strain, zero, constants, [])
    for k in range(6):
        step = 1e-6 * np.eye(6)[k]
        up, down = (float(value(strain + s, zero, constants, [])[1][0]) for s in (step, -step))
        assert float(force[k]) == pytest.approx(-(up - down) / 2e-6, rel=1e-7, abs=1e-9)


def test_neo_hookean_pull():
    eqs = derive(
        with_rod_model(
            load_text(ROD.replace("SECTION", "round").replace("EXTRA", ", law: neo_hookean")), "arm", "cosserat:3"
        )
    )
    pull, EA = 60.0, 200e3 * np.pi * 0.015**2
    stretch = equilibrium(eqs, parameters={"pull": pull}).frames["arm.tip"].position[2] / 0.3
    assert EA / 3 * (stretch - 1 / stretch**2) == pytest.approx(pull, rel=1e-8)


@pytest.mark.parametrize("word", ["cosserat:3", "pcs:3", "polynomial:2"])
def test_mean_stretch_as_published(word):
    """At rest, radii by 1/sqrt(x), E by 1/x and the length by x leave EA / x^2 on the strain (x - 1) / x."""
    text = ROD.replace("SECTION", "round").replace("EXTRA", ", law: mean_stretch")
    eqs = derive(with_rod_model(load_text(text), "arm", word))
    pull, EA = 15.0, 200e3 * np.pi * 0.015**2
    found = equilibrium(eqs, parameters={"pull": pull})
    assert found.status == "converged"
    x = found.frames["arm.tip"].position[2] / 0.3
    assert x > 1.1
    E, radius, length = 200e3 / x, 0.015 / np.sqrt(x), 0.3 * x
    assert E * np.pi * radius**2 / length * (length - 0.3) == pytest.approx(pull, rel=1e-8)
    assert EA * (x - 1) / x**3 == pytest.approx(pull, rel=1e-8)


def test_the_energy_of_mean_stretch_is_accounted_for():
    value = coordinate_force_kernels(piece_force(segment_piece(), "mean_stretch")).functions[0]
    rng = np.random.default_rng(4)
    constants = np.concatenate([[0.2], rng.uniform(1, 3, 6), [0.3, -0.4], np.zeros(12), np.ones(6)])
    strain, rate, step = 0.3 * rng.normal(size=6), rng.normal(size=6), 1e-6
    force, powers = (np.asarray(x).ravel() for x in value(strain, rate, constants, []))
    stored = [float(value(strain + s * rate, rate, constants, [])[1][0]) for s in (step, -step)]
    # what goes into the store is what the strains bring in and what the update supplies
    assert (stored[0] - stored[1]) / (2 * step) == pytest.approx(-force @ rate + powers[2] - powers[1], rel=1e-6)
    x = 1 + strain[2]
    assert force[5] == pytest.approx(-0.2 * constants[6] / x**4 * strain[5], rel=1e-12)


def test_stated_tangents_equal_differentiated_ones():
    def deformation(p, alpha, c):
        return ca.vertcat(so3.inverse_left_jacobian(alpha) @ p, alpha)

    def law(e, rate, c, signal):
        return Effect(-c[24:30] * e - c[30:36] * rate + signal, 0.0)

    def from_poses(poses, c):
        ends = [
            se3.compose(pose, (ca.reshape(c[12 * i : 12 * i + 9], 3, 3), c[12 * i + 9 : 12 * i + 12]))
            for i, pose in enumerate(poses)
        ]
        R, p = se3.compose(se3.inverse(ends[0]), ends[1])
        return deformation(p, so3.log(R), c)

    short = relative_force("short", constants=36, signals=6, deformation=deformation, law=law)
    long = force_from_deformation("long", frames=2, constants=36, signals=6, deformation=from_poses, law=law)
    rng = np.random.default_rng(5)

    def poses(size):
        return np.concatenate(
            [
                np.asarray(ca.vertcat(ca.vec(R), p)).ravel()
                for R, p in (se3.exp(ca.DM(size * rng.normal(size=6))) for _ in "ab")
            ]
        )

    for _ in range(5):
        constants = np.concatenate([poses(0.5), rng.uniform(1, 2, 12)])
        arguments = (poses(1.0), rng.normal(size=12), constants, rng.normal(size=6))
        for a, b in zip(frame_force_kernels(short).functions, frame_force_kernels(long).functions, strict=True):
            for x, y in zip(a(*arguments), b(*arguments), strict=True):
                assert np.asarray(x) == pytest.approx(np.asarray(y), abs=1e-11)


@pytest.mark.parametrize("map", ["logarithm", "midpoint", "published"])
def test_kernels_of_elements_stay_small(map):
    kernels = frame_force_kernels(element_force(map, "linear", signals=6))
    assert max(f.n_instructions() for f in kernels.functions) < 9000


def test_switching_says_what_is_wrong():
    spec = load("cantilever")
    assert with_rod_model(spec, "rod", "cosserat:7").rods["rod"].model == Cosserat(elements=7)
    assert with_rod_model(spec, "rod", "polynomial:2").rods["rod"].model == Polynomial(order=2)
    for rod_name, word, message in (
        ("rod", "ebx:3", "did you mean 'pcs'"),
        ("rod", "polynomial:0", "order"),
        ("rod", "cosserat:many", "an integer"),
        ("rods", "cosserat:3", "did you mean 'rod'"),
    ):
        with pytest.raises(ValueError, match=message):
            with_rod_model(spec, rod_name, word)


@pytest.mark.parametrize(("alias", "kind"), ALIASES.items())
def test_short_names_are_aliases(alias, kind):
    """In text, defaults, variants, Python and words alike; what is written back is the one name."""
    text = ROD.replace("SECTION", "round") + "defaults: {rods: {model: {kind: KIND}}}\n"
    text = text.replace("EXTRA", ", model: {kind: KIND}") + "variants: {other: {rods: {arm: {model: {kind: KIND}}}}}\n"
    spec = load_text(text.replace("KIND", alias))
    assert spec == load_text(text.replace("KIND", kind))
    assert spec.rods["arm"].model.kind == kind
    assert f"kind: {alias}}}" not in dump(spec)
    assert load_text(dump(spec)) == spec
    assert with_rod_model(spec, "arm", f"{alias}:2") == with_rod_model(spec, "arm", f"{kind}:2")
    assert Rod(length=1, section=("round",), material=("rubber",), model={"kind": alias}).model.kind == kind


def test_an_alias_keeps_the_options_of_its_kind():
    """A default of the same kind by its other name is merged, not replaced."""
    text = ROD.replace("SECTION", "round") + "defaults: {rods: {model: {kind: pcs, elements: 7}}}\n"
    assert load_text(text.replace("EXTRA", ", model: {kind: ebr}")).rods["arm"].model == Pcs(elements=7)


def test_order_zero_is_refused_with_its_place():
    text = ROD.replace("SECTION", "round").replace("EXTRA", ", model: {kind: polynomial, order: 0}")
    with pytest.raises(SpecError, match="order"):
        load_text(text)


def test_a_model_switched_in_python_is_written_and_overrides_defaults():
    """The kind of a model made in Python is part of the text, and no option of a default of another kind stays."""
    text = (
        ROD.replace("SECTION", "round").replace("EXTRA", "") + "defaults: {rods: {model: {kind: pcs, elements: 7}}}\n"
    )
    for word, model in (("polynomial:2", Polynomial(order=2)), ("cosserat", Cosserat()), ("pcs:3", Pcs(elements=3))):
        switched = with_rod_model(load_text(text), "arm", word)
        assert switched.rods["arm"].model == model
        assert load_text(dump(switched)).rods["arm"].model == model


def test_a_rod_with_more_elements_than_asked_for_says_so_and_is_named_truly():
    """The ten eyelets of the trunk's tendons between base and tip are sections, so three elements cannot be had."""
    from pliant.analysis.derivation.derive import rod_coordinates
    from pliant.identify.compare import compare

    spec = load("trunk")
    coarse = with_rod_model(spec, "upper", "cosserat:3")
    model = derive(coarse).model
    assert model.rod_elements == {"upper": 10}
    assert model.remarks == (
        "the rod 'upper' has 10 elements where 3 were requested: every frame and eyelet along it is the end of one",
    )
    assert derive(spec).model.remarks == ()
    assert derive(with_rod_model(spec, "upper", "cosserat:12")).model.remarks == ()
    assert sum(x.rod == "upper" for x in rod_coordinates(flatten(coarse))) == 4 * 10
    rows = compare(derive(spec), {"upper": ["eba:3", "pcs:3"]}, until=1e-3, rest_at=[])
    assert [row.rod for row in rows] == ["cosserat:10", "pcs:3"]
