"""Remarks where a result leaves the range of the model: rods that bend or stretch too far, tendons with negative tension."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from pliant.analysis.numerics.law_ranges import (
    Poses,
    helices,
    law_range_texts,
    model_strains,
    parameter_values,
    strains_times_length,
)
from pliant.analysis.numerics.loop_closure import SILENT_BELOW
from pliant.analysis.remark import Words, joined, remark
from pliant.engine.binding import Binding
from pliant.engine.equations import Equations
from pliant.engine.model.model import Model
from pliant.language.arrays import distinct
from pliant.language.evaluate import depends_on_state
from pliant.parts.assembly.entries import RodStation
from pliant.parts.assembly.system import FrameForceInstance
from pliant.parts.formula.relative import ENDS
from pliant.parts.link import BEAM, ROPE, Beam
from pliant.parts.mesh import Membrane, Shell
from pliant.parts.mesh.base import EDGE
from pliant.parts.output.quantities import ConstraintOutput, ReactionOutput
from pliant.parts.rod.base import TURN_SHARE
from pliant.parts.rod.properties import material_entries
from pliant.parts.rod.rod import Rod
from pliant.parts.section.base import MaterialValues, OneSection
from pliant.parts.tendon import TensionTendon

OFF_SURFACE = 0.25
"""Distance of a rod's axis from the edges of its contact surface, as a fraction of its radius, above which a remark is made."""
STATES = 200
"""Number of states of a motion that are examined, including the last one."""

SMALL_TURN = 0.2
"""Rotations of a linear beam above this are not small [rad]: the error of its deflection is then 1 to 2 percent."""

FORGOTTEN = 0.05
"""Missing fraction of the energy of a link's stretch above which it is reported: that of a linear spring in place of a beam."""
EDGES = 200_000
"""Number of edges of a mesh that are examined in all states together: more would take as long as short runs."""

UNEVEN_TURN = 0.3
"""Second difference of the turns of three successive elements above which it can matter [rad]: a tenth of it is an angle of the
tip by which the rod's shape is off."""

LONG_ELEMENT = 1.4
"""Length of elements relative to that of a boundary layer above which a remark is made: the tip of a rod of five segments of
constant strain is then off by 2 percent of its horizontal distance, and less for other models."""

STIFF = 1e9
"""Young's modulus that separates metals, glass and hard plastics from rubber [Pa]."""

LARGEST_STRAIN = {True: 0.05, False: 0.5}
"""Strain up to which a linear law is assumed to describe the material, of stiff and of soft materials [-]: the former yield or
break well before, the latter stiffen or soften by a third or more beyond."""


@remark("a rod, link, mesh or law is beyond the range of its model", "the thresholds of `analysis/remarks/validity.py`")
def beyond_range(eqs: Equations, result: Any) -> Words:
    """Parts that are turned, bent or strained beyond the range of validity of their models."""
    seen = result.examined
    return joined(parts_beyond_range(eqs.model, seen.history[0][1], seen.q))


def parts_beyond_range(model: Model, bound: Binding, states: np.ndarray) -> list[str]:
    """A text for each part that leaves the range of validity of its model in any of the states (n x q)."""
    states = np.asarray(states, dtype=float)
    picked = distinct(np.linspace(0, len(states) - 1, min(STATES, len(states))).astype(int))
    looked_at = _States(bound, [q for q in states[picked] if np.all(np.isfinite(q))])
    watched = (
        _turn_limits, _linear_beams, _large_strains, _short_bends, _laws, _turned_links, _sideways_links, _strained_edges,
        _straight_surfaces,
    )  # fmt: skip
    return [text for watch in watched for text in watch(model, bound, looked_at)]


@remark("outputs record reactions of redundant constraints", "redundant constraints share loads in any way")
def reactions_not_unique(eqs: Equations, result: Any) -> Words:
    """Reactions of redundant constraints are not unique: they are those without contributions of redundant components."""
    model, bound = eqs.model, result.assembled.bound
    names = [
        name for name, output in model.spec.outputs.items() if isinstance(output, ReactionOutput | ConstraintOutput)
    ]
    if not names or bound.active_rows.all():
        return None
    rows = [row for row, active in zip(model.constraint_names(), bound.active_rows, strict=True) if not active]
    return (
        f"redundant constraints: {', '.join(rows[:6])} {'follows' if len(rows) == 1 else 'follow'} from the "
        f"others and carr{'ies' if len(rows) == 1 else 'y'} no load here; the reactions ({', '.join(names[:6])}) are "
        "therefore not unique"
    )


