"""Recordings of forces: errors are reported in the unit of the output."""

from __future__ import annotations

import numpy as np
import pytest

from pliant import derive, load_text, simulate
from pliant.identify.compare import compare
from pliant.identify.fit import fit
from pliant.language.recording import read_recording
from pliant.show import plot

ARM = """\
pliant: 1
parameters: {stiffness: 4 MPa, push: {value: 0 N, input: true}}
sections: {round: {shape: circle, radius: 5 mm}}
materials: {gum: {density: 1000, youngs_modulus: =stiffness, poissons_ratio: 0.4}}
rods:
  arm:
    {rotation: {axis: y, angle: 90 deg}, length: 0.3 m, section: round, material: gum, damping: 1e-3,
     model: {kind: pcs, elements: 2}}
loads: {pull: {type: wrench, frame: arm.tip, force: [0, =push, 0]}}
outputs:
  support: {reaction: arm, expressed_in: world}
  bend: {rod: arm, at: 0.1 m, quantity: curvature, component: x}
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A base force and a curvature as they are with a stiffness of 5 MPa."""
    times = np.linspace(0, 0.5, 26)
    run = simulate(
        derive(load_text(ARM)),
        0.5,
        save_every=0.02,
        inputs={"push": (times, 0.05 * times)},
        parameters={"stiffness": 5e6},
        rtol=1e-7,
    )
    file = tmp_path_factory.mktemp("recording") / "bench.csv"
    table = np.column_stack([run.time, run.inputs["push"], run["support"].values, run["bend"].values])
    np.savetxt(file, table, delimiter=",", header="t_s,push_N,fx_N,fy_N,fz_N,k_1/m", comments="")
    return read_recording(file)


def test_a_fit_to_a_base_force(recording):
    found = fit(derive(load_text(ARM)), ["stiffness"], recording, output="support", columns=["fx", "fy", "fz"])
    assert found.unit == "mN"
    # the recording is more accurate than the motions of the fit, and forces follow accelerations
    assert found.parameters["stiffness"] == pytest.approx(5e6, rel=2e-3)


def test_rods_compared_by_a_base_force(recording):
    rows = compare(derive(load_text(ARM)), {"arm": ["pcs:2"]}, recording, output="support", columns=["fx", "fy", "fz"])
    assert rows[0].unit == "mN"
    assert np.isnan(rows[0].mean_error_percent_of_rod)
    assert any("[mN]" in ax.get_ylabel() for ax in plot.compare(rows).ravel())
