"""Records of a build: coordinates, arcs, pieces and turns of rods, carried nodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import ArcCoordinates, Motion


@dataclass(frozen=True)
class CoordinateEntry:
    """Index of a named coordinate: `q[q_at]`, `v[v_at]`; a free rotation has four and three entries. `unit` is its SI
    unit, empty if unknown."""

    name: str
    q_at: int
    v_at: int
    is_rotation: bool
    spec: Any = None
    unit: str = ""

    @property
    def q_names(self) -> tuple[str, ...]:
        """Names of its numbers in q."""
        return tuple(f"{self.name}.{x}" for x in ("qw", "qx", "qy", "qz")) if self.is_rotation else (self.name,)

    @property
    def v_names(self) -> tuple[str, ...]:
        """Names of its numbers in v."""
        return tuple(f"{self.name}.{x}" for x in ("wx", "wy", "wz")) if self.is_rotation else (self.name,)


@dataclass(frozen=True)
class ArcEntry:
    """A circular arc of a rod: the node at its end, and its coordinates."""

    node: int
    coordinates: ArcCoordinates


@dataclass(frozen=True)
class NodePlan:
    """A node to be moved by an element: its motion, its placement in the base node, the motion's constants."""

    motion: Motion
    placement: Pose
    constants: tuple[Any, ...] = ()


@dataclass(frozen=True)
class CarriedNode:
    """A node with its own pose relative to the world, and its carrier: initially it moves with that node."""

    node: int
    carrier: int


@dataclass(frozen=True)
class Requirement:
    """A condition on the values of the parameters: its location in the model, the message if it is violated, a hint."""

    path: str
    message: str
    hint: str


@dataclass(frozen=True)
class RodPiece:
    """A piece of rod of a length [m] that moves with a node, placed on it, around fraction x of the rod's length."""

    node: int
    placement: Pose
    length: Any
    x: float
    span: tuple[float, float] | None = None
    """Fractions of the ends of the part of the rod that pieces of the same span represent together."""


@dataclass(frozen=True)
class RodSpan:
    """A part of a rod between two sections, each a node and a placement on it; in between it follows both sections as a parabola
    with their tangents, as its mass does."""

    near: tuple[int, Pose]
    far: tuple[int, Pose]
    length: Any
    """Undeformed [m]."""
    tangent: Sequence[Any]
    """Of the undeformed rod at both sections, in their axes."""
    ends: tuple[float, float]
    """Fractions of the rod's length."""


PieceArguments = tuple[int, Pose, Any, float, tuple[float, float]]
"""Attributes of a `RodPiece`."""


@dataclass(frozen=True)
class RodStation:
    """A station of a rod: its node, the index of its placement in the constants, its fraction of the length."""

    node: int
    constants: int
    x: float


@dataclass(frozen=True)
class TurnLimit:
    """Limit of the rotation of a node of a rod relative to another one (or to a frame on it), beyond which its states are not
    unique.

    constants: index of the frame's placement on the first node; angle: the limit [rad]; hint: suggested fix.
    """

    rod: str
    first: int
    second: int
    constants: int
    angle: float
    hint: str


@dataclass(frozen=True)
class SectionState:
    """A section of a rod: its six strains [-, 1/m], the response of its material, elastic and viscous, and the force of chambers,
    each a force and a moment in the section's axes [N, N m] conjugate to the strains."""

    strain: Any
    material: Any
    actuation: Any


@dataclass(frozen=True)
class StrainSample:
    """A point at which the strains and section forces of a rod model are most accurate.

    Attributes:
        x: fraction of the rod's length.
        of_force, of_moment: whether it is used for the first three strains and the force, and for the last three and the moment.
        span: strains or forces may jump between samples of different spans.
        order: number of successive samples whose polynomial has the order of the model.
        force: index of the section law in the system.
        on_frames: whether that is a force between frames; otherwise one on coordinates.
        state: `(q, v, constants, signals)` of a force on coordinates or `(poses, twists, constants, signals)` of one between frames
            to the section's state, in CasADi's symbols.
    """

    x: float
    of_force: bool
    of_moment: bool
    span: int
    order: int
    force: int
    on_frames: bool
    state: Callable[[Any, Any, Any, Any], SectionState]


class PartsByName(Protocol):
    """A flat robot as its parts see it: all parts by name."""

    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def materials(self) -> Mapping[str, Any]: ...
    @property
    def surfaces(self) -> Mapping[str, Any]: ...
    @property
    def world(self) -> Any: ...
    @property
    def sections(self) -> Mapping[str, Any]: ...
    @property
    def bodies(self) -> Mapping[str, Any]: ...
    @property
    def joints(self) -> Mapping[str, Any]: ...
    @property
    def rods(self) -> Mapping[str, Any]: ...
    @property
    def meshes(self) -> Mapping[str, Any]: ...
    @property
    def loads(self) -> Mapping[str, Any]: ...
    @property
    def magnets(self) -> Mapping[str, Any]: ...
    @property
    def links(self) -> Mapping[str, Any]: ...
    @property
    def tendons(self) -> Mapping[str, Any]: ...
    @property
    def contacts(self) -> Mapping[str, Any]: ...
    @property
    def constraints(self) -> Mapping[str, Any]: ...
    @property
    def outputs(self) -> Mapping[str, Any]: ...
