"""Random robots for tests: plain data of models that are sound."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pliant.language.names import SYMBOLS, WORLD

names = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True).filter(lambda name: name not in {WORLD, *SYMBOLS})
texts = st.one_of(
    st.just(""),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(
        ["yes", "null", "1e3", "- a", "a: b", "# no", "=x", "two\nlines", " space ", "'", '"', "\\", "%", "0x1"]
    ),
)
numbers = st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False))
positive = st.floats(1e-3, 1e3)


def quantity(*units: str, values: st.SearchStrategy[Any] = numbers) -> st.SearchStrategy[Any]:
    """A bare number or one with a unit."""
    with_unit = st.tuples(values, st.sampled_from(units)).map(lambda pair: f"{pair[0]!r} {pair[1]}")
    return st.one_of(values, with_unit)


lengths = st.one_of(quantity("m", "mm", "cm", "inch"), st.sampled_from(["=length", "=length/2 + 5 mm", "=-2*length"]))
angles = st.one_of(quantity("rad", "deg"), st.sampled_from(["=angle", "=pi/3", "=sin(angle)"]))
sizes = quantity("m", "mm", values=positive)
masses = quantity("kg", "g", values=positive)
forces = st.one_of(quantity("N", "kN"), st.sampled_from(["=force", "=force*sin(2*pi*t)", "=if(t < 1 s, force, 2 N)"]))
torques = st.one_of(quantity("N*m", "mNm"), st.sampled_from(["=force*length", "=2 N*m * cos(t/1 s)"]))
units3 = st.tuples(positive, numbers, numbers)
axes = st.one_of(st.sampled_from("xyz"), units3.map(list))


def triple(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(entry, min_size=3, max_size=3)


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with some of the keys."""
    return st.fixed_dictionaries({}, optional=optional)


single_rotations = st.one_of(
    st.fixed_dictionaries({"axis": axes, "angle": angles}),
    st.fixed_dictionaries({"vector": triple(angles)}),
    st.fixed_dictionaries({"quaternion": units3.map(lambda v: [1, *v])}),
    st.fixed_dictionaries({"euler": triple(angles)}, optional={"order": st.sampled_from(["xyz", "zyx", "zxz"])}),
)
rotations = st.one_of(single_rotations, st.lists(single_rotations, max_size=3))
placements = {"position": triple(lengths), "rotation": rotations}

shapes = st.one_of(
    st.fixed_dictionaries({"type": st.just("sphere"), "radius": sizes}),
    st.fixed_dictionaries({"type": st.just("box"), "size": triple(sizes)}),
    st.fixed_dictionaries({"type": st.just("slender_rod"), "length": sizes}, optional={"axis": st.sampled_from("xyz")}),
    st.fixed_dictionaries({"type": st.just("cylinder"), "length": sizes, "radius": sizes}),
)
inertias = st.one_of(
    positive.map(lambda x: {"principal": [x, x, x]}),
    positive.map(lambda x: {"matrix": [[2 * x, 0.1 * x, 0], [0.1 * x, 2 * x, 0], [0, 0, 2 * x]]}),
)
bodies = st.fixed_dictionaries(
    {"mass": masses, "frames": st.just({"tip": {"position": [0, 0, "=length"]}})},
    optional={
        "center_of_mass": triple(lengths),
        "inertia": inertias,
        "shape": shapes,
        "description": texts,
        "material": st.just("stuff"),
    },
)


def springs(unit: str, rest: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    coefficient = quantity(unit, values=positive)
    full = st.fixed_dictionaries(
        {"coefficient": coefficient},
        optional={"rest": st.one_of(rest, st.just("as at start")), "compression": st.floats(0.1, 1)},
    )
    return st.one_of(coefficient, full)


def dampers(unit: str) -> st.SearchStrategy[Any]:
    full = st.fixed_dictionaries({"coefficient": positive}, optional={"power": st.floats(0.5, 3)})
    return st.one_of(quantity(unit, values=positive), full)


one_sided = st.sampled_from(["both", "positive", "negative"])
angle_coordinates = st.one_of(
    st.just("free"),
    some(
        initial=angles, rate=quantity("rad/s", "rpm"), spring=springs("N*m/rad", angles), damper=dampers("N*m*s/rad"),
        input=torques, direction=one_sided, smoothing=positive,
    ),
    some(motion=angles, damper=dampers("N*m*s")),
)  # fmt: skip
length_coordinates = st.one_of(
    st.just("free"),
    some(
        initial=lengths, rate=quantity("m/s"), spring=springs("N/m", lengths), damper=dampers("N*s/m"), input=forces,
        direction=one_sided, smoothing=sizes,
    ),
    some(motion=lengths),
)  # fmt: skip
orientations = st.one_of(
    st.just("free"),
    some(initial=rotations, rate=triple(quantity("rad/s")), spring=positive, damper=positive, input=triple(torques)),
)

entries = st.one_of(lengths, length_coordinates)
turns = st.one_of(
    st.fixed_dictionaries({"axis": axes, "angle": st.one_of(angles, angle_coordinates)}),
    st.fixed_dictionaries({"vector": st.one_of(triple(angles), triple(angle_coordinates))}),
    st.fixed_dictionaries({"quaternion": st.one_of(st.just([1, 0, 0, 0]), orientations)}),
    st.fixed_dictionaries({"quaternion_vector": st.one_of(st.just([0, 0, 0.1]), orientations)}),
    st.fixed_dictionaries({"axis_angle": st.fixed_dictionaries({"axis": axes, "angle": angles})}),
)
transforms = st.one_of(st.fixed_dictionaries({"translate": triple(entries)}), st.fixed_dictionaries({"rotate": turns}))
joint_kinds: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "revolute": {"axis": axes, "angle": angle_coordinates},
    "prismatic": {"axis": axes, "displacement": length_coordinates},
    "universal": {"axis1": axes, "angle2": angle_coordinates},
    "cylindrical": {"angle": angle_coordinates, "displacement": length_coordinates},
    "planar": {"x": length_coordinates, "angle": angle_coordinates},
    "spherical": {"orientation": orientations},
    "free": {"z": length_coordinates, "orientation": orientations},
    "weld": {},
    "chain": {"transforms": st.lists(transforms, min_size=1, max_size=3)},
}


