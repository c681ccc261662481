"""Requirements of meshes on their sections and materials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from pliant.language.message_text import KeyPath
from pliant.parts.mesh.base import MeshBase
from pliant.robot.semantic_checks import SemanticChecks

Finding: TypeAlias = tuple[str, str, KeyPath, str, str]


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
