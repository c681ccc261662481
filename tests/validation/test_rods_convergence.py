"""Rod models against the continuous rod, bent, twisted, sheared and stretched in space."""

import numpy as np
import pytest
from rod_cases import LOADS, arm, continuous_arm, static


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


def test_finite_elements_are_of_fourth_order_with_weight_too(exact):
    """Until what shear and stretch change in where it acts is left (strains of half a per cent)."""
    heavy = errors([f"finite_element:{n}" for n in (3, 6, 12)], exact)
    assert np.all(heavy[:-1] / heavy[1:] > 2**3.5)
    # the second order of others is far behind: twice as many elements of theirs are ten times as far off
    assert errors(["cosserat:24"], exact)[0] > 10 * heavy[2]


@pytest.mark.parametrize("word", ["pcs:24", "cosserat:25", "finite_element:10", "pseudo_rigid:48", "polynomial:4"])
def test_a_frame_between_the_ends_starts_in_its_place(word):
    start = arm(word)
    assert start.frame("arm.middle", start.initial_state().q).position == pytest.approx([0.2, 0, 0], abs=1e-12)


def test_a_frame_of_links_comes_near_too(exact):
    assert errors(["pseudo_rigid:48"], exact, "arm.middle")[0] < 2.5e-3
