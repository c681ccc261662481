"""Requirements of meshes on their sections and materials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from pliant.language.message_text import KeyPath

if TYPE_CHECKING:
    from pliant.spec.semantic_checks import SemanticChecks

Finding: TypeAlias = tuple[str, str, KeyPath, str, str]


def mesh_problems(checked: SemanticChecks) -> Iterator[Finding]:
    """Check that sections apply to every edge, and that materials are complete."""
    for name, mesh in checked.flat.meshes.items():
        section = checked.flat.sections.get(mesh.section or "")
        if section is not None and section.stations_by_arc_length():
            message = f"the section '{mesh.section}' is a table, which describes a rod from base to tip"
            yield "meshes", name, ("section",), message, "name one of the sections in it"
        elif section is not None and section.needs_material and mesh.material is None:
            yield "meshes", name, ("section",), "`section` needs `material` beside it", "add `material`"
        material = checked.flat.materials.get(mesh.material or "")
        if material is None or checked.broken.touches("materials", mesh.material or ""):
            continue
        for need in mesh.material_needs():
            if all(getattr(material, key) is None for key in need):
                message = f"the mesh '{name}' needs {' or '.join(need)} of its material '{mesh.material}'"
                yield "meshes", name, ("material",), message, f"add {need[0]} to the material"
