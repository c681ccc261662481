"""Actuators, tendons and equality constraints of MuJoCo: inputs, lines, and ties or loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.foreign.document import number, placement, quaternion_rotation

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

CONNECT, WELD, JOINT, TENDON = range(4)
"""Kinds of equality constraints by MuJoCo's numbers."""
TO_JOINT, TO_JOINT_IN_PARENT, TO_CRANK, TO_TENDON, TO_SITE, TO_BODY = range(6)
"""What an actuator drives."""
OF_JOINT, OF_PULLEY, OF_SITE = 1, 2, 3
"""What a tendon passes; what it wraps around has higher numbers."""
SITE_OBJECT = 6


# -- equality constraints ------------------------------------------------------------------------------------------------------


def add_equalities(reader: Reader) -> None:
    """Loops and ties. MuJoCo holds them softly, a model exactly."""
    model = reader.model
    for k in range(model.neq):
        given = model.name("eq", k)
        tags = ("connect", "weld", "joint", "tendon")
        if not model.eq_active0[k]:
            reader.note("an equality that is not active is left out", given, *tags)
        elif model.eq_type[k] == JOINT:
            _tie(reader, k)
        elif model.eq_type[k] in (CONNECT, WELD):
            name = reader.document.name("constraints", given, line=reader.line(given, *tags), kind="loop")
            ends = _ends(reader, k)
            held = "position" if model.eq_type[k] == CONNECT else "all"
            reader.document.add("constraints", name, {"between": ends, "components": held}, reader.line(given, *tags))
        else:
            reader.note("an equality of tendons or flexes is left out", given, *tags)


def _ends(reader: Reader, k: int) -> list[Any]:
    """The two frames that a loop joins."""
    model, data = reader.model, reader.model.eq_data[k]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if model.eq_objtype[k] == SITE_OBJECT:
        return [reader.sites[first], reader.sites[second]]
    if model.eq_type[k] == CONNECT:
        places = [placement(data[0:3], None), placement(data[3:6], None)]
    else:
        places = [placement(data[3:6], quaternion_rotation(data[6:10])), placement(data[0:3], None)]
    names = [reader.bodies[first], reader.bodies[second]]
    return [{"frame": name, **place} if place else name for name, place in zip(names, places, strict=True)]


def _tie(reader: Reader, k: int) -> None:
    """A joint that follows another linearly, or stands still."""
    model, data = reader.model, reader.model.eq_data[k]
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    given = model.name("eq", k)
    joints = (first,) if second < 0 else (first, second)
    if (data[2:5].any() and second >= 0) or any(j not in reader.coordinates for j in joints):
        reader.note(
            "an equality of joints that is no straight line is left out", given or model.name("jnt", first), "joint"
        )
        return
    own, zero = reader.coordinates[first], float(model.qpos0[model.jnt_qposadr[first]])
    if second < 0:
        own.entry["motion"] = number(data[0] + zero)
        return
    other, ratio = reader.coordinates[second], float(data[1])
    offset = float(data[0] + zero - ratio * model.qpos0[model.jnt_qposadr[second]])
    unit = {(True, False): "rad/m", (False, True): "m/rad"}.get((own.is_angle, other.is_angle), "")
    own.entry["equal_to"] = {"coordinate": other.name}
    if ratio != 1 or unit:
        own.entry["equal_to"]["ratio"] = number(ratio, unit)
    if offset:
        own.entry["equal_to"]["offset"] = number(offset)


# -- tendons -------------------------------------------------------------------------------------------------------------------


def add_tendons(reader: Reader) -> None:
    """Springs and dampers of tendons through sites; those that an actuator pulls are added with it."""
    model = reader.model
    for t in range(model.ntendon):
        given = model.name("tendon", t)
        if model.tendon_limited[t]:
            reader.note("the range of a tendon is left out", given, "spatial", "fixed")
        if model.tendon_frictionloss[t] or _or_zero(model, "tendon_armature", t):
            reader.note("friction and armature of a tendon are left out", given, "spatial", "fixed")
        if not (model.tendon_stiffness[t] or model.tendon_damping[t]):
            continue
        through = points(reader, t)
        if through is None:
            message = "spring and damper of a tendon are left out: it does not pass sites alone"
            reader.note(message, given, "spatial", "fixed")
        else:
            _spring(reader, t, through)


