"""The pneumatic arm of three sections in any rod model; shared by the tests and docs/validation_arcs.py."""

from typing import Any

import pliant
from pliant.robot.rod_switch import with_rod_model

RODS = ("s1", "s2", "s3")
PRESSURES = {"p33": 200e3, "p23": 150e3, "p11": 150e3}
"""Bend the sections in different planes, so that the weight of the outer ones bends and twists the inner ones [Pa]."""
STIFF = 100.0
"""Factor on the stiffness of shear and twist beyond which they hardly matter; arcs have neither."""


def pneumatic_arm(
    word: str, variant: str = "", *, shear: float = 1.0, twist: float = 1.0, weightless: bool = False
) -> Any:
    """Equations of `three_section_arm` with that model of every section, without the stops of its muscles, which arcs alone have;
    `shear` and `twist` multiply these stiffnesses."""
    spec = pliant.load(f"three_section_arm{variant}", set={"stop_stiffness": 0})
    for rod in RODS:
        spec = with_rod_model(spec, rod, word)
        factors = [*spec.rods[rod].stiffness_factors]
        assert [factors[k] for k in (0, 1, 5)] == [1, 1, 1], "the factors below would replace those of the model"
        factors[0] = factors[1] = shear
        factors[5] = twist
        stiffened = spec.rods[rod].model_copy(update={"stiffness_factors": tuple(factors)})
        spec = spec.replace(rods={**spec.rods, rod: stiffened})
    if weightless:
        spec = spec.replace(world=spec.world.model_copy(update={"gravity": (0.0, 0.0, 0.0)}))
    return pliant.derive(spec)
