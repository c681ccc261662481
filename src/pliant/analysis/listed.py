"""The analyses that a model lists: their options, and checks of names and units in them."""

from __future__ import annotations

from pydantic import ValidationError

from pliant.analysis.base import Analysis, analysis
from pliant.engine.model.model import Model
from pliant.language.base import read_errors
from pliant.language.faults import Fault, SpecError
from pliant.language.source import Source
from pliant.robot.analyses import ListedAnalysis
from pliant.robot.robot import RobotSpec, check_meaning
from pliant.robot.semantic_checks import UnreadableEntries


def analysis_of(listed: ListedAnalysis) -> Analysis:
    """The analysis with the options of its entry; raises ValidationError."""
    return analysis(listed.name).of_file(listed.options)


def read_analyses(analyses: tuple[ListedAnalysis, ...], source: Source) -> tuple[list[Analysis | None], list[Fault]]:
    """The listed analyses with their options, and the faults of those that cannot be read."""
    made: list[Analysis | None] = []
    faults: list[Fault] = []
    for index, listed in enumerate(analyses):
        try:
            made.append(analysis_of(listed))
        except ValidationError as error:
            made.append(None)
            for path, message, hint in read_errors(error):
                faults.append(source.fault(("analyses", index, listed.name, *path), message, hint))
    return made, faults


def listed_analyses(analyses: tuple[ListedAnalysis, ...], source: Source) -> list[Analysis]:
    """The listed analyses with their options; raises SpecError with all faults."""
    made, faults = read_analyses(analyses, source)
    if faults:
        raise SpecError(faults, source.file)
    return [one for one in made if one is not None]


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