def points(reader: Reader, t: int) -> list[str] | None:
    """The frames that a tendon passes, None where it passes something else."""
    model = reader.model
    wraps = range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
    if any(model.wrap_type[w] != OF_SITE for w in wraps):
        return None
    return [reader.sites[int(model.wrap_objid[w])] for w in wraps]


def _spring(reader: Reader, t: int, through: list[str]) -> None:
    """The spring of a tendon: a link where it joins two sites, which may push, otherwise a line that pulls."""
    model, given = reader.model, reader.model.name("tendon", t)
    low, high = model.tendon_lengthspring[t]
    stiffness, damping = float(model.tendon_stiffness[t]), float(model.tendon_damping[t])
    line = reader.line(given, "spatial")
    if len(through) == 2 and (low == high or not stiffness):
        spring = {"spring": {"coefficient": number(stiffness), "rest": number(high)}} if stiffness else {}
        damper = {"damper": number(damping)} if damping else {}
        name = reader.document.name("links", given, line=line, kind="tendon")
        reader.document.add("links", name, {"type": "axial", "between": through, **spring, **damper}, line)
        return
    if low > 0 or damping:
        reader.note("a tendon that pushes, or is damped while it is slack, only pulls here", given, "spatial")
    if not stiffness:
        return
    name = reader.document.name("tendons", given, line=line, kind="tendon")
    entry = {"type": "elastic", "through": through, "stiffness": number(stiffness), "rest": number(high)}
    reader.document.add("tendons", name, entry | ({"damper": number(damping)} if damping else {}), line)


# -- actuators -----------------------------------------------------------------------------------------------------------------


def add_actuators(reader: Reader) -> None:
    """Actuators as inputs: a force `gain * input + constant`, and springs and dampers on what servos hold."""
    for u in range(reader.model.nu):
        _add_actuator(reader, u)


def _add_actuator(reader: Reader, u: int) -> None:
    model, given = reader.model, reader.model.name("actuator", u)
    tags = ("motor", "position", "velocity", "intvelocity", "general", "damper", "cylinder", "muscle", "adhesion")
    kind, gear = int(model.actuator_trntype[u]), model.actuator_gear[u]
    target = int(model.actuator_trnid[u][0])
    if model.actuator_gaintype[u] != 0 or model.actuator_biastype[u] > 1:
        reader.note("an actuator whose force is not linear in its input and its joint is left out", given, *tags)
        return
    if model.actuator_dyntype[u] != 0:
        reader.note("the dynamics of an actuator are left out: its force follows the input at once", given, *tags)
    shares = _shares(reader, kind, target, gear)
    if shares is None:
        reader.note(
            "an actuator on something else than joints, tendons through sites, or sites is left out", given, *tags
        )
        return
    gain, bias = float(model.actuator_gainprm[u][0]), np.zeros(3)
    if model.actuator_biastype[u] == 1:
        bias = model.actuator_biasprm[u][:3].astype(float)
    is_servo = bool(bias[1] or bias[2])
    if is_servo and not (len(shares) == 1 and next(iter(shares)) in reader.coordinates):
        reader.note("a servo on several coordinates is left out", given, *tags)
        return
    if is_servo:
        ((j, share),) = shares.items()
        _hold(reader, j, -share * share * bias[1], -share * share * bias[2])
    expression = _force(reader, u, given, tags, gain, float(bias[0]), is_servo=is_servo, shares=shares)
    for j, share in shares.items():
        if j in reader.coordinates:
            reader.coordinates[j].inputs.append(_scaled(share, expression))
    if kind == TO_SITE:
        _push(reader, given, target, gear, expression)
    elif kind == TO_TENDON and not shares:
        _pull(reader, given, target, gear, expression)


