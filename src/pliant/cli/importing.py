"""The command `import`: convert robots from other formats."""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.cli.common import CommandError, Folder, Json, print_json, say
from pliant.language.traversal import collections
from pliant.robot.importing import import_robot


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
