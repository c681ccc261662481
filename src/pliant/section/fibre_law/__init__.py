"""Hyperelastic laws of rods, one file each: the energy of a stretched fibre."""

from pliant.section.fibre_law.base import FibreLaw
from pliant.section.fibre_law.gent import GENT
from pliant.section.fibre_law.mooney_rivlin import MOONEY_RIVLIN
from pliant.section.fibre_law.neo_hookean import NEO_HOOKEAN
from pliant.section.fibre_law.ogden import OGDEN

FIBRE_LAWS: dict[str, FibreLaw] = {
    "neo_hookean": NEO_HOOKEAN,
    "mooney_rivlin": MOONEY_RIVLIN,
    "gent": GENT,
    "ogden": OGDEN,
}
"""The laws by their keyword."""

__all__ = ["FIBRE_LAWS", "FibreLaw"]
