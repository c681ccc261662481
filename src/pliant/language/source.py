"""Source of a model: its text, its folder, and the files that it may read."""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from pliant.language.arguments import ArgumentError
from pliant.language.faults import Fault, Place, SpecError, path_text
from pliant.language.files import will_be_written
from pliant.language.limits import limits, most
from pliant.language.message_text import KeyPath, describe, nearest, suggestion
from pliant.language.provided import provided
from pliant.language.tree import Tree, merge, parse_yaml

MODEL_FOLDER = FilePath(__file__).parent.parent / "models"
"""Folder of the bundled robots."""

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Source:
    """The origin of a model.

    file: name in messages, empty for a model built in Python. tree: the text, with places. folder: folder of its other files.
    roots: additional folders that it may read from. parents: the files that include or attach it, and the file itself. notes:
    features of models in other formats that are not imported. all_variants: the text before a variant was selected.
    variant: its name. flat: whether a model built in Python is flat.
    """

    file: str = ""
    tree: Tree | None = None
    folder: FilePath | None = None
    roots: tuple[FilePath, ...] = ()
    parents: tuple[FilePath, ...] = ()
    notes: tuple[Fault, ...] = ()
    all_variants: Tree | None = None
    variant: str = ""
    flat: bool = False

    @property
    def is_flat(self) -> bool:
        """Whether the model is flat, by its origin or its text: it may use names of instances and of attached models."""
        if self.flat:
            return True
        flat = self.tree.child("flat") if self.tree is not None else None
        return flat is not None and flat.value is True

    def fault(self, path: KeyPath, message: str, hint: str = "") -> Fault:
        """A fault at a path of this model, with its line."""
        path, place = self.tree.find(path) if self.tree else (path, None)
        place = place or Place(self.file, None)
        return Fault(message, hint, path_text(path), place.file or None, place.line)

    def path_of_instance(self, path: KeyPath, instance: int) -> KeyPath:
        """The path of the value of an instance (counted from 1): an entry of `each`, if the text has one value per instance."""
        tree = self.tree
        for step in path:
            tree = tree.child(step) if tree is not None else None
        each = tree.child("each") if tree is not None else None
        return path if each is None or each.child(instance - 1) is None else (*path, "each", instance - 1)

    def find(self, name: str) -> FilePath:
        """A file named in the model, in its folder or below, or in an additional folder; raises FileProblem."""
        if self.folder is None:
            message = f"cannot find {describe(name)}: the model has no folder"
            raise FileProblem(message, "load the model from a file, or give `folder`")
        given = FilePath(name)
        if "\0" in name or len(name) > 500:
            raise FileProblem(f"{describe(name)} is not a file name")
        try:
            path = (self.folder / given).resolve()
            allowed = any(path.is_relative_to(root.resolve()) for root in (self.folder, *self.roots))
            exists = allowed and path.exists()
        except (OSError, ValueError, RuntimeError):
            raise FileProblem(f"{describe(name)} is not a file name") from None
        if not allowed:
            hint = "move it there, or allow its folder with --folder (in Python, `folders`)"
            raise FileProblem(f"{describe(name)} is outside the folder of the model", hint)
        if not exists:
            names = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
            hint = suggestion(path.name, names, "files are searched in the folder of the model")
            raise FileProblem(f"there is no file {describe(name)}", hint)
        if not path.is_file():
            raise FileProblem(f"cannot read {describe(name)}: it is {file_kind(path.stat().st_mode)}", "name a file")
        if will_be_written(path):
            raise FileProblem(
                f"{describe(name)} is read here, and the command would replace it", "choose another file to write"
            )
        return path


@dataclass(frozen=True)
class ImportedFile:
    """A file of another format as a model: its tree, with lines of the file as places, and notes on features not imported.

    tree: values shared by many parts are `defaults`. explicit: all values are in their parts, which can be merged with others.
    """

    tree: Tree
    explicit: Tree
    notes: tuple[Fault, ...] = ()


SET_FILE = "set"
"""Location of faults of values that were set outside of the model file."""


class FileProblem(ValueError):
    """A file that cannot be used; `hint` suggests a fix, `path` is the key in the part that refers to it."""

    def __init__(self, message: str, hint: str = "", path: KeyPath = ()) -> None:
        super().__init__(message)
        self.hint, self.path = hint, path


