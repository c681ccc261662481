"""Films of robots without a display: a drawing for each frame, combined by ffmpeg (.mp4) or Pillow (.gif)."""

import io
import os
import shutil
import subprocess
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from pliant.analysis.motion.result import Result
from pliant.engine.equations import Equations, need_equations
from pliant.language.arguments import ArgumentError, file_name, function, number, positive
from pliant.language.files import write_whole
from pliant.language.message_text import describe
from pliant.language.provided import called
from pliant.show.camera import View, look_from, view_direction
from pliant.show.marks import Scene, push_scale
from pliant.show.scene import run_scenes
from pliant.show.sketch import Drawing, front_view, picture_size, symbol_size, write_all_names


@dataclass(frozen=True)
class FilmLayout:
    """Size, frames and colours of films."""

    clock: float = 0.045
    """Height of the strip for the time, relative to that of a frame."""
    slowest: float = 0.01
    """Lowest frame rate [1/s]; a frame of a GIF lasts at most 655 s."""
    most_frames: int = 3000
    """Films of more frames, which would take long to draw, are rejected."""
    width: int = 960
    """Largest width of the picture [pixels]; its shape is that of the content."""
    height: int = 720
    """Largest height of the picture [pixels]."""
    resolution: int = 150
    """Dots per inch of a film of this size, which determines the size of text and lines."""
    colours: int = 256
    """Number of colours of a .gif file."""


LAYOUT = FilmLayout()

Progress = Callable[[int, int], None]


SLIDES = ("prismatic", "cylindrical")


@dataclass(frozen=True)
class Film:
    """A film that was written, which notebooks play.

    Attributes:
        path: its file.
        frames: their number.
        fps: frames per second.
    """

    path: Path
    frames: int
    fps: float

    def __repr__(self) -> str:
        return f"film of {self.frames} frames in {self.path}"

    def _repr_html_(self) -> str:
        return str(called("Film.html", self))


def film(
    eqs: Equations, run: Result, path: str | os.PathLike[str], *, fps: float = 25.0, speed: float = 1.0,
    view: View = None, size: tuple[int, int] | None = None, labels: bool = True, frames: bool = True,
    progress: Progress | None = None,
) -> Film:  # fmt: skip
    """Write a run as a film (.mp4 or .gif) atomically; returns its file and number of frames, which a notebook plays.

    fps: frames per second. speed: seconds of motion per second of film. Between saved times the nearest one is shown.
    view, labels, frames: as in `sketch`. size: width and height [pixels]; by default the shape of the content, up to 960 x 720.
    """
    fps, speed = number("fps", positive("fps", fps), at_least=LAYOUT.slowest), positive("speed", speed)
    need_equations(eqs)
    function("progress", progress)
    if not hasattr(run, "time") or not hasattr(run, "q"):
        raise ArgumentError(
            f"a film needs the result of a simulation, not {describe(run)}", "write pliant.simulate(...)"
        )
    target = file_name("path", path)
    if target.suffix not in (".mp4", ".gif"):
        raise ArgumentError(f"cannot determine the format of '{target.name}': end it in .mp4 or .gif")
    if target.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ArgumentError("ffmpeg, which writes .mp4, is not installed: install it, or write a .gif")
    if len(run.time) < 2:
        raise ArgumentError("the result contains fewer than two saved times: simulate with --save-every")
    span = float(run.time[-1] - run.time[0])
    wanted = span / speed * fps
    if wanted > LAYOUT.most_frames - 0.5:
        what = f"the film would have {wanted + 1:.6g} frames, more than {LAYOUT.most_frames}"
        raise ArgumentError(f"{what}: increase the speed or reduce the frame rate")
    count = max(2, round(wanted) + 1)
    moments = run.time[0] + np.linspace(0, span, count)
    chosen = [int(np.argmin(np.abs(run.time - t))) for t in moments]
    look = _FrameStyle(view, None if size is None else picture_size(size), labels, frames)
    pictures = _pictures(eqs, run, chosen, look, progress)
    write = _mp4 if target.suffix == ".mp4" else _gif
    write_whole(target, write(pictures, fps))
    return Film(target, count, fps)


@dataclass(frozen=True)
class _FrameStyle:
    """Style of frames: see `film`."""

    view: View
    size: tuple[int, int] | None
    labels: bool
    frames: bool


