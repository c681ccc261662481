"""The controls of the live page, and the loop that processes them.

The server of the live page: local connections only, with a token in the address.

It binds to a loopback address. Its address contains a token that is generated for each page, and it answers only requests with
this token that are addressed to this machine and this port and come from the page itself: neither a web page with a name that
resolves to this machine (DNS rebinding), nor a page that another program serves on this machine, can read or control it. Of the
messages sent by browsers, only those of the page's own controls are passed to viser.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hmac
import html
import math
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cache
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

import numpy as np

from pliant.analysis.derivation.derive import derive
from pliant.analysis.equilibrium import Equilibrium, equilibrium
from pliant.analysis.modes import SECONDS, ModesResult, modes
from pliant.analysis.motion.result import Result
from pliant.analysis.numerics.state import AssemblyError, assemble
from pliant.engine.equations import Equations, Values
from pliant.engine.outputs import evaluate_outputs, output_units
from pliant.engine.program import EvaluationError
from pliant.language.arguments import ArgumentError
from pliant.parts.geometry import arrays
from pliant.robot.robot import RobotSpec
from pliant.robot.rod_switch import KINDS, with_rod_model
from pliant.show import outlines
from pliant.show.colours import PALETTE, rgb
from pliant.show.marks import Scene
from pliant.show.scene import SceneMaker, run_maker, run_scenes
from pliant.show.sliders import Slider, coordinate_sliders, input_sliders, parameter_sliders
from pliant.show.stage import STAGE_LAYOUT, Stage, make_stage, unit_shape


@dataclass(frozen=True)
class PageLayout:
    """Controls of the live page."""

    interval: float = 1 / 30
    """Time between two drawings [s]."""
    most_failures: int = 30
    """Number of consecutive failed drawings after which the page stops."""
    most_names: int = 12
    """More names than this would hide the robot: they are shown only when their box is checked."""
    steps: int = 400
    """Number of steps of a slider."""
    most_modes: int = 12
    """Number of modes that can be shown."""
    most_numbers: int = 9
    """Outputs with more numbers are not written out on the page."""
    round_off: float = 1e-12
    """Numbers below this are written as 0 (SI units)."""
    field_of_view: float = 0.5
    """Of the camera, from bottom to top [rad]."""


LAYOUT = PageLayout()

RUN, REST, START = "run", "at rest", "initial pose"
NOTHING = "none"
SPEEDS = ("0.1 x", "0.25 x", "0.5 x", "1 x", "2 x", "4 x")
OUTPUTS = '<pre style="margin: 0 1em; max-height: 12em; overflow: auto; font-size: 11px">{}</pre>'
"""Outputs on the page, as wide as its panel."""


class LivePage:
    """One robot on one server. Controls only signal changes; one thread does all the work."""

    def __init__(self, server: Any, spec: RobotSpec, eqs: Equations, run: Result | None = None) -> None:
        self.server, self.gui = server, server.gui
        self.robot, self.overlays = LiveRobot(eqs, run), Overlays(spec)
        self.drawing = Drawing(server.scene, "/robot")
        self.ghost = Drawing(server.scene, "/overlay", ghost=True)
        self.changed, self.stopped = threading.Event(), threading.Event()
        self.time, self.phase, self.moving, self.followed = 0.0, 0.0, False, False
        self.gui.configure_theme(show_logo=False, show_share_button=False, control_width="small")
        self.gui.main_panel.dock_right()
        first, words = self._first()
        stage = self.drawing.draw(first.scene)
        if self.drawing.label_layers.count("labels") > LAYOUT.most_names:
            self.drawing.show("labels", False)
        set_view(server, stage)
        self._add_controls(stage.size, words)

    def _first(self) -> tuple[DisplayedScene, str]:
        if self.robot.run is not None:
            return self.robot.at_time(0.0), RUN
        try:
            return self.robot.rest(SliderValues()), REST
        except EXPECTED:
            return self.robot.start(SliderValues()), START

    # -- controls ----------------------------------------------------------------------------------------------------

    def _add_controls(self, size: float, first: str) -> None:
        gui, eqs, run = self.gui, self.robot.eqs, self.robot.run
        modes = [f"mode {k + 1}" for k in range(self.robot.mode_count())]
        options = ([RUN] if run is not None else []) + [REST, START, *modes]
        self.options = tuple(options)
        self.what = self._follow(gui.add_dropdown("Show", options, initial_value=first))
        self.status = gui.add_text("Status", "", disabled=True, multiline=True)
        self.outputs = gui.add_html("", visible=bool(eqs.model.spec.outputs))
        self.play = gui.add_button("Play", hint="Play or pause the run, or a mode")
        self.play.on_click(lambda _: self._toggle())
        duration = float(run.time[-1] - run.time[0]) if run is not None and len(run.time) else 0.0
        self.clock = self._follow(gui.add_slider("Time [s]", 0.0, max(duration, 1e-9), max(duration, 1e-9) / 1000, 0.0))
        self.clock.visible = run is not None
        self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1 x")
        self.sliders: dict[str, dict[str, tuple[Slider, Any]]] = {}
        groups = {
            "Inputs": input_sliders(eqs),
            "Parameters": parameter_sliders(eqs),
            "Start": coordinate_sliders(eqs, size),
        }
        for title, sliders in groups.items():
            if sliders:
                with gui.add_folder(title, expand_by_default=title != "Parameters" or len(sliders) < 8):
                    self.sliders[title] = {s.name: (s, self._slider(s)) for s in sliders}
        self.overlay: dict[str, Any] = {}
        self.rod_models = [
            f"{kind}:{n}" for kind, model in KINDS.items() for n in (3, 10) if model.fineness != "order" or n == 3
        ]
        if eqs.model.spec.rods:
            with gui.add_folder("Compare rod models"):
                for rod in list(self.overlays.spec.rods)[:4]:
                    choices = [NOTHING, *self.rod_models]
                    hint = "Overlays the robot with this rod model"
                    self.overlay[rod] = self._follow(gui.add_dropdown(rod, choices, initial_value=NOTHING, hint=hint))
        with gui.add_folder("Visible"):
            layers = {"labels": "Names", "loads": "Loads", "frames": "Frames", "nodes": "Node numbers"}
            if eqs.model.spec.contacts:
                layers["contacts"] = "Contact surfaces"
            for layer, words in layers.items():
                if layer == "nodes" and "nodes" not in self.drawing.label_layers:
                    continue
                box = gui.add_checkbox(words, self.drawing.shown[layer])
                box.on_update(lambda _, layer=layer, box=box: self.drawing.show(layer, bool(box.value)))

    def _slider(self, slider: Slider) -> Any:
        step = (slider.high - slider.low) / LAYOUT.steps
        return self._follow(
            self.gui.add_slider(slider.label, slider.low, slider.high, step, slider.value, hint=slider.hint or None)
        )

    def _follow(self, handle: Any) -> Any:
        handle.on_update(lambda _: self.changed.set())
        return handle

    def _toggle(self) -> None:
        self.moving = not self.moving
        self.play.label = "Pause" if self.moving else "Play"
        self.changed.set()

    def _choice(self) -> SliderValues:
        """Values of sliders that were moved; the others keep the values or expressions of the model."""
        moved = {
            title: {
                name: value
                for name, (s, handle) in group.items()
                # browsers may send numbers outside the range of the slider
                if abs((value := min(max(handle.value, s.low), s.high)) - s.value) > 1e-3 * (s.high - s.low)
            }
            for title, group in self.sliders.items()
        }
        return SliderValues(moved.get("Parameters", {}), moved.get("Inputs", {}), moved.get("Start", {}))

    # -- work --------------------------------------------------------------------------------------------------------

    def loop(self) -> None:
        """Process the controls until `stop`."""
        before = time.perf_counter()
        self.changed.set()
        failures = 0
        while not self.stopped.is_set():
            animated = self.moving and (self._shows() == RUN or self._shows().startswith("mode"))
            self.changed.wait(timeout=LAYOUT.interval if animated else None)
            now = time.perf_counter()
            self.changed.clear()
            try:
                if animated:
                    self._advance(now - before)
                if not self.stopped.is_set():
                    self._update()
                failures = 0
            except RuntimeError:
                # viser's queue of messages is not safe while a browser connects or leaves: the drawing is sent again
                failures += 1
                if failures > LAYOUT.most_failures:
                    raise
                self.changed.set()
                time.sleep(LAYOUT.interval)
            before = now

    def stop(self) -> None:
        """End the loop."""
        self.stopped.set()
        self.changed.set()

    def _advance(self, seconds: float) -> None:
        speed = self.speed.value if self.speed.value in SPEEDS else SPEEDS[0]
        seconds *= float(speed.split()[0])
        if self._shows() == RUN:
            later = max(0.0, self.clock.value) + seconds
            self.clock.value = later if later < self.clock.max else 0.0
        else:
            self.phase = (self.phase + seconds / SECONDS) % 1.0

    def _update(self) -> None:
        choice = self._choice()
        try:
            shown = self._shown(self.robot, choice)
            with self.server.atomic():
                self.drawing.draw(shown.scene)
            words, outputs = shown.words + self._draw_overlay(choice), shown.outputs
            self._follow_model(choice)
        except EXPECTED as reason:
            words, outputs = str(reason), ""
        if self.status.value != words:
            self.status.value = words
        if self.outputs.content != (content := OUTPUTS.format(html.escape(outputs))):
            self.outputs.content = content

    def _follow_model(self, choice: SliderValues) -> None:
        """Show the values that inputs have in the model where it drives them and their sliders were not moved: they may depend on
        its parameters."""
        if "Inputs" not in self.sliders or not (choice.parameters or self.followed):
            return
        self.followed = bool(choice.parameters)
        for name, value in self.robot.inputs(choice).items():
            slider, handle = self.sliders["Inputs"].get(name, (None, None))
            if slider is None or handle is None or name in choice.inputs or value == slider.value:
                continue
            low, high = min(slider.low, value), max(slider.high, value)
            self.sliders["Inputs"][name] = replace(slider, value=value, low=low, high=high), handle
            handle.min, handle.max, handle.value = low, high, value

    def _shows(self) -> str:
        """The requested display; browsers may send values that are not in the list."""
        value = str(self.what.value)
        return value if value in self.options else self.options[0]

    def _shown(self, robot: LiveRobot, choice: SliderValues) -> DisplayedScene:
        what = self._shows()
        if what == RUN:
            return robot.at_time(self.clock.value)
        if what == START:
            return robot.start(choice)
        return robot.rest(choice) if what == REST else robot.mode(choice, int(what.split()[1]), self.phase)

    def _draw_overlay(self, choice: SliderValues) -> str:
        wanted = next(((rod, h.value) for rod, h in self.overlay.items() if h.value in self.rod_models), None)
        if wanted is None:
            self.ghost.remove()
            return ""
        if wanted not in self.overlays:
            self.status.value = f"deriving the model {wanted[1]} ..."
        other = self.overlays.robot(*wanted)
        shown = other.start(choice) if self._shows() == START else other.rest(choice)
        self.ghost.scales = dict(self.drawing.scales)
        self.ghost.remove()
        with self.server.atomic():
            self.ghost.draw(shown.scene)
        return f"; overlay: {wanted[0]} as {wanted[1]}, at rest"


@dataclass(frozen=True)
class SliderValues:
    """Values of the sliders by name (SI units)."""

    parameters: Values = field(default_factory=dict)
    inputs: Values = field(default_factory=dict)
    start: Values = field(default_factory=dict)


@dataclass(frozen=True)
class DisplayedScene:
    """A scene, its caption, and the robot's outputs as text, one per line."""

    scene: Scene
    words: str
    outputs: str = ""


