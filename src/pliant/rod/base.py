"""What every rod model offers: one number that says how fine it is, and a way to add itself to a system."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from pliant.language.base import Part, Problem
from pliant.language.scalar import Scalar
from pliant.rod.strains import ALL, Free

if TYPE_CHECKING:
    from pliant.model.build import Build
    from pliant.rod.properties import RodProperties
    from pliant.rod.rod import Rod


class RodModelBase(Part):
    """A model of a rod. Final classes add `kind`, the field that `fineness` names, and their options."""

    fineness: ClassVar[str] = "elements"
    """The field that says how fine the model is: the N of `KIND:N`."""

    most_joined: ClassVar[int] = 40
    """How many pieces it may have for laws that join all pieces of a rod, which then make one force."""

    is_linear: ClassVar[bool] = False
    """Whether it holds for small deflections only."""

    @classmethod
    def takes(cls, free: Free) -> Free:
        """The free strains that this kind has where a rod asks for these: the nearest set that it can have, these at best.

        By default all six: the other strains follow from its coordinates and cannot be held.
        """
        return ALL

    @property
    def has_own_drag(self) -> bool:
        """Whether `apply` adds the drag of `rod.mass_damping` itself, by its own mass; otherwise it acts on its pieces."""
        return False

    def rod_problems(self, rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
        """What this model cannot do for a rod; paths start at the rod."""
        yield from ()

    def pieces(self) -> int:
        """Number of pieces on which the section law acts."""
        return int(getattr(self, self.fineness))

    def arcs(self) -> int:
        """Number of circular arcs that the rod is made of; 0 for models without."""
        return 0

    @abstractmethod
    def apply(self, build: Build, rod: RodProperties) -> None:
        """Add the rod to the system: elements, masses, section forces, and all of its frames by name."""
