"""Rods whose sections have absolute poses: arc lengths of the sections, and their coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca

from pliant.language.base import Problem
from pliant.language.scalar import Scalar
from pliant.parts.assembly.build import Build
from pliant.parts.formula.base import Effect, FrameForce
from pliant.parts.formula.relative import relative_chain, relative_deformation, relative_force
from pliant.parts.geometry import se3, so3
from pliant.parts.geometry.se3 import Pose
from pliant.parts.motion import FREE, PLANAR_XZ, PLANAR_YZ, Fields
from pliant.parts.rod.base import limit_turns
from pliant.parts.rod.properties import WORLD, RodProperties
from pliant.parts.rod.section_law import Law, joins_pieces, mean_stretch
from pliant.parts.rod.stations import ROUND_OFF
from pliant.parts.rod.strains import ALL, IN_PLANE, LABELS, Free, Plane, plane_of

if TYPE_CHECKING:
    from pliant.parts.rod.rod import Rod


ANEW = "load the model with these values instead: load(..., set={...})"
"""Hint for errors where other values of parameters would change which section a frame is on."""

Place = tuple[int, Pose]
"""A node, and a placement on it."""


@dataclass(frozen=True)
class Mesh:
    """Arc lengths of the sections of a rod, including base and tip.

    Attributes:
        arc_lengths: of all sections, as numbers or expressions [m].
        lengths: of the elements between them [m]; equal lengths are the same object.
        fractions: of the rod's length, at the model's own parameter values.
        frames: index of the section of each named frame.
    """

    arc_lengths: tuple[Any, ...]
    lengths: tuple[Any, ...]
    fractions: tuple[float, ...]
    frames: dict[str, int]

    def span(self, k: int) -> tuple[float, float]:
        """Fractions of the ends of the element from section k to the next."""
        return self.fractions[k], self.fractions[k + 1]

    def fraction(self, k: int, x: float) -> float:
        """Fraction of the rod at fraction x of the element from section k to the next."""
        return self.fractions[k] + x * (self.fractions[k + 1] - self.fractions[k])


def mesh(build: Build, rod: RodProperties, elements: int) -> Mesh:
    """Sections with at least this number of elements between them; every named frame is a section.

    Elements are equal between neighbouring frames and as equal as possible overall; their distribution is determined
    at the model's own parameter values.
    """
    stops: dict[float, Any] = {0.0: 0.0, 1.0: rod.length}
    where = {}
    for name, at in rod.attachments.items():
        exact = rod.places[name]
        place = next((x for x in stops if abs(x - exact) < 1e-9), exact)
        stops.setdefault(place, at)
        where[name] = place
        apart = f"the frame '{name}' separates from another one that it coincides with in the model"
        build.require(
            ROUND_OFF * rod.length - ca.fabs(at - stops[place]), f"rods.{rod.name}.frames.{name}", apart, ANEW
        )
    for station in rod.sections:
        if station.x in rod.steps and not any(abs(x - station.x) < ROUND_OFF for x in stops):
            stops[station.x] = station.fraction * rod.length
    places = sorted(stops)
    gaps = [b - a for a, b in pairwise(places)]
    counts = [1] * len(gaps)
    while sum(counts) < elements:
        longest = max(range(len(gaps)), key=lambda i: gaps[i] / counts[i])
        counts[longest] += 1
    if sum(counts) > elements:
        build.rod_elements[rod.name] = sum(counts)
        build.remarks.append(
            f"the rod '{rod.name}' has {sum(counts)} elements where {elements} were requested: every frame and eyelet "
            + ("and every step of its section is the end of one" if rod.steps else "along it is the end of one")
        )
    arc_lengths, lengths, fractions, index = [stops[0.0]], list[Any](), [0.0], {0.0: 0}
    for a, b, count in zip(places[:-1], places[1:], counts, strict=True):
        text = "its frames change their order, which determines the placement of its elements"
        build.require(stops[b] - stops[a], f"rods.{rod.name}.frames", text, ANEW)
        shares = [j / count for j in range(1, count + 1)]
        # as a column: creating hundreds of expressions individually is slow
        arc_lengths += se3.scalars(stops[a] + (stops[b] - stops[a]) * ca.DM(shares))
        lengths += [(stops[b] - stops[a]) / count] * count
        fractions += [a + (b - a) * share for share in shares]
        index[b] = len(arc_lengths) - 1
    frames = {name: index[place] for name, place in where.items()}
    return Mesh(tuple(arc_lengths), tuple(lengths), tuple(fractions), frames)


def strains_of_sections(free: Free) -> Free:
    """The free strains of a rod whose sections have absolute poses: all, or those of the plane in which they move."""
    plane = plane_of(free)
    return ALL if plane is None else IN_PLANE[plane]


def plane_problems(rod: Rod, value: Callable[[Scalar], float]) -> Iterator[Problem]:
    """Check that rest strains of planar sections are in their plane."""
    free = rod.free_strains()
    for k, (label, rest) in enumerate(zip(LABELS, rod.rest, strict=True)):
        if k not in free and value(rest) != 0:
            text = f"the rest strain {label} is {value(rest):g}, which is out of the {plane_of(free)} plane"
            yield ("rest", k), text, "omit `strains`, or set that strain to zero"


def sections(build: Build, rod: RodProperties, arc_lengths: Sequence[Any]) -> list[Place]:
    """Frames of the rod's sections, including the base: free on the world, or moving in a plane if its strains are planar."""
    plane = plane_of(rod.free)
    if plane is None:
        return free_sections(build, rod, arc_lengths)
    return planar_sections(build, rod, arc_lengths, plane)


