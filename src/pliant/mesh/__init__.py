"""Meshes: nodes and edges from a drawing, one kind per file. A new kind is one more file and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.mesh.base import MeshBase
from pliant.mesh.membrane import Membrane
from pliant.mesh.shell import Shell

Mesh: TypeAlias = Annotated[Membrane | Shell, ByType("mesh")]
