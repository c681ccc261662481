"""Blocks of beams against a solid of finite elements, and a soft arm that presses on one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from pliant import derive, equilibrium, load, load_text

SIZE = (0.06, 0.06, 0.03)
PRESSED = """
pliant: 1
world: {gravity: [0, 0, 0]}
sections: {bar: {shape: rectangle, width: WIDTH, height: WIDTH}}
materials: {gel: {density: 1000 kg/m^3, youngs_modulus: 10 kPa, poissons_ratio: 0.45}}
meshes:
  tissue:
    type: shell
    drawing: {block: [6 cm, 6 cm, 3 cm], cells: CELLS, diagonals: true}
    sets: {bottom: {plane: z}, top: {plane: z, through: [0, 0, 3 cm]}}
    held: {bottom: world, top: plate}
    section: bar
    material: gel
    mass: 108 g
bodies: {plate: {mass: 1 g}}
joints: {slide: {type: prismatic, child: plate, axis: AXIS, position: [0, 0, 3 cm]}}
loads: {push: {frame: plate, force: [1e-4, 0, 1e-4]}}
outputs: {way: {coordinate: slide}}
"""


def stiffness_of_beams(cells: list[int], axis: str) -> float:
    """Of a block whose upper and lower faces stick to plates, one of which moves along an axis [N/m]."""
    width = 0.8 * SIZE[0] / (cells[0] + 1)
    text = PRESSED.replace("WIDTH", str(width)).replace("CELLS", str(cells)).replace("AXIS", axis)
    return 1e-4 / float(equilibrium(derive(load_text(text))).outputs["way"])


def stiffness_of_solid(number: tuple[int, int, int], axis: int, modulus: float = 1e4, ratio: float = 0.45) -> float:
    """The same of a solid, by trilinear hexahedra whose change of volume is constant in each, so that they do not lock [N/m]."""
    h = np.array(SIZE) / number
    lame, shear = modulus * ratio / ((1 + ratio) * (1 - 2 * ratio)), modulus / (2 * (1 + ratio))
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])

    def strains(x: np.ndarray) -> np.ndarray:
        B = np.zeros((6, 24))
        for a, c in enumerate(corners):
            others = [np.prod([1 + c[e] * x[e] for e in range(3) if e != d]) for d in range(3)]
            dx, dy, dz = (c[d] * 2 / h[d] / 8 * others[d] for d in range(3))
            B[:, 3 * a : 3 * a + 3] = [[dx, 0, 0], [0, dy, 0], [0, 0, dz], [dy, dx, 0], [0, dz, dy], [dz, 0, dx]]
        return B

    volume_change = strains(np.zeros(3))[:3].sum(axis=0)
    K = lame * np.prod(h) * np.outer(volume_change, volume_change)
    for c in corners / np.sqrt(3):
        B = strains(c)
        K += B.T @ (2 * shear * np.diag([1, 1, 1, 0.5, 0.5, 0.5])) @ B * np.prod(h) / 8
    nodes = np.arange(np.prod(np.array(number) + 1)).reshape(np.array(number) + 1)
    cells = np.stack([nodes[i : i + number[0], j : j + number[1], k : k + number[2]].ravel()
                      for i in (0, 1) for j in (0, 1) for k in (0, 1)], axis=1)  # fmt: skip
    rows = (3 * cells[:, :, None] + np.arange(3)).reshape(len(cells), 24)
    entries = np.tile(K.ravel(), len(rows)), (np.repeat(rows, 24, 1).ravel(), np.tile(rows, (1, 24)).ravel())
    A = sp.coo_matrix(entries).tocsr()
    top, bottom = (3 * nodes[:, :, k].ravel()[:, None] + np.arange(3) for k in (-1, 0))
    u = np.zeros(A.shape[0])
    u[top[:, axis]] = 1.0
    free = np.setdiff1d(np.arange(len(u)), np.concatenate([top, bottom]))
    u[free] = spla.spsolve(A[free][:, free].tocsc(), -A[free] @ u)
    return float((A @ u)[top[:, axis]].sum())


def test_a_block_of_beams_is_compressed_as_a_solid() -> None:
    """Widths of the bundled blocks; in shear they are stiffer, as stated."""
    solid, slid = stiffness_of_solid((12, 12, 6), 2), stiffness_of_solid((12, 12, 6), 0)
    for cells in ([4, 4, 2], [6, 6, 3], [8, 8, 4]):
        assert stiffness_of_beams(cells, "z") == pytest.approx(solid, rel=0.06)
    assert stiffness_of_beams([4, 4, 2], "z") == pytest.approx(solid, rel=0.05)
    assert stiffness_of_beams([4, 4, 2], "x") / slid == pytest.approx(1.6, rel=0.03)
    # the reference converges, from above
    assert 1 < stiffness_of_solid((6, 6, 3), 2) / solid < 1.1


def test_the_arm_presses_as_much_as_the_tissue() -> None:
    """The force of the contact on the same arm without tissue shortens it as much."""
    probing = load("tissue_probe")
    pressed = equilibrium(derive(probing), inputs={"pressure": 40e3, "stroke": 0.0}).outputs
    assert 0.3 < pressed["force"] < 1
    alone = derive(load("stiff_flop@loaded"))
    inputs = {"p1": 40e3, "p2": 40e3, "p3": 40e3, "fz": -float(pressed["force"])}
    tip = np.asarray(equilibrium(alone, inputs=inputs).outputs["tip"])
    assert tip[2] == pytest.approx(pressed["arm/tip"][2], abs=2e-6)
    assert tip[2] < 0.0655  # less than without tissue
