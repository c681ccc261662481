"""Neo-Hookean solid: energy in the first invariant, W = E/6 (I1 - 3)."""

from pliant.section.fibre_law.base import FibreLaw, first_invariant

NEO_HOOKEAN = FibreLaw(energy=lambda x, c: (first_invariant(x) - 3) / 6, shear=lambda x, c: 1.0)
