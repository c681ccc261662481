"""Hyperelastic laws of rods, one file each: what a fibre stores when it is stretched."""

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
"""The laws by the word that a rod names them with."""

__all__ = ["FIBRE_LAWS", "FibreLaw"]
