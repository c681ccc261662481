"""HTML pages that need no network and run only the package's own script.

All content of models is passed through `text` or, as data, through `block`. The page's policy allows the one script
and the one style sheet by their checksums, so that even injected markup could neither run nor load anything.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.show import outlines
from pliant.show.colours import AXES, rgb
from pliant.show.plot.style import axes, style
from pliant.show.scene import Clip, all_scenes
from pliant.show.sketch import settings, sketch
from pliant.show.stage import Batch, Stage, make_stage, unit_shape
from pliant.show.symbols import LAYOUT

if TYPE_CHECKING:
    from pliant.analysis.motion.result import Result
    from pliant.engine.equations import Equations


def text(value: Any) -> str:
    """Any text as HTML."""
    return html.escape(str(value), quote=True)


def prose(value: str) -> str:
    """A description as HTML; names between backticks are set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text(value))


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of texts; columns without names have no row of headings."""
    top = "".join(f"<th>{text(cell)}</th>" for cell in head)
    heading = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    lines = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>{heading}<tbody>{lines}</tbody></table></div>'


def block(name: str, data: Any) -> str:
    """Data for the script, in a form that cannot close its element."""
    written = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return f'<script type="application/json" id="{text(name)}">{written}</script>'


def picture(content: bytes, kind: str, words: str) -> str:
    """An image embedded in the page; kind: `png` or `svg+xml`. `words` is its alternative text."""
    return f'<img alt="{text(words)}" src="data:image/{kind};base64,{base64.b64encode(content).decode()}">'


def page(title: str, body: str, *, fill: bool = False, live: bool = False) -> str:
    """A complete page; fill: it consists of one player, which fills the height of its window; live: it runs a robot (see
    `targets/wasm.py`)."""
    script, style = asset("player.js"), asset("page.css")
    if live:
        script, style = script + asset("live.js"), style + asset("live.css")
    compiles = " 'wasm-unsafe-eval'" if live else ""
    filled = ' class="live"' if live else ' class="fill"' if fill else ""
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_checksum(script)}'{compiles}; style-src '{_checksum(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{text(title)}</title><style>{style}</style></head>\n'
        f"<body{filled}>{body}\n<script>{script}</script></body></html>\n"
    )


def encoded(document: str) -> bytes:
    """The bytes of a page; characters that have no encoding (halves of pairs) become question marks."""
    return document.encode("utf-8", errors="replace")


def frame(document: str, height: int = 560) -> str:
    """A page inside a notebook's output, isolated from the notebook and allowed only to run its script."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{text(document)}" width="100%" height="{height}" '
        'style="border:0" title="robot"></iframe>'
    )


@cache
def asset(name: str) -> str:
    """A file of the player."""
    return files("pliant.show").joinpath("web", name).read_text(encoding="utf-8")


def _checksum(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


WIDE = 5.5
"""Figures wider than this [inch] are scrolled on narrow screens: their text would be too small to read."""


def figure_html(draw: Callable[[], Any], words: str) -> str:
    """The figure that a function draws as an image, with `words` as alternative text."""
    with style():
        return _image(draw(), words)


def _image(axes: Any, words: str) -> str:
    import matplotlib.pyplot as plt

    figure = np.ravel(np.asarray(axes, dtype=object))[0].figure
    content = io.BytesIO()
    with settings({"svg.fonttype": "path", "svg.hashsalt": "pliant"}):
        figure.savefig(content, format="svg", metadata={"Date": None})
    plt.close(figure)
    image = picture(content.getvalue(), "svg+xml", words)
    return f'<div class="wide">{image}</div>' if figure.get_figwidth() > WIDE else image


def sketch_html(eqs: Equations, pose: Any, words: str) -> str:
    """The drawing of a robot, as an image."""
    return _image(sketch(eqs, pose), words)


def constraint_error(run: Result) -> Any:
    """Axes with the largest constraint error over time."""
    ax = axes(None)
    ax.semilogy(run.time, np.maximum(run.constraint_error, 1e-17))
    ax.set_xlabel("time [s]")
    ax.set_ylabel("constraint error [m or rad]")
    return ax


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
    everywhere = np.concatenate([batch.positions.reshape(-1, 3) for batch in stage.batches] or [np.zeros((1, 3))])
    low, span = everywhere.min(axis=0), np.maximum(np.ptp(everywhere, axis=0), 1e-15)
    largest = max((float(batch.sizes.max()) for batch in stage.batches), default=1.0)
    size = float(np.max(stage.high - stage.low))
    grid = outlines.round_length(max(size, 1e-12) / 4)
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
        "gridText": outlines.length_text(grid),
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
