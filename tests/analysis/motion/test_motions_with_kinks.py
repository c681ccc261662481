"""Prescribed motions with a kink at the start of a run: its initial rates are those after the kink."""

from __future__ import annotations

import pytest

import pliant

KINKS = {
    "=1 m/s*abs(t)": 1.0,
    "=1 m/s*max(0 s, t)": 1.0,
    "=1 m/s*min(0 s, t)": 0.0,
    "=if(t < 0 s, 0 m, 1 m/s*t)": 1.0,
    "=if(t <= 0 s, 0 m, 1 m/s*t)": 1.0,
    "=if(t > 0 s, 1 m/s*t, 0 m)": 1.0,
}


def slide(coordinate: str = "", constraints: str = "") -> pliant.Equations:
    text = f"""
pliant: 1
name: slide
bodies: {{block: {{mass: 1 kg}}}}
joints: {{rail: {{type: prismatic, child: block, axis: x, displacement: {{{coordinate}}}}}}}
constraints: {{{constraints}}}
"""
    return pliant.derive(pliant.load_text(text))


@pytest.mark.parametrize("motion", KINKS)
@pytest.mark.parametrize("how", ["coordinate", "constraint"])
def test_a_run_begins_with_the_rate_after_a_kink(motion: str, how: str) -> None:
    if how == "coordinate":
        eqs = slide(f'motion: "{motion}"')
    else:
        eqs = slide(constraints=f'held: {{between: [world, block], components: [x], position: ["{motion}"]}}')
    run = pliant.simulate(eqs, 1.0)
    assert run.v[0, 0] == pytest.approx(KINKS[motion])
    assert run.q[-1, 0] == pytest.approx(KINKS[motion])
    assert not run.remarks


def test_the_begin_of_a_run_may_be_any_kink() -> None:
    eqs = slide('motion: "=2 m/s*abs(t - 0.3 s)"')
    assert pliant.simulate(eqs, 1.0, begin=0.3).v[0, 0] == pytest.approx(2.0)
    assert pliant.simulate(eqs, 1.0, begin=0.2).v[0, 0] == pytest.approx(-2.0)


def test_smooth_motions_begin_at_their_exact_values() -> None:
    state = slide('motion: "=0.1 m*sin(3*t/1 s)"').initial_state()
    assert state.q[0] == 0.0
    assert state.v[0] == pytest.approx(0.3, rel=1e-15)
