"""Grids of beams against plates."""

import pytest
from plate_case import isotropic, orthotropic, plate

import pliant


@pytest.mark.parametrize(("cells", "within"), [(10, 0.04), (24, 0.015)])
def test_a_clamped_grid_of_beams_is_an_orthotropic_plate(cells, within):
    """Its twisting stiffness is that of the strips, twice a plate's: frequencies come from below to those of an orthotropic
    plate, which lie a tenth above those of an isotropic one: the honest price of beams."""
    found = pliant.modes(plate(cells), count=1).frequencies[0]
    assert (1 - within) * orthotropic(cells) < found < orthotropic(cells)
    assert orthotropic(cells) / isotropic() == pytest.approx(1.105, abs=0.01)
    assert 1.05 < found / isotropic() < 1.1
