"""Output folders of exports."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from pliant.io.c_text import ExportError
from pliant.language.files import write_whole


def check_folder(folder: Path, *, force: bool) -> None:
    """Reject a folder that an export cannot be written to; `force`: accept one that is not empty."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file, not a folder", "give a folder that is new or empty")
    try:
        occupied = folder.is_dir() and any(folder.iterdir())
    except OSError as reason:
        raise ExportError(f"the folder {folder} cannot be read: {reason.strerror}") from None
    if occupied and not force:
        raise ExportError(
            f"the folder {folder} is not empty",
            "give a new or empty folder, or use --force (force=True) to replace the export's own files in it",
        )


def write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write all files; each file appears complete or not at all, and a new folder only with all files."""
    try:
        if folder.exists():
            _write_each(folder, files)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
            building = folder.with_name(f".{folder.name}-{secrets.token_hex(6)}")  # a unique name
            building.mkdir()
            try:
                _write_each(building, files)
                building.rename(folder)
            except BaseException:
                shutil.rmtree(building, ignore_errors=True)
                raise
    except OSError as reason:
        where = reason.filename2 or reason.filename or folder
        raise ExportError(
            f"cannot write {where}: {reason.strerror or reason}", "choose a folder with write permission and free space"
        ) from reason
    return [folder / file for file in files]


def _write_each(folder: Path, files: Mapping[str, str]) -> None:
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        write_whole(path, text.encode())
