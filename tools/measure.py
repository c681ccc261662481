"""Measures of the source: size, named numbers, exceptions, complexity, imports. `python tools/measure.py [--json]`."""

import argparse
import ast
import builtins
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
STEPS = {
    "load": "spec = pliant.load('pendulum')",
    "derive": "equations = pliant.derive(spec)",
    "simulate": "pliant.simulate(equations, 0.01)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="a JSON object instead of a table")
    parser.add_argument("--list", action="store_true", help="also what was counted, by name")
    options = parser.parse_args()
    counted = measures()
    if options.json:
        print(json.dumps({name: value if options.list else size(value) for name, value in counted.items()}, indent=2))
        return
    for name, value in counted.items():
        print(f"{name:<36}{size(value):>8}")
        if options.list and isinstance(value, list) and name != "modules":
            print("".join(f"    {entry}\n" for entry in value), end="")


def size(value: int | list[str]) -> int:
    return value if isinstance(value, int) else len(value)


def measures() -> dict[str, int | list[str]]:
    """Every measure: a number, or the names of what was counted."""
    sources = {module_name(path): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    trees = {module: ast.parse(text) for module, text in sources.items()}
    exceptions = exception_classes(trees)
    public = public_names()
    return {
        "lines of Python": sum(text.count("\n") for text in sources.values()),
        "modules": list(sources),
        "modules with a single importer": single_importers(trees),
        "named numbers": [name for module, tree in trees.items() for name in named_numbers(module, tree)],
        "public exception classes": [name for name in exceptions if name.rpartition(".")[2] in public],
        "other exception classes": [name for name in exceptions if name.rpartition(".")[2] not in public],
        "functions of complexity over 10": complex_functions(),
        **imported_modules(),
        "files with save_every": [module for module, text in sources.items() if "save_every" in text],
    }


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def single_importers(trees: dict[str, ast.Module]) -> list[str]:
    """Modules that exactly one other module imports; `__init__.py`, which gathers names, does not count as one."""
    packages = {module_name(path) for path in SOURCE.rglob("__init__.py")}
    importers = defaultdict(set)
    for module, tree in trees.items():
        for imported in imports(module, tree, module in packages):
            target = imported if imported in trees else imported.rpartition(".")[0]
            if target in trees and target != module and module not in packages:
                importers[target].add(module)
    return [module for module in trees if len(importers[module]) == 1 and module not in packages]


def imports(module: str, tree: ast.Module, is_package: bool) -> Iterator[str]:
    """Full names that a module imports, whether of modules or of what is in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: len(module.split(".")) - node.level + is_package] if node.level else []
            base = ".".join(parents + ([node.module] if node.module else []))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def named_numbers(module: str, tree: ast.Module) -> Iterator[str]:
    """Upper-case names that a module sets to a number, or to an expression of numbers."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, value in pairs:
                if isinstance(name, ast.Name) and name.id.isupper() and is_number(value):
                    yield f"{module}.{name.id}"


def is_number(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    return False


def exception_classes(trees: dict[str, ast.Module]) -> list[str]:
    """Classes derived from an exception, directly or over others of the package."""
    bases = {
        f"{module}.{node.name}": [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    exceptions = {name for name in dir(builtins) if re.search("(Error|Exception|Warning|Interrupt|Exit)$", name)}
    exceptions |= {"UsageError", "ClickException", "BadParameter"}
    while grown := {full.rpartition(".")[2] for full, of in bases.items() if exceptions & set(of)} - exceptions:
        exceptions |= grown
    return [full for full, of in bases.items() if exceptions & set(of)]


def public_names() -> set[str]:
    """Names that users import: of `pliant` and its public folders."""
    stub = ast.parse((SOURCE / "pliant" / "__init__.pyi").read_text())
    return {
        alias.asname or alias.name
        for node in ast.walk(stub)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def complex_functions() -> list[str]:
    command = [sys.executable, "-m", "ruff", "check", "--select", "C901", "--output-format", "json", str(SOURCE)]
    found = subprocess.run([*command, "--config", "lint.mccabe.max-complexity=10"], capture_output=True, text=True)
    return [f"{Path(entry['filename']).relative_to(SOURCE)}: {entry['message']}" for entry in json.loads(found.stdout)]


def imported_modules() -> dict[str, int | list[str]]:
    """Modules of Pliant in a fresh process after each step on a pendulum."""
    lines = ["import json, sys, pliant", "after = {}"]
    for name, statement in STEPS.items():
        lines += [statement, f"after['{name}'] = sorted(m for m in sys.modules if m.split('.')[0] == 'pliant')"]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPATH": str(SOURCE)}
        program = "\n".join([*lines, "print(json.dumps(after))"])
        process = subprocess.run(
            [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
    return {f"modules imported by {name}": modules for name, modules in json.loads(process.stdout).items()}


if __name__ == "__main__":
    main()
