"""Rod models against the continuous rod, bent, twisted, sheared and stretched in space, with the order of convergence."""

import numpy as np
import pytest
from rod_cases import LOADS, arm, continuous_arm, static

SIZES = (6, 12, 24, 48)


@pytest.fixture(scope="module")
def exact():
    return {"arm.tip": continuous_arm(0.5), "arm.middle": continuous_arm(0.2)}


def errors(words, exact, frame="arm.tip", **changes):
    out = []
    for word in words:
        eqs = arm(word, **changes)
        position = eqs.frame(frame, static(eqs, {}, LOADS), parameters=LOADS).position
        out.append(np.linalg.norm(position - exact[frame]))
    return np.array(out)


def test_the_case_is_large(exact):
    straight = np.array([0.5, 0, 0])
    assert np.linalg.norm(exact["arm.tip"] - straight) > 0.1


@pytest.mark.parametrize(
    ("kind", "map", "order"),
    [
        ("pcs", "exponential", 2),
        ("pcs", "published", 1),
        ("cosserat", "logarithm", 2),
        ("cosserat", "midpoint", 2),
        ("cosserat", "published", 1),
        ("pseudo_rigid", "midpoint", 1),
        ("pseudo_rigid", "published", 1),
    ],
)
def test_order_of_convergence(kind, map, order, exact):
    found = errors([f"{kind}:{n}" for n in SIZES], exact, map=map)
    measured = np.log2(found[:-1] / found[1:])
    assert measured[-1] == pytest.approx(order, abs=0.2)
    assert np.all(np.diff(found) < 0)


def test_finite_elements_are_of_fourth_order(exact):
    light = {**LOADS, "gravity": 0.0}
    tip = continuous_arm(0.5, light)
    sizes, found = (3, 6, 12, 24), []
    for n in sizes:
        eqs = arm(f"finite_element:{n}")
        found.append(np.linalg.norm(eqs.frame("arm.tip", static(eqs, {}, light), parameters=light).position - tip))
    assert np.log2(found[-2] / found[-1]) == pytest.approx(4, abs=0.2)
    # with weight too, until what shear and stretch change in where it acts is left (strains of half a per cent)
    heavy = errors([f"finite_element:{n}" for n in sizes[:3]], exact)
    assert np.all(heavy[:-1] / heavy[1:] > 2**3.5)
    # the second order of others is far behind: twice as many elements of theirs are ten times as far off
    assert errors(["cosserat:24"], exact)[0] > 10 * heavy[2]


def test_polynomials_converge_spectrally(exact):
    found = errors([f"polynomial:{n}" for n in (1, 2, 3, 4)], exact)
    assert np.all(found[1:] < 0.25 * found[:-1])
    assert found[-1] < 2e-4


def test_three_polynomials_are_as_good_below_half_a_turn(exact):
    found = errors([f"polynomial:{n}" for n in (1, 2, 3, 4)], exact, orientation="three")
    assert np.all(found[1:] < 0.25 * found[:-1])
    assert found[-1] < 2e-4


def test_published_polynomials_come_near_too(exact):
    found = errors([f"polynomial:{n}" for n in (1, 2, 3, 4)], exact, map="published")
    assert np.all(found[1:] < 0.25 * found[:-1])
    assert found[-1] < 2e-4


@pytest.mark.parametrize(
    ("word", "tolerance"),
    [
        ("pcs:24", 1e-3),
        ("cosserat:25", 1e-3),
        ("finite_element:10", 1e-3),
        ("pseudo_rigid:48", 5e-3),
        ("polynomial:4", 5e-4),
    ],
)
def test_a_frame_between_the_ends(word, tolerance, exact):
    start = arm(word)
    assert start.frame("arm.middle", start.initial_state().q).position == pytest.approx([0.2, 0, 0], abs=1e-12)
    assert errors([word], exact, "arm.middle")[0] < tolerance * 0.5