class LiveRobot:
    """A robot posed by slider values; each equilibrium is the initial guess of the next one."""

    def __init__(self, eqs: Equations, run: Result | None = None) -> None:
        self.eqs, self.run = eqs, run
        self._maker: SceneMaker | None = None
        self._rest: np.ndarray | None = None
        self._start: Mapping[str, float] = {}
        self._found: tuple[SliderValues, ModesResult] | None = None
        self._positions: tuple[SliderValues, int, list[np.ndarray]] | None = None

    def start(self, choice: SliderValues) -> DisplayedScene:
        """The initial pose, moved onto its constraints."""
        bound = self.eqs.at(inputs=choice.inputs, parameters=choice.parameters).binding
        start = self.eqs.state(choice.start, parameters=choice.parameters)
        made = assemble(self.eqs, bound, 0.0, start.q, start.v, start.given)
        zero = np.zeros(bound.nv)
        outputs = evaluate_outputs(self.eqs.model, bound, 0.0, made.q, made.v, zero, np.zeros(bound.m), 0.0)
        spec = self.eqs.model.spec.outputs  # forces are those of a motion or of rest
        known = {name: x for name, x in outputs.items() if name in spec and spec[name].is_of_positions_and_velocities}
        words = "; ".join(made.remarks) or "the initial pose"
        return self._shown(choice, made.q, 0.0, words, self._told(known))

    def rest(self, choice: SliderValues) -> DisplayedScene:
        """The equilibrium near the last one, or near the start if that was changed."""
        rest = self._solve(choice)
        return self._shown(choice, rest.q, 0.0, rest.message, self._told(rest.outputs))

    def inputs(self, choice: SliderValues) -> dict[str, float]:
        """All inputs with these values of the sliders (SI units); the model's own may depend on its parameters."""
        signals = self.eqs.at(inputs=choice.inputs, parameters=choice.parameters).binding.signals(0.0)[0]
        return dict(zip(self.eqs.inputs, signals.tolist(), strict=True))

    def _told(self, outputs: Mapping[str, Any]) -> str:
        units = output_units(self.eqs.model)
        lines = []
        for name, value in outputs.items():
            numbers = np.ravel(value)
            if numbers.size > LAYOUT.most_numbers:
                continue  # a profile along a rod
            text = ", ".join(f"{x:.4g}" for x in np.where(np.abs(numbers) > LAYOUT.round_off, numbers, 0.0))
            unit = units.get(name, "")
            lines.append(f"{name} = {text}" + ("" if unit in ("", "-") else f" {unit}"))
        return "\n".join(lines)

    def mode(self, choice: SliderValues, number: int, phase: float) -> DisplayedScene:
        """A mode (from 1) about the equilibrium, at a phase between 0 and 1."""
        if self._found is None or self._found[0] != choice:
            q = self._solve(choice).q
            self._found = (
                choice,
                modes(self.eqs, at=q, count=LAYOUT.most_modes, inputs=choice.inputs, parameters=choice.parameters),
            )
        found = self._found[1]
        if number > found.shapes.shape[1]:
            raise ValueError(f"the robot has {found.shapes.shape[1]} modes")
        if self._positions is None or self._positions[:2] != (choice, number):
            self._positions = choice, number, found.positions(number - 1)
        positions = self._positions[2]
        words = f"mode {number}: {found.words(number - 1)}, damping ratio {found.damping_ratios[number - 1]:.3g}"
        return self._shown(choice, positions[int(phase * len(positions)) % len(positions)], 0.0, words)

    def at_time(self, t: float) -> DisplayedScene:
        """The run at a time [s] after its start."""
        assert self.run is not None
        times = self.run.time
        k = int(np.argmin(np.abs(times - times[0] - t)))
        self._maker = self._maker or run_maker(self.eqs, self.run)
        (scene,) = run_scenes(self.eqs, self.run, [k], self._maker)
        told = self._told({name: self.run[name].values[k] for name in self.run.output_names})
        return DisplayedScene(scene, f"t = {times[k]:.4g} s", told)

    def mode_count(self) -> int:
        """Number of modes that can be shown."""
        return min(LAYOUT.most_modes, max(0, len(self.eqs.rates) - self.eqs.model.system.rows))

    def _solve(self, choice: SliderValues) -> Equilibrium:
        begin = self._rest
        if begin is None or choice.start != self._start:
            begin = self.eqs.state(choice.start, parameters=choice.parameters).q
        rest = equilibrium(
            self.eqs, start=begin, inputs=choice.inputs, parameters=choice.parameters, on_failure="return"
        )
        if rest.status != "converged":
            raise ValueError(rest.message)
        self._rest, self._start = rest.q, dict(choice.start)
        return rest

    def _shown(self, choice: SliderValues, q: np.ndarray, t: float, words: str, outputs: str = "") -> DisplayedScene:
        return DisplayedScene(SceneMaker(self.eqs, choice.parameters, inputs=choice.inputs).at(q, t), words, outputs)


