"""Constraints on rotations at 180 deg: clear messages and remarks."""

from __future__ import annotations

import numpy as np
import pytest

import pliant


def turned(components: str, more: str = "", initial: float = 0.0) -> pliant.Equations:
    text = f"""
pliant: 1
world: {{gravity: [0, 0, 0]}}
bodies: {{disc: {{mass: 1 kg, inertia: {{principal: [1, 1, 1]}}}}}}
joints: {{shaft: {{type: revolute, child: disc, axis: z, angle: {{initial: {initial} deg}}}}}}
constraints: {{held: {{between: [world, disc], components: {components}{more}}}}}
"""
    return pliant.derive(pliant.load_text(text))


@pytest.mark.parametrize("prescribed", ['position: ["=2 rad/s*t"]', 'rate: ["2 rad/s"]', 'acceleration: ["2 rad/s^2"]'])
def test_a_prescribed_rotation_stops_at_half_a_turn_with_a_clear_message(prescribed: str) -> None:
    run = pliant.simulate(turned("[rz]", f", {prescribed}"), 4.0, on_failure="return")
    assert run.q[-1, 0] == pytest.approx(np.pi, abs=1e-3)
    assert "'held' has turned its frames by 180 deg" in run.message
    assert "`motion`" in run.message


@pytest.mark.parametrize("components", ["[rz]", "orientation"])
@pytest.mark.parametrize(("initial", "remark"), [(80.0, False), (100.0, True), (180.0, True)])
def test_frames_that_close_the_wrong_way_round_have_a_remark(components: str, initial: float, remark: bool) -> None:
    run = pliant.simulate(turned(components, initial=initial), 0.1)
    assert run.q[-1, 0] == pytest.approx(np.pi if remark else 0.0, abs=1e-9)
    assert any("turned by 180 deg" in note for note in run.remarks) == remark


def test_half_a_turn_about_a_free_axis_has_no_remark() -> None:
    assert not any("180" in note for note in pliant.simulate(turned("[rx]", initial=180.0), 0.1).remarks)
    assert not any("180" in note for note in pliant.simulate(turned("[rx, ry]", initial=180.0), 0.1).remarks)
