"""Things of different kinds may have one name."""

from __future__ import annotations

import pytest

import pliant


def test_a_link_a_load_a_coordinate_and_a_constraint_of_one_name() -> None:
    eqs = pliant.derive(
        pliant.load_text("""
pliant: 1
world: {gravity: [0, 0, 0]}
bodies: {cart: {mass: 1 kg}, rider: {mass: 2 kg}}
joints:
  pull: {type: prismatic, child: cart, axis: x, displacement: {motion: "=10 cm + 0 m/s * t"}}
  seat: {type: prismatic, parent: cart, child: rider, axis: x}
links: {pull: {type: axial, between: [world, cart], spring: {coefficient: 100 N/m, rest: 5 cm}}}
loads: {pull: {frame: rider, force: [3 N, 0, 0]}}
constraints: {pull: {between: [cart, rider], components: [x]}}
outputs:
  spring: {link: pull, quantity: force}
  held: {constraint: pull, component: x}
""")
    )
    run = pliant.simulate(eqs, 0.01)
    assert run["spring"].values == pytest.approx(5.0)
    assert abs(run["held"].values) == pytest.approx(3.0)
