"""Checks of the analyses that a model lists: their options, and names and units in them."""

from __future__ import annotations

from pliant.engine.model.model import Model
from pliant.language.faults import Fault
from pliant.robot.analyses import read_analyses
from pliant.robot.building import UnreadableEntries
from pliant.robot.robot import RobotSpec
from pliant.robot.semantic_checks import check_meaning


def analysis_faults(spec: RobotSpec, model: Model) -> list[Fault]:
    """All faults in the listed analyses. model: that of the flattened spec."""
    made, faults = read_analyses(spec.analyses, spec.source)
    named = [
        (k, listed.name, one)
        for k, (listed, one) in enumerate(zip(spec.analyses, made, strict=True))
        if one is not None
    ]
    # as parts of the model, their values and references are checked like those of all parts
    entries = {k: {name: one} for k, name, one in named}
    among = spec.model_copy(update={"analyses": tuple(entries.get(k, {}) for k in range(len(made)))}).with_source(
        spec.source
    )
    faults += [fault for fault in check_meaning(among, UnreadableEntries())[0] if fault.path.startswith("analyses[")]
    if not faults:
        for k, name, one in named:
            faults += [spec.source.fault(("analyses", k, name, *path), *what) for path, *what in one.faults(model)]
    return faults
