"""Links that only push and begin far away: springs that represent a face, which is a plane in effect."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from pliant.view.marks import Scene, outline

FAR = 5.0
"""Links that are longer than this many times the robot's size are drawn short."""
SHORT = 0.3
"""Their drawn length, relative to the robot's size."""


def with_short_links(scene: Scene, pushing: Collection[str]) -> Scene:
    """The scene with only the ends of very long links that push: otherwise the picture would show the links, and a small robot.

    pushing: names of the links that can only push.
    """
    if not pushing:
        return scene
    parts = [outline(solid) for solid in scene.solids] + [rod.points for rod in scene.rods]
    parts += [mesh.nodes for mesh in scene.meshes] + [link.ends for link in scene.links if link.name not in pushing]
    points = np.concatenate(parts) if parts else np.zeros((1, 3))
    middle, size = 0.5 * (points.min(axis=0) + points.max(axis=0)), float(np.ptp(points, axis=0).max())
    links, far = [], []
    for link in scene.links:
        far_end = int(np.argmax(np.linalg.norm(link.ends - middle, axis=1)))
        way, near = link.ends[far_end] - link.ends[1 - far_end], link.ends[1 - far_end]
        length = float(np.linalg.norm(way))
        if link.name not in pushing or size == 0 or length < FAR * size:
            links.append(link)
            continue
        far.append(link.ends[far_end])
        ends = link.ends.copy()
        ends[far_end] = near + SHORT * size / length * way
        links.append(replace(link, ends=ends))
    if not far:
        return scene

    def is_near(point: np.ndarray) -> bool:
        return min(float(np.linalg.norm(point - end)) for end in far) > 1e-9 * size

    return replace(
        scene,
        links=tuple(links),
        frames={name: pose for name, pose in scene.frames.items() if is_near(pose[1])},
        solids=tuple(replace(s, arms=tuple(arm for arm in s.arms if is_near(arm[1]))) for s in scene.solids),
    )
