"""Generate pages from the schema: `python tools/make_reference.py` writes docs/language.md, docs/exports.md, docs/remarks.md
and the sections of analyses in docs/command-line.md.

Descriptions come from the docstrings of the schema and examples from its parts, so the page always agrees with
the program; a test loads every example and compares the page with the output of this module.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pliant.analysis.base import Analysis, analysis
from pliant.analysis.remark import RULES
from pliant.cli import ANALYSIS, COMMANDS
from pliant.cli.analysis import summary
from pliant.cli.export import flag, targets
from pliant.cli.options import flag as option_flag
from pliant.cli.options import written
from pliant.language import parameter, placement
from pliant.language.base import Choice, Part, WordMappingOrObject
from pliant.language.names import ALIASES, FUNCTIONS, SYMBOLS, NameMarker, Reference
from pliant.language.scalar import CountMarker, Quantity
from pliant.language.traversal import kinds, with_defaults
from pliant.language.units import ALONE, WITH_PREFIX
from pliant.parts import body, output
from pliant.parts import input as inputs
from pliant.parts import tendon as routing
from pliant.parts.contact import Contact, Friction
from pliant.parts.field.body import BodyFluid
from pliant.parts.field.fluid import Fluid
from pliant.parts.field.rod import RodFluid
from pliant.parts.field.wing import Polar
from pliant.parts.joint import JointBase, coordinate
from pliant.parts.joint import types as chain
from pliant.parts.link import LinkBase
from pliant.parts.mesh import Membrane, Shell, base, drawing
from pliant.parts.rod import chamber, rod, shape
from pliant.parts.section import Holes, Station
from pliant.parts.section.material import Material
from pliant.parts.surface import SurfaceBase
from pliant.parts.tendon import TendonBase
from pliant.parts.world import World
from pliant.robot import attach, controllers
from pliant.robot.analyses import ListedAnalysis, analysis_names
from pliant.robot.controllers import InputLimit
from pliant.robot.defaults import default_kinds, tells_kind, to_data
from pliant.robot.learning_task import LearningTask, RandomParameter, RandomStart
from pliant.robot.robot import RobotSpec
from pliant.robot.rod_switch import KINDS
from pliant.robot.writer import flow
from pliant.targets.base import Target
from reference_text import EXAMPLES, EXPORTS, INTRODUCTION, PROSE, REMARKS

PAGE = FilePath(__file__).parents[1] / "docs" / "language.md"
TARGETS_PAGE = PAGE.with_name("exports.md")
REMARKS_PAGE = PAGE.with_name("remarks.md")
COMMANDS_PAGE = PAGE.with_name("command-line.md")
WRITTEN, END = "<!-- written by tools/make_reference.py -->\n", "<!-- end of what is written -->\n"
"""Around the sections of commands that are not described by hand."""

SECTIONS: tuple[tuple[str, tuple[type[Part], ...]], ...] = (
    ("World", (World, Fluid, RodFluid)),
    ("Parameters", (parameter.Parameter,)),
    ("Materials", (Material,)),
    ("Sections", (*kinds(RobotSpec, "sections")[1].values(), Holes, Station)),
    ("Bodies", (body.Body, BodyFluid, body.Along, body.InertiaMatrix, body.PrincipalInertia)),
    ("Shapes", (body.SlenderRod, body.Cylinder, body.Tube, body.Box, body.Sphere, body.Ellipsoid)),
    (
        "Placement",
        (
            placement.Placement,
            placement.AxisRotation,
            placement.VectorRotation,
            placement.QuaternionRotation,
            placement.EulerRotation,
            placement.DirectionRotation,
            placement.Around,
            placement.Attachment,
        ),
    ),
    ("Joints", tuple(kinds(RobotSpec, "joints")[1].values())),
    (
        "Transforms of a chain",
        (
            chain.Translate,
            chain.AxisTurn,
            chain.VectorTurn,
            chain.QuaternionTurn,
            chain.QuaternionVectorTurn,
            chain.AxisAngleTurn,
        ),
    ),
    (
        "Coordinates",
        (
            coordinate.AngleCoordinate,
            coordinate.LengthCoordinate,
            coordinate.Orientation,
            coordinate.AngleSpring,
            coordinate.LengthSpring,
            coordinate.AngleDamper,
            coordinate.LengthDamper,
            coordinate.AngleFriction,
            coordinate.LengthFriction,
            coordinate.AngleLimits,
            coordinate.LengthLimits,
            coordinate.EqualTo,
        ),
    ),
    ("Rods", (rod.Rod, chamber.Chamber, rod.Rayleigh, rod.RodFrame)),
    ("Shapes of rods", (shape.Arc, shape.Helix, shape.Points, shape.Poses, shape.PoseAlong)),
    ("Rod models", tuple(KINDS.values())),
    ("Meshes", (Membrane, Shell)),
    (
        "Drawings of meshes",
        (
            drawing.FileDrawing,
            drawing.ListedDrawing,
            drawing.RectangleDrawing,
            drawing.BlockDrawing,
            drawing.WebDrawing,
        ),
    ),
    ("Sets of nodes", (drawing.BoxSet, drawing.PlaneSet, drawing.NearestSet, drawing.NumberedSet, drawing.LabelledSet)),
    ("Edges of meshes", (base.MembraneEdges, base.ShellEdges)),
    ("Links", tuple(kinds(RobotSpec, "links")[1].values())),
    ("Tendons", tuple(kinds(RobotSpec, "tendons")[1].values())),
    (
        "Points of a tendon",
        (routing.FramePoint, routing.ParallelStretch, routing.HelicalStretch, routing.PointStretch, routing.RodPoint),
    ),
    ("Surfaces", tuple(kinds(RobotSpec, "surfaces")[1].values())),
    ("Contacts", (Contact, Friction)),
    ("Constraints", tuple(kinds(RobotSpec, "constraints")[1].values())),
    ("Loads", (*kinds(RobotSpec, "loads")[1].values(), Polar)),
    ("Magnets", tuple(kinds(RobotSpec, "magnets")[1].values())),
    ("Inputs", (inputs.Inputs, inputs.Step, inputs.Ramp, inputs.Sine, inputs.Piece, inputs.Series)),
    ("Outputs", (output.Outputs, *get_args(get_args(output.Output)[0]))),
    (
        "Controllers",
        (
            *kinds(RobotSpec, "control")[1].values(),
            InputLimit,
            controllers.HeldPose,
            controllers.InputValue,
            controllers.CoordinateValue,
            controllers.CoordinateWeight,
            controllers.OutputWeight,
            controllers.InputWeight,
            controllers.Sensor,
            controllers.Disturbance,
            controllers.ControlGroup,
        ),
    ),
    ("Tasks", (LearningTask, RandomParameter, RandomStart)),
    ("Analyses", (ListedAnalysis, *(analysis(name) for name in analysis_names()))),
    ("Attached models", (attach.Attach,)),
    ("Included files", ()),
    ("Defaults", ()),
    ("Variants", ()),
    ("Repeated parts", ()),
)


COMMON: dict[str, type[Part]] = {"Joints": JointBase, "Links": LinkBase, "Tendons": TendonBase, "Surfaces": SurfaceBase}
"""Common keys of the parts of a section, shown once."""


def page() -> str:
    """The whole reference as Markdown."""
    words = {
        "functions": ", ".join(f"`{name}`" for name in FUNCTIONS),
        "reserved": ", ".join(f"`{name}`" for name in sorted(SYMBOLS - set(FUNCTIONS))),
        "prefixed": ", ".join(f"`{name}`" for name in WITH_PREFIX),
        "alone": ", ".join(f"`{name}`" for name in ALONE),
        "collections": ", ".join(f"`{name}`" for name in with_defaults(RobotSpec)),
    }
    lines = [INTRODUCTION.format(**words), "## The keys of a model file\n", *_table(RobotSpec), ""]
    for title, parts in SECTIONS:
        lines += [f"## {title}\n"]
        if title in PROSE:
            lines += [PROSE[title].format(**words).strip() + "\n"]
        if title in EXAMPLES:
            lines += [f"```yaml\n{example.strip()}\n```\n" for example in EXAMPLES[title]]
        common = COMMON.get(title)
        if common is not None:
            lines += [f"### All {title.lower()}\n", *_table(common), ""]
        for part in parts:
            lines += _part(part, title, without=common)
    return "\n".join(lines).rstrip() + "\n"


def _part(part: type[Part], title: str, *, without: type[Part] | None) -> list[str]:
    """Heading, description, keys (except those in `without`) and example of one part."""
    lines: list[str] = []
    if part.__name__ not in (title, title.removesuffix("s"), title.removesuffix("ies") + "y"):
        lines.append(f"### {_heading(part)}\n")
    lines.append(inspect.cleandoc(part.__doc__ or "") + "\n")
    if part.file_keys() and part is not ListedAnalysis:
        lines += [*_table(part, without=without), ""]
    if part.example:
        lines.append(f"```yaml\n{part.example.strip()}\n```\n")
    return lines


def _heading(part: type[Part]) -> str:
    if issubclass(part, Analysis):
        return f"`{part.name}`"
    kind = next((part.model_fields[key] for key in ("type", "shape", "kind") if key in part.model_fields), None)
    if kind is not None and get_origin(kind.annotation) is Literal:
        return f"`{kind.default}`"
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in part.__name__)
    return words.strip().capitalize()


def _table(part: type[Part], *, without: type[Part] | None = None) -> list[str]:
    """The keys of a part as a Markdown table, except those in `without`."""
    rows = ["| key | value | default | |", "|---|---|---|---|"]
    known = without.model_fields if without is not None else {}
    for name in part.file_keys():
        field = part.model_fields[name]
        if name in known:
            continue
        hint: Any = field.annotation
        for extra in field.metadata:
            hint = Annotated[hint, extra]
        text = " ".join(part.field_texts().get(name, "").split()).replace("|", "\\|")
        if tells_kind(name, field):
            short = [f"`{alias}`" for alias, word in ALIASES.items() if name == "kind" and word == field.default]
            text = "Selects the type" + "".join(f"; {word} is an alias" for word in short) + "."
        required = tells_kind(name, field) and part not in default_kinds(RobotSpec)
        default = "required" if required else _default(field)
        rows.append(f"| `{name}` | {_words(hint)} | {default} | {text} |")
    return rows


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined and field.default_factory is None:
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == "" or (isinstance(value, (dict, tuple)) and not value):
        return ""
    if isinstance(value, tuple) and len(set(map(str, value))) == 1:
        return f"`{flow(to_data(value[0], RobotSpec))}` each"
    if isinstance(value, Part):
        shown = to_data(value, RobotSpec)
        return f"`{shown}`" if isinstance(shown, str) else ""
    return f"`{flow(to_data(value, RobotSpec))}`"


def _words(hint: Any) -> str:
    """Description of the type of a field."""
    if get_origin(hint) is Annotated:
        inner, *extras = get_args(hint)
        return next((words for extra in extras if (words := _marker_words(extra)) is not None), None) or _words(inner)
    origin = get_origin(hint)
    if origin is Literal:
        return ", ".join(f"`{flow(choice)}`" for choice in get_args(hint))
    if origin is tuple:
        return _tuple(get_args(hint))
    if origin is dict:
        return f"name: {_words(get_args(hint)[1]).removeprefix('name: ')}"
    if get_args(hint):
        members = [_words(member) for member in get_args(hint) if member is not type(None)]
        return " or ".join(dict.fromkeys(members))
    simple = {str: "text", bool: "`true` or `false`", int: "integer", float: "number", Any: "mapping"}
    if hint in simple:
        return simple[hint]
    return _heading(hint).lower() if isinstance(hint, type) and issubclass(hint, Part) else "value"


def _marker_words(marker: Any) -> str | None:
    """Description of the type of a field by a marker in its annotation; None if the marker does not describe it."""
    if isinstance(marker, Quantity):
        return _quantity(marker)
    if isinstance(marker, Reference):
        return f"reference to {_article(marker.kind)}"
    if isinstance(marker, CountMarker):
        return "number of instances"
    if isinstance(marker, NameMarker):
        return "name"
    if isinstance(marker, Choice):
        return marker.what
    if isinstance(marker, WordMappingOrObject):
        return " or ".join([", ".join(f"`{word}`" for word in marker.words), _words(marker.values)])
    return None


def _tuple(members: tuple[Any, ...]) -> str:
    if len(members) == 2 and members[1] is Ellipsis:
        word = _words(members[0])
        return "one rotation or a list" if word == "rotation" else f"list of {word}"
    words = [_words(member) for member in members]
    groups = [(word, words.count(word)) for word in dict.fromkeys(words)]
    return "list of " + ", ".join(f"{number} × {word}" for word, number in groups)


def _quantity(marker: Quantity) -> str:
    if marker.dimension is None:
        words = "value"
    elif marker.dimension.is_number:
        words = "number or angle"
    else:
        words = str(marker.dimension)
    if marker.signal:
        words += ", may vary in time"
    if marker.of_state:
        words += ", may depend on the state"
    return " or ".join([words, *(f"`{word}`" for word in marker.words)])


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def targets_page() -> str:
    """The page of all targets as Markdown: a table of them, and a section of each."""
    rows = ["| target | command | Python | cannot express |", "|---|---|---|---|"]
    for kind in targets():
        place = f"FILE{kind.suffix}" if kind.suffix else "DIR"
        link = f"[{kind.title}](#{kind.title.lower().replace(' ', '-')})"
        rows.append(f"| {link} | `--{kind.name} {place}` | `pliant.export_{kind.name}` | {kind.omits} |")
    sections = [line for kind in targets() for line in _target(kind)]
    return EXPORTS.replace("@targets@", "\n".join(rows)) + "\n" + "\n".join(sections).rstrip() + "\n"


def _target(kind: type[Target]) -> list[str]:
    """Heading, description, options and what becomes of the parts of a robot."""
    lines = [f"## {kind.title}\n", inspect.cleandoc(kind.__doc__ or "") + "\n"]
    if kind.forms:
        lines += ["| of the robot | in the file |", "|---|---|"]
        lines += [*(f"| {what} | {form} |" for what, form in kind.forms.items()), ""]
    if kind.model_fields:
        lines += ["| keyword | option | value | default | |", "|---|---|---|---|---|"]
        for name, field in kind.model_fields.items():
            text = " ".join(kind.field_texts()[name].split())
            cells = f"`{name}`", f"`{flag(kind, name)}`", _option_words(field.annotation), _default(field), text
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return lines


def _option_words(hint: Any) -> str:
    """Description of the type of an option; objects that only Python can give are not named."""
    members = [x for x in get_args(hint) if x is not type(None)] if get_origin(hint) is not Literal else []
    texts = [x for x in members if x is str]
    return _words(texts[0] if texts else hint)


def remarks_page() -> str:
    """The page of all remarks as Markdown: what each says, in which analyses, when, and why then."""
    rows = ["| remark | of | about | appears if | reason |", "|---|---|---|---|---|"]
    owners: dict[str, list[str]] = {}
    for name in analysis_names():
        for rule in analysis(name).remarks:
            owners.setdefault(rule.name, []).append(name)
    for name, of in sorted(owners.items()):
        rule = RULES[name]
        rows.append(f"| `{name}` | {', '.join(of)} | {rule.about} | {rule.threshold} | {rule.reason} |")
    return REMARKS.replace("@remarks@", "\n".join(rows))


def commands_page() -> str:
    """The page of the commands, with a section for each analysis that the page does not describe otherwise."""
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    before, rest = text.split(WRITTEN)
    after = rest.partition(END)[2]
    lines: list[str] = []
    for name in analysis_names():
        if COMMANDS[name][0] == ANALYSIS and f"## `pliant {name}`" not in before + after:
            kind = analysis(name)
            lines += ["", f"## `pliant {name}`", "", summary(kind), "", "| | |", "|---|---|"]
            for option in kind.options():
                words = " ".join(kind.field_texts()[option].split()).replace("|", "\\|")
                lines.append(
                    f"| `{option_flag(option, kind)} {written(kind, option).metavar}".rstrip() + f"` | {words} |"
                )
            lines += [f"| `--plot FILE` | {PLOT} |"] * bool(kind.result.plots)
            lines += [f"| `{option}` | {words} |" for option, words in COMMON_OPTIONS]
            numbers = (
                f"`{x}`{f' [{along.unit}]' if along.unit else ''}" for x, along in kind.result.variables().items()
            )
            lines += ["", f"JSON: `status`, `message`, {', '.join(numbers)}, `remarks`. Complex numbers are pairs."]
    return before + WRITTEN + "\n".join([*lines, "", ""]) + END + after


PLOT = "draw the result: .pdf, .svg or .png"
COMMON_OPTIONS = (
    ("--input NAME=VALUE", "value of an input, or a recording, as for `pliant simulate`"),
    ("--out FILE", "write the results to a file: `.nc` (netCDF, read by `pliant.load_result`) or `.json`"),
    ("--report FILE", "write a report (.html) of all results, see [below](#reports)"),
)


def examples(text: str) -> Iterator[str]:
    """The YAML examples in a Markdown page."""
    for block in text.split("```yaml\n")[1:]:
        yield block.partition("```")[0]


if __name__ == "__main__":
    for file, text in (
        (PAGE, page()),
        (TARGETS_PAGE, targets_page()),
        (REMARKS_PAGE, remarks_page()),
        (COMMANDS_PAGE, commands_page()),
    ):
        file.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {file}\n")
