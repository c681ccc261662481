"""A robot, still or moving, as a glTF 2.0 file (.glb).

Every copy of a unit shape in the stage is a node with a mesh of that shape and colour; its translation, rotation and scale
are animated. Colours do not change over time in this format: each piece keeps that of the first frame. The y axis points
up there, as the format requires.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pliant.analysis.derivation.derive import derive
from pliant.analysis.motion.result import Result
from pliant.engine.equations import Equations, need_equations
from pliant.parts.geometry import arrays
from pliant.robot.reader import load_text
from pliant.show.scene import Clip, run_clip, start_clip
from pliant.show.stage import STAGE_LAYOUT, Stage, make_stage, unit_shape
from pliant.targets.base import Export, Target, exporter, write_file

FLOAT, UNSIGNED_SHORT = 5126, 5123
KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


class Gltf(Target):
    """Shapes and motion as a glTF 2.0 file for other programs: viewers, slides, Blender. The y axis points up there, as the format
    requires. A robot is written in its initial pose; a saved result moves.
    """

    name: ClassVar[str] = "gltf"
    title: ClassVar[str] = "glTF"
    summary: ClassVar[str] = "shapes and motion as a scene"
    suffix: ClassVar[str] = ".glb"
    omits: ClassVar[str] = (
        "everything but shapes: masses, joints, forces; colours do not change over time, frames have no axes"
    )
    of_motions: ClassVar[bool] = True

    def write(self, robot: Equations | Result, path: Path) -> SceneExport:
        """Write the initial pose of a robot, or the motion of a result."""
        clip = self._clip(robot)
        write_file(path, _Writer(make_stage(clip.scenes), np.asarray(clip.times, dtype=float)).document())
        return SceneExport(path, (path,), (), len(clip.times))

    @staticmethod
    def _clip(robot: Equations | Result) -> Clip:
        if isinstance(robot, Result):
            return run_clip(derive(load_text(robot.recorded.attributes["model_text"])), robot)
        need_equations(robot)
        return start_clip(robot)


@dataclass(frozen=True)
class SceneExport(Export):
    """An exported scene; `frames`: its number of poses."""

    frames: int

    def __str__(self) -> str:
        return f"{self.frames} frame{'s' if self.frames > 1 else ''} in {self.path}"

    def facts(self) -> dict[str, Any]:
        return {"frames": self.frames}


export_gltf = exporter(Gltf)


class _Writer:
    def __init__(self, stage: Stage, times: np.ndarray) -> None:
        self.stage, self.times = stage, times
        self.binary = bytearray()
        self.accessors: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.materials: dict[tuple[float, ...], int] = {}
        self.meshes: dict[tuple[str, int], int] = {}
        self.shapes: dict[str, dict[str, Any]] = {}
        self.nodes: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []

    def document(self) -> bytes:
        up = arrays.quaternion_between(self.stage.up, np.array([0.0, 1.0, 0.0]))
        self.nodes.append({"name": "robot", "rotation": _xyzw(up).tolist(), "children": []})
        moving = len(self.times) > 1
        clock = self._accessor(self.times.astype("<f4")[:, None], bounds=True) if moving else -1
        for batch in self.stage.batches:
            if batch.layer == "frames":
                continue
            tracks = {"translation": batch.positions, "rotation": _xyzw(batch.turns), "scale": batch.sizes}
            for copy in range(batch.positions.shape[1]):
                mesh = self._mesh(
                    batch.shape,
                    batch.colours[0, copy],
                    STAGE_LAYOUT.contact_opacity if batch.layer == "contacts" else 1.0,
                )
                self._node(mesh, {name: values[:, copy] for name, values in tracks.items()}, clock)
        self.nodes[0]["children"] = list(range(1, len(self.nodes)))
        return self._packed()

    def _node(self, mesh: int, tracks: dict[str, np.ndarray], clock: int) -> None:
        number = len(self.nodes)
        self.nodes.append({"mesh": mesh, **{name: values[0].tolist() for name, values in tracks.items()}})
        for name, values in tracks.items():
            if clock >= 0 and np.ptp(values, axis=0).max() > 0:
                output = self._accessor(values.astype("<f4"))
                self.channels.append({"sampler": len(self.samplers), "target": {"node": number, "path": name}})
                self.samplers.append({"input": clock, "output": output, "interpolation": "LINEAR"})

    def _mesh(self, shape: str, colour: np.ndarray, opacity: float) -> int:
        look = (*(int(x) for x in np.round(colour)), opacity)
        material = self.materials.setdefault(look, len(self.materials))
        if shape not in self.shapes:
            mesh = unit_shape(shape)
            attributes = {
                "POSITION": self._accessor(mesh.vertices.astype("<f4"), bounds=True),
                "NORMAL": self._accessor(mesh.normals.astype("<f4")),
            }
            indices = self._accessor(mesh.faces.astype("<u2").reshape(-1, 1))
            self.shapes[shape] = {"attributes": attributes, "indices": indices}
        return self.meshes.setdefault((shape, material), len(self.meshes))

    def _accessor(self, values: np.ndarray, *, bounds: bool = False) -> int:
        content = np.ascontiguousarray(values).tobytes()
        self.binary += b"\0" * (-len(self.binary) % 4)
        self.views.append({"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(content)})
        self.binary += content
        entry = {
            "bufferView": len(self.views) - 1,
            "componentType": FLOAT if values.dtype.kind == "f" else UNSIGNED_SHORT,
            "count": len(values),
            "type": KINDS[values.shape[1]],
        }
        if bounds:
            entry |= {"min": values.min(axis=0).tolist(), "max": values.max(axis=0).tolist()}
        self.accessors.append(entry)
        return len(self.accessors) - 1

    def _packed(self) -> bytes:
        look = {"metallicFactor": 0.0, "roughnessFactor": 0.7}
        materials: list[dict[str, Any]] = []
        for key in self.materials:
            materials.append({"pbrMetallicRoughness": {"baseColorFactor": _linear(key), **look}})
            if key[3] < 1:
                materials[-1]["alphaMode"] = "BLEND"
        meshes = [{"primitives": [{**self.shapes[shape], "material": material}]} for shape, material in self.meshes]
        self.binary += b"\0" * (-len(self.binary) % 4)
        content: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "Pliant"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": self.nodes,
            "meshes": meshes,
            "materials": materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.binary)}],
        }
        if self.channels:
            content["animations"] = [{"name": "motion", "channels": self.channels, "samplers": self.samplers}]
        text = json.dumps(content, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(self.binary), 0x004E4942) + bytes(self.binary)
        return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def _linear(colour: tuple[float, ...]) -> list[float]:
    """Red, green, blue (0 to 255) and opacity (0 to 1) in the format's linear colour space."""
    shares = [x / 255 for x in colour[:3]]
    return [round(((x + 0.055) / 1.055) ** 2.4 if x > 0.04045 else x / 12.92, 5) for x in shares] + [colour[3]]


def _xyzw(turns: np.ndarray) -> np.ndarray:
    """Quaternions [w, x, y, z] in the order of the format."""
    return np.roll(turns, -1, axis=-1)
