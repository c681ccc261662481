"""Requirements of rods and meshes on their sections and materials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from pliant.language.message_text import KeyPath
from pliant.parts.mesh.base import MeshBase
from pliant.parts.section.material import FIBRE_LAWS
from pliant.robot.semantic_checks import SemanticChecks

Finding: TypeAlias = tuple[str, str, KeyPath, str, str]
"""Collection, name of the part, path in it, message and hint."""

NEEDED = {"density": "kg/m^3", "youngs_modulus": "Pa"}
"""Properties that every material of a rod needs, with units."""


def rod_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that materials are complete, and that a table of sections describes the entire rod and contains no tables."""
    for name, rod in checked.flat.rods.items():
        sections = [checked.flat.sections[key] for key in rod.section if key in checked.flat.sections]
        if len(sections) < len(rod.section):
            continue  # reported as a reference to nothing
        yield from _materials(checked, name, rod, sections)
        yield from _tables(checked, name, rod, sections)


def _materials(checked: SemanticChecks, name: str, rod: Any, sections: list[Any]) -> Iterator[Finding]:
    inner = [checked.flat.sections.get(key) for section in sections for _, key in section.stations_by_arc_length()]
    needed = any(section.needs_material for section in [*sections, *inner] if section is not None)
    if needed and not rod.material:
        message = f"the rod '{name}' has no material"
        yield "rods", name, (), message, "add `material`; only sections of shape `stiffness` need none"
    law = FIBRE_LAWS.get(rod.law)
    key_of_law = law.key if law is not None else ""
    if key_of_law and not needed and not rod.material:
        message = f"the law '{rod.law}' needs `{key_of_law}` of a material, and the rod '{name}' has none"
        yield "rods", name, ("law",), message, f"add a `material` with `{key_of_law}`, or choose another law"
    for index, key in enumerate(rod.material):
        material = checked.flat.materials.get(key)
        if material is None or checked.broken.touches("materials", key):
            continue
        missing = [field for field in NEEDED if getattr(material, field) is None]
        if material.poissons_ratio is None and material.shear_modulus is None:
            missing.append("poissons_ratio")
        if missing:
            message = f"the rod '{name}' needs {' and '.join(missing)} of its material '{key}'"
            yield "rods", name, ("material", index), message, f"add {' and '.join(missing)} to the material"
        if key_of_law and getattr(material, key_of_law) is None:
            message = f"the law '{rod.law}' of the rod '{name}' needs `{key_of_law}` of its material '{key}'"
            yield "rods", name, ("law",), message, f"add `{key_of_law}` to the material, or choose another law"


def _tables(checked: SemanticChecks, name: str, rod: Any, sections: list[Any]) -> Iterator[Finding]:
    for index, section in enumerate(sections):
        stations = section.stations_by_arc_length()
        if not stations:
            continue
        if len(sections) > 1:
            message = f"the section '{rod.section[index]}' is a table, which describes the entire rod"
            yield "rods", name, ("section", index), message, "give only the table"
            continue
        if any(
            checked.flat.sections[key].stations_by_arc_length() for _, key in stations if key in checked.flat.sections
        ):
            yield "sections", rod.section[index], ("stations",), "a table cannot contain another table", ""


def mesh_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that sections apply to every edge, and that materials are complete."""
    for name, mesh in checked.flat.meshes.items():
        found: set[tuple[KeyPath, str]] = set()
        for number in mesh.edge_numbers:
            for path, message, hint in _edge_problems(checked, name, mesh, number):
                if (path, message) not in found:
                    found.add((path, message))
                    yield "meshes", name, path, message, hint


def _edge_problems(
    checked: SemanticChecks, name: str, mesh: MeshBase, number: int
) -> Iterator[tuple[KeyPath, str, str]]:
    """Faults of the section and the material of the edges of an entry of `edges`, counted from 1; 0 for the others."""
    section_name, material_name = mesh.section_of(number)
    section, material = checked.flat.sections.get(section_name or ""), checked.flat.materials.get(material_name or "")
    if section is not None and section.stations_by_arc_length():
        message = f"the section '{section_name}' is a table, which describes a rod from base to tip"
        yield mesh.path_of(number, "section"), message, "name one of the sections in it"
    elif section is not None and section.needs_material and material_name is None:
        yield mesh.path_of(number, "section"), "`section` needs `material` beside it", "add `material`"
    if material is None or checked.broken.touches("materials", material_name or ""):
        return
    for need in mesh.material_needs(number):
        if all(getattr(material, key) is None for key in need):
            message = f"the mesh '{name}' needs {' or '.join(need)} of its material '{material_name}'"
            yield mesh.path_of(number, "material"), message, f"add {need[0]} to the material"