EXPECTED = (AssemblyError, EvaluationError, ValueError)
"""Errors that can be caused, and fixed, by slider values."""


class Overlays:
    """The same robot with another model of one rod, derived once for each choice."""

    def __init__(self, spec: RobotSpec) -> None:
        self.spec = spec
        self._known: dict[tuple[str, str], LiveRobot] = {}

    def __contains__(self, choice: tuple[str, str]) -> bool:
        """Whether a rod and model have been derived."""
        return choice in self._known

    def robot(self, rod: str, model: str) -> LiveRobot:
        """The robot with that rod in a model such as `cosserat:10`."""
        if (rod, model) not in self._known:
            self._known[rod, model] = LiveRobot(derive(with_rod_model(self.spec, rod, model)))
        return self._known[rod, model]


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
            return STAGE_LAYOUT.contact_opacity
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
    camera.position = tuple(middle + stage.camera.toward * 1.7 * max(reach, 1e-3) / np.tan(LAYOUT.field_of_view / 2))
    camera.fov = LAYOUT.field_of_view
    camera.near, camera.far = 0.01 * max(reach, 1e-3), 200 * max(reach, 1e-3)
    cell = outlines.round_length(max(stage.size, 1e-6) / 4)
    lowest = middle + stage.up * ((stage.low - middle) @ np.abs(stage.up)) - 0.03 * reach * stage.up
    scene.add_grid(
        "/floor", width=16 * cell, height=16 * cell, cell_size=cell, section_size=4 * cell, position=tuple(lowest),
        wxyz=tuple(arrays.quaternion_between(np.array([0.0, 0.0, 1.0]), stage.up)), fade_distance=1e3 * reach, shadow_opacity=0.0,
    )  # fmt: skip


