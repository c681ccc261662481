"""Reading of models from files, also of other formats, bundled robots, templates and text."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from pliant.language.arguments import ArgumentError, file_name, folder_list, mapping
from pliant.language.faults import Fault, SpecError, gathered
from pliant.language.files import write_whole
from pliant.language.message_text import describe
from pliant.language.names import WORD
from pliant.language.parameter import with_parameters
from pliant.language.provided import called
from pliant.language.source import MODEL_FOLDER, Source, bundled, locate, read_source, with_variant
from pliant.language.tree import parse_yaml
from pliant.robot.robot import RobotSpec
from pliant.robot.writer import dump


def load(
    model: str | os.PathLike[str], *, variant: str | None = None, set: Mapping[str, float | str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
) -> RobotSpec:  # fmt: skip
    """Load the robot of a model file, or a bundled robot by name; `four_bar@variant` also selects a variant.

    variant: name of a variant of the model. set: values of parameters (`{"length": "30 cm"}`). folders: folders that the
    model may read files from, in addition to its own. Raises SpecError with all faults.
    """
    source, variant = model_source(model, variant, folders)
    return RobotSpec.from_source(with_parameters(with_variant(source, variant), mapping("set", set)))


def load_text(
    text: str, *, variant: str | None = None, set: Mapping[str, float | str] | None = None, file: str = "text",
    folder: str | os.PathLike[str] | None = None,
) -> RobotSpec:  # fmt: skip
    """Load the robot of a model given as text.

    variant, set: as for `load`. file: the name shown in faults. folder: the folder of its other files.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"text must be the text of a model, not {describe(text)}")
    if not isinstance(file, str):
        raise ArgumentError(f"file must be a name that is shown in messages, not {describe(file)}")
    source = Source(file, parse_yaml(text, file), None if folder is None else file_name("folder", folder))
    if source.tree is not None and not isinstance(source.tree.value, dict):
        return RobotSpec.from_source(source)
    return RobotSpec.from_source(with_parameters(with_variant(source, variant), mapping("set", set)))


def model_source(
    model: str | os.PathLike[str], variant: str | None, folders: Iterable[str | os.PathLike[str]]
) -> tuple[Source, str | None]:
    """The source of a model, and the name of its variant; raises SpecError."""
    if not isinstance(model, str | os.PathLike):
        raise SpecError(
            [Fault(f"a model cannot be {describe(model)}", "give the name of a file or of a bundled robot")]
        )
    name = os.fspath(model)
    base, at, suffix = name.rpartition("@")
    if at and variant is None and not FilePath(name).is_file():
        name, variant = base, suffix
    path = locate(name)
    roots = folder_list(folders)
    missing = [Fault(f"there is no folder '{given}'", file=name) for given in roots if not given.is_dir()]
    if missing:
        raise SpecError(missing, name)
    return read_source(path, roots=roots), variant


@dataclass(frozen=True)
class BundledRobot:
    """A bundled robot: its name and description."""

    name: str
    description: str


def bundled_robots() -> list[BundledRobot]:
    """The bundled robots."""
    found = []
    for name in bundled():
        tree = parse_yaml((MODEL_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), name)
        description = tree.plain().get("description", "")
        found.append(BundledRobot(name, description.strip().split("\n")[0]))
    return found


FOLDER = FilePath(__file__).parents[1] / "templates"
NAME = "my_robot"
"""The robot's name in all templates."""


@dataclass(frozen=True)
class Template:
    """A template: its kind of robot, and a one-line description."""

    kind: str
    description: str


def templates() -> list[Template]:
    """All templates."""
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        found.append(Template(file.stem, first.removeprefix("#").strip()))
    return found


def template_text(kind: str, name: str) -> str:
    """The text of a model file of a kind of `templates()`, for a robot with the given name."""
    text = (FOLDER / f"{kind}.yaml").read_text(encoding="utf-8")
    return re.sub(rf"\b{NAME}\b", name, text)


def is_robot_name(name: str) -> bool:
    """Whether a name can be that of a robot and of its file."""
    return re.fullmatch(WORD, name) is not None


@dataclass(frozen=True)
class ImportedRobot:
    """A robot in another format.

    robot: the model. notes: all differences between the file and the model, with their lines; `print` shows them as a table.
    """

    robot: RobotSpec
    notes: tuple[Fault, ...]

    def text(self, folder: str | os.PathLike[str] | None = None) -> str:
        """The model as text, with a summary of the notes in comments; loading it gives the same robot.

        folder: where it will be saved; paths of mesh files are relative to it. Default: the folder of the file.
        """
        robot = self.robot if folder is None else _moved(self.robot, FilePath(folder))
        return "\n".join([*self._comments(), dump(robot)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file atomically."""
        write_whole(FilePath(path), self.text(FilePath(path).parent).encode())

    def _comments(self) -> list[str]:
        lines = [f"# From {FilePath(self.robot.source.file).name}."]
        notes = gathered(self.notes, "")
        if notes:
            lines.append("# Differences from that file:")
        for note in notes:
            place = f"line {note.line}: " if note.line is not None else ""
            path = f"{note.path}: " if note.path else ""
            lines.append("#   " + " ".join(f"{place}{path}{note.message}".split()))
        return lines

    def __str__(self) -> str:
        return str(called("ImportedRobot.text", self))


def import_robot(file: str | os.PathLike[str], *, folders: Iterable[str | os.PathLike[str]] = ()) -> ImportedRobot:
    """Import a robot from a URDF or MJCF file, with notes on features that are not imported; raises SpecError with all faults.

    folders: folders of the packages and meshes that the file refers to, in addition to its own.
    """
    robot = load(file, folders=folders)
    return ImportedRobot(robot, robot.source.notes)


def _moved(robot: RobotSpec, folder: FilePath) -> RobotSpec:
    """The robot with paths of files relative to another folder."""
    own = robot.source.folder
    if own is None or own.resolve() == folder.resolve():
        return robot
    surfaces = {}
    for name, surface in robot.surfaces.items():
        given = getattr(surface, "file", None)
        moved = {"file": os.path.relpath((own / given).resolve(), folder.resolve())} if given else {}
        surfaces[name] = surface.model_copy(update=moved)
    return robot.model_copy(update={"surfaces": surfaces})
