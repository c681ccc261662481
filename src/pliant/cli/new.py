"""The command `new`: write a commented model file to start from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated

import typer

from pliant.cli.common import CommandError, Json, print_json, say
from pliant.language.message_text import suggestion
from pliant.robot.templates import is_robot_name, template_text, templates


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
