"""Tendons of MuJoCo: those through sites as links or tendons, those of a joint as spring and damper of that joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.foreign.document import number

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader

OF_JOINT, OF_PULLEY, OF_SITE = 1, 2, 3
"""MuJoCo's numbers of the objects in the path of a tendon; geoms have higher numbers."""
TAGS = ("spatial", "fixed")


def add_tendons(reader: Reader) -> None:
    """Add springs and dampers of tendons; forces of actuators are added with the actuators."""
    model = reader.model
    for t in range(model.ntendon):
        given = model.name("tendon", t)
        if model.tendon_limited[t]:
            reader.note("the range of a tendon is not imported", given, *TAGS)
        if model.tendon_frictionloss[t] or or_zero(model, "tendon_armature", t):
            reader.note("friction and armature of a tendon are not imported", given, *TAGS)
        if or_zero(model, "tendon_stiffnesspoly", t) or or_zero(model, "tendon_dampingpoly", t):
            reader.note("nonlinear springs and dampers are not imported", given, *TAGS)
        if not (model.tendon_stiffness[t] or model.tendon_damping[t]):
            continue
        through, coefficients = points(reader, t), joints(reader, t)
        if through is not None:
            _spring(reader, t, through)
        elif coefficients is not None and len(coefficients) == 1:
            _joint_spring(reader, t, *coefficients.items())
        else:
            message = (
                "spring and damper of a tendon are not imported: its path consists of neither sites only nor one joint"
            )
            reader.note(message, given, *TAGS)


def points(reader: Reader, t: int) -> list[str] | None:
    """The frames in the path of a tendon; None if it contains other objects than sites."""
    model = reader.model
    wraps = _wraps(reader, t)
    if any(model.wrap_type[w] != OF_SITE for w in wraps):
        return None
    return [reader.sites[int(model.wrap_objid[w])] for w in wraps]


def joints(reader: Reader, t: int) -> dict[int, float] | None:
    """The coefficients of a fixed tendon by joint; None for other tendons, and joints other than hinges and slides."""
    model, found = reader.model, dict[int, float]()
    for w in _wraps(reader, t):
        j = int(model.wrap_objid[w])
        if model.wrap_type[w] != OF_JOINT or j not in reader.coordinates:
            return None
        found[j] = found.get(j, 0.0) + float(model.wrap_prm[w])
    return found


def _wraps(reader: Reader, t: int) -> range:
    start = int(reader.model.tendon_adr[t])
    return range(start, start + int(reader.model.tendon_num[t]))


def _joint_spring(reader: Reader, t: int, only: tuple[int, float]) -> None:
    """Add the spring and damper of a tendon of one joint to the joint."""
    model, (j, coefficient) = reader.model, only
    low, high = (float(x) for x in model.tendon_lengthspring[t])
    stiffness = float(model.tendon_stiffness[t]) * coefficient**2
    if stiffness and low != high:
        reader.note("a spring of a tendon that is slack within a range is not imported", model.name("tendon", t), *TAGS)
        stiffness = 0.0
    own = reader.coordinates[j]
    own.add_spring(stiffness, high / coefficient if coefficient else 0.0)
    own.damping += float(model.tendon_damping[t]) * coefficient**2


def _spring(reader: Reader, t: int, through: list[str]) -> None:
    """Add the spring of a tendon: as a link between two sites, which can push, otherwise as a tendon, which only pulls."""
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
        reader.note("tendons can only pull: pushing, and damping while slack, are not imported", given, "spatial")
    if not stiffness:
        return
    name = reader.document.name("tendons", given, line=line, kind="tendon")
    entry = {"type": "elastic", "through": through, "stiffness": number(stiffness), "rest": number(high)}
    reader.document.add("tendons", name, entry | ({"damper": number(damping)} if damping else {}), line)


def or_zero(model: Any, key: str, k: int) -> float:
    """The largest entry of row `k` of an array; zero in versions of MuJoCo without this array."""
    found = getattr(model, key, None)
    return 0.0 if found is None else float(abs(found[k]).max(initial=0.0) if found.ndim > 1 else found[k])
