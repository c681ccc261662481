"""Commands about models: new, check, show, models, schema, import, mesh."""

from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated, Any

import typer
from rich.table import Table

from pliant.analysis.base import analysis
from pliant.analysis.derivation import check as checking
from pliant.cli.common import (
    CommandError,
    Folder,
    Json,
    Model,
    ModelOptions,
    Set,
    Variant,
    console,
    print_faults,
    print_json,
    say,
)
from pliant.cli.model_argument import load_model, read_settings
from pliant.language.message_text import printable, suggestion
from pliant.language.source import FileProblem
from pliant.language.traversal import collections
from pliant.parts.mesh.formats import read_mesh
from pliant.robot import reader
from pliant.robot.reader import bundled_robots, import_robot, is_robot_name, template_text, templates
from pliant.robot.robot import RobotSpec
from pliant.show.sketch import draw_meshes, mesh_rows, save
from pliant.show.tables import overview, print_tables


def check(model: Model, set: Set = None, variant: Variant = None, folder: Folder = None, json: Json = False) -> int:
    """Check a model and list all errors in it.

    Each fault comes with its file and line, its location in the model, and a suggested fix. Remarks point out what is valid
    but rarely intended, such as a rod thicker than long, or an unused parameter.
    """
    settings, folders = read_settings(set), folder or ()
    faults = checking.check(model, variant=variant, set=settings, folders=folders)
    remarks = () if faults else reader.load(model, variant=variant, set=settings, folders=folders).remarks
    if json:
        message = {"message": faults[0].message} if faults else {}
        found = {"faults": [fault.as_dict() for fault in faults], "remarks": [one.as_dict() for one in remarks]}
        print_json({"model": model, "status": "faults" if faults else "ok", **message, **found})
    if faults:
        print_faults(faults, model)
        return 2
    if not json:
        print(f"{model}: ok")
        for remark in remarks:
            print(f"  {remark}")
    return 0


def show(
    model: Model,
    mesh: Annotated[
        str | None,
        typer.Option("--mesh", metavar="PICTURE", help="Write a picture of the meshes with node numbers and sets."),
    ] = None,
    *,
    choices: ModelOptions,
    json: Json = False,
) -> int:
    """Show a robot as tables.

    The tables list bodies with masses, joints with coordinates, forces, the tree of bodies, and totals.
    """
    spec = load_model(model, choices)
    if mesh is not None:
        return _show_meshes(model, spec, mesh, json)
    if json:
        shown = overview(spec)
        tables = {
            sheet.title: [dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows] for sheet in shown.sheets
        }
        print_json(
            {
                "model": model,
                "status": "ok",
                "name": spec.title,
                "description": shown.description,
                **tables,
                "tree": asdict(shown.tree),
                "totals": dict(shown.totals),
            }
        )
    else:
        print_tables(spec, console())
    return 0


def _show_meshes(model: str, spec: RobotSpec, picture: str, json: bool) -> int:
    """Write the picture of the meshes, and print a table of their contents."""
    rows = mesh_rows(spec)
    try:
        save(draw_meshes(spec).axes[0], picture)
    except ImportError:
        raise CommandError("pictures need the package matplotlib", "install pliant[plot]") from None
    except OSError as reason:
        raise CommandError(f"cannot write {picture}: {reason.strerror}") from None
    except ValueError as reason:
        raise CommandError(str(reason)) from None
    if json:
        print_json({"model": model, "status": "ok", "picture": picture, "meshes": rows})
        return 0
    for row in rows:
        _print_mesh(row)
    say(f"wrote {picture}")
    return 0


def _print_mesh(row: dict[str, Any]) -> None:
    """Print the contents of a mesh, and its sets."""
    table = Table("", "", box=None, show_header=False)
    table.add_row("mesh", f"{row['mesh']} ({row['type']})")
    table.add_row("nodes", f"{row['nodes']}, of which {row['held']} held")
    table.add_row("edges", f"{row['edges']}")
    if row["lines"] is not None:
        unit = f"{row['unit']} (not stated in the file)" if row["unit_assumed"] else row["unit"]
        table.add_row("lines in the file", f"{row['lines']}, {row['repeated']} repeated, {row['short']} without length")
        table.add_row("ends merged", f"{row['merged']}")
        table.add_row("nodes without edges", f"{row['orphans']}")
        table.add_row("pieces", f"{row['pieces']}")
        table.add_row("not read", ", ".join(f"{count} x {kind}" for kind, count in row["ignored"].items()) or "nothing")
        table.add_row("unit of the file", unit)
    for name, count in row["sets"].items():
        holder = row["held_by"].get(name)
        table.add_row(
            f"set {name}",
            f"{count} node{'' if count == 1 else 's'}" + (f", held by {holder}" if holder and count else ""),
        )
    console().print(table)


