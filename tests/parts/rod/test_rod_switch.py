"""Other models of a rod: options that still apply are kept, and those that do not are named."""

import warnings

import pytest

import pliant
from pliant import cli, derive, equilibrium, load
from pliant.parts import Cosserat, FiniteElement, Timoshenko


def test_options_that_the_other_model_has_are_kept():
    spring = load("leaf_spring")
    assert spring.with_rod("strip", "fe:20").rods["strip"].model == FiniteElement(elements=20)
    assert spring.with_rod("strip", "finite_element").rods["strip"].model == FiniteElement(elements=10)
    lumped = spring.with_rod("strip", "fe:6", mass="lumped")
    assert lumped.rods["strip"].model == FiniteElement(elements=6, mass="lumped")
    beam = load("timoshenko_cantilever").with_rod("beam", "timoshenko:4").rods["beam"].model
    assert beam == Timoshenko(elements=4, shear="reduced", rotary_inertia=False, weight="nodal")


def test_options_that_it_lacks_are_named():
    with pytest.warns(
        UserWarning, match="'strip' as 'eba:12' does not keep `mass: lumped`.*'cosserat' has no such option"
    ):
        switched = load("leaf_spring").with_rod("strip", "fe:8", mass="lumped").with_rod("strip", "eba:12")
    assert switched.rods["strip"].model == Cosserat(elements=12)
    with pytest.warns(UserWarning, match="does not keep `shear: reduced`, `rotary_inertia: False`, `weight: nodal`"):
        switched = load("timoshenko_cantilever").with_rod("beam", "fe:5")
    assert switched.rods["beam"].model == FiniteElement(elements=5)


def test_outputs_of_arcs_that_it_lacks_are_named():
    with pytest.warns(UserWarning, match="outputs angle_2, plane_2 omitted: the rod 's2' has no circular arcs"):
        switched = load("three_section_arm@experiment_2").with_rod("s2", "cosserat:2")
    assert {"angle_1", "plane_3", "tip"} <= set(switched.outputs)
    assert not {"angle_2", "plane_2"} & set(switched.outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "plane_2" in load("three_section_arm@experiment_2").with_rod("s2", "pcc_cog").outputs


def test_values_that_the_other_model_does_not_take_are_named():
    lumped = load("leaf_spring").with_rod("strip", FiniteElement(elements=6, mass="consistent"))
    with pytest.warns(UserWarning, match="does not keep `mass: consistent`"):
        switched = lumped.with_rod("strip", "timoshenko:3")
    assert switched.rods["strip"].model == Timoshenko(elements=3)


def test_free_strains_stay_where_the_other_model_can_have_them():
    spring = load("leaf_spring")
    for word in ("pcs:4", "gvs:2", "eba:4", "timoshenko:4"):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*strains")
            assert spring.with_rod("strip", word).rods["strip"].strains == ("planar_yz",)
    arcs = spring.with_rod("strip", "pcc:2")  # arcs never shear
    assert arcs.rods["strip"].free_strains() == (2, 3)
    names = {name.partition("[")[0] for name in derive(spring.with_rod("strip", "pcs:2")).coordinates}
    assert names == {"hinge", "strip.shear_y", "strip.stretch", "strip.bend_x"}


def with_strains(*words):
    spring = load("leaf_spring").with_rod("strip", "pcs:4")
    return spring.replace(rods={"strip": spring.rods["strip"].model_copy(update={"strains": words})})


def test_strains_that_the_other_model_cannot_hold_are_named():
    with pytest.warns(
        UserWarning, match="'strip' as 'eba:4' is also free in shear_y.*'cosserat' does not support stretch and bend_x"
    ):
        switched = with_strains("planar_yz", "unshearable").with_rod("strip", "eba:4")
    assert switched.rods["strip"].strains == ("planar_yz",)
    assert len(derive(switched).rates) == 1 + 3 * 4
    with pytest.warns(UserWarning, match="also free in shear_x, shear_y and stretch"):
        switched = with_strains("kirchhoff").with_rod("strip", "fe:4")
    assert switched.rods["strip"].strains is None
    with pytest.warns(UserWarning, match="has no twist, unlike its `strains`"):
        switched = with_strains("bend_x", "twist").with_rod("strip", "pcc:4")
    assert switched.rods["strip"].strains == ("bend_x",)
    with pytest.raises(pliant.SpecError, match="cannot fix shear_y"):
        with_strains("planar_yz", "unshearable").with_rod("strip", Cosserat(elements=3))


def test_a_whole_model_is_taken_as_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        switched = load("leaf_spring").with_rod("strip", Cosserat(elements=3))
    assert switched.rods["strip"].model == Cosserat(elements=3)


def test_what_cannot_be_read_is_refused():
    spring = load("leaf_spring")
    with pytest.raises(pliant.ArgumentError, match=r"has no rod 'stripe'.*did you mean 'strip'"):
        spring.with_rod("stripe", "fe:10")
    with pytest.raises(pliant.ArgumentError, match="unknown rod model"):
        spring.with_rod("strip", "fem:10")
    with pytest.raises(pliant.ArgumentError, match="rod model 'fe:0': elements"):
        spring.with_rod("strip", "fe:0")
    with pytest.raises(pliant.ArgumentError, match=r"rod model 'fe:2'.*mas"):
        spring.with_rod("strip", "fe:2", mas="lumped")
    with pytest.raises(pliant.ArgumentError, match="cannot be combined with a complete rod model"):
        spring.with_rod("strip", Cosserat(), map="midpoint")


def test_the_command_line_keeps_the_plane_of_the_leaf_spring(capsys):
    """Brought together to half its length it buckles in its plane; with six rates per node it was found straight."""
    eqs = derive(load("leaf_spring", set={"end_distance": 0.25}).with_rod("strip", "fe:10"))
    assert not any(".x" in name or "orientation" in name for name in eqs.coordinates if name.startswith("strip"))
    code = cli.run(["equilibrium", "timoshenko_cantilever", "--rod", "beam=timoshenko:10", "--json"])
    assert code == 0
    assert '"deflection": -0.0030807' in capsys.readouterr().out
    published = equilibrium(derive("timoshenko_cantilever")).outputs["deflection"]
    assert published == pytest.approx(-3.0807e-3, abs=5e-8)
