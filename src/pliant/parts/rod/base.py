"""Base of all rod models: a number for the resolution, and a method that adds the rod to a system."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from pliant.language.base import Part, Problem
from pliant.language.scalar import Scalar
from pliant.parts.rod.strains import ALL, Free

if TYPE_CHECKING:
    from pliant.engine.model.build import Build
    from pliant.parts.rod.properties import RodProperties
    from pliant.parts.rod.rod import Rod


class RodModelBase(Part):
    """A rod model. Final classes add `kind`, the field given by `fineness`, and their options."""

    fineness: ClassVar[str] = "elements"
    """The field of the resolution: the N of `KIND:N`."""

    most_joined: ClassVar[int] = 40
    """Maximum number of pieces for laws that couple all pieces of a rod, which then form one force."""

    is_linear: ClassVar[bool] = False
    """Whether it is valid for small deflections only."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        """The free strains of this model if a rod requests these: the nearest supported set.

        By default all six, for models whose coordinates determine all strains.
        """
        return ALL

    @property
    def has_own_drag(self) -> bool:
        """Whether `apply` adds the drag of `rod.mass_damping` itself, from its own mass; otherwise it acts on its pieces."""
        return False

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """Faults if this model does not support a rod; paths start at the rod."""
        yield from ()

    def pieces(self) -> int:
        """Number of pieces on which the section law acts."""
        return int(getattr(self, self.fineness))

    def arcs(self) -> int:
        """Number of circular arcs of the rod; 0 for models without arcs."""
        return 0

    @abstractmethod
    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the rod to the system: elements, masses, section forces, and all of its frames by name."""
