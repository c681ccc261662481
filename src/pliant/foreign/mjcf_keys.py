"""Keyframes of MuJoCo as variants of a model: other initial values of joints and inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.foreign.document import number
from pliant.foreign.mjcf_compiled import CompiledMjcf

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader


def add_keys(reader: Reader, moving: list[int], joints: dict[str, dict[str, Any]]) -> None:
    """Add the variants. moving: numbers of the bodies with joints. joints: their joints by name, without a keyframe."""
    model, variants = reader.model, dict[str, Any]()
    for k in range(model.nkey):
        given = model.name("key", k)
        reader.starts, reader.rates = np.array(model.key_qpos[k]), np.array(model.key_qvel[k])
        for j in reader.coordinates:
            if model.jnt_limited[j]:
                reader.begin_within(j, f" in the keyframe {given!r}")
        reader.is_quiet = True
        starts = {name: changes(joints[name], entry) for name, entry in map(reader.joint, moving)}
        reader.is_quiet = False
        if model.nmocap or model.na or reader.nodes:
            reader.note(
                "a keyframe does not set mocap bodies, states of actuators and nodes of flexes here", given, "key"
            )
        found = {"parameters": _inputs(reader, k), "joints": {name: entry for name, entry in starts.items() if entry}}
        name = reader.document.name("variants", given, line=reader.line(given, "key"), kind="key")
        variants[name] = {key: value for key, value in found.items() if value}
    if variants:
        reader.document.head["variants"] = variants


def _inputs(reader: Reader, k: int) -> dict[str, Any]:
    """Values of inputs that differ from those of the model, in the same units."""
    found: dict[str, Any] = {}
    for u, name in reader.inputs.items():
        value = float(reader.model.key_ctrl[k][_control(reader.model, u)])
        entry = reader.document.parts["parameters"][name]
        if reader.model.actuator_ctrllimited[u]:
            value = float(np.clip(value, *reader.model.actuator_ctrlrange[u]))  # as MuJoCo applies it
        if value != float(str(entry["value"]).partition(" ")[0]):
            found[name] = {"value": number(value, str(entry["value"]).partition(" ")[2])}
    return found


def _control(model: CompiledMjcf, u: int) -> int:
    """Index of the input of an actuator; in newer versions, actuators may have several inputs."""
    found = getattr(model, "actuator_ctrladr", None)
    return u if found is None else int(found[u])


def changes(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The mapping to merge into `base` to get `other`. Numbers missing in `other` are zero; rotations are replaced."""
    found: dict[str, Any] = {}
    for key in {**base, **other}:
        here, there = base.get(key), other.get(key)
        if here == there:
            continue
        if key == "initial" and (isinstance(here, dict) or isinstance(there, dict)):
            found[key] = {"axis": "z", "angle": 0} if there is None else there
        elif isinstance(here or {}, dict) and isinstance(there or {}, dict):
            found[key] = changes(here or {}, there or {})
        else:
            found[key] = 0 if there is None else there
    return found