def models(json: Json = False) -> int:
    """List the bundled robots."""
    robots = bundled_robots()
    if json:
        print_json({"model": None, "status": "ok", "models": [asdict(robot) for robot in robots]})
        return 0
    width = max(len(robot.name) for robot in robots)
    for robot in robots:
        print(f"{robot.name:<{width}}  {robot.description}")
    return 0


def schema() -> int:
    """Print the JSON Schema of the language.

    Editors use it for completion and to check models during typing.
    """
    data: dict[str, Any] = json_schema()
    print_json(data)
    return 0


def new(
    name: Annotated[str | None, typer.Argument(help="Name of the robot or of its file.")] = None,
    kind: Annotated[str, typer.Option("--kind", help="Kind of robot; see --list.")] = "arm",
    list_: Annotated[bool, typer.Option("--list", help="List the kinds of robots.")] = False,
    json: Json = False,
) -> int:
    """Write a commented model file to start from.

    The file is named after the robot. An existing file is not overwritten.
    """
    known = templates()
    if list_:
        _list(json)
        return 0
    if name is None:
        raise CommandError(
            "a new robot needs a name", "pliant new my_arm --kind arm; pliant new --list shows the kinds"
        )
    if kind not in (one.kind for one in known):
        kinds = [one.kind for one in known]
        raise CommandError(f"unknown kind of robot '{kind}'", suggestion(kind, kinds, f"known: {', '.join(kinds)}"))
    file = FilePath(name)
    file = file if file.suffix in (".yaml", ".yml") else file.with_name(file.name + ".yaml")
    if not is_robot_name(file.stem):
        hint = "use letters, digits and underscores, a letter first"
        raise CommandError(f"'{file.stem}' cannot be the name of a robot", hint)
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(template_text(kind, file.stem))
    except FileExistsError:
        raise CommandError(f"{file} already exists and was not overwritten", "choose another name") from None
    except OSError as reason:
        raise CommandError(f"cannot write {file}: {reason.strerror}") from None
    if json:
        print_json({"model": str(file), "status": "ok", "kind": kind})
    else:
        say(f"wrote {file}; next: pliant run {file}")
    return 0


def _list(json: bool) -> None:
    known = templates()
    if json:
        print_json({"model": None, "status": "ok", "kinds": [asdict(one) for one in known]})
        return
    width = max(len(one.kind) for one in known)
    for one in known:
        print(f"{one.kind:<{width}}  {one.description}")


