"""Bodies that are fixed without a joint in the model: flattening adds a weld with the name of the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pliant.language.evaluate import to_node
from pliant.language.placement import Placement
from pliant.language.scalar import Scalar
from pliant.language.source import Source
from pliant.language.syntax import Binary, Number, to_text
from pliant.parts.body import Along
from pliant.parts.joint.types import Weld
from pliant.parts.rod.rod import Rod, RodFrame
from pliant.robot.flat import Flat, Instance


@dataclass(frozen=True)
class BodyOnRod:
    """A body along a rod: its name in its model, the prefix of that model, its weld, its location and its instance."""

    name: str
    prefix: str
    weld: str
    along: Along
    instance: Instance


def weld_at(place: Placement, parent: str, child: str) -> Weld:
    """A weld at a placement, which is already valid: validation would build its schema, which takes 10 ms."""
    where = {key: getattr(place, key) for key in Placement.model_fields}
    return Weld.model_construct(parent=parent, child=child, **where)


def fix_along(bodies: Sequence[BodyOnRod], source: Source, flat: Flat) -> None:
    """Weld bodies to the rods that they are placed `along`: at the given arc length, or spaced evenly with the last at the tip."""
    placed, rods, joints = (flat.things.get(key, {}) for key in ("bodies", "rods", "joints"))
    for body in bodies:
        rod = rods.get(body.along.rod)
        if rod is None:  # unknown or faulty: the body keeps the reference, so that the checks report it
            name = body.prefix + body.name
            if name in placed:
                placed[name] = placed[name].model_copy(update={"along": body.along})
            continue
        frame = "tip"
        if body.along.at is not None or body.instance.index != body.instance.count:
            frame = body.name
            if frame in rod.frames:
                message = f"the rod '{body.along.rod}' has a frame '{frame}' of its own"
                flat.fault(source, ("bodies", frame.partition("[")[0]), message, "rename one")
            frames = {**rod.frames, frame: RodFrame.model_construct(at=_arc_length(body, rod))}
            rods[body.along.rod] = rod.model_copy(update={"frames": frames})
            origin = flat.origins["bodies", body.prefix + body.name]
            flat.along[body.along.rod, frame] = replace(origin, path=(*origin.path, "along", "at"))
        joints[body.weld] = joints[body.weld].model_copy(update={"parent": f"{body.along.rod}.{frame}"})


def _arc_length(body: BodyOnRod, rod: Rod) -> Scalar:
    """Arc length of the body: as given, or its fraction of the length of the rod."""
    if body.along.at is not None:
        return body.along.at
    share = Binary("/", Number(float(body.instance.index or 1)), Number(float(body.instance.count or 1)))
    return to_text(Binary("*", to_node(rod.length), share))