def check_file(path: FilePath, what: str, limit: str) -> None:
    """Check that a file is a regular file and within a limit on its size; raises FileProblem.

    what: the file in messages. limit: the name of the limit.
    """
    size = check_kind(path, what)
    if size > getattr(limits(), limit):
        raise FileProblem(f"{what} is too large ({size / 1e6:.1f} MB)", most(limit))


def check_kind(path: FilePath, what: str) -> int:
    """The size of a file [bytes]; raises FileProblem if it is not a regular file, or cannot be read."""
    try:
        found = path.stat()
    except OSError as error:
        raise FileProblem(f"cannot read {what}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise FileProblem(f"cannot read {what}: it is {file_kind(found.st_mode)}", "give a file")
    if not os.access(path, os.R_OK):
        raise FileProblem(f"cannot read {what}: permission denied", "change its permissions")
    return found.st_size


def file_kind(mode: int) -> str:
    """The type of something that is not a regular file, by its mode."""
    kinds = {stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((word for is_kind, word in kinds.items() if is_kind(mode)), "a device")


def bundled() -> list[str]:
    """Names of the bundled robots."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(MODEL_FOLDER) if name.endswith(".yaml"))


def locate(model: str) -> FilePath:
    """The file of a model given as a path or as the name of a bundled robot."""
    path = FilePath(model)
    if "\0" in model:
        raise SpecError([Fault("a file name cannot contain a zero character")], describe(model))
    if model in bundled():
        return MODEL_FOLDER / f"{model}.yaml"
    try:
        if path.is_file():
            return path
        what = f"it is {file_kind(path.stat().st_mode)}" if path.exists() else "there is no such file"
    except OSError:
        what = "it is not a file name"
    looks_like_file = path.suffix in SUFFIXES or len(path.parts) > 1
    match = nearest(model, bundled())
    if match:
        hint = f"did you mean the bundled robot '{match}'?"
    elif looks_like_file:
        hint = "check the path"
    else:
        hint = f"give a file, or one of the bundled robots: {', '.join(bundled())}"
    raise SpecError([Fault(f"cannot open the model {describe(model)}: {what}", hint, file=model)], model)


def read_file(path: FilePath, source: Source, *, included: bool = False) -> Source:
    """The source with the tree of its file, a model file or one in an imported format; raises SpecError.

    included: whether other parts are merged with those of the file, which then has no defaults of its own making.
    """
    shown = source.file
    try:
        check_kind(path, "the file")
        with path.open("rb") as file:
            data = file.read(int(limits().model))
        reader = reader_of(data)
        if reader is None and is_markup(data):
            hint = "URDF and MJCF are imported; pliant new --list shows model files to begin with"
            raise SpecError(
                [Fault("the file is not a model: it is XML, but neither URDF nor MJCF", hint, file=shown)], shown
            )
        check_file(path, "the file", "model")
        if reader is not None:
            imported: ImportedFile = reader(path.read_bytes(), source)
            return replace(source, tree=imported.explicit if included else imported.tree, notes=imported.notes)
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text (byte {error.start})"
        raise SpecError([Fault(message, "a model is a text file: save it as UTF-8", file=shown)], shown) from None
    except FileProblem as problem:
        raise SpecError([Fault(str(problem), problem.hint, file=shown)], shown) from None
    except OSError as error:
        raise SpecError([Fault(f"cannot read the file: {error.strerror}", file=shown)], shown) from None
    tree = parse_yaml(text, shown)
    if not isinstance(tree.value, dict):
        message = "the file is not a model: expected a mapping (key: value)"
        raise SpecError([Fault(message, "begin with `pliant: 1`", file=shown, line=1)], shown)
    return replace(source, tree=tree)


def read_source(
    path: FilePath, *, shown: str | None = None, roots: tuple[FilePath, ...] = (), parents: tuple[FilePath, ...] = ()
) -> Source:
    """A model file with its includes merged in."""
    source = Source(shown or str(path), None, path.parent, roots, (*parents, path.resolve()))
    return with_includes(read_file(path, source), [0])


def with_includes(source: Source, count: list[int]) -> Source:
    """The source with the content of included files merged below its tree. count: number of files included so far."""
    tree = source.tree or Tree({})
    given = tree.value.get("include") if isinstance(tree.value, dict) else None
    if given is None:
        return source
    names = given.value if isinstance(given.value, list) else [given]
    merged, notes = Tree({}), source.notes
    faults: list[Fault] = []
    for index, entry in enumerate(names):
        place = ("include", index)
        if not isinstance(entry.value, str):
            faults.append(source.fault(place, f"expected a file name, got {describe(entry.value)}"))
            continue
        count[0] += 1
        if count[0] > limits().includes:
            faults.append(source.fault(place, "too many files are included", most("includes")))
            break
        try:
            path = source.find(entry.value)
            if path in source.parents:
                chain = " -> ".join(step.name for step in (*source.parents, path))
                raise FileProblem(f"files include each other in a circle: {chain}", "remove one of the includes")
            roots, parents = (*source.roots, *_own(source)), (*source.parents, path)
            inner = Source(shown_beside(path, source), None, path.parent, roots, parents)
            inner = with_includes(read_file(path, inner, included=True), count)
            merged, notes = merge(merged, inner.tree or Tree({})), (*notes, *inner.notes)
        except FileProblem as problem:
            faults.append(source.fault(place, str(problem), problem.hint))
        except SpecError as error:
            faults.extend(error.faults)
    if faults:
        raise SpecError(faults, source.file)
    rest = {key: value for key, value in tree.value.items() if key != "include"}
    return replace(source, tree=merge(merged, Tree(rest, tree.place)), notes=notes)


def _own(source: Source) -> tuple[FilePath, ...]:
    return (source.folder,) if source.folder else ()


def shown_beside(path: FilePath, source: Source) -> str:
    """The name of a file in messages: if it is in the folder of the model, relative to the model as the user named it."""
    folder = source.folder.resolve() if source.folder else path.parent
    beside = FilePath(source.file).parent
    return str(beside / path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def with_variant(source: Source, variant: str | None) -> Source:
    """The model with the changes of a variant merged in, and without the key `variants`."""
    tree = source.tree or Tree({})
    if variant is None:
        return source
    if not isinstance(variant, str):
        raise ArgumentError(f"the variant must be a name, not {describe(variant)}")
    variants = tree.value.get("variants")
    known = variants.value if variants is not None and isinstance(variants.value, dict) else {}
    if variant not in known:
        names = ", ".join(map(str, known)) or "none"
        hint = suggestion(variant, map(str, known), f"known variants: {names}")
        message = f"the model has no variant {describe(variant)}"
        raise SpecError([source.fault(("variants",), message, hint)], source.file)
    rest = Tree({key: value for key, value in tree.value.items() if key != "variants"}, tree.place)
    change = known[variant]
    if not isinstance(change.value, dict):
        message = f"expected a mapping (key: value), got {describe(change.value)}"
        raise SpecError([source.fault(("variants", variant), message)], source.file)
    for key in ("variants", "include", "pliant"):
        if key in change.value:
            message = f"a variant cannot change `{key}`"
            raise SpecError([source.fault(("variants", variant, key), message, "remove it")], source.file)
    return replace(source, tree=merge(rest, change), all_variants=tree, variant=variant)


# -- files in other formats ----------------------------------------------------------------------------------------------

_BEFORE_ROOT = rb"\s++|<\?.*?\?>|<!--.*?-->|<![A-Za-z][^<\[>]*+(?:\[.*?\])?\s*+>"
_ROOT = re.compile(rb"(?:\xef\xbb\xbf)?(?>" + _BEFORE_ROOT + rb")*+<(\w+)", re.DOTALL)
"""The first element of an XML file, after declarations and comments; possessive, so that matching does not backtrack."""


def reader_of(data: bytes) -> Callable[..., Any] | None:
    """The function that reads an XML file with this content as a model, selected by the root element; None if there is none."""
    start = _ROOT.match(data)
    return provided(f"<{start[1].decode()}>") if start else None


def is_markup(data: bytes) -> bool:
    """Whether a file with this content is XML or HTML."""
    return data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
