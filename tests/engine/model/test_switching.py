"""Times at which expressions of t in the model jump."""

import numpy as np
import pytest

import pliant

CART = """
pliant: 1
world: {{gravity: [0, 0, 0]}}
parameters: {{f: {{value: 0 N, input: true}}, period: 0.5 s}}
bodies: {{c: {{mass: 1 kg}}}}
joints: {{r: {{type: prismatic, child: c, axis: x, displacement: {{input: =f}}}}}}
inputs: {{f: "={force}"}}
"""


@pytest.mark.parametrize(
    ("force", "impulse"),
    [
        ("if(t/period - floor(t/period) < 0.1, 1 N, 0 N)", 1.0),
        ("if(t/1 s*40 - floor(t/1 s*40) < 0.02, 1 N, 0 N)", 0.2),
        ("step(0.02 - (t/1 s - floor(t/1 s)))*1 N", 0.2),
        ("if((t - 3 s)*(t - 3.1 s) < 0 s^2, 1 N, 0 N)", 0.1),
        ("if(abs(t - 3 s) < 0.05 s, 1 N, 0 N)", 0.1),
        ("1 N*max(0, sign(sin(2*pi*t/1 s)))", 5.0),  # its value at t = 0 alone is another
    ],
)
def test_impulse_of_a_force_that_switches(force, impulse):
    """In the model file and as an input of the run."""
    eqs = pliant.derive(pliant.load_text(CART.format(force=force)))
    assert pliant.simulate(eqs, 10.0).v[-1, 0] == pytest.approx(impulse, rel=1e-6)
    assert pliant.simulate(eqs, 10.0, inputs={"f": force}).v[-1, 0] == pytest.approx(impulse, rel=1e-6)


def test_switch_times_depend_on_parameters():
    eqs = pliant.derive(pliant.load_text(CART.format(force="1 N*floor(t/period)")))
    here = eqs.at(parameters={"period": 0.3}).binding
    found = eqs.model.switch_times(here.parameters, 0.0, 1.0)
    assert np.allclose(found, [0.3, 0.6, 0.9], rtol=0, atol=1e-15)


def test_a_prescribed_position_that_jumps_is_refused():
    robot = pliant.load_text("""
pliant: 1
bodies: {c: {mass: 1 kg}}
joints: {d: {type: prismatic, child: c, axis: x, displacement: {motion: "=0.1 m*floor(t/1 s)"}}}
""")
    with pytest.raises(pliant.AnalysisFailed, match="prescribed position jumps"):
        pliant.simulate(pliant.derive(robot), 2.0)