def free_sections(build: Build, rod: RodProperties, arc_lengths: Sequence[Any]) -> list[Place]:
    """Free frames on the world, one per section except the first, which is the rod's base; they start in the rod's shape."""
    base, twist = se3.compose(build.initial_pose(rod.node), rod.placement), build.initial_twist(rod.node)
    places: list[Place] = [(rod.node, rod.placement)]
    turned, positions = _started_sections(build, rod, base, twist, arc_lengths[1:])
    velocities = ca.repmat(twist[0:3], 1, len(turned)) + so3.hat(twist[3:6]) @ positions
    entries = zip(turned, se3.columns(positions), se3.columns(velocities), strict=True)
    for k, ((quaternion, rates), p, moving) in enumerate(entries, start=1):
        element = build.element(WORLD, [build.plan(FREE, se3.identity())])
        build.carry(element.nodes[0], rod.node)
        name = f"{rod.name}.section[{k}]"
        for j, axis in enumerate("xyz"):
            build.coordinate(f"{name}.{axis}", element.q_at + j, element.v_at + j, p[j], moving[j], unit="m")
        build.orientation(f"{name}.orientation", element.q_at + 3, element.v_at + 3, quaternion, rates)
        places.append((element.nodes[0], se3.identity()))
    limit_turns(build, rod, places, arc_lengths, math.pi, "use more elements")
    return places


def _started_sections(
    build: Build, rod: RodProperties, base: Pose, twist: Any, arc_lengths: Sequence[Any]
) -> tuple[list[tuple[list[Any], list[Any]]], Any]:
    """Initial orientation of each section as a quaternion and its rates in its own axes, and all positions (3 x n) [m]."""

    def turned(R: Any) -> tuple[list[Any], list[Any]]:
        return build.quaternion(R), build.entries(R.T @ twist[3:6])

    straight = rod.curve.straight
    if straight is not None:
        along = ca.vertcat(straight[0], straight[1], 1 + straight[2]) @ ca.horzcat(*arc_lengths)
        return [turned(base[0])] * len(arc_lengths), ca.repmat(base[1], 1, len(arc_lengths)) + base[0] @ along
    poses = [se3.compose(base, rod.curve.pose(s)) for s in arc_lengths]
    return [turned(R) for R, _ in poses], ca.horzcat(*(p for _, p in poses))


def planar_sections(build: Build, rod: RodProperties, arc_lengths: Sequence[Any], plane: Plane) -> list[Place]:
    """Frames on the world that move in a plane of the initial axes of the base.

    Their coordinates are displacements along these axes and the angle about the plane's normal.
    """
    motion, along = (PLANAR_XZ, 0) if plane == "xz" else (PLANAR_YZ, 1)
    base, twist = se3.compose(build.initial_pose(rod.node), rod.placement), build.initial_twist(rod.node)
    _refuse_base_out_of_plane(build, rod, base, 1 - along, plane)
    places: list[Place] = [(rod.node, rod.placement)]
    for k, s in enumerate(arc_lengths[1:], start=1):
        element = build.element(WORLD, [build.plan(motion, base)])
        build.carry(element.nodes[0], rod.node)
        R, p = rod.curve.pose(s)
        slide = base[0].T @ se3.point_velocity(twist, base[1] + base[0] @ p)
        rates = (slide[along], slide[2], (base[0].T @ twist[3:6])[1 - along])
        refuse_shape_out_of_plane(build, rod, (R, p), 1 - along, plane)
        # about the normal z rotates towards x, but away from y
        angle = ca.atan2(R[along, 2], R[2, 2]) * (1 if along == 0 else -1)
        for j, (label, start) in enumerate(((plane[0], p[along]), ("z", p[2]), ("angle", angle))):
            name, unit = f"{rod.name}.section[{k}].{label}", "rad" if label == "angle" else "m"
            build.coordinate(name, element.q_at + j, element.v_at + j, start, rates[j], unit=unit)
        places.append((element.nodes[0], se3.identity()))
    limit_turns(build, rod, places, arc_lengths, math.pi, "use more elements")
    return places