LOOPBACK = ("localhost", "127.0.0.1", "::1")
BIND = "127.0.0.1"
LARGEST_MESSAGE = 1 << 16
LONGEST_TEXT = 1000
"""Maximum size of a browser's message [bytes], and of the text of a control [characters]."""


def tunnel_advice(port: int) -> str:
    """How to see the page from another machine."""
    return (
        f"on the other machine run: ssh -L {port}:{BIND}:{port} USER@THIS_MACHINE, and open this page's address there"
    )


def check_host(host: str) -> None:
    """Raise ArgumentError unless the host is this machine."""
    if host.strip("[]") not in LOOPBACK:
        raise ArgumentError(f"the page is served on this machine only, not on '{host}'")


def free_port(port: int) -> int:
    """The port, if it is free; raises OSError otherwise. 0 means any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((BIND, port))
        return int(probe.getsockname()[1])


# -- requests --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RequestGuard:
    """Accepts requests for the address of the page. port: of the server; word: the token in the address."""

    port: int
    word: str

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://localhost:{self.port}/{self.word}/"

    def refusal(self, path: str, headers: Mapping[str, str]) -> str | None:
        """Why a request is not answered; None if it comes from this machine's browser and from the page itself."""
        if not self._is_ours(f"//{headers.get('Host') or ''}"):
            return f"this page is served at localhost:{self.port} only"
        origin = headers.get("Origin")
        if origin is not None and not (origin.startswith("http://") and self._is_ours(origin)):
            return "connections from other pages are not allowed"
        word = path.partition("?")[0].strip("/").partition("/")[0]
        if not hmac.compare_digest(word.encode(errors="surrogateescape"), self.word.encode()):
            return "incomplete address: use the complete address that was printed"
        return None

    def inside(self, path: str) -> str:
        """A path of the server, without the token."""
        return "/" + path.lstrip("/").removeprefix(self.word).lstrip("/")

    def _is_ours(self, address: str) -> bool:
        try:
            parts = urlsplit(address)
            return parts.hostname in LOOPBACK and parts.port == self.port and parts.username is None
        except ValueError:
            return False


