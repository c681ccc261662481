"""The controls of the live page, and the loop that processes them."""

from __future__ import annotations

import html
import threading
import time
from dataclasses import replace
from typing import Any

from pliant.analysis.modes import SECONDS
from pliant.equations.equations import Equations
from pliant.solve.result import Result
from pliant.spec.robot import RobotSpec
from pliant.spec.rod_switch import KINDS
from pliant.view.live.drawing import Drawing, set_view
from pliant.view.live.robot import EXPECTED, DisplayedScene, LiveRobot, Overlays, SliderValues
from pliant.view.live.sliders import Slider, coordinate_sliders, input_sliders, parameter_sliders

RUN, REST, START = "run", "at rest", "initial pose"
NOTHING = "none"
SPEEDS = ("0.1 x", "0.25 x", "0.5 x", "1 x", "2 x", "4 x")
INTERVAL = 1 / 30
MOST_FAILURES = 30
"""Number of consecutive failed drawings after which the page stops."""
MOST_NAMES = 12
"""More names than this would hide the robot: they are shown only when their box is checked."""
OUTPUTS = '<pre style="margin: 0 1em; max-height: 12em; overflow: auto; font-size: 11px">{}</pre>'
"""Outputs on the page, as wide as its panel."""
STEPS = 400
"""Number of steps of a slider."""


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
        if self.drawing.label_layers.count("labels") > MOST_NAMES:
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
        step = (slider.high - slider.low) / STEPS
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
            self.changed.wait(timeout=INTERVAL if animated else None)
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
                if failures > MOST_FAILURES:
                    raise
                self.changed.set()
                time.sleep(INTERVAL)
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
            if slider is None or name in choice.inputs or value == slider.value:
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
