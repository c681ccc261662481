"""Parameters that move the times at which inputs switch."""

import pytest

import pliant


@pytest.mark.parametrize(
    "force", ['"=if(t < t0, 0 N, 1 N)"', "{ramp: {start: 0 s, end: =t0, before: 0 N, after: 1 N}}"]
)
def test_a_moving_switch_is_refused(force):
    eqs = pliant.derive(
        pliant.load_text(f"""
pliant: 1
parameters: {{t0: 0.5 s, f: {{value: 0 N, input: true}}}}
bodies: {{a: {{mass: 1 kg}}}}
joints: {{p: {{type: prismatic, child: a, axis: x, displacement: {{input: =f}}}}}}
outputs: {{x: {{coordinate: p}}}}
inputs: {{f: {force}}}
""")
    )
    function = pliant.differentiable(eqs, of="x", by=["t0"], until=2.0)
    with pytest.raises(pliant.ArgumentError, match="moves a time"):
        function.vjp({})
    with pytest.raises(pliant.ArgumentError, match="moves a time"):
        function.jvp({}, {"t0": 1.0})