@remark(f"open by more than {SILENT_BELOW:g} of the size of a coordinate", "smaller gaps are not visible in any result")
def constraints_that_opened(eqs: Equations, result: Any) -> Words:
    """Constraints that were switched off at the start as redundant, and opened later."""
    bound, motion = result.record.history[0].bound, result.record.motion
    time, q, v = motion.time, motion.q, motion.v
    off = ~bound.active_rows
    if not np.any(off):
        return None
    gaps = np.zeros(bound.m)
    for k in distinct(np.linspace(0, len(time) - 1, min(STATES, len(time))).astype(int)):
        values = np.abs(bound.constraint_values(time[k], q[k], v[k])[0])
        gaps = np.maximum(
            gaps, np.where(values > SILENT_BELOW * bound.constraint_sizes(time[k], q[k], v[k]), values, 0.0)
        )
    open_ = [
        f"{name} by {gap:.3g}"
        for name, gap, out in zip(eqs.model.constraint_names(), gaps, off, strict=True)
        if out and gap
    ]
    if not open_:
        return None
    return (
        f"constraints that were switched off at the start are violated during the motion: {', '.join(open_[:6])} (m or "
        "rad). The robot starts in a singular pose, in which they are redundant; start from another one"
    )


@dataclass(frozen=True)
class _States:
    """Some states, and the poses of all nodes in each, which are computed on first use."""

    bound: Binding
    q: Sequence[np.ndarray]

    @cached_property
    def poses(self) -> list[Poses]:
        return [self.bound.node_poses(q) for q in self.q]

    def along(self, stations: Sequence[RodStation]) -> tuple[list[RodStation], Poses]:
        """Poses of the nodes of a rod's stations in all states at once, and the stations numbered as in these."""
        at = [station.node for station in stations]
        rotations, places = (np.stack([poses[k][at] for poses in self.poses]) for k in (0, 1))
        return [replace(station, node=k) for k, station in enumerate(stations)], (rotations, places)


