"""Quasi-static control of soft robots: equilibrium inputs for the reference of the task, with feedback of the error.

The model's equilibrium follows the reference: gravity and elasticity are compensated at the reference pose, damping and
inertia of the motion along it as loads, and errors are fed back through the derivative of the task with respect to the inputs at
equilibrium.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.analysis.motion.events import Now
from pliant.control.limits import Limits, Shortfalls, closest_inputs, named
from pliant.control.static_model import StaticModel
from pliant.control.task import Reference, Task, TaskState, typical_size
from pliant.engine.binding import Binding
from pliant.engine.contact_sums import STEP, contact_sums, indexed_questions
from pliant.engine.core import check_names
from pliant.engine.equations import Equations, Values
from pliant.engine.model.contact_shapes import ContactLaw, ContactShape
from pliant.language.arguments import ArgumentError, flag, number
from pliant.parts.contact import LawNumbers
from pliant.parts.output.base import CONTACT_SUMS, ContactQuery


@dataclass
class StaticControl:
    """Controller that makes a task follow a path slowly: the inputs of the model's equilibrium there, plus feedback.

    Feedback `proportional` [-], `integral` [1/s] and `derivative` [s] of the task's error acts through the change of the
    task per input at equilibrium. If there are more inputs than the task needs, those nearest to the initial ones are used. A
    path that starts out of reach within the limits of the inputs is an error, unless `least_squares` is set. See
    `ConstraintControl` for fast motions. `seconds` is the computation time of each command [s].
    """

    equations: Equations
    task: Task
    path: Reference
    sample_time: float = 0.02
    proportional: float = 0.0
    integral: float = 2.0
    derivative: float = 0.0
    inputs: tuple[str, ...] | None = None
    limits: Limits | None = None
    least_squares: bool = False
    parameters: Values | None = None
    delay: float = 0.0
    name: str = "static control"
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        for gain in ("proportional", "integral", "derivative"):
            setattr(self, gain, number(f"the {gain} gain of {named(self)}", getattr(self, gain)))
        flag("least_squares", self.least_squares)
        self._model = StaticModel(self.equations, self.task, self.inputs, self.limits, self.parameters)
        self._shortfalls = Shortfalls(self.equations, self._model.inputs, self._model.limits)
        self._path = self.path.checked(self.task.size, named(self))

    def start(self, now: Now) -> None:
        """Reset the internal state; the model starts from its own equilibrium."""
        self._model.reset(now.inputs)
        self._model.enter(self._path.value(now.t), nearest=self.least_squares, title=named(self))
        self._sum = np.zeros(self.task.size)
        self._last = self._model.u
        self._far, self._missed = 0.0, 0
        self._shortfalls.reset()
        self.seconds.clear()

    def command(self, now: Now) -> dict[str, float]:
        """The inputs at this sample."""
        begin = time.perf_counter()
        model, limits = self._model, self._model.limits
        ahead = now.t + 0.5 * self.sample_time
        wanted = self._path.value(ahead)
        missed = model.move(wanted, steps=2)
        motion = self.task.motion(now.equations, now.q, now.v, None, now.parameters)
        error, slip = self._path.value(now.t) - motion.value, self._path.rate(now.t) - motion.rate
        correction = self.proportional * error + self.integral * self._sum + self.derivative * slip
        _, gain, _ = model.sensitivity()
        correction = correction + model.lag(self._path.rate(ahead), self._path.acceleration(ahead))
        lower, upper = limits.within(model.inputs, self._last, self.sample_time)
        wish = gain @ model.u + correction
        w = model.weights
        closest = closest_inputs(w[:, None] * gain, w * wish, lower, upper, preferred=model.u, regularization=1e-10)
        short = self._shortfalls.add(now.t, closest.inputs, closest.binding, closest.cut)
        if missed > 1e-3 * max(1e-6, float(np.linalg.norm(w * wanted)), typical_size(self.task)):
            self._missed += 1
            self._far = max(self._far, missed)
        elif not short:
            self._sum = self._sum + self.sample_time * error
        self._last = closest.inputs
        self.seconds.append(time.perf_counter() - begin)
        return dict(zip(model.inputs, closest.inputs.tolist(), strict=True))

    def remarks_on_run(self) -> list[str]:
        """Warnings of a run."""
        texts = self._shortfalls.remarks(named(self))
        if self._missed:
            at = ""
            if np.any(self._model.binding):
                at = f"; at the end {self._shortfalls.standing(self._model.u, self._model.binding)}"
            texts.append(
                f"{named(self)}: the path could not be reached within the inputs' limits at {self._missed} of "
                f"{self._shortfalls.samples} samples (by up to {self._far:.3g} m or rad{at})"
            )
        return texts


LEAST_SLOPE = 0.5
"""Fraction of the stiffness that a search uses if the contact is open or has just closed, so that it finds the surface."""
UNIT_FORCE = 1.0
"""Force at which a stiffness that depends on the depth is evaluated for a search [N]."""


def _law(eqs: Equations, contact: str) -> ContactLaw:
    return next(law for law in eqs.model.system.contacts.laws if law.name == contact)


def _check_contact(eqs: Equations, contact: str) -> None:
    check_names("contact", [contact], [law.name for law in eqs.model.system.contacts.laws])


@dataclass(frozen=True)
class ContactForce:
    """Total normal force of a contact [N].

    For `StaticControl` and `rest_with`: the model also contains the contact, and the search can start outside of it.
    Friction is not included.
    """

    contact: str
    at_rest_only = True

    @property
    def size(self) -> int:
        """Number of components."""
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        """Description of its component."""
        return (f"force of {self.contact}",)

    def check(self, eqs: Equations) -> None:
        """Reject unknown contacts."""
        _check_contact(eqs, self.contact)

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """The force in a state with its rate, without the damping of the surface."""
        bound = eqs.at(parameters=parameters).binding
        force = self._force_and_gap(eqs, bound, q[None], v[None])[0, :1]
        return TaskState(force, self._derivatives(eqs, bound, q)[:1] @ v, None)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its derivative at rest with respect to increments of the robot, 1 x nv."""
        return self._derivatives(eqs, eqs.at(parameters=parameters).binding, q)[:1]

    def searched(
        self, eqs: Equations, q: np.ndarray, parameters: Values | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, derivative (1 x nv) and weight (1) for a search at rest, extended outside of the surface as if it were adhesive.

        The weight converts a force to a depth, which is comparable with lengths.
        """
        bound = eqs.at(parameters=parameters).binding
        force, gap = self._force_and_gap(eqs, bound, q[None], np.zeros((1, bound.nv)))[0]
        if not np.isfinite(gap):
            raise ArgumentError(f"the distance between the parts of the contact '{self.contact}' is unknown")
        by_force, by_gap = self._derivatives(eqs, bound, q)
        stiffness = self._stiffness(eqs, bound)
        slope = -float(by_force @ by_gap) / max(float(by_gap @ by_gap), 1e-300)
        if slope < LEAST_SLOPE * stiffness:
            by_force = by_force - (LEAST_SLOPE * stiffness - slope) * by_gap
        value = force - stiffness * max(gap, 0.0)
        return np.array([value]), by_force[None], np.array([1 / stiffness])

    def _stiffness(self, eqs: Equations, bound: Binding) -> float:
        """Force per depth [N/m], at a force of one newton if it is not constant."""
        at = _law(eqs, self.contact).constants
        k, p = (float(bound.constants[at + LawNumbers.place(x)]) for x in ("stiffness", "exponent"))
        return p * k * (UNIT_FORCE / k) ** ((p - 1) / p)

    def _force_and_gap(self, eqs: Equations, bound: Binding, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Sum of the normal forces [N] and smallest gap [m] in states, n x 2."""
        asked = indexed_questions(eqs.model.system.contacts, [ContactQuery(self.contact, (), True)])
        found = contact_sums(bound.with_contacts(None), asked, np.zeros(len(q)), q, v)[:, 0]
        return found[:, [CONTACT_SUMS["normal_force"][0], CONTACT_SUMS["gap"][0]]]

    def _derivatives(self, eqs: Equations, bound: Binding, q: np.ndarray) -> np.ndarray:
        """Derivatives of force and gap at rest with respect to increments of the robot, 2 x nv, by central differences."""
        n = bound.nv
        steps = STEP * np.eye(n)
        moved = np.array([bound.increment(q, x) for x in (*steps, *-steps)])
        found = self._force_and_gap(eqs, bound, moved, np.zeros((2 * n, n)))
        return np.asarray((found[:n] - found[n:]).T / (2 * STEP))


@dataclass(frozen=True)
class PlanePosition:
    """Position of a frame's origin along a plane: two components [m] relative to the plane's origin, in its axes.

    contact: a contact with a plane. The first axis is the x axis of the plane's `parent` (y if the normal is close to x) along the
    plane, the second completes a right-handed system with the normal; both move with the plane.
    """

    frame: str
    contact: str

    @property
    def size(self) -> int:
        """Number of components."""
        return 2

    @property
    def labels(self) -> tuple[str, ...]:
        """Descriptions of its components."""
        return tuple(f"place {k} of {self.frame} on {self.contact}" for k in (1, 2))

    def check(self, eqs: Equations) -> None:
        """Reject unknown frames and contacts, and contacts without a plane, or with several."""
        check_names("frame", [self.frame], eqs.frame_names)
        _check_contact(eqs, self.contact)
        planes = self._planes(eqs)
        if len(planes) != 1:
            has = f"planes {', '.join(x.name for x in planes)}" if planes else "no plane"
            raise ArgumentError(
                f"the contact '{self.contact}' has {has}, but positions along a surface need exactly one plane",
                "use a contact with one plane, or components of a frame's position",
            )

    def _planes(self, eqs: Equations) -> list[ContactShape]:
        law, shapes = _law(eqs, self.contact), eqs.model.system.contacts.shapes
        return [shapes[k] for k in sorted(law.first | law.second) if shapes[k].form == "plane"]

    def _place(self, eqs: Equations, bound: Binding) -> tuple[int, np.ndarray, np.ndarray]:
        """Node of the plane, its origin and its two axes (2 x 3) there."""
        (plane,) = self._planes(eqs)
        (corner,) = plane.vertices
        origin, normal = (np.array(bound.constants[at : at + 3]) for at in (corner.constants, plane.constants))
        normal = normal / np.linalg.norm(normal)
        first = np.eye(3)[0 if abs(normal[0]) < 0.9 else 1]
        first = first - normal * (normal @ first)
        first /= np.linalg.norm(first)
        return corner.node, origin, np.array([first, np.cross(normal, first)])

    def motion(
        self, eqs: Equations, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, parameters: Values | None
    ) -> TaskState:
        """Its motion in a state."""
        bound = eqs.at(parameters=parameters).binding
        base, origin, axes = self._place(eqs, bound)
        frame = eqs.frame(self.frame, q, v, a, parameters=parameters)
        assert frame.velocity is not None, "rates are given"
        R, p = (x[base] for x in bound.node_poses(q))
        twist = bound.node_twists(q, v)[base]
        E, away = axes @ R.T, frame.position - p - R @ origin
        rate = E @ (frame.velocity - twist[:3] - np.cross(twist[3:], frame.position))
        acceleration = None
        if a is not None:
            assert frame.acceleration is not None
            moving = bound.node_accelerations(0.0, q, v, a)[base]
            w, at, relative = (
                twist[3:],
                frame.position,
                frame.velocity - twist[:3] - np.cross(twist[3:], frame.position),
            )
            # of the plane's point there, and the Coriolis term
            drag = moving[:3] + np.cross(moving[3:], at) + np.cross(w, twist[:3] + np.cross(w, at))
            acceleration = E @ (frame.acceleration - drag - 2 * np.cross(w, relative))
        return TaskState(E @ away, rate, acceleration)

    def jacobian(self, eqs: Equations, q: np.ndarray, parameters: Values | None) -> np.ndarray:
        """Its Jacobian, 2 x nv."""
        bound = eqs.at(parameters=parameters).binding
        base, _, axes = self._place(eqs, bound)
        at = eqs.frame(self.frame, q, parameters=parameters).position
        own: Any = bound.node_jacobian(q, base)
        plane = own[:3] + np.cross(own[3:].T, at).T
        R = bound.node_poses(q)[0][base]
        return np.asarray(axes @ R.T @ (eqs.frame_jacobian(self.frame, q, parameters=parameters)[:3] - plane))
