"""Actuators of MuJoCo as inputs: a force `gain * input + constant`, with springs and dampers for servos."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.foreign.document import number
from pliant.foreign.mjcf_tendons import joints, or_zero, points

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

TO_JOINT, TO_JOINT_IN_PARENT, TO_CRANK, TO_TENDON, TO_SITE, TO_BODY = range(6)
"""MuJoCo's numbers of transmission types."""
BALL = 1
INTEGRATOR = 1
"""MuJoCo's number of the dynamics of an actuator that integrates its input."""
TAGS = (
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "general",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "pid",
    "orientation",
)


@dataclass
class Actuator:
    """An actuator: `force = gain * input + constant - stiffness * length - damping * rate`.

    index: its number. name: its name in the file. kind, target: type of the transmission, and number of what it drives. shares:
    force on each hinge or slide per force of the actuator. through: the sites on its tendon. Lengths are those of the transmission,
    gear included.
    """

    index: int
    name: str
    kind: int
    target: int
    gear: np.ndarray
    gain: float
    constant: float
    stiffness: float
    damping: float
    shares: dict[int, float] = field(default_factory=dict)
    through: list[str] | None = None

    @property
    def is_servo(self) -> bool:
        """Whether its force depends on the state of what it drives."""
        return bool(self.stiffness or self.damping)


def add_actuators(reader: Reader) -> None:
    """Add all actuators."""
    for u in range(reader.model.nu):
        actuator = _read(reader, u)
        if actuator is not None:
            _add(reader, actuator)


def _read(reader: Reader, u: int) -> Actuator | None:
    """An actuator with a linear force; None, with a note, for others."""
    model, given = reader.model, reader.model.name("actuator", u)
    kind, gear = int(model.actuator_trntype[u]), model.actuator_gear[u].astype(float)
    target = int(model.actuator_trnid[u][0])
    group = int(model.actuator_group[u])
    if 0 <= group < 31 and int(model.opt_disableactuator) >> group & 1:
        reader.note("an actuator of a disabled group is not imported", given, *TAGS)
        return None
    if model.actuator_gaintype[u] != 0 or model.actuator_biastype[u] > 1:
        reader.note("an actuator whose force is not linear in its input and its joint is not imported", given, *TAGS)
        return None
    bias = model.actuator_biasprm[u][:3].astype(float) if model.actuator_biastype[u] == 1 else np.zeros(3)
    constant, stiffness, damping = float(bias[0]), -float(bias[1]), -float(bias[2])
    gain = float(model.actuator_gainprm[u][0])
    found = Actuator(u, given, kind, target, gear, gain, constant, stiffness, damping)
    if not _transmits(reader, found):
        message = "an actuator that acts on neither joints, sites nor tendons of these is not imported"
        reader.note(message, given, *TAGS)
        return None
    if found.is_servo and not (len(found.shares) == 1 or found.through):
        reader.note("a servo on several coordinates is not imported", given, *TAGS)
        return None
    if int(model.actuator_dyntype[u]) == INTEGRATOR:
        message = "the force of an actuator follows its input here, not the integral of its input"
        reader.note(message, given, *TAGS)
    elif model.actuator_dyntype[u] != 0:
        reader.note("actuator dynamics are not imported: the force follows the input without delay", given, *TAGS)
    if or_zero(model, "actuator_delay", u):
        reader.note("the delay of an actuator is not imported", given, *TAGS)
    return found


def _transmits(reader: Reader, actuator: Actuator) -> bool:
    """Determine what an actuator drives; False if there is no counterpart."""
    kind, target = actuator.kind, actuator.target
    if kind in (TO_JOINT, TO_JOINT_IN_PARENT) and target in reader.coordinates:
        actuator.shares = {target: float(actuator.gear[0])}
        return True
    if kind == TO_JOINT:
        return not actuator.is_servo  # a ball or free joint
    if kind == TO_TENDON:
        actuator.through, shares = points(reader, target), joints(reader, target)
        actuator.shares = {j: float(actuator.gear[0]) * share for j, share in (shares or {}).items()}
        return actuator.through is not None or shares is not None
    return kind == TO_SITE and int(reader.model.actuator_trnid[actuator.index][1]) < 0 and not actuator.is_servo


def _add(reader: Reader, actuator: Actuator) -> None:
    model, u = reader.model, actuator.index
    armature, damping = (or_zero(model, f"actuator_{key}", u) for key in ("armature", "damping"))
    if (armature or damping) and len(actuator.shares) == 1:
        ((j, share),) = actuator.shares.items()
        reader.coordinates[j].damping += share**2 * damping
        reader.coordinates[j].add_armature(share**2 * armature)
    elif armature or damping or or_zero(model, "actuator_dampingpoly", u):
        reader.note("armature and damping of an actuator are not imported", actuator.name, *TAGS)
    name = _input(reader, actuator)
    if len(actuator.shares) == 1 and actuator.is_servo:
        ((j, share),) = actuator.shares.items()
        reader.coordinates[j].add_spring(share**2 * actuator.stiffness, 0.0)
        reader.coordinates[j].damping += share**2 * actuator.damping
    expression = _force(reader, actuator, name)
    first = next((reader.coordinates[j].is_angle for j in actuator.shares), True)
    for j, share in actuator.shares.items():
        own = reader.coordinates[j]
        other = "" if own.is_angle == first else "/1 m" if first else "*1 m"
        own.inputs.append(scaled(share, expression) + other)
        own.has_servo = own.has_servo or actuator.is_servo
    reader.drives_others = reader.drives_others or actuator.kind == TO_SITE or bool(actuator.through)
    if actuator.kind == TO_SITE:
        _push(reader, actuator, expression)
    elif actuator.through:
        _pull(reader, actuator, name, expression)
    elif actuator.kind == TO_JOINT and not actuator.shares:
        _drive_freely(reader, actuator, expression)


