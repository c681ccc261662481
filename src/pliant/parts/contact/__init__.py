"""Contacts: the contact law, and the collision shapes of bodies, rods and meshes."""

from pliant.parts.contact.contact import Contact, Friction

__all__ = ["Contact", "Friction"]