def json_schema() -> dict[str, Any]:
    """The schema of a model file as a JSON Schema (draft 2020-12).

    It describes the structure of one file: keys that `defaults` or another file may supply are not required, and references,
    dimensions and values are checked by `pliant check` only.
    """
    schema = _loosened(RobotSpec.model_json_schema())
    for collection in schema["properties"].values():
        for entry in collection.get("patternProperties", {}).values():
            kind = schema["$defs"].get(entry.get("$ref", "").rpartition("/")[2], {})
            kind.pop("required", None)  # `defaults` may supply these keys
    for entry in schema["properties"]["models"]["patternProperties"]:
        schema["properties"]["models"]["patternProperties"][entry] = {"$ref": "#"}
    _with_options_of_analyses(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Pliant robot model, version 1"}
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _with_options_of_analyses(schema: dict[str, Any]) -> None:
    """Add the options of each analysis to the entries of `analyses`."""
    entry = schema["$defs"]["ListedAnalysis"]["properties"]
    for name in entry:
        kind = analysis(name)
        options = _loosened(kind.model_json_schema(ref_template="#/$defs/{model}"))
        schema["$defs"] |= options.pop("$defs", {})
        options["properties"] = {key: options["properties"][key] for key in kind.file_keys()}
        entry[name] = options


def _loosened(schema: Any) -> Any:
    """The schema with choices that may overlap, because `type` may come from defaults, and without names of other patterns."""
    if isinstance(schema, list):
        return [_loosened(child) for child in schema]
    if not isinstance(schema, dict):
        return schema
    loose = {"anyOf" if key == "oneOf" else key: _loosened(child) for key, child in schema.items()}
    if "patternProperties" in loose and loose.get("type") == "object":
        loose["additionalProperties"] = False
    return loose


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A robot: URDF, or MJCF of MuJoCo.")],
    out: Annotated[str | None, typer.Option("--out", metavar="MODEL", help="Model file to write.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> int:
    """Convert a URDF or MJCF file to a model file.

    Without --out the model is printed. Parts of the file that are not in the model are listed with their lines. Analyses also
    accept such files directly.
    """
    if out is not None and not out.endswith((".yaml", ".yml")):
        raise CommandError(f"cannot determine the format of '{out}'", "end it in .yaml")
    found = import_robot(file, folders=folder or ())
    if out is not None:
        try:
            found.save(out)
        except OSError as reason:
            raise CommandError(f"cannot write {out}: {reason.strerror}") from None
    if json:
        robot = found.robot
        counts = {key: len(getattr(robot, key)) for key in collections(type(robot)) if getattr(robot, key)}
        text = {} if out is not None else {"text": found.text()}
        notes = [note.as_dict() for note in found.notes]
        print_json({"model": file, "status": "ok", "out": out, "parts": counts, "notes": notes, **text})
        return 0
    if out is None:
        print(found.text(), end="")
    for line in str(found).splitlines():
        say(line)
    if out is not None:
        say(f"wrote {out}")
    return 0


PIECES = " (use --split to create nodes where lines cross)"


def mesh(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A mesh file: IGES, DXF, STL, OBJ, PLY, DAE, glTF, or any format of meshio."
        ),
    ],
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", metavar="METRES", help="Merge line ends closer than this into one node."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", metavar="UNIT", help="Unit of the file's numbers, such as mm.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="Also create nodes where lines cross or touch.")] = False,
    json: Json = False,
) -> int:
    """Read a mesh file and summarize it: nodes, edges, size, merged nodes."""
    try:
        found = read_mesh(file, tolerance=tolerance, unit=unit, split=split)
    except FileProblem as problem:
        raise CommandError(str(problem), problem.hint) from None
    degree = found.degree
    answer: dict[str, Any] = {
        "nodes": len(found.nodes),
        "edges": len(found.edges),
        "bounds_m": found.bounds,
        "merged": found.merged,
        "orphans": found.orphans,
        "ends": int((degree == 1).sum()),
        **{k: getattr(found, k) for k in ("pieces", "lines", "repeated", "short", "unit")},
        "unit_assumed": found.assumed,
        "tolerance_m": found.tolerance,
        "ignored": found.ignored,
        "labels": {name: len(members) for name, members in found.labels.items()},
    }
    if json:
        print_json({"model": file, "status": "ok", **answer})
        return 0
    low, high = found.bounds
    unit_text = f"{found.unit} (not stated in the file)" if found.assumed else found.unit
    rows = {
        "nodes": f"{len(found.nodes)}, of which {answer['ends']} have one edge",
        "edges": f"{len(found.edges)}",
        "pieces": f"{found.pieces}" + ("" if found.pieces == 1 or split else PIECES),
        "from": "  ".join(f"{x:.6g}" for x in low) + " m",
        "to": "  ".join(f"{x:.6g}" for x in high) + " m",
        "unit of the file": unit_text,
        "lines in the file": f"{found.lines}, {found.repeated} of them repeated, {found.short} without length",
        "ends merged": f"{found.merged}, within {found.tolerance:.3g} m",
        "nodes without edges": f"{found.orphans}",
        "labels": ", ".join(f"{name} ({len(members)} nodes)" for name, members in found.labels.items()) or "none",
        "not read": ", ".join(f"{count} x {kind}" for kind, count in found.ignored.items()) or "nothing",
    }
    for name, value in rows.items():
        print(f"{name:<20} {printable(value)}")  # labels are texts of the file
    return 0