def _units(reader: Reader, actuator: Actuator) -> tuple[str, str, str]:
    """Units of force, of the input of a servo, and of its gain."""
    is_angle = bool(actuator.shares) and reader.coordinates[next(iter(actuator.shares))].is_angle
    is_angle = is_angle or _on_ball(reader, actuator)
    force = "N*m" if is_angle else "N"
    if not actuator.is_servo:
        return force, force, ""
    if actuator.stiffness:
        return force, "" if is_angle else "m", "N*m" if is_angle else "N/m"
    return force, "rad/s" if is_angle else "m/s", "N*m*s" if is_angle else "N*s/m"


def _on_ball(reader: Reader, actuator: Actuator) -> bool:
    return actuator.kind == TO_JOINT and int(reader.model.jnt_type[actuator.target]) == BALL


def _input(reader: Reader, actuator: Actuator) -> str:
    """Add the input of an actuator with its bounds, and return its name."""
    model, u = reader.model, actuator.index
    line = reader.line(actuator.name, *TAGS)
    name = reader.document.name("parameters", actuator.name, line=line, kind="input")
    unit = _units(reader, actuator)[1]
    entry: dict[str, Any] = {"value": number(0, unit), "input": True}
    if model.actuator_ctrllimited[u]:
        low, high = (number(x, unit) for x in model.actuator_ctrlrange[u])
        entry |= {"minimum": low, "maximum": high}
        if not model.actuator_ctrlrange[u][0] <= 0 <= model.actuator_ctrlrange[u][1]:
            entry["value"] = min((low, high), key=lambda text: abs(float(str(text).split()[0])))
    reader.document.add("parameters", name, entry, line)
    reader.inputs[u] = name
    return name


def _force(reader: Reader, actuator: Actuator, name: str) -> str:
    """The force of an actuator as an expression of its input, without the terms that depend on the state."""
    model, u = reader.model, actuator.index
    unit, _, gain_unit = _units(reader, actuator)
    force = f"{number(actuator.gain, gain_unit)} * {name}" if actuator.is_servo else scaled(actuator.gain, name)
    if actuator.constant:
        force = f"({force} + {number(actuator.constant, unit)})"
    if model.actuator_forcelimited[u]:
        low, high = (number(x, unit) for x in model.actuator_forcerange[u])
        if actuator.is_servo:
            reader.note("the force limit of a servo is not imported", actuator.name, *TAGS)
        else:
            force = f"max({low}, min({high}, {force}))"
    return force


def scaled(factor: float, expression: str) -> str:
    """An expression times a factor."""
    return (
        expression
        if factor == 1
        else f"({number(factor)})*{expression}"
        if factor < 0
        else f"{number(factor)}*{expression}"
    )


def _push(reader: Reader, actuator: Actuator, expression: str) -> None:
    """Add a load on a site, in the axes of the site."""
    frame, gear = reader.sites[actuator.target], actuator.gear
    name = reader.document.name("loads", "", kind=f"{actuator.name[:50] or 'push'}_load")
    force = [f"={scaled(float(x), expression)}" if x else 0 for x in gear[:3]]
    moment = [f"={scaled(float(x), expression)}*1 m" if x else 0 for x in gear[3:6]]
    entry = {"frame": frame, **({"force": force} if gear[:3].any() else {})}
    entry |= {**({"moment": moment} if gear[3:6].any() else {}), "expressed_in": frame}
    reader.document.add("loads", name, entry, reader.line(actuator.name, *TAGS))


def _drive_freely(reader: Reader, actuator: Actuator, expression: str) -> None:
    """Add forces on a free joint along the axes of the world, and torques on a free rotation in moving axes."""
    is_free = int(reader.model.jnt_type[actuator.target]) == 0
    driven = reader.turned.setdefault(actuator.target, [[] for _ in range(6)])
    gear = actuator.gear if is_free else np.concatenate([np.zeros(3), actuator.gear[:3]])
    for k, factor in enumerate(gear):
        if factor:
            driven[k].append(scaled(float(factor), expression) + ("*1 m" if is_free and k >= 3 else ""))


def _pull(reader: Reader, actuator: Actuator, name: str, expression: str) -> None:
    """Add the tendon or link that an actuator pulls; in MuJoCo, positive forces lengthen it."""
    assert actuator.through is not None
    gear, line = float(actuator.gear[0]), reader.line(actuator.name, *TAGS)
    stem = f"{reader.model.name('tendon', actuator.target)[:40] or 'line'}_pulled"
    stiffness, damping = gear**2 * actuator.stiffness, gear**2 * actuator.damping
    damper = {"damper": number(damping)} if damping else {}
    pull = scaled(-gear, expression)
    if len(actuator.through) == 2:  # a link can also push
        spring = {"spring": {"coefficient": number(stiffness), "rest": 0}} if stiffness else {}
        entry = {"type": "axial", "between": actuator.through, **spring, **damper, "input": f"={pull}"}
        reader.document.add("links", reader.document.name("links", "", kind=stem), entry, line)
        return
    through: dict[str, Any] = {"through": actuator.through}
    reader.note("a tendon driven by an actuator can only pull", actuator.name, *TAGS)
    if stiffness:
        entry = {"type": "elastic", **through, "stiffness": number(stiffness), "rest": 0, **damper}
        entry["shortening"] = f"={pull}/{number(stiffness, 'N/m')}"
    else:
        entry = {"type": "tension", **through, "tension": f"={pull}"}
        if damping:
            reader.note("the damping of a tendon's actuator is not imported", actuator.name, *TAGS)
    reader.document.add("tendons", reader.document.name("tendons", "", kind=stem), entry, line)
