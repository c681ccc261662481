"""Import of robots in other formats: the model, its text, and a list of features that are not imported."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath

from pliant.language.faults import Fault, gathered
from pliant.language.files import write_whole
from pliant.language.provided import called
from pliant.robot.reader import load
from pliant.robot.robot import RobotSpec
from pliant.robot.writer import dump


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
