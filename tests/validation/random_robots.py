"""Random robots that can be simulated: one for each seed, as plain data of a model file.

Sizes, masses and frequencies are drawn over decades, and everything else follows from them, so that a robot is never absurd: its
springs swing a few times in a second, its rods bend but do not collapse under their weight.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from pliant.robot import RobotSpec, load_text

Data = dict[str, Any]

JOINTS = ("revolute", "prismatic", "universal", "cylindrical", "planar", "spherical", "free", "weld", "chain")
RODS: dict[str, Data] = {
    "pcc": {"sections": 2},
    "pcc_cog": {"sections": 1},
    "pcs": {"elements": 3},
    "gvs": {"order": 2},
    "cosserat": {"elements": 5},
    "finite_element": {"elements": 3},
    "polynomial": {"order": 2},
    "pseudo_rigid": {"elements": 5},
    "timoshenko": {"elements": 3},
}
GRAVITY = 9.81


def chosen_seeds(few: list[int]) -> list[int]:
    """Those of the environment variable PLIANT_RANDOM_ROBOTS (`0-2000`), or a few."""
    chosen = os.environ.get("PLIANT_RANDOM_ROBOTS")
    if not chosen:
        return few
    first, last = (int(x) for x in chosen.split("-"))
    return list(range(first, last))


def random_robot(seed: int) -> RobotSpec:
    """The robot of a seed."""
    return load_text(json.dumps(random_data(seed)))


def random_data(seed: int) -> Data:
    """The model file of a seed as plain data."""
    return _Draft(np.random.default_rng(seed)).data()


def random_rod(seed: int, kind: str, **options: Any) -> RobotSpec:
    """A rod on the world under its weight, in the model named: perhaps bent, with a body at its end, chambers or a tendon."""
    draft = _Draft(np.random.default_rng(seed))
    draft.robot["world"]["gravity"] = [0, 0, -GRAVITY]
    draft.frames.append("world")
    draft.rod("rod", "cosserat")
    draft.robot["rods"]["rod"]["model"] = {"kind": kind, **options}
    for joint in draft.robot.get("joints", {}).values():
        draft.robot["joints"] = {"hold": {"type": "weld", "child": joint["child"], "parent": joint["parent"]}}
    if draft.parameters:
        draft.robot["parameters"] = draft.parameters
    return load_text(json.dumps(draft.robot))


class _Draft:
    """A robot that grows: frames that things can be attached to, and what is attached to them.

    length, mass: its size [m] and that of its bodies [kg].
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.length, self.mass = self.decades(1e-2, 3.0), self.decades(1e-3, 30.0)
        self.gravity = 0.0 if self.chance(0.2) else GRAVITY
        self.robot: Data = {"pliant": 1, "world": {"gravity": [0, 0, -self.gravity]}}
        self.frames: list[str] = []
        """Frames of bodies, which bear what bodies weigh."""
        self.parameters: Data = {}
        self.driven = 0

    # -- numbers -------------------------------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def decades(self, low: float, high: float) -> float:
        return float(f"{np.exp(self.rng.uniform(np.log(low), np.log(high))):.4g}")

    def between(self, low: float, high: float) -> float:
        return float(f"{self.rng.uniform(low, high):.4g}")

    def choose(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def direction(self) -> Any:
        if self.chance(0.7):
            return self.choose("xyz")
        axis = self.rng.normal(size=3)
        return [float(f"{x:.4g}") for x in axis / np.linalg.norm(axis)]

    def place(self, size: float) -> list[float]:
        return [self.between(-size, size) for _ in range(3)]

    def rotation(self) -> Data:
        return {"axis": self.direction(), "angle": self.between(-3.1, 3.1)}

    def stiffness(self) -> float:
        """Of a spring that the bodies swing on a few times in a second [N/m]."""
        return self.mass * (2 * np.pi * self.decades(0.3, 20.0)) ** 2

    def force(self) -> float:
        """About as large as weights are [N]."""
        return self.mass * GRAVITY * self.decades(0.03, 1.0)

    def signal(self, size: float, unit: str) -> Any:
        """A value over time, between nothing and this size: constant, swinging, jumping, or an input."""
        kind = self.choose(("constant", "sine", "jump", "input"))
        frequency = self.decades(0.3, 5.0)
        if kind == "sine":
            return f"={size!r} {unit} * (0.5 - 0.5*cos(2*pi*{frequency!r} Hz * t))"
        if kind == "jump":
            return f"=if(t < {self.between(0.05, 0.4)!r} s, 0 {unit}, {size!r} {unit})"
        if kind == "input":
            name = f"u{len(self.parameters)}"
            self.parameters[name] = {"value": f"{size!r} {unit}", "input": True}
            return f"={name}"
        return size

    # -- bodies --------------------------------------------------------------------------------------------------------

    def body(self, name: str) -> None:
        size = self.length * self.decades(0.3, 1.5)
        shapes = (
            {"type": "sphere", "radius": 0.3 * size},
            {"type": "box", "size": [size, 0.4 * size, 0.2 * size]},
            {"type": "cylinder", "radius": 0.2 * size, "length": size, "axis": self.choose("xyz")},
            {"type": "tube", "outer_radius": 0.2 * size, "inner_radius": 0.15 * size, "length": size, "axis": "x"},
        )
        self.robot.setdefault("bodies", {})[name] = {
            "mass": self.mass * self.decades(0.1, 5.0),
            "center_of_mass": self.place(0.3 * size),
            "shape": self.choose(shapes),
            "frames": {"tip": {"position": self.place(size), "rotation": self.rotation()}},
        }

    def coordinate(self, *, angle: bool, plain: bool = False) -> Any:
        """A coordinate with some of what coordinates can have; `plain` ones follow no prescribed motion."""
        size = 1.0 if angle else self.length
        stiffness = self.stiffness() * (self.length**2 if angle else 1.0)
        given: Data = {}
        if self.driven < 2 and not plain and self.chance(0.08):
            self.driven += 1
            frequency = self.decades(0.3, 3.0)
            wave = f"sin(2*pi*{frequency!r} Hz * t)"
            return {"motion": f"={self.between(0.05, 0.4) * size!r} {'rad' if angle else 'm'} * {wave}"}
        if self.chance(0.6):
            given["initial"] = self.between(-0.5, 0.5) * size
        if self.chance(0.4):
            given["rate"] = self.between(-3.0, 3.0) * size
        if self.chance(0.6):
            rest = self.choose(("as at start", 0, self.between(-0.3, 0.3) * size))
            given["spring"] = {"coefficient": stiffness, "rest": rest}
        if self.chance(0.5):
            damping = stiffness * self.decades(1e-4, 0.1)
            power = self.choose((1, 1, 1, 0.7, 1.5, 2))
            given["damper"] = {"coefficient": damping / size ** (power - 1), "power": power}
        if self.chance(0.2):
            given["input"] = self.signal(self.force() * (self.length if angle else 1.0), "N*m" if angle else "N")
        if "spring" in given and self.chance(0.15):
            given |= {"direction": self.choose(("positive", "negative")), "smoothing": 0.01 * size}
        if self.chance(0.1):
            middle = given.get("initial", 0.0)
            given["limits"] = {
                "minimum": middle - self.between(0.05, 0.5) * size,
                "maximum": middle + self.between(0.05, 0.5) * size,
                "stiffness": 30 * stiffness,
            }
        return given or "free"

    def orientation(self) -> Any:
        given: Data = {}
        if self.chance(0.6):
            given["initial"] = self.rotation()
        if self.chance(0.5):
            given["rate"] = self.place(4.0)
        if self.chance(0.4):
            given["spring"] = self.stiffness() * self.length**2
        if self.chance(0.4):
            given["damper"] = self.stiffness() * self.length**2 * self.decades(1e-4, 0.03)
        return given or "free"

    def joint(self, name: str, child: str, parent: str, kind: str) -> None:
        def turn() -> Any:
            return self.coordinate(angle=True)

        def slide() -> Any:
            return self.coordinate(angle=False)

        def chain() -> Data:
            slides = [slide() if self.chance(0.4) else self.between(0.0, self.length) for _ in range(3)]
            turns = (
                {"axis": self.direction(), "angle": turn()},
                {"vector": [turn(), turn(), 0]},
                {"quaternion": self.orientation()},
            )
            return {
                "transforms": [
                    {"translate": slides},
                    {"rotate": self.choose(turns)},
                    {"translate": [0, 0, 0.1 * self.length]},
                ]
            }

        fields = {
            "revolute": lambda: {"axis": self.direction(), "angle": turn()},
            "prismatic": lambda: {"axis": self.direction(), "displacement": slide()},
            "universal": lambda: {"angle1": turn(), "angle2": turn()},
            "cylindrical": lambda: {"axis": self.direction(), "angle": turn(), "displacement": slide()},
            "planar": lambda: {"x": slide(), "y": slide(), "angle": turn()},
            "spherical": lambda: {"orientation": self.orientation()},
            "free": lambda: {"x": slide(), "y": slide(), "z": slide(), "orientation": self.orientation()},
            "weld": dict,
            "chain": chain,
        }  # fmt: skip
        placed = {"position": self.place(0.5 * self.length)} if self.chance(0.6) else {}
        if self.chance(0.4):
            placed["rotation"] = self.rotation()
        self.robot.setdefault("joints", {})[name] = {
            "type": kind, "child": child, "parent": parent, **placed, **fields[kind](),
        }  # fmt: skip

    def tree(self) -> None:
        for k in range(int(self.rng.integers(1, 5))):
            parent = "world" if k == 0 or self.chance(0.25) else self.choose(self.frames)
            self.body(f"b{k}")
            kind = self.choose(JOINTS)
            if k == 0 and kind == "weld":
                kind = "revolute"
            self.joint(f"j{k}", f"b{k}", parent, kind)
            self.frames += [f"b{k}", f"b{k}.tip"]

    # -- soft parts ----------------------------------------------------------------------------------------------------

    def rod(self, name: str, kind: str) -> None:
        """A rod that its weight, and what it carries, bends by a share of its length."""
        length = self.length * self.decades(0.5, 3.0)
        radius = length / self.decades(10.0, 60.0)
        density = self.decades(500.0, 8000.0)
        sag = self.decades(0.003, 0.5)
        carried = self.chance(0.4)
        load = density * np.pi * radius**2 * length + (5 * self.mass if carried else 0.0)
        modulus = load * GRAVITY * length**2 / (8 * sag * np.pi / 4 * radius**4)
        self.robot.setdefault("materials", {})[f"{name}_stuff"] = {
            "density": density, "youngs_modulus": modulus, "poissons_ratio": self.between(0.1, 0.49),
        }  # fmt: skip
        sections = (
            {"shape": "circle", "radius": radius},
            {"shape": "annulus", "outer_radius": radius, "inner_radius": 0.7 * radius},
            {"shape": "rectangle", "width": 2 * radius, "height": self.between(0.8, 2.0) * radius},
        )
        self.robot.setdefault("sections", {})[f"{name}_section"] = self.choose(sections)
        rod: Data = {
            "parent": "world" if self.chance(0.5) else self.choose(self.frames),
            "position": self.place(self.length),
            "rotation": self.rotation(),
            "length": length,
            "section": f"{name}_section",
            "material": f"{name}_stuff",
            "model": {"kind": kind, **RODS[kind]},
        }
        if kind not in ("pcc", "pcc_cog") and self.chance(0.6):
            rod["rayleigh"] = {"beta": self.decades(1e-4, 3e-2)}
        if kind not in ("timoshenko", "polynomial", "pcc", "pcc_cog") and self.chance(0.25):
            rod["shape"] = {"type": "arc", "angle": self.between(-1.5, 1.5)}
        if kind in ("pcs", "gvs", "pseudo_rigid") and self.chance(0.3):
            rod["strains"] = self.choose(("kirchhoff", "unshearable", "inextensible"))
        if kind != "timoshenko" and self.chance(0.3):
            push = load * GRAVITY * self.decades(0.1, 1.0)
            rod["chambers"] = {"c": {"force": self.signal(push, "N"), "positions": [[0.5 * radius, 0]]}}
        self.robot.setdefault("rods", {})[name] = rod
        if carried and kind != "timoshenko":
            self.body(f"{name}_end")
            self.joint(f"{name}_hold", f"{name}_end", f"{name}.tip", self.choose(("weld", "revolute", "spherical")))
            self.frames.append(f"{name}_end")
        elif self.chance(0.3):
            force = [self.signal(load * GRAVITY * self.decades(0.05, 0.5), "N"), 0, 0]
            self.add("loads", {"frame": f"{name}.tip", "force": force})
        if self.chance(0.3):
            tension = self.signal(load * GRAVITY * self.decades(0.05, 0.5), "N")
            along = {"rod": name, "offset": [1.5 * radius, 0], "eyelets": 5}
            rubs = {"friction": self.between(0.05, 0.5), "slip_speed": 0.01 * self.length} if self.chance(0.3) else {}
            self.add("tendons", {"type": "tension", "through": [along], "tension": tension, **rubs})

    # -- what acts between them ----------------------------------------------------------------------------------------

    def add(self, collection: str, part: Data) -> None:
        there = self.robot.setdefault(collection, {})
        there[f"{collection[0]}{len(there)}"] = part

    def apart(self) -> list[Any]:
        """Two frames, or points beside them, that are not in one place."""
        first = {"frame": "world", "position": self.place(2 * self.length)}
        return [first, {"frame": self.choose(self.frames), "position": self.place(0.2 * self.length)}]

    def interactions(self) -> None:
        if self.chance(0.4):
            spring = {"coefficient": self.stiffness(), "rest": self.choose(("as at start", self.length))}
            damper = self.stiffness() * self.decades(1e-4, 0.03)
            sided = {"direction": self.choose(("tension", "compression")), "smoothing": 0.01 * self.length}
            link = {"type": "axial", "between": self.apart(), "spring": spring, "damper": damper}
            self.add("links", link | (sided if self.chance(0.4) else {}))
        if self.chance(0.25):
            k = self.stiffness()
            stiffness = [k] * 3 + [k * self.length**2] * 3
            damping = [x * self.decades(1e-4, 0.02) for x in stiffness]
            self.add("links", {"type": "beam", "between": self.apart(), "stiffness": stiffness, "damping": damping})
        if self.chance(0.25):
            self.add("tendons", {
                "type": "elastic", "through": self.apart(), "stiffness": self.stiffness(),
                "damper": self.stiffness() * self.decades(1e-4, 0.02), "smoothing": 0.005 * self.length,
                "shortening": self.signal(0.1 * self.length, "m"),
            })  # fmt: skip
        if self.chance(0.35):
            load: Data = {"frame": self.choose(self.frames), "force": [self.signal(self.force(), "N"), 0, self.force()]}
            self.add("loads", load | ({"expressed_in": load["frame"]} if self.chance(0.3) else {}))

    def closed_loop(self) -> None:
        """A point that stays where it is, or on a line or a plane."""
        if not self.chance(0.35):
            return
        frame = self.choose(self.frames)
        components = self.choose((["x"], ["z"], ["x", "y"], "position"))
        # anchored some way off, so that axes of joints and the constraint are no special positions
        ground = {"frame": "world", "position": self.place(self.length), "rotation": self.rotation()}
        self.add("constraints", {"between": [ground, frame], "components": components, "holds": "as at start"})

    def contacts(self) -> None:
        """A ball that falls, and a rod, on the floor below."""
        if not self.chance(0.35):
            return
        radius, height = 0.2 * self.length, self.between(0.02, 1.0) * self.length
        low = -6 * self.length
        robot = self.robot
        robot.setdefault("surfaces", {})["floor"] = {"type": "plane", "position": [0, 0, low]}
        robot.setdefault("bodies", {})["ball"] = {"mass": self.mass, "shape": {"type": "sphere", "radius": radius}}
        robot.setdefault("joints", {})["fly"] = {
            "type": "free", "child": "ball", "x": {"rate": self.between(-1, 1) * self.length},
            "z": {"initial": low + radius + height}, "orientation": self.orientation(),
        }  # fmt: skip
        weight = self.mass * GRAVITY
        law: Data = {"stiffness": weight / (radius * self.decades(1e-4, 1e-2)), "friction": self.between(0.0, 0.9)}
        if self.chance(0.5):
            law["restitution"] = self.between(0.2, 1.0)
        touching: Any = ["ball"]
        if self.robot.get("rods") and self.chance(0.7):
            kind = self.choose(("pcs", "cosserat", "finite_element"))
            self.lying_rod(kind, low)
            touching.append("lying")
        self.add("contacts", {"between": [touching, "floor"], **law})

    def lying_rod(self, kind: str, low: float) -> None:
        """A rod that juts out over the floor and comes to lie on it."""
        length, radius = 2 * self.length, 0.06 * self.length
        modulus = self.decades(0.5, 30.0) * 1000.0 * GRAVITY * length**3 / radius**2
        self.robot.setdefault("materials", {})["soft"] = {
            "density": 1000.0, "youngs_modulus": modulus, "poissons_ratio": 0.4,
        }  # fmt: skip
        self.robot.setdefault("sections", {})["thick"] = {"shape": "circle", "radius": radius}
        self.robot["rods"]["lying"] = {
            "position": [3 * self.length, 0, low + radius + self.between(0.01, 0.3) * self.length],
            "rotation": {"axis": "y", "angle": 1.5708}, "length": length, "section": "thick", "material": "soft",
            "rayleigh": {"beta": self.decades(1e-3, 3e-2)}, "model": {"kind": kind, **RODS[kind]},
        }  # fmt: skip

    def data(self) -> Data:
        self.tree()
        for k in range(self.choose((0, 0, 1, 1, 2))):
            self.rod(f"r{k}", self.choose(tuple(RODS)))
        self.interactions()
        self.closed_loop()
        self.contacts()
        if self.parameters:
            self.robot["parameters"] = self.parameters
            for name, parameter in self.parameters.items():
                self.add_input(name, parameter["value"])
        return self.robot

    def add_input(self, name: str, size: str) -> None:
        waves = (
            {"step": {"at": self.between(0.05, 0.4), "after": size}},
            {"sine": {"amplitude": size, "frequency": self.decades(0.3, 5.0)}},
            {"ramp": {"start": self.between(0.0, 0.1), "end": self.between(0.2, 0.5), "after": size}},
        )
        if self.chance(0.7):
            self.robot.setdefault("inputs", {})[name] = self.choose(waves)
