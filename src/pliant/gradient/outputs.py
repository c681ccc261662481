"""Outputs of the model in many states, and the propagation of their cotangents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from pliant.analysis.numerics.configuration_group import ConfigurationGroup
from pliant.engine.equations import Equations
from pliant.engine.outputs import output_function, output_names
from pliant.engine.time_loop import SampleCotangents
from pliant.language.arguments import ArgumentError

STATE = ("q", "v", "a", "multipliers", "constants")
"""Quantities that outputs may depend on here: the first inputs of `output_function`."""
BEYOND = ("signals", "rates of signals", "forces in joints", "energies of the robot", "sums of contact forces")
"""The other inputs, which depend on the entire motion or on inputs."""


@dataclass(frozen=True)
class OutputCotangents:
    """Cotangents of the states, and of the constants of the equations."""

    samples: SampleCotangents
    constants: np.ndarray


def refuse_others(eqs: Equations, names: Sequence[str]) -> None:
    """Raise ArgumentError if an output has no derivatives."""
    function, known = output_function(eqs.model), output_names(eqs.model)
    for name in names:
        for k, what in enumerate(BEYOND):
            if function.jac_sparsity(known.index(name), len(STATE) + k).nnz():
                raise ArgumentError(
                    f"the output '{name}' has no derivatives: it depends on {what}",
                    "use outputs of positions, velocities, accelerations or constraint forces",
                )


def output_cotangents(
    eqs: Equations, states: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], given: Mapping[str, np.ndarray]
) -> OutputCotangents:
    """Convert cotangents of outputs (by name, states x components) to cotangents of the states.

    states: q, v, a and multipliers, one row per state.
    """
    model, bound = eqs.model, eqs.binding
    function, count = output_function(model), len(states[0])
    inputs = [np.zeros((function.size1_in(i), count)) for i in range(function.n_in())]
    for i, x in enumerate(states):
        inputs[i] = x.T
    inputs[4] = np.tile(bound.constants[:, None], (1, count))
    outputs = [np.zeros((function.size1_out(i), count)) for i in range(function.n_out())]
    seeds = [
        np.reshape(given[name], (count, -1)).T if name in given else np.zeros_like(x)
        for name, x in zip(output_names(model), outputs, strict=True)
    ]
    reverse: ca.Function = model.once("output_reverse", lambda: function.reverse(1)).map(count)
    found = [np.asarray(x, dtype=float) for x in reverse.call([*inputs, *outputs, *seeds])]
    group = ConfigurationGroup(model.system)
    by_q = group.by_increments(states[0], found[0].T)
    samples = SampleCotangents(by_q, found[1].T, found[2].T, found[3].T)
    return OutputCotangents(samples, found[4].sum(axis=1))