@st.composite
def robots(draw: st.DrawFn) -> dict[str, Any]:
    """The data of a sound model."""
    body_names = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    frames = ["world"]
    joints: dict[str, Any] = {}
    for name in body_names:
        kind = draw(st.sampled_from(sorted(joint_kinds)))
        optional = {**joint_kinds[kind], **placements, "parent": st.sampled_from(frames), "description": texts}
        required = {"type": st.just(kind), "child": st.sampled_from([name, f"{name}.tip"])}
        if kind == "chain":
            required["transforms"] = optional.pop("transforms")
        joints[f"j_{name}"] = draw(st.fixed_dictionaries(required, optional=optional))
        frames += [name, f"{name}.tip"]
    last = frames[-1]
    ends = st.one_of(st.just("world"), st.fixed_dictionaries({"frame": st.just("world")}, optional=placements)).map(
        lambda end: [end, last]
    )
    links = st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("axial"), "between": ends},
            optional={"spring": springs("N/m", sizes), "damper": dampers("N*s/m"), "input": forces,
                      "direction": st.sampled_from(["both", "tension", "compression"])},
        ),
        st.fixed_dictionaries(
            {"type": st.just("beam"), "between": ends},
            optional={"stiffness": st.lists(positive, min_size=6, max_size=6), "damping_power": st.floats(0.5, 2),
                      "rest": st.one_of(st.just("as at start"), st.just([0, 0, "10 cm", 0, "5 deg", 0])),
                      "x_axis": units3.map(list)},
        ),
    )  # fmt: skip
    through = st.just(["world", {"frame": last, "position": [0, "1 cm", 0]}])
    tendons = st.one_of(
        st.fixed_dictionaries({"type": st.just("tension"), "through": through, "tension": st.just("=2 N")}),
        st.fixed_dictionaries(
            {"type": st.just("elastic"), "through": through, "stiffness": quantity("N/m", values=positive)},
            optional={"rest": quantity("m", values=positive), "shortening": lengths, "damper": dampers("N*s/m")},
        ),
    )
    constraints = st.fixed_dictionaries(
        {"between": ends, "components": st.sampled_from(["position", "all", ["x", "rz"], ["z"]])},
        optional={"expressed_in": st.sampled_from(frames), "holds": st.sampled_from(["coincide", "as at start"]),
                  "position": numbers},
    )  # fmt: skip
    loads = st.fixed_dictionaries(
        {"frame": st.sampled_from(frames[1:])},
        optional={"position": triple(lengths), "force": triple(forces), "moment": triple(torques),
                  "expressed_in": st.sampled_from(frames)},
    )  # fmt: skip
    inputs = st.one_of(
        quantity("N"),
        st.just("=2 N * exp(-t)"),
        st.fixed_dictionaries({"step": st.fixed_dictionaries({"at": positive, "after": quantity("N")})}),
        st.fixed_dictionaries(
            {"sine": st.fixed_dictionaries({"amplitude": quantity("N"), "frequency": quantity("Hz")})}
        ),
        st.just({"piecewise": [{"until": "1 s", "value": 0}, {"value": "=1 N * t"}]}),
    )
    outputs = st.one_of(
        st.fixed_dictionaries({"frame": st.sampled_from(frames)}, optional={"component": st.sampled_from("xyz")}),
        st.fixed_dictionaries({"energy": st.sampled_from(["kinetic", "total"])}, optional={"description": texts}),
    )
    analyses = st.one_of(
        st.just({"equilibrium": {}}),
        st.fixed_dictionaries({"modes": some(count=st.integers(1, 9), at=st.sampled_from(["initial", "equilibrium"]))}),
        st.fixed_dictionaries({"simulate": st.fixed_dictionaries({"until": quantity("s", values=positive)})}),
    )

    def named(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.dictionaries(names, entry, max_size=2)

    top = st.fixed_dictionaries(
        {
            "parameters": st.just({
                "length": "30 cm", "angle": 0.3, "force": {"value": "2 N", "input": True, "description": "push"},
            }),
            "materials": st.just({"stuff": {"density": "1 g/cm^3"}}),
        },
        optional={
            "name": texts, "description": texts, "world": some(gravity=triple(quantity("m/s^2"))),
            "defaults": st.just({"joints": {"position": [0, 0, "1 mm"], "revolute": {"angle": {"damper": 0.5}}}}),
            "links": named(links), "tendons": named(tendons), "constraints": named(constraints), "loads": named(loads),
            "inputs": st.fixed_dictionaries({}, optional={"force": inputs}), "outputs": named(outputs),
            "analyses": st.lists(analyses, max_size=3),
            "variants": st.just({"other": {"parameters": {"length": 2}, "description": None}}),
        },
    )  # fmt: skip
    data = draw(top)
    return {**data, "bodies": {name: draw(bodies) for name in body_names}, "joints": joints}
