"""Contacts: the law by which surfaces push each other, and the surfaces that bodies, rods and meshes have of themselves."""

from pliant.contact.contact import Contact, Friction

__all__ = ["Contact", "Friction"]
