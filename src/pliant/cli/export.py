"""The command `export`: a robot in any of the formats among the public names (`pliant.export_...`).

Its options are those of the targets: one for the file or folder of each, and one for each of their fields.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import typer

import pliant
from pliant.analysis.numerics.state import AssemblyError
from pliant.cli.common import CommandError, Json, ModelOptions, in_place_of, print_json
from pliant.cli.model_argument import open_subject
from pliant.engine.program import EvaluationError
from pliant.io.c_text import ExportError
from pliant.targets.base import Target


def targets() -> tuple[type[Target], ...]:
    """All targets, in the order of the names of their functions."""
    return tuple(getattr(pliant, name).target for name in sorted(dir(pliant)) if name.startswith("export_"))


@dataclass(frozen=True)
class Request:
    """A target with its options, and the path to write."""

    target: Target
    path: str


def with_targets(command: Any) -> Any:
    """Decorator that replaces the parameter `request` of a command by the options of all targets."""

    def complete(function: Any) -> Any:
        known = targets()
        paths = {kind.name: _path_option(kind) for kind in known}
        fields = {name: _field_option(name, kinds) for name, kinds in _owners(known).items()}

        def read(given: dict[str, Any]) -> Request:
            return _read(known, given)

        completed = in_place_of("request", [*paths.values(), *fields.values()], read, function)
        completed.written = tuple(kind.name for kind in known if kind.suffix)
        return completed

    command.complete = complete
    return command


def flag(kind: type[Target], field: str) -> str:
    """The option of the command for a field of a target."""
    return kind.flags.get(field, f"--{field.replace('_', '-')}")


def _owners(known: Sequence[type[Target]]) -> Mapping[str, list[type[Target]]]:
    """The targets that have each field, by its name."""
    owners: dict[str, list[type[Target]]] = {}
    for kind in known:
        for field in kind.model_fields:
            owners.setdefault(field, []).append(kind)
    return owners


def _path_option(kind: type[Target]) -> inspect.Parameter:
    text = f"Write {kind.summary}" + (f" ({kind.suffix})." if kind.suffix else ".")
    option = typer.Option(f"--{kind.name}", metavar="FILE" if kind.suffix else "DIR", help=text)
    return _parameter(kind.name, None, str | None, option)


def _field_option(name: str, kinds: Sequence[type[Target]]) -> inspect.Parameter:
    """The option of a field; its help has the text and the default of each target, those that agree together."""
    texts: dict[str, list[str]] = {}
    for kind in kinds:
        text = " ".join(kind.field_texts().get(name, "").replace("`", "").split())
        default = kind.model_fields[name].default
        shown = "" if default is None or default is False else f" [default: {default}]"
        texts.setdefault(f"{text}{shown}", []).append(kind.title)
    words = " ".join(f"{', '.join(titles)}: {text}" for text, titles in texts.items())
    option = typer.Option(flag(kinds[0], name), help=words)
    field = kinds[0].model_fields[name]
    value = next((x for x in (bool, int, float) if x in (field.annotation, *get_args(field.annotation))), str)
    return _parameter(name, False, bool, option) if value is bool else _parameter(name, None, value | None, option)


def _parameter(name: str, default: Any, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _read(known: Sequence[type[Target]], given: Mapping[str, Any]) -> Request:
    """The requested target; options that it does not have are refused."""
    chosen = [kind for kind in known if given[kind.name] is not None]
    if not chosen:
        named = [f"--{kind.name} {f'FILE{kind.suffix}' if kind.suffix else 'DIR'}" for kind in known]
        raise CommandError("nothing to export", f"name a file or a folder: {', '.join(named)}")
    if len(chosen) > 1:
        named = [f"--{kind.name}" for kind in chosen]
        raise CommandError(f"{' and '.join(named)} are {len(chosen)} exports", "call the command once for each")
    (kind,) = chosen
    options: dict[str, Any] = {}
    for field, kinds in _owners(known).items():
        if given[field] is None or given[field] is False:
            continue
        if kind not in kinds:
            others = ", ".join(f"--{other.name}" for other in kinds)
            raise CommandError(f"--{kind.name} has no option {flag(kinds[0], field)}", f"it belongs to {others}")
        options[field] = given[field]
    with _command_errors():
        return Request(kind.of(options, lambda field: flag(kind, field)), given[kind.name])


@with_targets
def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL|RESULT", help="A model; for --gltf also a saved result (.nc), which moves.")
    ],
    request: Request,
    *,
    choices: ModelOptions,
    json: Json = False,
) -> int:
    """Export a robot as source code, as a model of other programs, or its motion as a scene.

    What a format cannot express is listed.
    """
    target, path = request.target, request.path
    subject = open_subject(model, choices)
    if subject.run is not None and not target.of_motions:
        raise CommandError(f"{model} is a result, and --{target.name} writes robots", "name the model")
    with _command_errors():
        done = target.export(subject.equations if subject.run is None else subject.run, path)
    if json:
        options = target.model_dump()
        answer = {"model": model, "status": "ok", "target": target.name, "path": str(done.path), "options": options}
        print_json({**answer, "files": [str(x) for x in done.files], "remarks": done.remarks, **done.facts()})
    else:
        print("\n".join([str(done), *(f"* {remark}" for remark in done.remarks)]))
    return 0


@contextmanager
def _command_errors() -> Iterator[None]:
    """Convert errors of an export to a CommandError."""
    try:
        yield
    except ExportError as error:
        raise CommandError(error.message, error.hint) from error
    except ModuleNotFoundError as error:
        raise CommandError(f"{error.name} is not installed", f"pip install {error.name}") from None
    except (AssemblyError, EvaluationError, ValueError) as error:
        raise CommandError(str(error)) from error
