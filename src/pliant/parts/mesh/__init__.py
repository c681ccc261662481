"""Meshes: nodes and edges from a drawing, one type per file. A new type is one file and one name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.mesh.base import MeshBase
from pliant.parts.mesh.membrane import Membrane
from pliant.parts.mesh.shell import Shell

Mesh: TypeAlias = Annotated[Membrane | Shell, ByType("mesh")]
