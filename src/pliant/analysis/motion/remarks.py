"""Remarks on the reliability of a run: a start far from equilibrium, and energy lost by the method."""

from __future__ import annotations

import numpy as np

from pliant.engine.binding import Binding
from pliant.engine.model.model import Model

VIOLENT = 1000.0
"""Acceleration of a frame [m/s^2] above which an initial state is reported as unbalanced: a hundred times gravity."""
LOST = 0.02
"""Fraction of the exchanged energy that may be missing from the balance without a remark."""
ERASED = 0.2
"""Speed of vibrations lost in the steps, relative to the largest speed of the same frame, that is accepted without a remark."""
EXAMINED = 50
"""Number of states that are examined for motion."""
AT_REST = 1e-12
"""Exchanged energy below this fraction of the energy itself is round-off: the robot is at rest."""
STILL = 1e-9
"""Motion of all nodes below this fraction of the robot's size [-], and rotation below this [rad], is round-off."""


def is_still(bound: Binding, states: np.ndarray) -> bool:
    """Whether the robot does not move over some states (n x q)."""
    size, _ = bound.sizes(states[0])
    rotations, places = bound.node_poses(states[0])
    for k in np.unique(np.linspace(0, len(states) - 1, EXAMINED).astype(int)):
        turned, moved = bound.node_poses(states[k])
        if (
            np.abs(moved - places).max(initial=0.0) > STILL * size
            or np.abs(turned - rotations).max(initial=0.0) > STILL
        ):
            return False
    return True


def start_remarks(bound: Binding, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[str]:
    """A remark if springs, tendons or loads strongly accelerate the robot from its initial state at rest."""
    if np.any(v) or not np.all(np.isfinite(a)):
        return []
    accelerations = bound.node_accelerations(t, q, v, a)
    places = bound.node_poses(q)[1]
    linear = accelerations[:, :3] + np.cross(accelerations[:, 3:], places)
    fastest = float(np.linalg.norm(linear, axis=1).max(initial=0.0))
    if fastest < VIOLENT:
        return []
    return [
        f"the start is far from equilibrium: parts of the robot accelerate at {fastest:.2g} m/s^2 and vibrate afterwards. "
        "To start at rest use start='equilibrium' (--start equilibrium)"
    ]


def missed_remarks(model: Model, share: float, t: float, signal: int, step: float | None) -> list[str]:
    """A remark if fixed steps [s] have missed a change of a signal, by a share of its largest value at time t [s]."""
    if not share:
        return []
    names = [name for name, uses in zip(model.input_names, model.signal_sources[signal, 1:], strict=False) if uses]
    what = (
        f"the input{'s' if names[1:] else ''} {', '.join(map(repr, names))}" if names else "a force or motion over time"
    )
    return [
        f"fixed steps of {step or 0:.3g} s are too long for {what}: within one, at t = {t:.4g} s, it differs from a straight line "
        f"by {share:.0%} of its largest value. Use a smaller step, or a method that chooses its steps"
    ]


def energy_remarks(
    energies: np.ndarray, cure: str, added: np.ndarray | float = 0.0, exchanged: float = 0.0
) -> list[str]:
    """A remark if the energy balance of a run is not satisfied.

    energies: kinetic, potential, dissipated and supplied [J], one row per state; cure: suggested change; added: energy added by
    setting the state [J], one per state; exchanged: the most that the steps have exchanged [J], as the saved times may be those at
    which a vibration passes through rest.
    """
    if len(energies) < 2 or not np.all(np.isfinite(energies)):
        return []
    kinetic, potential, dissipated, supplied = energies.T
    balance = kinetic + potential + dissipated - supplied - added
    scale = max(exchanged, float(np.max(kinetic)), *(float(np.ptp(x)) for x in (potential, dissipated, supplied)))
    changes = balance - balance[0]
    # at the end if that is sufficient: within long steps the energy includes interpolation errors
    change = float(changes[-1] if abs(changes[-1]) > LOST * scale else changes[np.argmax(np.abs(changes))])
    if scale <= AT_REST * float(np.max(np.abs(energies))) or abs(change) <= LOST * scale:
        return []
    what = "was lost" if change < 0 else "was gained"
    return [
        f"{abs(change) / scale:.0%} of the energy exchanged {what} in the steps, which are too long for some vibrations; {cure}"
        " resolves them"
    ]


def vibration_remarks(model: Model, found: np.ndarray, rtol: float, cure: str) -> list[str]:
    """A remark if the steps have erased vibrations that are a large part of the motion of a frame.

    found: per node, of speed and spin: the largest one, the erased one, and its angular frequency (`TimeLoop.lost_vibrations`).
    rtol: speeds below this fraction of the largest one of the robot are within the tolerance; cure: suggested method or step.
    """
    largest, lost, frequency = (found[..., k] for k in range(3))
    shares = np.where(lost > rtol * largest.max(axis=0, initial=0.0), lost, 0.0) / np.where(
        largest > 0, largest, np.inf
    )
    worst = np.minimum(shares, 1.0).max(axis=1, initial=0.0)
    nodes = [int(g) for g in np.argsort(-worst, kind="stable") if worst[g] > ERASED]
    if not nodes:
        return []
    first = nodes[0]
    kind = int(np.argmax(shares[first]))
    size, unit = largest[first, kind], ("m/s", "rad/s")[kind]
    more = f", and of {len(nodes) - 1} more frames," if len(nodes) > 1 else ""
    hertz = frequency[first, kind] / (2 * np.pi)
    return [
        f"a vibration of '{node_name(model, first)}'{more} at about {hertz:.2g} Hz was lost: the steps are too long for it, and "
        f"it is {worst[first]:.0%} of the motion there (up to {size:.2g} {unit}); {cure} resolves it"
    ]


def node_name(model: Model, node: int) -> str:
    """The name of a frame on a node, or of a coordinate that moves it."""
    for name, frame in model.frames.items():
        if frame.node == node:
            return name
    for element in model.system.elements:
        if node in element.nodes:
            for c in model.coordinates:
                if element.v_at <= c.v_at < element.v_at + element.v_size:
                    return c.name
    return f"node {node}"