# -- messages --------------------------------------------------------------------------------------------------------------


def is_expected(raw: Any) -> bool:
    """Whether a message is one that the page's own controls send: the pose of the camera, or the new value of one control."""
    import msgspec

    try:
        message = msgspec.msgpack.decode(raw) if isinstance(raw, bytes) else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    if not isinstance(message, dict):
        return False
    if message.get("type") == "ViewerCameraMessage":
        sizes = _camera_sizes()
        return message.keys() == {"type", *sizes} and all(_is_vector(message[name], n) for name, n in sizes.items())
    if message.get("type") != "GuiUpdateMessage" or not isinstance(message.get("uuid"), str):
        return False
    updates = message.get("updates")
    return isinstance(updates, dict) and set(updates) == {"value"} and _is_plain(updates["value"])


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    return isinstance(value, bool | int | float) and math.isfinite(value)


@cache
def _camera_sizes() -> dict[str, int]:
    """Lengths of the lists in a camera's message, by name; 0 for single numbers."""
    from viser._messages import ViewerCameraMessage

    hints = get_type_hints(ViewerCameraMessage)
    return {field.name: len(get_args(hints[field.name])) for field in fields(ViewerCameraMessage) if field.init}


def _is_vector(value: Any, size: int) -> bool:
    numbers = value if size else [value]
    if not isinstance(numbers, list) or len(numbers) != max(1, size):
        return False
    return all(isinstance(x, int | float) and math.isfinite(x) for x in numbers)