def _shares(reader: Reader, kind: int, target: int, gear: np.ndarray) -> dict[int, float] | None:
    """How much of an actuator's force each joint gets; none of a site or line, None where nothing here is so driven."""
    model = reader.model
    if kind in (TO_JOINT, TO_JOINT_IN_PARENT):
        return {target: float(gear[0])} if target in reader.coordinates else None
    if kind == TO_TENDON:
        wraps = range(model.tendon_adr[target], model.tendon_adr[target] + model.tendon_num[target])
        if all(model.wrap_type[w] == OF_JOINT for w in wraps):
            joints = {int(model.wrap_objid[w]): float(gear[0] * model.wrap_prm[w]) for w in wraps}
            return joints if all(j in reader.coordinates for j in joints) else None
        return {} if points(reader, target) is not None else None
    is_free = kind == TO_SITE and _no_reference(model, target)
    return {} if is_free else None


def _no_reference(model: Any, site: int) -> bool:
    """Whether actuators on this site push it in its own axes, not against another site."""
    pairs = model.actuator_trnid[model.actuator_trntype == TO_SITE]
    return bool((pairs[pairs[:, 0] == site][:, 1] < 0).all())


def _hold(reader: Reader, j: int, stiffness: float, damping: float) -> None:
    """The spring and damper of a servo, joined with those of its joint."""
    own = reader.coordinates[j]
    if stiffness:
        whole = own.stiffness + stiffness
        own.rest = own.stiffness * own.rest / whole if whole else 0.0
        own.stiffness = whole
    own.damping += damping


def _force(
    reader: Reader, u: int, given: str, tags: tuple[str, ...], gain: float, constant: float,
    *, is_servo: bool, shares: dict[int, float],
) -> str:  # fmt: skip
    """The input of an actuator, and its force as an expression of it."""
    model = reader.model
    own = [reader.coordinates[j].is_angle for j in shares]
    unit = "N*m" if own and own[0] else "N"
    line = reader.line(given, *tags)
    name = reader.document.name("parameters", given, line=line, kind="input")
    entry: dict[str, Any] = {"value": 0 if is_servo else f"0 {unit}", "input": True}
    if model.actuator_ctrllimited[u]:
        low, high = (number(x, "" if is_servo else unit) for x in model.actuator_ctrlrange[u])
        entry |= {"minimum": low, "maximum": high}
    reader.document.add("parameters", name, entry, line)
    reader.inputs[u] = name
    force = f"{number(gain, unit)}*{name}" if is_servo else _scaled(gain, name)
    if constant:
        force = f"({force} + {number(constant, unit)})"
    if model.actuator_forcelimited[u]:
        low, high = (number(x, unit) for x in model.actuator_forcerange[u])
        if is_servo:
            reader.note("the largest force of a servo is left out", given, *tags)
        else:
            force = f"max({low}, min({high}, {force}))"
    return force


def _scaled(factor: float, expression: str) -> str:
    return (
        expression
        if factor == 1
        else f"({number(factor)})*{expression}"
        if factor < 0
        else f"{number(factor)}*{expression}"
    )


def _push(reader: Reader, given: str, site: int, gear: np.ndarray, expression: str) -> None:
    """A load on a site, in its own axes."""
    frame = reader.sites[site]
    name = reader.document.name("loads", "", kind=f"{given[:50] or 'push'}_load")
    force = [f"={_scaled(float(x), expression)}" if x else 0 for x in gear[:3]]
    moment = [f"={_scaled(float(x), expression)}*1 m" if x else 0 for x in gear[3:6]]
    entry = {"frame": frame, **({"force": force} if gear[:3].any() else {})}
    entry |= {**({"moment": moment} if gear[3:6].any() else {}), "expressed_in": frame}
    reader.document.add("loads", name, entry, reader.line(given, "motor", "general"))


def _pull(reader: Reader, given: str, tendon: int, gear: np.ndarray, expression: str) -> None:
    """A line that an actuator pulls: MuJoCo counts forces that make it longer as positive."""
    name = reader.document.name("tendons", "", kind=f"{reader.model.name('tendon', tendon)[:40] or 'line'}_pulled")
    entry = {
        "type": "tension",
        "through": points(reader, tendon),
        "tension": f"={_scaled(-float(gear[0]), expression)}",
    }
    reader.document.add("tendons", name, entry, reader.line(given, "motor", "general"))
    reader.note("a tendon that an actuator pulls cannot push here", given, "motor", "general")


def _or_zero(model: Any, key: str, k: int) -> float:
    found = getattr(model, key, None)
    return 0.0 if found is None else float(found[k])