def _pictures(
    eqs: Equations, run: Result, chosen: list[int], look: _FrameStyle, progress: Progress | None
) -> Iterator[np.ndarray]:
    """Frames (height x width x 3, bytes), all with the same camera; each saved time is drawn once."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = list(dict.fromkeys(chosen))
    scenes = dict(zip(shown, _with_still_pivots(list(run_scenes(eqs, run, shown))), strict=True))
    some = list(scenes.values())[:: max(1, len(scenes) // 20)]
    camera = front_view(*some) if look.view is None else look_from(view_direction(look.view), some[0].gravity)
    points = np.concatenate([scene.outline_points() for scene in scenes.values()])
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    size = symbol_size(points, camera)
    push = push_scale(list(scenes.values()))
    drawings = {
        k: Drawing(scene, camera, labels=look.labels, frames=look.frames, size=size, center=center, push=push)
        for k, scene in scenes.items()
    }
    write_all_names(list(drawings.values()))
    low = np.min([drawing.low for drawing in drawings.values()], axis=0)
    high = np.max([drawing.high for drawing in drawings.values()], axis=0)
    high = high + [0.0, LAYOUT.clock * max(high[1] - low[1], (high[0] - low[0]) * LAYOUT.height / LAYOUT.width)]
    shape = (high - low) + 0.12 * size
    scale = min(LAYOUT.width / shape[0], LAYOUT.height / shape[1])
    # encoders require an even number of pixels
    width, height = (2 * round(x / 2) for x in (scale * shape if look.size is None else look.size))
    dots = LAYOUT.resolution * max(
        width / LAYOUT.width, height / LAYOUT.height
    )  # text and lines scale with the picture
    last, frame = -1, np.zeros((height, width, 3), dtype=np.uint8)
    for count, k in enumerate(chosen):
        if k != last:
            canvas = FigureCanvasAgg(Figure((width / dots, height / dots), dpi=dots))
            ax = canvas.figure.add_axes((0, 0, 1, 1))
            drawings.pop(k).draw(ax, (low, high))
            ax.text(0.02, 0.98, f"t = {run.time[k]:.2f} s", transform=ax.transAxes, va="top", fontsize=9)
            canvas.draw()
            frame = np.asarray(canvas.buffer_rgba())[:height, :width, :3].copy()
            last = k
        yield frame
        if progress is not None:
            progress(count + 1, len(chosen))


def _with_still_pivots(scenes: Sequence[Scene]) -> list[Scene]:
    """The scenes of a film with the ground of each hinge on one side of it: away from the mean position of its body, which may
    swing to all sides."""
    means = [
        np.mean([joint.toward for joint in joints], axis=0) for joints in zip(*(s.joints for s in scenes), strict=True)
    ]
    return [
        replace(
            scene,
            joints=tuple(
                # the body of a slide keeps its direction, which is drawn
                joint if joint.kind in SLIDES else replace(joint, toward=mean)
                for joint, mean in zip(scene.joints, means, strict=True)
            ),
        )
        for scene in scenes
    ]


def _mp4(pictures: Iterator[np.ndarray], frames_per_second: float) -> bytes:
    first = next(pictures)
    height, width = first.shape[:2]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "film.mp4"
        command = [
            "ffmpeg", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
            "-r", f"{frames_per_second:g}", "-i", "-", "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18",
            "-movflags", "+faststart", str(target),
        ]  # fmt: skip
        # messages of the encoder go to a file: a pipe that is not read could fill up
        with (Path(folder) / "errors").open("w+b") as errors:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors)
            assert process.stdin is not None
            try:
                for picture in chain([first], pictures):
                    process.stdin.write(picture.tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # its messages give the reason
            if process.wait() != 0 or not target.exists():
                errors.seek(0)
                raise ArgumentError(
                    f"ffmpeg failed: {errors.read().decode(errors='replace').strip() or 'no reason given'}; write a .gif"
                )
        return target.read_bytes()


def _gif(pictures: Iterator[np.ndarray], frames_per_second: float) -> bytes:
    """All frames with one palette of the most frequent colours of the film, so that colours do not change."""
    from PIL import Image

    kept: list[tuple[np.ndarray, bytes]] = []
    counts: Counter[int] = Counter()
    for picture in pictures:
        packed = picture.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
        colours, where, times = np.unique(packed, return_inverse=True, return_counts=True)
        counts.update(dict(zip(colours.tolist(), times.tolist(), strict=True)))
        kept.append((colours, zlib.compress(where.astype(_index_type(colours)).tobytes(), 1)))
    shape = packed.shape
    palette = np.array([colour for colour, _ in counts.most_common(LAYOUT.colours)])

    def frames() -> Iterator[Image.Image]:
        for colours, where in kept:
            numbers = np.frombuffer(zlib.decompress(where), _index_type(colours))
            frame = Image.fromarray(_nearest(colours, palette)[numbers].reshape(shape))
            frame.putpalette(_channels(palette).astype(np.uint8).tobytes())
            yield frame

    made = frames()
    content = io.BytesIO()
    # the unit of the format is a hundredth of a second
    duration = 10 * max(2, round(100 / frames_per_second))
    next(made).save(content, format="GIF", save_all=True, append_images=made, duration=duration, loop=0, optimize=False)
    return content.getvalue()


def _index_type(colours: np.ndarray) -> type[np.unsignedinteger[Any]]:
    """Integer type for this count of colours."""
    return np.uint16 if len(colours) < 65536 else np.uint32


def _nearest(colours: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """The closest entry of a palette for each colour, as bytes."""
    own, given = _channels(colours), _channels(palette)
    apart = np.sum((own[:, None] - given) ** 2, axis=2)
    return np.argmin(apart, axis=1).astype(np.uint8)


def _channels(packed: np.ndarray) -> np.ndarray:
    """Red, green and blue (n x 3) of colours that are one count each."""
    return np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=1).astype(np.int32)
