"""Object files of exported sources, compiled side by side; those of the runtime, which all robots share, are cached."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pliant.engine.compiling import AT_ONCE, cache_folder, compiler_environment, digest, is_sound, writable_cache
from pliant.io.c_text import ExportError
from pliant.io.export_c import RUNTIME, without_prefixes
from pliant.language.files import write_whole


def linked(
    compiler: Sequence[str], sources: Mapping[str, str], name: str, *, flags: Sequence[str], link: Sequence[str],
    files: Sequence[str] | None = None,
) -> bytes:  # fmt: skip
    """What the compiler links from the sources of a robot, by file name; `files` are those to be compiled, by default every one
    that ends in `.c`.

    It shows only the functions of its interface, so the names of the runtime need no prefix: its objects are the same for all
    robots.
    """
    texts = {file: without_prefixes(text, name) for file, text in sources.items()}
    compiled = sorted(x for x in texts if x.endswith(".c")) if files is None else files
    try:
        with tempfile.TemporaryDirectory(prefix="pliant-export-") as made:
            folder = Path(made)
            for file, text in texts.items():
                (folder / file).parent.mkdir(exist_ok=True)
                (folder / file).write_text(text, encoding="utf-8")
            with ThreadPoolExecutor(AT_ONCE) as pool:
                objects = list(pool.map(lambda file: _object(compiler, flags, file, texts, folder), compiled))
            _call([*compiler, "-o", "linked", *objects, *link], folder)
            return (folder / "linked").read_bytes()
    except OSError as reason:
        raise ExportError(f"cannot compile the robot: {reason.strerror or reason}", "free some disk space") from reason


def _object(compiler: Sequence[str], flags: Sequence[str], file: str, texts: Mapping[str, str], folder: Path) -> str:
    """The object file of a source file; those of the runtime are taken from the cache if possible."""
    made = folder / f"{file}.o"
    command = [*compiler, *flags, "-c", file, "-o", str(made)]
    if not file.startswith(f"{RUNTIME}/"):
        _call(command, folder)
        return str(made)
    key = hashlib.sha256("\0".join([*compiler, *flags]).encode())
    for name in sorted(texts):
        if name == file or (name.startswith(f"{RUNTIME}/") and name.endswith(".h")):
            key.update(f"{name}\0{texts[name]}\0".encode())
    kept = writable_cache(cache_folder()) / f"object-{key.hexdigest()[:24]}.o"
    if not is_sound(kept, private=True):
        _call(command, folder)
        try:
            write_whole(kept, made.read_bytes())
            write_whole(kept.with_suffix(".sum"), digest(kept).encode())
        except OSError:
            return str(made)
    return str(kept)


def _call(command: Sequence[str], folder: Path) -> None:
    environment = os.environ | compiler_environment(command, cache_folder(), folder)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        raise ExportError(f"the compiler {command[0]} rejected the sources:\n{done.stderr[:2000]}")
