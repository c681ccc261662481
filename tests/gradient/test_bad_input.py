"""Quantities without derivatives and invalid arguments are rejected with clear messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_systems import TEXTS, equations

import pliant
from pliant.control import Coordinates, FrameDirection, Pid, PidControl, Reference

TREE = {"until": 0.02}


class Silent:
    """A controller of a user's own."""

    sample_time = 0.01

    def start(self, now: pliant.Now) -> None:
        pass

    def command(self, now: pliant.Now) -> dict[str, float]:
        return {}


def raising(compensation: Any = "measured") -> PidControl:
    task, path = Coordinates(("hinge",)), Reference.constant([0.3])
    return PidControl(equations(TEXTS["tree"]), task, path, Pid(3.0), compensation, 0.01, name="raise")


def turning() -> PidControl:
    task, path = FrameDirection("tail", [0, 0, 1]), Reference.constant([0.0, 0.0])
    return PidControl(equations(TEXTS["tree"]), task, path, Pid(3.0), sample_time=0.01, least_squares=True)


@pytest.mark.parametrize(
    ("of", "by", "options", "words"),
    [
        ("at", [], TREE, "name at least one output and one argument to differentiate by"),
        ("att", "mass", TREE, "att"),
        ("at", "masss", TREE, "there is no parameter, input, start value or gain 'masss'"),
        ("at", "mass", {}, "a simulation needs an end time"),
        ("at", "mass", {**TREE, "save_every": 0.01}, "outputs at `save_at` only"),
        ("at", "mass", {**TREE, "analysis": "modes"}, "analysis"),
        ("at", "flight.orientation.qw", TREE, "component of a quaternion"),
        ("at", "hinge", {**TREE, "start": "equilibrium"}, "need a start by name"),
        ("at", "hinge", {"analysis": "equilibrium"}, "need a start by name"),
        ("at", "mass", {**TREE, "formulation": "reduced"}, "reduced formulation"),
        ("at", "mass", {**TREE, "mid_step": print}, "functions between steps"),
        ("at", "mass", {**TREE, "controllers": [Silent()]}, "controller 'Silent' has no derivatives"),
        ("at", "mass", {**TREE, "controllers": [raising(), raising()]}, "two controllers have the name 'raise'"),
        ("at", "raise.integrall", {**TREE, "controllers": raising()}, "did you mean 'raise.integral'"),
        ("at", "torque", {**TREE, "controllers": raising("reference")}, "'raise' computes"),
        ("at", "torque", {**TREE, "controllers": raising(), "inputs": {"torque": ([0, 1], [0, 1])}}, "'raise' computes"),
        ("at", "mass", {**TREE, "controllers": turning()}, "its task is the"),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_answered(of: Any, by: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        pliant.differentiable(equations(TEXTS["tree"]), of, by, **options)


def test_what_is_no_function_of_the_state_has_none() -> None:
    with pytest.raises(pliant.ArgumentError, match="'pull' has no derivatives: it depends on signals"):
        pliant.differentiable(equations(_with_tension()), "pull", "E", until=0.1)
    with pytest.raises(pliant.ArgumentError, match="equilibria in contact have no derivatives"):
        pliant.differentiable(pliant.derive("gripper"), "ball", "friction", analysis="equilibrium")


def _with_tension() -> str:
    return TEXTS["tendon"].replace("  speed:", "  pull: {tendon: line}\n  speed:")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mas": 1.0}, "'mas' is not an argument of this function .*mass, torque"),
        ({"mass": [1.0, 2.0]}, r"'mass' has shape \(2,\); it must be \(\)"),
        ({"torque": 1.0}, r"'torque' has shape \(\); it must be \(3,\)"),
        ({"mass": np.nan}, "'mass' has a number that is not finite"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, Any], words: str) -> None:
    inputs = {"torque": ([0.0, 0.1, 0.2], np.zeros(3))}
    f = pliant.differentiable(equations(TEXTS["tree"]), "at", ["mass", "torque"], inputs=inputs, **TREE)
    with pytest.raises(pliant.ArgumentError, match=words):
        f(values)
    with pytest.raises(pliant.ArgumentError, match=words):
        f.vjp(values)


def test_cotangents_and_inputs_that_do_not_fit() -> None:
    f = pliant.differentiable(equations(TEXTS["tree"]), "at", "mass", **TREE)
    with pytest.raises(pliant.ArgumentError, match="'turns' is not an output of this function"):
        f.vjp()[1]({"turns": 1.0})
    with pytest.raises(pliant.ArgumentError, match=r"cotangent of 'at' has shape \(2,\); it must be \(1, 3\)"):
        f.vjp()[1]({"at": np.ones(2)})
    for given in (np.sin, "2*t N*m"):
        g = pliant.differentiable(equations(TEXTS["tree"]), "at", "torque", inputs={"torque": given}, **TREE)
        with pytest.raises(pliant.ArgumentError, match="has no values to differentiate by"):
            g()


def test_a_start_at_rest_that_moves_is_refused() -> None:
    inputs = {"drive": ([0.0, 0.1, 0.2], [0.0, 0.1, 0.0])}
    f = pliant.differentiable(equations(TEXTS["cart"]), "end", "drive", until=0.1, start="equilibrium", inputs=inputs)
    with pytest.raises(pliant.ArgumentError, match="prescribed motions start with a nonzero rate"):
        f.vjp()