def _refuse_base_out_of_plane(build: Build, rod: RodProperties, base: Pose, normal: int, plane: Plane) -> None:
    """Check that the carrier of the base moves it in the plane only: all its twists are then in the plane."""
    R, p = base
    twists = build.initial_twists(rod.node)
    turns = R.T @ twists[3:6, :]
    slides = R.T @ (twists[0:3, :] - so3.hat(p) @ twists[3:6, :])
    across = [turns[k, j] for k in range(3) for j in range(twists.shape[1]) if k != normal]
    across += [slides[normal, j] for j in range(twists.shape[1])]
    text = f"the rod moves in its {plane} plane, but its parent can leave that plane"
    hint = "omit `strains`, or attach the parent by joints that move in the plane"
    for amount in across:
        build.require(ROUND_OFF - ca.fabs(amount), f"rods.{rod.name}.strains", text, hint)


def refuse_shape_out_of_plane(build: Build, rod: RodProperties, section: Pose, normal: int, plane: Plane) -> None:
    """Check that a section of a rod's shape is in the plane in which the rod moves."""
    R, p = section
    text = f"the rod moves in its {plane} plane, but its shape leaves that plane"
    for amount in (p[normal] / rod.length, R[normal, normal] - 1):
        build.require(ROUND_OFF - ca.fabs(amount), f"rods.{rod.name}.strains", text, "omit `strains`")


def name_frames(build: Build, rod: RodProperties, places: Sequence[Place], frames: dict[str, int]) -> None:
    """Name the rod's base, its tip and its frames."""
    build.name_frame(rod.name, *places[0])
    for frame, k in frames.items():
        build.name_frame(f"{rod.name}.{frame}", *places[k])
    build.name_frame(f"{rod.name}.tip", *places[-1])


def add_elements(
    build: Build, rod: RodProperties, places: Sequence[tuple[int, Pose]], constants: Sequence[Sequence[Any]],
    force: Callable[..., FrameForce],
) -> list[tuple[int, int, int]]:  # fmt: skip
    """Add the elements between neighbouring sections, each with its constants; `force(elements=n)` is the force of n successive
    ones.

    Returns for each element the index of its force in the system, its index among those of this force, and their number.
    """
    nodes = [node for node, _ in places]
    together = len(constants) if joins_pieces(rod.law) else 1
    added: list[tuple[int, int, int]] = []
    for k in range(0, len(constants), together):
        every = [number for one in constants[k : k + together] for number in one]
        kind = force(elements=together)
        index = build.system.frame_force(kind, nodes[k : k + together + 1], every, rod.actuation or 0, rod.name)
        added += [(index, j, together) for j in range(together)]
    return added


@dataclass(frozen=True)
class ElementState:
    """An element between two sections: its mean strain (6), its rate, its derivative with respect to relative increments (6 x 6),
    its constants, and, for a law that couples all elements, their mean stretch and its rate."""

    strain: Any
    rate: Any
    change: Any
    constants: Any
    mean: tuple[Any, Any] | None


def element_state(
    poses: Sequence[Pose], twists: Sequence[Any], c: Any, fields: Fields, strain: Any, index: int, elements: int
) -> ElementState:
    """State of one of several successive elements, with `fields` of each in the constants c; `strain` as in `element_or_chain`."""
    states = []
    for k in range(elements):
        own = c[fields.size * k : fields.size * (k + 1)]
        states.append((*relative_deformation(poses[k : k + 2], twists[k : k + 2], own, strain), own))
    e, rate, change, own = states[index]
    if elements == 1:
        return ElementState(e, rate, change, own, None)
    mean = mean_stretch([x[0] for x in states], [x[1] for x in states], [fields.read(x[3]) for x in states])
    return ElementState(e, rate, change, own, mean)


def element_or_chain(
    name: str, fields: Fields, law: Law, signals: int, elements: int, strain: Any, answer: Callable[..., Effect]
) -> FrameForce:
    """Force of an element from its strain and the section law, or of all elements of a rod that the law couples.

    `answer(strain, rate, constants, signals, mean)` has the mean stretch and its rate as arguments if the law needs them.
    """
    if not joins_pieces(law):
        return relative_force(name, constants=fields.size, signals=signals, deformation=strain, law=answer)

    def shared(e: Any, c: Any) -> tuple[Any, Any]:
        at = fields.read(c)
        return at.length * (1 + e[2] - at.rest[2]), at.length

    return relative_chain(
        f"{name}_{elements}_joined", elements=elements, constants=fields.size, signals=signals, deformation=strain,
        shared=shared, law=answer,
    )  # fmt: skip
