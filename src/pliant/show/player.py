"""A stage as compact data for the player of pages (`web/player.js`)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.show.clips import Clip, all_scenes
from pliant.show.colours import AXES, rgb
from pliant.show.page import block, text
from pliant.show.stage import Batch, Stage, make_stage, unit_shape
from pliant.show.symbols import LAYOUT


def player(name: str, title: str, clips: Sequence[Clip]) -> str:
    """A player as HTML; `name` is its id on the page, `title` describes its content."""
    stage = make_stage(all_scenes(clips))
    data = player_data(stage, title, clips)
    legend = ""
    if stage.curvature > 0:
        legend = (
            '<div class="scale"><span>curvature of soft rods: 0</span><span class="ramp"></span>'
            f"<span>{stage.curvature:.3g} 1/m</span></div>"
        )
    largest = max((len(mesh.nodes) for mesh in clips[0].scenes[0].meshes), default=0)
    if largest > LAYOUT.numbers_up_to:
        legend += (
            f'<p class="note">Nets with more than {LAYOUT.numbers_up_to} nodes are shown without numbers of nodes.</p>'
        )
    return f'<div class="player" data-stage="{text(name)}"></div>{legend}{block(name, data)}'


def player_data(stage: Stage, title: str, clips: Sequence[Clip]) -> dict[str, Any]:
    """The data of the player.

    Positions are 16-bit fractions of their bounding box, sizes of the largest size, quaternions of one; tracks that do
    not move have one frame.
    """
    everywhere = np.concatenate([batch.positions.reshape(-1, 3) for batch in stage.batches])
    low, span = everywhere.min(axis=0), np.maximum(np.ptp(everywhere, axis=0), 1e-15)
    largest = max(float(batch.sizes.max()) for batch in stage.batches)
    size = float(np.max(stage.high - stage.low))
    grid = round_length(max(size, 1e-12) / 4)
    firsts = np.cumsum([0, *(len(clip.times) for clip in clips)])
    return {
        "title": title,
        "low": stage.low.tolist(),
        "high": stage.high.tolist(),
        "toward": stage.camera.toward.tolist(),
        "up": stage.up.tolist(),
        "axes": [rgb(colour) for colour in AXES],
        "seeThrough": stage.see_through,
        "grid": grid,
        "gridText": length_text(grid),
        "quantum": {"low": low.tolist(), "span": span.tolist(), "size": largest},
        "shapes": {name: shape_data(name) for name in sorted({batch.shape for batch in stage.batches})},
        "batches": [_batch(batch, low, span, largest) for batch in stage.batches],
        "labels": [
            {"text": x.text, "layer": x.layer, "positions": packed(_still(x.positions).astype("<f4"))}
            for x in stage.labels
        ],
        "clips": [
            {
                "name": clip.name,
                "first": int(first),
                "times": [round(float(t), 6) for t in clip.times],
                "rate": 1,
                "loops": clip.loops,
                "words": clip.words,
                "captions": list(clip.captions),
            }
            for clip, first in zip(clips, firsts, strict=False)
        ],
    }


def shape_data(name: str) -> dict[str, str]:
    """A unit shape: corners with normals, and triangles."""
    mesh = unit_shape(name)
    corners = np.concatenate([mesh.vertices, mesh.normals], axis=1).astype("<f4")
    return {"corners": packed(corners), "faces": packed(mesh.faces.astype("<u2"))}


def _batch(batch: Batch, low: np.ndarray, span: np.ndarray, largest: float) -> dict[str, Any]:
    shares = 2 * (batch.positions - low) / span - 1
    tracks = {
        "p": _track(np.round(32767 * shares).astype("<i2"), "short"),
        "t": _track(np.round(32767 * batch.turns).astype("<i2"), "short"),
        "s": _track(np.round(65535 * batch.sizes / largest).astype("<u2"), "ushort"),
        "c": _track(np.round(np.clip(batch.colours, 0, 255)).astype("u1"), "byte"),
    }
    return {"shape": batch.shape, "layer": batch.layer, "count": batch.positions.shape[1], "tracks": tracks}


def _track(values: np.ndarray, kind: str) -> dict[str, Any]:
    """Numbers of all frames. Each copy's row is padded to a multiple of four bytes, which graphics cards require."""
    parts = values.shape[2]
    padding = -(parts * values.itemsize) % 4 // values.itemsize
    padded = np.pad(_still(values), ((0, 0), (0, 0), (0, padding)))
    return {
        "kind": kind,
        "parts": parts,
        "stride": (parts + padding) * values.itemsize,
        "moves": len(padded) > 1,
        "data": packed(padded),
    }


def _still(values: np.ndarray) -> np.ndarray:
    """Only the first frame, if all frames are the same."""
    return values[:1] if np.array_equal(values, np.broadcast_to(values[:1], values.shape)) else values


def packed(values: np.ndarray) -> str:
    """The bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()


def round_length(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(k for k in (1, 2, 5) if k * power <= length * (1 + 1e-9)))


def length_text(length: float) -> str:
    """A length in a suitable unit."""
    if length >= 1:
        return f"{length:g} m"
    return f"{100 * length:g} cm" if length >= 0.01 else f"{1000 * length:g} mm"
