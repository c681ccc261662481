"""The result of path following as labelled arrays."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.analysis.numerics.contact_table import contact_variables
from pliant.analysis.numerics.labelled_arrays import LabelledArrays, Variable, named_axes
from pliant.analysis.numerics.result import Timing, profile_axes
from pliant.analysis.numerics.status import Status
from pliant.analysis.numerics.versions import versions
from pliant.analysis.statics.arc_length import ArcLengthStatics, Direction, EquilibriumPoint
from pliant.analysis.statics.path import KINDS, Path
from pliant.analysis.statics.path_parameter import PathParameter
from pliant.engine.contacts import Contacts
from pliant.engine.equations import Equations
from pliant.engine.outputs import evaluate_outputs, output_axes, output_parts, output_units, part_labels
from pliant.language.message_text import unit_text


@dataclass
class PathRecord:
    """Points in order, their types, and the directions without stiffness at special points."""

    places: list[EquilibriumPoint] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    critical: list[tuple[int, np.ndarray]] = field(default_factory=list)
    branch: int = 0

    def add(self, place: EquilibriumPoint, kind: str = "", direction: np.ndarray | None = None) -> None:
        """Append a point."""
        if direction is not None:
            self.critical.append((len(self.places), direction))
        self.places.append(place)
        self.kinds.append(kind)
        self.branches.append(self.branch)

    def more(self, direction: np.ndarray) -> None:
        """Append a direction without stiffness to the last point."""
        self.critical.append((len(self.places) - 1, direction))


def record_path(
    eqs: Equations, statics: ArcLengthStatics, record: PathRecord, status: Status, message: str, notes: tuple[str, ...],
    timing: Timing, loading: PathParameter, t: float,
) -> Path:  # fmt: skip
    """The result: states, stability, outputs and frames of all points."""
    zero = np.zeros(statics.bound.nv)
    outputs: list[dict[str, Any]] = []
    energy, position, quaternion = [], [], []
    for place in record.places:
        here = loading.equations(place.value)
        bound = here.binding if place.contacts is None else here.binding.with_contacts(place.contacts.rows)
        outputs.append(evaluate_outputs(eqs.model, bound, t, place.q, zero, zero, place.multipliers, 0.0))
        energy.append(float(bound.energies(t, place.q, zero)[1]))
        frames = here.frames(place.q).values()
        position.append([f.position for f in frames])
        quaternion.append([f.quaternion for f in frames])
    attributes = {
        "model": eqs.model.spec.name or "robot",
        "model_text": eqs.model.text,
        "parameter": loading.name,
        "parameter_unit": unit_text(eqs.model.environment.dimension(loading.name)),
        "coordinate_units": json.dumps([c.unit for c in eqs.model.coordinates for _ in c.q_names]),
        "output_parts": json.dumps({name: output_parts(eqs.model, name) for name in eqs.model.spec.outputs}),
        "time": t,
        "status": str(status),
        "message": message,
        "warnings": json.dumps(list(notes)),
        "timing": json.dumps(timing.__dict__),
        "inputs": json.dumps({k: x for k, x in eqs.given_inputs.items() if k != loading.name and isinstance(x, float)}),
        "parameters": json.dumps(eqs.parameters),
        "versions": json.dumps(versions()),
    }
    recorded = _recorded(eqs, record, outputs, energy, position, quaternion, attributes)
    return Path(status, message, recorded, timing, notes)


def _contacts(record: PathRecord, t: float) -> Contacts:
    """Contacts of all points, concatenated."""
    found = [place.contacts for place in record.places if place.contacts is not None]
    if not found:
        return Contacts()
    begins = np.concatenate([[0], np.cumsum([len(x) for x in found])]).astype(np.int32)
    rows = np.concatenate([x.rows for x in found])
    return Contacts(found[0].names, found[0].things, np.full(len(found), t), begins, rows)


def _recorded(
    eqs: Equations, record: PathRecord, outputs: list[dict[str, Any]], energy: list[float], position: list[Any],
    quaternion: list[Any], attributes: dict[str, Any],
) -> LabelledArrays:  # fmt: skip
    places, n, m = record.places, len(eqs.rates), len(eqs.constraint_names)
    tangents = [p.tangent or Direction(np.zeros(n), np.zeros(m), 0.0) for p in places]
    holds = {True: 1, False: 0, None: -1}
    judged = [p.stability for p in places]
    # a special point is neutral; the sign of its computed stiffness has no meaning
    unstable = [-1 if s is None else s.unstable for s in judged]
    stable = [-1 if s is None or kind else holds[s.stable] for s, kind in zip(judged, record.kinds, strict=True)]
    for k, kind in enumerate(record.kinds):
        if kind and 0 < k < len(places) - 1:
            unstable[k] = min(unstable[k - 1 : k + 2])

    def rows(values: list[Any], *shape: int) -> np.ndarray:
        return np.array(values, dtype=float).reshape(len(values), *shape)

    variables: dict[str, Variable] = {
        "value": (("point",), rows([p.value for p in places]), {"long_name": attributes["parameter"], "units": "SI"}),
        "q": (("point", "coordinate"), rows([p.q for p in places], len(eqs.coordinates)), {"units": "SI"}),
        "multiplier": (
            ("point", "constraint"), rows([p.multipliers for p in places], m),
            {"long_name": "constraint forces", "units": "N or N m"},
        ),
        "residual": (
            ("point",), rows([p.residual for p in places]),
            {"long_name": "largest unbalanced force", "units": "N or N m"},
        ),
        "potential": (("point",), rows(energy), {"long_name": "potential energy", "units": "J"}),
        "unstable": (
            ("point",), np.array(unstable, dtype=int),
            {"long_name": "directions that grow (-1: not judged)"},
        ),
        "stable": (
            ("point",), np.array(stable, dtype=int),
            {"long_name": "1 stable, 0 unstable, -1 neutral or not judged"},
        ),
        "kind": (
            ("point",), np.array([KINDS.index(k) for k in record.kinds], dtype=int),
            {"long_name": ", ".join(f"{i} {k or 'regular'}" for i, k in enumerate(KINDS))},
        ),
        "branch": (("point",), np.array(record.branches, dtype=int), {"long_name": "how often a branch was taken"}),
        "tangent_q": (("point", "rate"), rows([x.q for x in tangents], n), {}),
        "tangent_multiplier": (("point", "constraint"), rows([x.multipliers for x in tangents], m), {}),
        "tangent_value": (("point",), rows([x.value for x in tangents]), {}),
        "frame_position": (("point", "frame", "axis"), rows(position, len(eqs.frame_names), 3), {"units": "m"}),
        "frame_quaternion": (("point", "frame", "quaternion_part"), rows(quaternion, len(eqs.frame_names), 4), {}),
        "critical_direction": (("critical", "rate"), rows([x for _, x in record.critical], n), {}),
        "critical_point": (("critical",), np.array([k for k, _ in record.critical], dtype=int), {}),
    }  # fmt: skip
    units, profiles = output_units(eqs.model), output_axes(eqs.model, eqs.binding) if places else {}
    for name in eqs.model.spec.outputs if places else ():
        values = np.array([x[name] for x in outputs], dtype=float)
        parts = f"output.{name}.{'arc_length' if name in profiles else 'part'}"
        axes = ("point",) if values.ndim == 1 else ("point", parts)
        variables[f"output.{name}"] = (axes, values, {"units": units[name]})
    touching, named = contact_variables(_contacts(record, float(attributes["time"])), "point")
    variables |= touching
    labels = {
        "coordinate": eqs.coordinates,
        "rate": eqs.rates,
        "constraint": eqs.constraint_names,
        "frame": eqs.frame_names,
        "axis": "xyz",
        "quaternion_part": "wxyz",
        **(part_labels(eqs.model, eqs.binding) if places else {}),
    }
    return LabelledArrays.of_arrays(variables, {**named_axes(labels), **named, **profile_axes(profiles)}, attributes)
