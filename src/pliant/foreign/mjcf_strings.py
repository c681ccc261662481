"""Flexes of MuJoCo that consist of edges with a stiffness (dim=1) as meshes; nodes are point masses in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.foreign.document import number, vector

if TYPE_CHECKING:
    from pliant.foreign.mjcf import Reader


def name_nodes(reader: Reader) -> dict[int, str]:
    """Frames of the nodes by the number of their body; also names the flexes."""
    model, found = reader.model, dict[int, str]()
    for f in range(model.nflex):
        given = model.name("flex", f)
        name = reader.document.name("things", given, line=reader.line(given, "flexcomp"), kind="flex")
        reader.flexes[f] = name
        for k, i in enumerate(_vertices(reader, f)):
            if model.body_jntnum[i] == 3 and model.body_mass[i] and i not in found:
                found[int(i)] = f"{name}.n{k + 1}"
    return found


def _vertices(reader: Reader, f: int) -> np.ndarray:
    """Numbers of the bodies that the vertices of a flex belong to."""
    start = int(reader.model.flex_vertadr[f])
    return np.asarray(reader.model.flex_vertbodyid[start : start + int(reader.model.flex_vertnum[f])])


def add_flexes(reader: Reader) -> None:
    """Add flexes as meshes."""
    model = reader.model
    for f, name in reader.flexes.items():
        bodies, start = _vertices(reader, f), int(model.flex_vertadr[f])
        own = [i for i in bodies if i in reader.nodes]
        parent = int(model.body_parentid[own[0]]) if own else 0
        held = [k for k, i in enumerate(bodies) if i not in reader.nodes]
        given = model.name("flex", f)
        if not own or any(int(bodies[k]) != parent for k in held):
            reader.note("a flex whose nodes belong to several bodies is not imported", given, "flexcomp")
            continue
        places = [model.body_pos[i] if i in reader.nodes else model.flex_vert[start + k] for k, i in enumerate(bodies)]
        entry: dict[str, Any] = {"type": "membrane", "parent": reader.bodies[parent]}
        entry["drawing"] = {"nodes": [vector(place) for place in places], **_edges(reader, f)}
        if held:
            entry["sets"] = {"pinned": {"nodes": [k + 1 for k in held]}}
            entry["held"] = {"pinned": reader.bodies[parent]}
        entry |= {"ends": "free", "node_mass": number(model.body_mass[own[0]], "kg"), "direction": "both"}
        springs = _springs(reader, f)
        if "sets" in entry and "sets" in springs:
            springs["sets"] = entry["sets"] | springs["sets"]
        reader.document.add("meshes", name, entry | springs, reader.line(given, "flexcomp"))
        if model.nmeeting and (model.flex_contype[f] or model.flex_conaffinity[f]):
            reader.note("contacts of a flex are not imported", given, "flexcomp")


def _edges(reader: Reader, f: int) -> dict[str, Any]:
    return {"edges": [[int(a) + 1, int(b) + 1] for a, b in reader.model.flex_edge[_range(reader, f)]]}


def _range(reader: Reader, f: int) -> slice:
    start = int(reader.model.flex_edgeadr[f])
    return slice(start, start + int(reader.model.flex_edgenum[f]))


def _springs(reader: Reader, f: int) -> dict[str, Any]:
    """Stiffness and damping per strain, which MuJoCo has per length: for all edges, or for each if lengths differ."""
    model = reader.model
    lengths, ends = model.flexedge_length0[_range(reader, f)], model.flex_edge[_range(reader, f)]
    stiffness, damping = float(model.flex_edgestiffness[f]), float(model.flex_edgedamping[f])
    first = float(lengths[0])
    found: dict[str, Any] = {"stiffness": number(stiffness * first, "N")}
    if np.ptp(lengths) < 1e-12 * first:
        return found | ({"edges": {"all": {"viscosity": number(damping * first)}}} if damping else {})
    sets = {f"edge{k + 1}": {"nodes": [int(a) + 1, int(b) + 1]} for k, (a, b) in enumerate(ends)}
    values = {
        name: {
            "stiffness": number(stiffness * length, "N"),
            **({"viscosity": number(damping * length)} if damping else {}),
        }
        for name, length in zip(sets, lengths, strict=True)
    }
    return found | {"sets": sets, "edges": values}
