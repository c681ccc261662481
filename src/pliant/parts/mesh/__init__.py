"""Meshes: nodes and edges from a drawing. A new type is one more class and one more name here."""

from typing import Annotated, TypeAlias

from pliant.language.base import ByType
from pliant.parts.mesh.base import MeshBase
from pliant.parts.mesh.membrane import Membrane
from pliant.parts.mesh.shell import Shell

Mesh: TypeAlias = Annotated[Membrane | Shell, ByType("mesh")]