class _Connection:
    """A browser's connection that skips unexpected messages."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> bytes:
        while not is_expected(raw := await self._connection.recv()):
            pass
        return bytes(raw)


# -- the server -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LiveServer:
    """A viser server with access control."""

    viser: Any
    door: RequestGuard

    def stop(self) -> None:
        """Stop the server."""
        self.viser.stop()


def start_server(port: int, label: str) -> LiveServer:
    """A viser server on the loopback address, with access control."""
    import viser

    word = secrets.token_urlsafe(16)
    with _starting, _guarded(word, label):
        made = viser.ViserServer(host=BIND, port=port, label=label, verbose=False)
    made.on_client_disconnect(lambda client: give_memory_back())
    return LiveServer(made, RequestGuard(made.get_port(), word))


def give_memory_back() -> None:
    """Return free memory to the system, if the C library has a function for that.

    Each connection allocates compressors and a copy of the entire scene. They are freed in fragments between blocks that remain in
    use, and glibc keeps such fragments: over thousands of connections the process would grow although nothing is leaked.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


_starting = threading.Lock()


@contextmanager
def _guarded(word: str, title: str) -> Iterator[None]:
    """A viser server that is started in this context checks every request and message.

    viser has no hook for such checks, so the function that serves websockets is replaced, in viser's own module only. It is called
    again with the next port if one is in use.
    """
    import viser.infra._infra

    module: Any = viser.infra._infra
    usual = module.websockets

    def serve(handler: Any, host: Any, port: int, *, process_request: Any, **more: Any) -> Any:
        more |= {
            "process_request": _checked(RequestGuard(port, word), process_request, title),
            "max_size": LARGEST_MESSAGE,
        }
        return usual.asyncio.server.serve(_careful(handler), host, port, **more)

    server = _PatchedModule(usual.asyncio.server, serve=serve)
    module.websockets = _PatchedModule(usual, asyncio=SimpleNamespace(server=server))
    try:
        yield
    finally:
        module.websockets = usual


class _PatchedModule:
    """A module with some attributes replaced."""

    def __init__(self, usual: Any, **others: Any) -> None:
        self.__dict__.update(others, _usual=usual)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)


def _checked(door: RequestGuard, process_request: Any, title: str) -> Any:
    """A handler of requests that refuses those that the guard does not accept; `title` is that of the page."""
    from websockets import Headers
    from websockets.http11 import Response

    def check(connection: Any, request: Any) -> Any:
        reason = door.refusal(request.path, request.headers)
        if reason is None:
            request.path = door.inside(request.path)
            return titled(title, request, lambda: process_request(connection, request))
        body = f"{reason}; from another machine: {tunnel_advice(door.port)}\n".encode()
        head = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
        return Response(HTTPStatus.FORBIDDEN.value, HTTPStatus.FORBIDDEN.phrase, Headers(head), body)

    return check


def titled(title: str, request: Any, answer: Callable[[], Any]) -> Any:
    """The answer to a request; viser's page has a fixed title, in whose place this one is put."""
    if request.path.partition("?")[0] != "/" or request.headers.get("Upgrade") == "websocket":
        return answer()
    if "Accept-Encoding" in request.headers:
        del request.headers["Accept-Encoding"]  # the page itself is answered uncompressed
    answered = answer()
    if answered is not None:
        answered.body = answered.body.replace(
            b"<title>Viser</title>", f"<title>{html.escape(title)}</title>".encode(), 1
        )
        del answered.headers["Content-Length"]
        answered.headers["Content-Length"] = str(len(answered.body))
    return answered


def _careful(handler: Any) -> Any:
    """A handler of connections that does not log protocol errors of browsers."""
    import viser
    import websockets

    async def serve(connection: Any) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        if connection.subprotocol != f"viser-v{viser.__version__}":
            await connection.close(1002, "load the page again")
            return
        try:
            await handler(_Connection(connection))
        except websockets.ConnectionClosed:
            pass
        except RuntimeError as error:
            if "shutdown" not in str(error):  # browsers that are connected while the server stops
                raise

    return serve