def _turn_limits(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Rods whose sections rotate almost as far as their model allows."""
    if not model.turn_limits:
        return
    a = np.array([limit.first for limit in model.turn_limits])
    b = np.array([limit.second for limit in model.turn_limits])
    allowed = np.array([limit.angle for limit in model.turn_limits])
    placed = [bound.constants[limit.constants : limit.constants + 9] for limit in model.turn_limits]
    placements = np.array(placed).reshape(-1, 3, 3).transpose(0, 2, 1)
    largest = np.zeros(len(allowed))
    for rotations, _ in states.poses:
        first = rotations[a] @ placements
        cosines = 0.5 * (np.einsum("nij,nij->n", first, rotations[b]) - 1)
        largest = np.fmax(largest, np.arccos(np.clip(cosines, -1, 1)))
    for rod in dict.fromkeys(limit.rod for limit in model.turn_limits):
        mine = [k for k, limit in enumerate(model.turn_limits) if limit.rod == rod]
        worst = max(mine, key=lambda k: largest[k] / allowed[k])
        if largest[worst] >= TURN_SHARE * allowed[worst]:
            kind = model.spec.rods[rod].model.kind if rod in model.spec.rods else "of the mesh's edge"
            angle, most = np.degrees(largest[worst]), np.degrees(allowed[worst])
            yield (
                f"the rod '{rod}' turns by {angle:.3g} deg where the states of its model '{kind}' can follow up to "
                f"{most:g} deg; {model.turn_limits[worst].hint}"
            )


def _linear_beams(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Links with linear beams whose displacements are not small."""
    for name, rod in model.spec.rods.items():
        if not rod.model.is_linear:
            continue
        turns: dict[str, list[int]] = {}
        for c in model.coordinates:
            if c.name.startswith(f"{name}.section[") and c.unit == "rad":
                turns.setdefault(c.name.rpartition(".")[0], []).append(c.q_at)
        largest = max((float(np.linalg.norm(q[at])) for q in states.q for at in turns.values()), default=0.0)
        if largest > SMALL_TURN:
            # a cantilever with a force at its tip: the first term that the linear element omits
            error = f"its error is about {100 * largest**2 / 3:.2g} percent" if largest < 1 else "its result is useless"
            yield (
                f"the rod '{name}' turns by {np.degrees(largest):.3g} deg, but its model '{rod.model.kind}' is for small "
                f"deflections: {error}; use the rod model finite_element"
            )


def _large_strains(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Rods with a linear law whose strains are far beyond the linear range of materials."""
    value = parameter_values(model, bound)
    start = np.asarray(model.initial(bound.parameters)[0]).ravel()
    for name, stations in model.rod_stations.items():
        rod = model.spec.rods.get(name)
        if rod is None:  # the edge of a mesh
            continue
        varies = any(depends_on_state(factor, rod.state_names(), value) for factor in rod.stiffness_factors)
        if rod.law != "linear" or varies or rod.model.is_linear or len(stations) < 2:
            continue
        half_x, half_y = _half_sizes(model, rod.section, value)
        moduli = [model.spec.materials[x].youngs_modulus for x in rod.material]
        stiff = bool(moduli) and all(E is not None and value(E) >= STIFF for E in moduli)
        length, rest = value(rod.length), strains_times_length(bound.constants, stations, bound.node_poses(start))
        change = (strains_times_length(bound.constants, *states.along(stations)) - rest) / length
        worst, how = _largest_strain(change[..., :3], change[..., 3:], half_x, half_y)
        if worst > LARGEST_STRAIN[stiff] and name in model.strain_samples:
            started, every = (
                model_strains(model, bound, name, start),
                [model_strains(model, bound, name, q) for q in states.q],
            )
            moved = [np.stack([one[k] - started[k] for one in every]) for k in (0, 1)]
            worst, how = _largest_strain(moved[0], moved[1], half_x, half_y)
        if worst > LARGEST_STRAIN[stiff]:
            strain = (
                f"by {100 * worst:.3g} percent" if how != "bent" else f"to {100 * worst:.3g} percent of strain outside"
            )
            yield _far_strained(f"the rod '{name}' is {how} {strain}", stiff, "elements")


def _largest_strain(along: np.ndarray, turning: np.ndarray, half_x: float, half_y: float) -> tuple[float, str]:
    """The largest strain of a rod in some states, from changes of its translational and rotational strains (states x n x 3)."""
    stretch = float(along[..., 2].flat[np.argmax(np.abs(along[..., 2]))])
    bent = float(np.max(np.hypot(half_y * turning[..., 0], half_x * turning[..., 1])))
    return max((abs(stretch), "stretched" if stretch > 0 else "compressed"), (bent, "bent"))


def _short_bends(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Rods that bend over a length shorter than their elements: boundary layers of length sqrt(EI / tension).

    With turns per element ..., a, b, c, ..., a layer of length d in elements of length h has (a - 2 b + c) / b = (h / d)^2.
    """
    value = parameter_values(model, bound)
    for name, stations in model.rod_stations.items():
        rod = model.spec.rods.get(name)
        if rod is None or len(stations) < 4:
            continue
        places = np.array([station.x for station in stations])
        places = places[np.concatenate([[True], np.diff(places) > 1e-9])]
        lengths, middles = np.diff(places), (places[1:] + places[:-1]) / 2
        # moments may jump between samples of different spans
        samples = model.strain_samples[name]
        nearest = np.abs(np.array([sample.x for sample in samples]) - middles[:, None]).argmin(axis=1)
        span = np.array([samples[k].span for k in nearest])
        bends = strains_times_length(bound.constants, *states.along(stations))[..., 3:5]
        slopes = np.diff(bends, axis=-2) / np.diff(middles)[:, None]
        change = np.diff(slopes, axis=-2) / (middles[2:] - middles[:-2])[:, None] * 2 * lengths[1:-1, None] ** 3
        turn = np.linalg.norm(bends * lengths[:, None], axis=-1)
        uneven = np.linalg.norm(change, axis=-1)
        short = (uneven > UNEVEN_TURN) & (uneven > LONG_ELEMENT**2 * turn[..., 1:-1]) & (span[2:] == span[:-2])
        if not np.any(short):
            continue
        count = rod.model.pieces()
        enough = max(2 * count, _elements_under_weight(model, rod, value))
        yield (
            f"the rod '{name}' turns by {np.degrees(float(turn.max())):.3g} deg over one of the {count} pieces of its model and "
            "much less over the next: it bends over a shorter length than that, sqrt(EI / tension), so the result is coarse; use "
            f"more elements, such as {enough} of the model `finite_element`, until it no longer changes"
        )


def _elements_under_weight(model: Model, rod: Rod, value: Callable[[object], float]) -> int:
    """Number of elements as long as the boundary layer at a support that carries a rod's weight: sqrt(w L^3 / EI)."""
    material = model.spec.materials[rod.material[0]] if rod.material else None
    found = None if material is None else MaterialValues(*material_entries(material, value))
    _, station = (model.spec.sections[rod.section[0]].stations_by_arc_length() or [(0, rod.section[0])])[0]
    section = model.spec.sections[station]
    assert isinstance(section, OneSection), "a table holds no other table: checked when the model was read"
    properties, length = section.properties(value, found), value(rod.length)
    gravity = float(np.linalg.norm([value(g) for g in model.spec.world.gravity]))
    softest = min(float(stiffness) for stiffness in properties.stiffness[3:5])
    return math.ceil(math.sqrt(float(properties.mass) * gravity * length**3 / softest))


def _laws(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Rods close to the limits of their laws."""
    if any(rod.law != "linear" or rod.chambers for rod in model.spec.rods.values()):
        yield from law_range_texts(model, bound, states.q, states.poses)


def _half_sizes(model: Model, sections: Sequence[str], value: Callable[[object], float]) -> tuple[float, float]:
    """Half of the largest dimensions of a rod's sections along x and y [m]; zero if only their stiffness is known."""
    sizes = [(0.0, 0.0)]
    for name in sections:
        stations = model.spec.sections[name].stations_by_arc_length()
        for key in [station for _, station in stations] or [name]:
            one = model.spec.sections[key]
            if isinstance(one, OneSection):
                sizes.append(one.half_sizes(value))
    return max(x for x, _ in sizes), max(y for _, y in sizes)


def _turned_links(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Beam links whose ends rotate relative to each other until their rotations become ambiguous."""
    value = parameter_values(model, bound)
    for name, link in model.spec.links.items():
        if not isinstance(link, Beam):
            continue
        turning = any(depends_on_state(k, link.state_names(), value) or value(k) for k in link.stiffness[3:])
        if not (link.measure == "midpoint" or turning):
            continue
        ends = _placed_ends(bound, [bound.system.frame_forces[model.link_forces[name]]])
        largest = max((float(np.linalg.norm(ends.between(*poses)[0])) for poses in states.poses), default=0.0)
        if largest >= TURN_SHARE * np.pi:
            yield (
                f"the ends of the link '{name}' turn by {np.degrees(largest):.3g} deg against each other; beyond 180 deg its "
                "deformation jumps. Add stiffness against turning, or measure displacements in the first frame (`map: first`)"
            )


def _sideways_links(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Beam links that are moved sideways so far that a beam between these frames would rather be stretched: their six springs act
    along axes that do not turn towards it."""
    value = parameter_values(model, bound)
    for name, link in model.spec.links.items():
        if not isinstance(link, Beam) or any(depends_on_state(k, link.state_names(), value) for k in link.stiffness):
            continue
        stiffness = np.array([value(k) for k in link.stiffness])
        force = bound.system.frame_forces[model.link_forces[name]]
        rest = bound.constants[force.constants + BEAM.at["rest"] :][:6]
        length = float(np.linalg.norm(rest[:3]))
        if stiffness[:3].min() <= 0 or length == 0 or any(way != "both" for way in link.direction):
            continue
        ends = _placed_ends(bound, [force])
        worst = (1.0, 0.0)
        for rotations, positions in states.poses:
            turn, apart = ends.between(rotations, positions)
            half = scipy.spatial.transform.Rotation.from_rotvec((0.5 if link.measure == "midpoint" else 0.0) * turn[0])
            deformation = np.concatenate([half.inv().apply(apart[0]), turn[0]]) - rest
            stretch = float(np.linalg.norm(apart)) - length
            stretched = float(stiffness[:3] @ (rest[:3] / length) ** 2) * stretch**2
            worst = min(worst, (float(stiffness @ deformation**2) / max(stretched, 1e-300), stretch))
        if worst[0] < 1 - FORGOTTEN:
            yield (
                f"the link '{name}' is moved sideways until the distance of its ends has changed by {100 * worst[1] / length:.3g} "
                f"percent, but its six springs act along fixed axes and store {100 * worst[0]:.2g} percent of the energy of this "
                "stretch; use a rod in its place"
            )


@dataclass(frozen=True)
class _Ends:
    """Ends of forces between two frames: nodes (n x 2), and rotations (n x 3 x 3) and positions (n x 3) of each end on its node."""

    nodes: np.ndarray
    rotations: tuple[np.ndarray, np.ndarray]
    positions: tuple[np.ndarray, np.ndarray]

    def between(self, rotations: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotation vector and position of the second end in the first (n x 3 each), for poses of all nodes."""
        (R, p), (S, r) = (
            (rotations[at] @ turned, positions[at] + np.einsum("nij,nj->ni", rotations[at], place))
            for at, turned, place in zip(self.nodes.T, self.rotations, self.positions, strict=True)
        )
        turns = scipy.spatial.transform.Rotation.from_matrix(np.einsum("nji,njk->nik", R, S)).as_rotvec()
        return turns, np.einsum("nji,nj->ni", R, r - p)


def _placed_ends(bound: Binding, forces: Sequence[FrameForceInstance]) -> _Ends:
    """The ends of forces whose constants begin with `ENDS`."""
    constants = np.stack([bound.constants[force.constants : force.constants + ENDS.size] for force in forces])
    turned = [constants[:, k : k + 9].reshape(-1, 3, 3).transpose(0, 2, 1) for k in (0, 12)]
    placed = [constants[:, k + 9 : k + 12] for k in (0, 12)]
    return _Ends(np.array([force.nodes for force in forces]), (turned[0], turned[1]), (placed[0], placed[1]))


def _strained_edges(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Edges of meshes that are stretched far beyond the linear range of materials, or turned over."""
    value = parameter_values(model, bound)
    for name, mesh in model.spec.meshes.items():
        forces = [force for force in bound.system.frame_forces if force.source == name]
        if not forces:
            continue
        picked = distinct(
            np.linspace(0, len(states.q) - 1, max(1, min(len(states.q), EDGES // len(forces)))).astype(int)
        )
        at = np.array([force.constants for force in forces])
        rest = bound.constants[at + (EDGE.at["length"] if isinstance(mesh, Shell) else ROPE.at["rest"])]
        longest, shortest, turn = -np.inf, np.inf, 0.0
        for k in picked:
            if isinstance(mesh, Shell):
                turns, apart = _placed_ends(bound, forces).between(*states.poses[k])
                way = helices(turns, apart)[:, :3]
                length = np.linalg.norm(way, axis=1)
                tilt = np.arccos(np.clip(way[:, 2] / np.maximum(length, 1e-300), -1, 1))
                turn = max(turn, float(tilt.max()), float(np.linalg.norm(turns, axis=1).max()))
            else:
                length = _distances(bound, forces, states.poses[k])
            longest, shortest = max(longest, float(np.max(length / rest))), min(shortest, float(np.min(length / rest)))
        if turn >= TURN_SHARE * np.pi:
            yield (
                f"an edge of the mesh '{name}' turns by {np.degrees(turn):.3g} deg, from one node to the other or against both; "
                "beyond 180 deg it unwinds to the other side. Use more cells"
            )
        named = {mesh.section_of(number)[1] for number in mesh.edge_numbers}
        moduli = [model.spec.materials[x].youngs_modulus for x in named if x is not None]
        if not moduli:
            continue  # a law of its own, for instance of ropes that are drawn out far
        stiff = all(E is not None and value(E) >= STIFF for E in moduli)
        if isinstance(mesh, Membrane) and mesh.direction == "tension":
            shortest = 1.0
        worst, how = max((longest - 1, "stretched"), (1 - shortest, "compressed"))
        if worst > LARGEST_STRAIN[stiff]:
            yield _far_strained(f"an edge of the mesh '{name}' is {how} by {100 * worst:.3g} percent", stiff, "cells")


def _distances(bound: Binding, forces: Sequence[FrameForceInstance], poses: Poses) -> np.ndarray:
    """Distances of the points between which forces act, whose constants begin with `POINTS`."""
    rotations, positions = poses
    ends = []
    for k in (0, 1):
        nodes = np.array([force.nodes[k] for force in forces])
        points = np.stack([bound.constants[force.constants + 3 * k :][:3] for force in forces])
        ends.append(positions[nodes] + np.einsum("nij,nj->ni", rotations[nodes], points))
    return np.asarray(np.linalg.norm(ends[1] - ends[0], axis=1))


def _far_strained(what: str, stiff: bool, divided: str) -> str:
    """A remark on a part that is strained beyond `LARGEST_STRAIN`."""
    kind = "a stiff material withstands" if stiff else "the linear law describes"
    return (
        f"{what}, more than {kind} (up to {100 * LARGEST_STRAIN[stiff]:g} percent is accepted without a remark); check its "
        f"stiffness, its loads and its number of {divided}"
    )


def _straight_surfaces(model: Model, bound: Binding, states: _States) -> Iterator[str]:
    """Rods in contact that bend so much between the stations of their model that their piecewise straight surface is inaccurate."""
    for shape in bound.system.contacts.shapes:
        stations = model.rod_stations.get(shape.name, ())
        if len(stations) < 2:
            continue
        constants = np.array([bound.constants[s.constants : s.constants + 12] for s in stations])
        nodes = [s.node for s in stations]
        radius = min(float(bound.constants[vertex.constants + 3]) for vertex in shape.vertices)
        if shape.corners:  # the radius of its edges, and the depth of the triangles between them
            radius += float(bound.constants[shape.constants])
        largest = 0.0
        for rotations, positions in states.poses:
            tangents = np.einsum("nij,nj->ni", rotations[nodes], constants[:, 6:9])
            places = positions[nodes] + np.einsum("nij,nj->ni", rotations[nodes], constants[:, 9:])
            cosines = np.einsum("ni,ni->n", tangents[:-1], tangents[1:])
            angles, chords = np.arccos(np.clip(cosines, -1, 1)), np.linalg.norm(np.diff(places, axis=0), axis=1)
            largest = max(
                largest, float(np.max(0.5 * chords * np.tan(0.25 * angles)))
            )  # the height of an arc over its chord
        if largest > OFF_SURFACE * radius:
            yield (
                f"the rod '{shape.name}' touches with straight edges between the stations of its model, which are up to "
                f"{1e3 * largest:.2g} mm off its axis where it bends (half its thickness is {1e3 * radius:.2g} mm); use more "
                "elements"
            )


LEFT_OPEN = "a tendon has friction that statics leaves open", "friction at rest may have any value below its limit"


@remark(*LEFT_OPEN)
def friction_of_tendons_linearized(eqs: Equations, result: Any) -> Words:
    """Friction of tendons acts on small motions as a viscous damper."""
    which = _tendons_with_open_friction(eqs.model)
    return which and f"friction of {which} acts on small motions as a viscous damper that forms within `slip_speed`"


@remark(*LEFT_OPEN)
def friction_of_tendons_at_rest(eqs: Equations, result: Any) -> Words:
    """Friction of tendons is omitted where statics does not determine it."""
    which = _tendons_with_open_friction(eqs.model)
    return which and (
        f"friction of {which} is indeterminate at rest and was omitted. `at_rest: pulled` (`released`) gives the pose to "
        "which the line was pulled (let out)"
    )


def _tendons_with_open_friction(model: Model) -> str:
    names = [name for name, x in model.spec.tendons.items() if x.has_friction and x.at_rest == "none"]
    return f"the tendon{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}" if names else ""


@remark("a commanded tension is negative", "a tendon cannot push")
def slack_tendons(eqs: Equations, result: Any) -> Words:
    """Tendons that were commanded to push, and were slack."""
    model, lowest = eqs.model, result.examined.lowest_signals
    tensions = {
        name: float(lowest[model.system.routes[model.routes[name]].signals])
        for name, tendon in model.spec.tendons.items()
        if isinstance(tendon, TensionTendon)
    }
    return joined(
        f"the tendon '{name}' was commanded to {value:.3g} N; a tendon cannot push, so it was slack"
        for name, value in tensions.items()
        if value < 0
    )
