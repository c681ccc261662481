"""Contacts: points pressed against a surface, one surface per file. A new surface is one more file and one more name here."""

from typing import Annotated, TypeAlias

from pliant.contact.base import ContactBase
from pliant.contact.capsule import CapsuleContact
from pliant.contact.cylinder import CylinderContact
from pliant.contact.plane import PlaneContact
from pliant.language.base import ByType

Contact: TypeAlias = Annotated[PlaneContact | CylinderContact | CapsuleContact, ByType("contact")]
