"""A stage of one frame in a viser scene: made once, then moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.geometry import arrays
from pliant.view.colours import PALETTE, rgb
from pliant.view.marks import Scene
from pliant.view.player import round_length
from pliant.view.shapes import unit_shape
from pliant.view.stage import CONTACT_OPACITY, Stage, make_stage

FIELD_OF_VIEW = 0.5


class Drawing:
    """Draws scenes of one robot below a name in the tree of a viser scene.

    The scales of colours, symbols and arrows never shrink, so that successive scenes can be compared.
    """

    def __init__(self, scene_api: Any, root: str, *, ghost: bool = False) -> None:
        self.api, self.root, self.ghost = scene_api, root, ghost
        self.handles: dict[tuple[str, str], Any] = {}
        self.labels: list[Any] = []
        self.label_layers: list[str] = []
        self.scales: dict[str, Any] = {"curvature": 0.0, "size": 0.0, "force": 0.0, "push": 0.0, "pushes": 0}
        self.shown = {"robot": True, "rods": True, "loads": True, "frames": False, "labels": not ghost, "nodes": False,
                      "contacts": not ghost}  # fmt: skip

    def draw(self, scene: Scene) -> Stage:
        """Show a scene and return its stage."""
        stage = make_stage([scene], **self.scales)
        self.scales = {name: getattr(stage, name) for name in self.scales}
        for batch in stage.batches:
            key = batch.layer, batch.shape
            values = {
                "batched_positions": batch.positions[0].astype(np.float32),
                "batched_wxyzs": batch.turns[0].astype(np.float32),
                "batched_scales": batch.sizes[0].astype(np.float32),
                "batched_colors": self._colours(batch.colours[0]),
            }
            if key in self.handles and len(self.handles[key].batched_positions) != len(batch.positions[0]):
                self.handles.pop(key).remove()  # the number of contacts has changed
            if key not in self.handles:
                mesh = unit_shape(batch.shape)
                self.handles[key] = self.api.add_batched_meshes_simple(
                    f"{self.root}/{batch.layer}/{batch.shape}", mesh.vertices, mesh.faces, lod="off",
                    opacity=self._opacity(batch.layer, stage), visible=self.shown[batch.layer], cast_shadow=False,
                    receive_shadow=False, **values,
                )  # fmt: skip
            else:
                for name, value in values.items():
                    setattr(self.handles[key], name, value)
        self._write(stage)
        return stage

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer, or the labels."""
        self.shown[layer] = visible
        handles = [h for key, h in self.handles.items() if key[0] == layer]
        handles += [h for h, sort in zip(self.labels, self.label_layers, strict=True) if sort == layer]
        for handle in handles:
            handle.visible = visible

    def remove(self) -> None:
        """Remove everything that was drawn."""
        for handle in (*self.handles.values(), *self.labels):
            handle.remove()
        self.handles, self.labels, self.label_layers = {}, [], []

    def _opacity(self, layer: str, stage: Stage) -> float | None:
        if self.ghost:
            return 0.45
        if layer == "contacts":
            return CONTACT_OPACITY
        return 0.6 if layer == "rods" and stage.see_through else None

    def _colours(self, colours: np.ndarray) -> np.ndarray:
        if self.ghost:
            return np.broadcast_to(np.round(255 * np.array(rgb(PALETTE[1]))), colours.shape).astype(np.uint8)
        return np.round(np.clip(colours, 0, 255)).astype(np.uint8)

    def _write(self, stage: Stage) -> None:
        if self.ghost:
            return
        if not self.labels:
            self.labels = [
                self.api.add_label(
                    f"{self.root}/labels/{k}", label.text, visible=self.shown[label.layer], anchor="top-center"
                )
                for k, label in enumerate(stage.labels)
            ]
            self.label_layers = [label.layer for label in stage.labels]
        for handle, label in zip(self.labels, stage.labels, strict=True):
            handle.position = label.positions[0]


def set_view(server: Any, stage: Stage) -> None:
    """Look at the robot as in its picture, with a floor below it."""
    scene, camera = server.scene, server.initial_camera
    middle, reach = 0.5 * (stage.low + stage.high), float(np.linalg.norm(stage.high - stage.low)) / 2
    scene.set_up_direction(tuple(stage.up))
    # uniform light, so that colours match the scale and nothing is in shadow
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    scene.add_light_ambient("/light/even", intensity=0.8)
    scene.add_light_directional("/light/key", intensity=0.9, position=tuple(stage.camera.toward + 0.7 * stage.up))
    camera.up = tuple(stage.up)
    camera.look_at = tuple(middle)
    camera.position = tuple(middle + stage.camera.toward * 1.7 * max(reach, 1e-3) / np.tan(FIELD_OF_VIEW / 2))
    camera.fov = FIELD_OF_VIEW
    camera.near, camera.far = 0.01 * max(reach, 1e-3), 200 * max(reach, 1e-3)
    cell = round_length(max(stage.size, 1e-6) / 4)
    lowest = middle + stage.up * ((stage.low - middle) @ np.abs(stage.up)) - 0.03 * reach * stage.up
    scene.add_grid(
        "/floor", width=16 * cell, height=16 * cell, cell_size=cell, section_size=4 * cell, position=tuple(lowest),
        wxyz=tuple(arrays.quaternion_between(np.array([0.0, 0.0, 1.0]), stage.up)), fade_distance=1e3 * reach, shadow_opacity=0.0,
    )  # fmt: skip
